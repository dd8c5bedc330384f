/* SPDX-License-Identifier: Apache-2.0 */
/* The matrix product that a core computes while something goes on beside it: in main.c nonblocking
   operations, in caches.c copies. */
#ifndef WEFT_BENCH_PRODUCT_H
#define WEFT_BENCH_PRODUCT_H

enum { n = 48 };
static double a[n * n], b[n * n], c[n * n];

static void fill_matrices(void) {
  for (int i = 0; i < n * n; ++i) a[i] = b[i] = 1e-3 * (i % 7);
}

/* `b`, which is read again and again, is small enough for the first cache. */
static void multiply(long times) {
  for (long t = 0; t < times; ++t)
    for (int i = 0; i < n; ++i)
      for (int k = 0; k < n; ++k)
        for (int j = 0; j < n; ++j) c[i * n + j] += a[i * n + k] * b[k * n + j];
}

#endif
