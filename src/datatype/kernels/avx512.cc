// SPDX-License-Identifier: Apache-2.0
//
// The reduction loops compiled with -mavx512f -mavx512bw -mavx512dq -mavx512vl
// (src/CMakeLists.txt); called only where the processor has these instructions (reduce.cc).
#include "datatype/kernels/kernels.h"

namespace weft::datatype::kernels {

Loop avx512_loop(Operation op, Basic basic) {
  const Loop loop = vector_loop(op, basic);
  return loop != nullptr ? loop : baseline_loop(op, basic);
}

}  // namespace weft::datatype::kernels
