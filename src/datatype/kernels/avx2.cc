// SPDX-License-Identifier: Apache-2.0
//
// The reduction loops compiled with -mavx2 (src/CMakeLists.txt); called only where
// the processor has these instructions (reduce.cc).
#include "datatype/kernels/kernels.h"

namespace weft::datatype::kernels {

void reduce_avx2(Operation op, Basic basic, const Vectors& v) {
  if (!reduce_vector(op, basic, v)) reduce_baseline(op, basic, v);
}

}  // namespace weft::datatype::kernels
