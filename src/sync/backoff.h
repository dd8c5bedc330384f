// SPDX-License-Identifier: Apache-2.0
//
// What a thread does between two looks: it pauses, or, if that is kind to who computes on a sibling
// hardware thread, rests, each time twice as long as before, up to a bound, so that what it waits
// for is not found much later.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/rest.h"
#include "sync/limits.h"

namespace weft::sync {

/// Tell the processor that this is a spin loop.
inline void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("isb" ::: "memory");
#endif
}

class Backoff {
 public:
  /// `kind`: rest, in the way of this CPU.
  Backoff(bool kind, Rest how) : kind_(kind), how_(how) {}

  bool is_kind() const { return kind_; }
  /// Between two looks that found nothing.
  void step() {
    if (!kind_) [[likely]]
      return pause();
    rest(how_, cycles_);
    cycles_ = std::min(2 * cycles_, longest_rest);
  }
  /// A look found something.
  void reset() { cycles_ = first_rest; }
  /// That the next rest takes.
  std::uint32_t cycles() const { return cycles_; }

 private:
  const bool kind_;
  const Rest how_;
  std::uint32_t cycles_ = first_rest;
};

}  // namespace weft::sync
