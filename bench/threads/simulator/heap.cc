// SPDX-License-Identifier: Apache-2.0
//
// Each object of the heap begins a cache line. Which of them share lines would else depend on what
// was allocated before, as on the number of environment variables.
#include <cstdlib>
#include <new>

// NOLINTBEGIN(cppcoreguidelines-no-malloc)
void* operator new(std::size_t bytes) {
  constexpr std::size_t line = 64;
  if (void* p = std::aligned_alloc(line, (bytes + line - 1) / line * line)) return p;
  std::abort();
}
void operator delete(void* p) noexcept {
  std::free(p);
}
void operator delete(void* p, std::size_t) noexcept {
  std::free(p);
}
// NOLINTEND(cppcoreguidelines-no-malloc)
