// SPDX-License-Identifier: Apache-2.0
// Every predefined operation on every type the standard allows it for: Allreduce, Reduce, Scan and
// Reduce_local, compared with the same arithmetic in C.
#include <complex.h>
#include <math.h>
#include <stdbool.h>

#include "../check.h"

enum { many = 67 };

// One test function per C type. `expect` folds rank 0 .. ranks-1 in order; `same` compares two
// values.
#define DEFINE(name, T, VALUE, SAME)                                                        \
  typedef T (*name##_op)(T, T);                                                             \
  static T name##_value(int who, int i) {                                                   \
    return (T)(VALUE);                                                                      \
  }                                                                                         \
  static int name##_same(T a, T b) {                                                        \
    return SAME;                                                                            \
  }                                                                                         \
  static void name##_test(MPI_Datatype type, MPI_Op op, name##_op f, const char* what) {    \
    T in[many], out[many], want[many], prefix[many];                                        \
    for (int i = 0; i < many; ++i) {                                                        \
      in[i] = name##_value(rank, i);                                                        \
      want[i] = prefix[i] = name##_value(0, i);                                             \
      for (int who = 1; who < size; ++who) want[i] = f(want[i], name##_value(who, i));      \
      for (int who = 1; who <= rank; ++who) prefix[i] = f(prefix[i], name##_value(who, i)); \
    }                                                                                       \
    OK(MPI_Allreduce(in, out, many, type, op, MPI_COMM_WORLD));                             \
    for (int i = 0; i < many; ++i)                                                          \
      CHECK(name##_same(out[i], want[i]), "Allreduce %s: item %d is wrong", what, i);       \
    OK(MPI_Reduce(in, out, many - 3, type, op, size - 1, MPI_COMM_WORLD));                  \
    for (int i = 0; i < many - 3 && rank == size - 1; ++i)                                  \
      CHECK(name##_same(out[i], want[i]), "Reduce %s: item %d is wrong", what, i);          \
    OK(MPI_Scan(in, out, many, type, op, MPI_COMM_WORLD));                                  \
    for (int i = 0; i < many; ++i)                                                          \
      CHECK(name##_same(out[i], prefix[i]), "Scan %s: item %d is wrong", what, i);          \
    for (int i = 0; i < many; ++i) out[i] = name##_value(rank + 1, i);                      \
    OK(MPI_Reduce_local(in, out, many, type, op));                                          \
    for (int i = 0; i < many; ++i)                                                          \
      CHECK(name##_same(out[i], f(in[i], name##_value(rank + 1, i))),                       \
            "Reduce_local %s: item %d is wrong", what, i);                                  \
  }

#define F(name, T, op_name, RESULT)     \
  static T name##_##op_name(T a, T b) { \
    return (T)(RESULT);                 \
  }

#define ARITHMETIC(name, T) F(name, T, sum, a + b) F(name, T, prod, a* b)
#define ORDER(name, T) F(name, T, min, a < b ? a : b) F(name, T, max, a > b ? a : b)
#define LOGIC(name, T) F(name, T, land, a&& b) F(name, T, lor, a || b) F(name, T, lxor, !a != !b)
#define BITS(name, T) F(name, T, band, a& b) F(name, T, bor, a | b) F(name, T, bxor, a ^ b)

#define INTEGER(name, T)                                                                     \
  DEFINE(name, T, (who * 5 + i * 3) % 6 - (i % 2) * (who % 2), a == b)                       \
  ARITHMETIC(name, T)                                                                        \
  ORDER(name, T)                                                                             \
  LOGIC(name, T) BITS(name, T) static void name##_all(MPI_Datatype type, const char* what) { \
    name##_test(type, MPI_SUM, name##_sum, what);                                            \
    name##_test(type, MPI_PROD, name##_prod, what);                                          \
    name##_test(type, MPI_MIN, name##_min, what);                                            \
    name##_test(type, MPI_MAX, name##_max, what);                                            \
    name##_test(type, MPI_LAND, name##_land, what);                                          \
    name##_test(type, MPI_LOR, name##_lor, what);                                            \
    name##_test(type, MPI_LXOR, name##_lxor, what);                                          \
    name##_test(type, MPI_BAND, name##_band, what);                                          \
    name##_test(type, MPI_BOR, name##_bor, what);                                            \
    name##_test(type, MPI_BXOR, name##_bxor, what);                                          \
  }
INTEGER(i8, int8_t)
INTEGER(u8, uint8_t)
INTEGER(i16, int16_t)
INTEGER(u16, uint16_t)
INTEGER(i32, int32_t)
INTEGER(u32, uint32_t)
INTEGER(i64, int64_t)
INTEGER(u64, uint64_t)

// Values are multiples of a half: sums and products of a few are exact in any order.
#define FLOATING(name, T)                                                                          \
  DEFINE(name, T, ((who * 5 + i * 3) % 7 - 3) * 0.5, a == b)                                       \
  ARITHMETIC(name, T) ORDER(name, T) static void name##_all(MPI_Datatype type, const char* what) { \
    name##_test(type, MPI_SUM, name##_sum, what);                                                  \
    name##_test(type, MPI_PROD, name##_prod, what);                                                \
    name##_test(type, MPI_MIN, name##_min, what);                                                  \
    name##_test(type, MPI_MAX, name##_max, what);                                                  \
  }
FLOATING(f32, float)
FLOATING(f64, double)
FLOATING(f80, long double)

#define COMPLEX(name, T)                                                     \
  DEFINE(name, T, ((who + i) % 3 - 1) + I * ((who + 2 * i) % 3 - 1), a == b) \
  ARITHMETIC(name, T)                                                        \
  static void name##_all(MPI_Datatype type, const char* what) {              \
    name##_test(type, MPI_SUM, name##_sum, what);                            \
    name##_test(type, MPI_PROD, name##_prod, what);                          \
  }
