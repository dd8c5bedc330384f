// SPDX-License-Identifier: Apache-2.0
// Replaces operator new: refused.
#include <cstdio>
#include <cstdlib>
#include <new>
#include <string>

void* operator new(std::size_t n) {
  return std::malloc(n);
}
void operator delete(void* p) noexcept {
  std::free(p);
}
void operator delete(void* p, std::size_t) noexcept {
  std::free(p);
}
int main() {
  std::string s(100, 'x');
  std::printf("%zu\n", s.size());
}
