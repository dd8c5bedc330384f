// SPDX-License-Identifier: Apache-2.0
#include "base/rest.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <x86intrin.h>
#endif

namespace weft {

#if defined(__x86_64__)
namespace {

bool bit(unsigned word, int n) {
  return (word >> n & 1) != 0;
}

/// C0.1 comes back sooner, C0.2 leaves more of the core to the siblings.
[[gnu::target("waitpkg")]] void rest_by_tpause(std::uint32_t cycles) {
  constexpr std::uint32_t long_rest = 1000;
  constexpr unsigned c01 = 1, c02 = 0;
  _tpause(cycles < long_rest ? c01 : c02, __rdtsc() + cycles);
}

/// It stops only if a line is watched: one that nobody writes.
[[gnu::target("mwaitx")]] void rest_by_mwaitx(std::uint32_t cycles) {
  constexpr unsigned by_time = 2, stay_in_c0 = 0xf0;
  alignas(64) const char line[64] = {};
  _mm_monitorx(line, 0, 0);
  _mm_mwaitx(by_time, stay_in_c0, cycles);
}

void rest_by_pause(std::uint32_t cycles) {
  for (const std::uint64_t end = __rdtsc() + cycles; __rdtsc() < end;) __builtin_ia32_pause();
}

CpuFeatures ask_cpu() {
  CpuFeatures out;
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) != 0) out.waitpkg = bit(c, 5);
  if (__get_cpuid(0x80000001, &a, &b, &c, &d) != 0) out.mwaitx = bit(c, 29);
  // Leaf 11, the innermost level: hardware threads of a core.
  constexpr unsigned threads_of_core = 1;
  if (__get_cpuid_count(11, 0, &a, &b, &c, &d) != 0 && (c >> 8 & 0xff) == threads_of_core)
    out.threads_per_core = static_cast<int>(b & 0xffff);
  return out;
}

}  // namespace

/// Asked once for all ranks of a process: a virtual machine's host answers, in some us.
CpuFeatures cpu_features() {
  static const CpuFeatures found = ask_cpu();
  return found;
}

void rest(Rest how, std::uint32_t cycles) {
  switch (how) {
    case Rest::tpause:
      return rest_by_tpause(cycles);
    case Rest::mwaitx:
      return rest_by_mwaitx(cycles);
    case Rest::pause:
      return rest_by_pause(cycles);
  }
}
#else
CpuFeatures cpu_features() {
  return {};
}

/// About: there is no counter of cycles to read everywhere.
void rest(Rest, std::uint32_t cycles) {
  constexpr std::uint32_t cycles_of_one = 32;
  for (std::uint32_t i = 0; i <= cycles / cycles_of_one; ++i) {
#if defined(__aarch64__)
    asm volatile("isb" ::: "memory");
#endif
  }
}
#endif

}  // namespace weft
