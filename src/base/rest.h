// SPDX-License-Identifier: Apache-2.0
//
// Resting: how a hardware thread that waits leaves its core to the other hardware threads of the
// core, its siblings, for a moment. Between two looks a processor that has nothing better is told
// only that it spins (`pause`); some can stop for so many cycles (Intel's WAITPKG, AMD's MWAITX).
//
// source   Intel 64 and IA-32 SDM vol. 2: TPAUSE; AMD64 APM vol. 3: MONITORX, MWAITX
#pragma once

#include <cstdint>

namespace weft {

struct CpuFeatures {
  bool waitpkg = false, mwaitx = false;
  int threads_per_core = 1;  // 1: or not known
};
/// Of the CPU that asks. 30 us on a virtual machine, so ask once.
CpuFeatures cpu_features();

enum class Rest : std::uint8_t { pause, tpause, mwaitx };
constexpr Rest rest_of(const CpuFeatures& cpu) {
  return cpu.waitpkg ? Rest::tpause : cpu.mwaitx ? Rest::mwaitx : Rest::pause;
}
constexpr const char* name_of(Rest how) {
  return how == Rest::tpause ? "tpause" : how == Rest::mwaitx ? "mwaitx" : "pause";
}

/// Rest for about so many cycles of the CPU's clock, a way that the CPU has; it may be less.
void rest(Rest how, std::uint32_t cycles);

}  // namespace weft
