// SPDX-License-Identifier: Apache-2.0
// A library of the application: global, static and thread-local data; calls another library and
// back into the program.
int shared_number = 1;
static int hidden;
__thread int local = 5;
int from_two(void);
int from_main(void);

int one(int r) {
  shared_number += r;
  hidden += r;
  local += r;
  from_two();
  from_main();
  return shared_number * 10000 + hidden * 100 + local;
}
int* address(void) {
  return &shared_number;
}
