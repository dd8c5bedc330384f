// SPDX-License-Identifier: Apache-2.0
// A program with libraries of its own, one of them needed by another.
#include "standin.h"

extern "C" {
int one(int r);
int from_two();
int* address();
extern int shared_number;
int from_main() {
  static int calls;
  return ++calls;
}
}
int count(int r);
int count_inline(int r);

int main() {
  const int r = t_rank();
  const int a = one(r);
  t_barrier();
  const int b = from_two(), c = count(r), d = count_inline(r);
  t_barrier();
  const bool good = a == (1 + r) * 10000 + r * 100 + 5 + r && b == 2 && c == 1 + r && d == 2 + r &&
                    shared_number == 1 + r && &shared_number == address() && from_main() == 2;
  return t_report("app", good);
}
