// SPDX-License-Identifier: Apache-2.0
#include "abi/raise.h"

#include <cstdio>

#include "base/err.h"

namespace weft::abi {

int not_yet(Fn fn, MPI_Comm) {
  const Err e = fail(MPI_ERR_UNSUPPORTED_OPERATION,
                     "%s is not implemented in this version of weft; see docs/coverage.md", name(fn));
  std::fprintf(stderr, "weft: %s\n", last_error_text(e.cls));
  return e.cls;
}

}  // namespace weft::abi