COMPLEX(c64, float complex)
COMPLEX(c128, double complex)
COMPLEX(c160, long double complex)

DEFINE(boolean, bool, (who + i) % 3 == 0 || i % 5 == 0, a == b)
LOGIC(boolean, bool)
DEFINE(byte, unsigned char, who * 37 + i * 11 + 5, a == b)
BITS(byte, unsigned char)

int main(int argc, char** argv) {
  start(&argc, &argv);
#define RUN(name, type) name##_all(type, #type)
  RUN(i8, MPI_SIGNED_CHAR);
  RUN(u8, MPI_UNSIGNED_CHAR);
  RUN(i16, MPI_SHORT);
  RUN(u16, MPI_UNSIGNED_SHORT);
  RUN(i32, MPI_INT);
  RUN(u32, MPI_UNSIGNED);
  RUN(i64, MPI_LONG);
  RUN(u64, MPI_UNSIGNED_LONG);
  RUN(i64, MPI_LONG_LONG);
  RUN(u64, MPI_UNSIGNED_LONG_LONG);
  RUN(i8, MPI_INT8_T);
  RUN(u8, MPI_UINT8_T);
  RUN(i16, MPI_INT16_T);
  RUN(u16, MPI_UINT16_T);
  RUN(i32, MPI_INT32_T);
  RUN(u32, MPI_UINT32_T);
  RUN(i64, MPI_INT64_T);
  RUN(u64, MPI_UINT64_T);
  RUN(i64, MPI_AINT);
  RUN(i64, MPI_OFFSET);
  RUN(i64, MPI_COUNT);
  RUN(f32, MPI_FLOAT);
  RUN(f64, MPI_DOUBLE);
  RUN(f80, MPI_LONG_DOUBLE);
  RUN(c64, MPI_C_FLOAT_COMPLEX);
  RUN(c64, MPI_C_COMPLEX);
  RUN(c128, MPI_C_DOUBLE_COMPLEX);
  RUN(c160, MPI_C_LONG_DOUBLE_COMPLEX);
  RUN(c64, MPI_CXX_FLOAT_COMPLEX);
  RUN(c128, MPI_CXX_DOUBLE_COMPLEX);
  boolean_test(MPI_C_BOOL, MPI_LAND, boolean_land, "MPI_C_BOOL and");
  boolean_test(MPI_C_BOOL, MPI_LOR, boolean_lor, "MPI_C_BOOL or");
  boolean_test(MPI_C_BOOL, MPI_LXOR, boolean_lxor, "MPI_C_BOOL xor");
  boolean_test(MPI_CXX_BOOL, MPI_LOR, boolean_lor, "MPI_CXX_BOOL or");
  byte_test(MPI_BYTE, MPI_BAND, byte_band, "MPI_BYTE and");
  byte_test(MPI_BYTE, MPI_BOR, byte_bor, "MPI_BYTE or");
  byte_test(MPI_BYTE, MPI_BXOR, byte_bxor, "MPI_BYTE xor");
  return finish();
}
