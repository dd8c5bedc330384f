// SPDX-License-Identifier: Apache-2.0
//
// For tests that do less where everything takes ten times as long.
#pragma once

namespace weft::test {

#ifdef __SANITIZE_THREAD__
/// Only races between threads are looked for: other builds check results.
inline constexpr bool under_thread_sanitizer = true;
#else
inline constexpr bool under_thread_sanitizer = false;
#endif

}  // namespace weft::test
