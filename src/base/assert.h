// SPDX-License-Identifier: Apache-2.0
//
// Assertions about weft itself; a user's mistake is never an assertion. WEFT_ASSERT is checked in
// debug builds, WEFT_CHECK always (cold paths, where going on would corrupt data).
#pragma once

namespace weft {
[[noreturn, gnu::cold]] void assertion_failed(const char* file, int line, const char* what);
}

#define WEFT_CHECK(cond) \
  (__builtin_expect(!(cond), 0) ? ::weft::assertion_failed(__FILE__, __LINE__, #cond) : (void)0)
#ifdef NDEBUG
#define WEFT_ASSERT(cond) ((void)0)
#else
#define WEFT_ASSERT(cond) WEFT_CHECK(cond)
#endif
