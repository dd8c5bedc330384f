// SPDX-License-Identifier: Apache-2.0
//
// The operators that count: those of the whole test binary.
#include "unit/allocations.h"

#include <cstdlib>
#include <new>

namespace {
thread_local long count = 0;
}

[[gnu::noinline]] void* operator new(std::size_t n) {
  ++count;
  if (void* p = std::malloc(n != 0 ? n : 1)) return p;
  throw std::bad_alloc();
}
[[gnu::noinline]] void* operator new(std::size_t n, const std::nothrow_t&) noexcept {
  ++count;
  return std::malloc(n != 0 ? n : 1);
}
[[gnu::noinline]] void operator delete(void* p) noexcept {
  std::free(p);
}
[[gnu::noinline]] void operator delete(void* p, const std::nothrow_t&) noexcept {
  std::free(p);
}
[[gnu::noinline]] void operator delete(void* p, std::size_t) noexcept {
  std::free(p);
}

long weft::test::allocations() {
  return count;
}
