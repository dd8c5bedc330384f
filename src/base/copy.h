// SPDX-License-Identifier: Apache-2.0
//
// Copying one block of any length.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace weft {

/// Up to 32 bytes without a call: two overlapping moves of the largest power of two that fits.
inline void copy_few(std::byte* to, const std::byte* from, std::size_t n) {
  if (n >= 16) {
    std::memcpy(to, from, 16);
    std::memcpy(to + n - 16, from + n - 16, 16);
  } else if (n >= 8) {
    std::memcpy(to, from, 8);
    std::memcpy(to + n - 8, from + n - 8, 8);
  } else if (n >= 4) {
    std::memcpy(to, from, 4);
    std::memcpy(to + n - 4, from + n - 4, 4);
  } else {
    for (std::size_t i = 0; i < n; ++i) to[i] = from[i];
  }
}

/// memcpy in steps. A copy of about a megabyte or more would bypass the caches in the C library;
/// what a message brings is read soon, and between cores that are far apart bypassing is 2.5 times
/// slower (4 MiB that another core has written: 725 us at once, 288 us in steps; near: 110 and 107;
/// measured, 2-core EPYC, 2026-11).
inline void copy_bytes(void* to, const void* from, std::size_t bytes) {
  constexpr std::size_t step = std::size_t{128} << 10;
  auto* t = static_cast<std::byte*>(to);
  auto* f = static_cast<const std::byte*>(from);
  for (; bytes > step; bytes -= step, t += step, f += step) std::memcpy(t, f, step);
  std::memcpy(t, f, bytes);
}

/// A copy that goes past the caches where the processor can: for what is so long that they would
/// not hold it until it is read, and would fetch every line of `to` before it is written. What a
/// later release store of this thread publishes includes it.
inline void stream_bytes(void* to, const void* from, std::size_t bytes) {
#ifdef __SSE2__
  auto* t = static_cast<std::byte*>(to);
  auto* f = static_cast<const std::byte*>(from);
  const std::size_t head = std::min(bytes, -reinterpret_cast<std::uintptr_t>(t) % 64);
  std::memcpy(t, f, head);
  std::size_t at = head;
  for (; at + 64 <= bytes; at += 64)
    for (std::size_t i = at; i < at + 64; i += 16)
      _mm_stream_si128(reinterpret_cast<__m128i*>(t + i),
                       _mm_loadu_si128(reinterpret_cast<const __m128i*>(f + i)));
  _mm_sfence();  // such stores are not ordered with others
  std::memcpy(t + at, f + at, bytes - at);
#else
  copy_bytes(to, from, bytes);
#endif
}

/// The line at `p` will be written soon: take it from other caches meanwhile.
inline void fetch_to_write(const void* p) {
#ifdef __x86_64__
  // __builtin_prefetch would fetch it to read; a processor that does not know prefetchw ignores it
  asm volatile("prefetchw %0" : : "m"(*static_cast<const char*>(p)));
#else
  __builtin_prefetch(p, 1);
#endif
}

}  // namespace weft
