// SPDX-License-Identifier: Apache-2.0
// Globals, statics, pointers between them, thread-local data and arguments are a rank's own.
#include "standin.h"

#include <string.h>

int initialised = 5;
static int zero;
int large[1000];
int* pointer = &initialised;
__thread int local = 7;
static __thread int local_zero;
__thread int* local_pointer = &initialised;

static __attribute__((noinline)) int count(void) {
  static int calls = 10;
  return ++calls;
}

int main(int argc, char** argv) {
  const int r = t_rank();
  initialised += r;
  zero = r;
  for (int i = 0; i <= r; i++) count();
  large[9] = r;
  local += r;
  local_zero = r;
  t_barrier();
  int good = initialised == 5 + r && zero == r && count() == 12 + r && large[9] == r &&
             *pointer == 5 + r && local == 7 + r && local_zero == r &&
             local_pointer == &initialised;
  const int next = (r + 1) % t_size();
  int* others = t_exchange(&initialised, next);
  good = good && *others == 5 + next && argc == 3 && strcmp(argv[1], "one") == 0 && !argv[3];
  t_barrier();  // nobody ends before its neighbour has looked
  return t_report("globals", good);
}
