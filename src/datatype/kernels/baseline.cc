// SPDX-License-Identifier: Apache-2.0
//
// The reduction loops for any processor of the architecture, and those that no vector unit helps:
// 128-bit integers and floats, long double, value-index pairs.
#include "datatype/kernels/kernels.h"

namespace weft::datatype::kernels {

void reduce_baseline(Operation op, Basic basic, const Vectors& v) {
  if (reduce_vector(op, basic, v)) return;
  switch (basic) {
    case Basic::i128:
      return integer<i128>(op, v);
    case Basic::f80:
      return floating<long double>(op, v);
    case Basic::f128:
      return floating<__float128>(op, v);
    case Basic::c80:
      return complex<long double>(op, v);
    case Basic::c128:
      return complex<__float128>(op, v);
    case Basic::logical16:
      return logical<u128>(op, v);
    case Basic::pair_2real:
      return locate<float, float>(op, v);
    case Basic::pair_2double_precision:
      return locate<double, double>(op, v);
    default:
      if (basic >= Basic::pairs)
        pairs(op, static_cast<int>(basic) - static_cast<int>(Basic::pairs), v);
  }
}

}  // namespace weft::datatype::kernels
