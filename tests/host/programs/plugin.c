// SPDX-License-Identifier: Apache-2.0
// A plugin with data and a constructor; uses a function of its program and another library.
int from_program(int);
int from_two(void);
static int total = 1;
static int constructed;
__attribute__((constructor)) static void start(void) {
  constructed = from_program(20);
}
int plugin(int r) {
  from_two();
  return total += r + constructed - 21;
}
