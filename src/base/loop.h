// SPDX-License-Identifier: Apache-2.0
//
// What the compilers call differently.
#pragma once

/// Before a loop whose iterations do not depend on each other.
#if defined(__clang__)
#define WEFT_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define WEFT_INDEPENDENT _Pragma("GCC ivdep")
#endif
