// SPDX-License-Identifier: Apache-2.0
//
// Ends that no caller can help. Assertions are about weft itself; a user's mistake is never one.
// WEFT_ASSERT is checked in debug builds, WEFT_CHECK always (cold paths, where going on would
// corrupt data). out_of_memory() is for places that have nobody to return an error to.
#pragma once

#include <cstddef>

namespace weft {
[[noreturn, gnu::cold]] void assertion_failed(const char* file, int line, const char* what);
/// The system refused `bytes` bytes for `what`; errno says why.
[[noreturn, gnu::cold]] void out_of_memory(const char* what, std::size_t bytes);
}  // namespace weft

#define WEFT_CHECK(cond) \
  (__builtin_expect(!(cond), 0) ? ::weft::assertion_failed(__FILE__, __LINE__, #cond) : (void)0)
#ifdef NDEBUG
#define WEFT_ASSERT(cond) ((void)0)
#else
#define WEFT_ASSERT(cond) WEFT_CHECK(cond)
#endif
