// SPDX-License-Identifier: Apache-2.0
//
// The reduction loops for any processor of the architecture, and those that no vector unit helps:
// 128-bit integers and floats, long double, value-index pairs.
#include "datatype/kernels/kernels.h"

namespace weft::datatype::kernels {

namespace {

/// Part by part: what a long double does not use of its 16 bytes stays as it is.
template <>
void complex_prod<long double>(const Vectors& v) {
  const auto* a = static_cast<const Complex<long double>*>(v.left);
  const auto* b = static_cast<const Complex<long double>*>(v.right);
  auto* out = static_cast<Complex<long double>*>(v.out);
  for (int64_t i = 0; i < v.n; ++i) {
    const long double re = a[i].re * b[i].re - a[i].im * b[i].im;
    const long double im = a[i].re * b[i].im + a[i].im * b[i].re;
    out[i].re = re;
    out[i].im = im;
  }
}

}  // namespace

Loop baseline_loop(Operation op, Basic basic) {
  if (const Loop loop = vector_loop(op, basic)) return loop;
  switch (basic) {
    case Basic::i128:
      return integer<i128>(op);
    case Basic::f80:
      return floating<long double>(op);
    case Basic::f128:
      return floating<__float128>(op);
    case Basic::c80:
      return complex<long double>(op);
    case Basic::c128:
      return complex<__float128>(op);
    case Basic::logical16:
      return logical<u128>(op);
    case Basic::pair_2real:
      return locate<float, float>(op);
    case Basic::pair_2double_precision:
      return locate<double, double>(op);
    default:
      return basic >= Basic::pairs
                 ? pairs(op, static_cast<int>(basic) - static_cast<int>(Basic::pairs))
                 : nullptr;
  }
}

}  // namespace weft::datatype::kernels
