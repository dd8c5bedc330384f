// SPDX-License-Identifier: Apache-2.0
// Functions that are chosen when the program is loaded.
#include "standin.h"

static int one(void) {
  return 1;
}
static void* choose(void) {
  return one;
}
int chosen(void) __attribute__((ifunc("choose")));

__attribute__((target_clones("avx2", "default"))) double sum(const double* a, int n) {
  double s = 0;
  for (int i = 0; i < n; i++) s += a[i];
  return s;
}
static double values[64];

int main(void) {
  for (int i = 0; i < 64; i++) values[i] = t_rank();
  return t_report("ifunc", chosen() == 1 && sum(values, 64) == 64.0 * t_rank());
}
