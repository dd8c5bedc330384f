// SPDX-License-Identifier: Apache-2.0
//
// The reduction loops compiled with -mavx2 (src/CMakeLists.txt); called only where
// the processor has these instructions (reduce.cc).
#include "datatype/kernels/kernels.h"

namespace weft::datatype::kernels {

void reduce_avx2(Operation op, Basic basic, const void* in, void* inout, std::int64_t n) {
  if (!reduce_vector(op, basic, in, inout, n)) reduce_baseline(op, basic, in, inout, n);
}

}  // namespace weft::datatype::kernels
