// SPDX-License-Identifier: Apache-2.0
// A library that uses thread-local variables of its program, built once per way to address them.
#define JOIN(a, b) a##b
#define NAME(a, b) JOIN(a, b)

extern __thread int counter;
extern __thread struct block {
  _Alignas(64) char text[100];
  struct block* self;
} block;

int NAME(MODEL, _count)(int by) {
  return counter += by;
}
int* NAME(MODEL, _address)(void) {
  return &counter;
}
struct block* NAME(MODEL, _block)(void) {
  return &block;
}
