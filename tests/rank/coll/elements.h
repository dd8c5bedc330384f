/* SPDX-License-Identifier: Apache-2.0 */
/* Data that says which rank wrote it in which operation. */
#ifndef WEFT_TEST_ELEMENTS_H
#define WEFT_TEST_ELEMENTS_H

static long element(int from, int operation, long i) {
  return from * 1000003L + operation * 1009L + i;
}

CHECK_UNUSED static void write_elements(long* block, int from, int operation, long count) {
  for (long i = 0; i < count; ++i) block[i] = element(from, operation, i);
}

/* How many of `count` elements, from number `first` on, are not as `from` wrote them. */
static long wrong_in(const long* block, int from, int operation, long first, int count) {
  long wrong = 0;
  for (int i = 0; i < count; ++i) wrong += block[i] != element(from, operation, first + i);
  return wrong;
}

#endif
