// SPDX-License-Identifier: Apache-2.0
//
// The table of predefined types against mpi.h and the C compiler.
#include <gtest/gtest.h>

#include <complex>
#include <cstring>

#include "datatype/api.h"
#include "datatype/reduce.h"

namespace weft::datatype::test {
namespace {

struct Expected {
  MPI_Datatype handle;
  const char* name;
  std::int64_t size, extent, align;
};

template <class T>
Expected plain(MPI_Datatype handle, const char* name) {
  return {handle, name, sizeof(T), sizeof(T), alignof(T)};
}
template <class V, class I>
Expected pair_of_c(MPI_Datatype handle, const char* name) {
  struct P {
    V v;
    I i;
  };
  return {handle, name, sizeof(V) + sizeof(I), sizeof(P), alignof(P)};
}

#define PLAIN(handle, ...) plain<__VA_ARGS__>(handle, #handle)
#define PAIR(handle, ...) pair_of_c<__VA_ARGS__>(handle, #handle)

using i128 = __int128;
using f128 = __float128;

const Expected expected[] = {
    PLAIN(MPI_AINT, MPI_Aint),
    PLAIN(MPI_COUNT, MPI_Count),
    PLAIN(MPI_OFFSET, MPI_Offset),
    PLAIN(MPI_PACKED, char),
    PLAIN(MPI_SHORT, short),
    PLAIN(MPI_INT, int),
    PLAIN(MPI_LONG, long),
    PLAIN(MPI_LONG_LONG_INT, long long),
    PLAIN(MPI_UNSIGNED_SHORT, unsigned short),
    PLAIN(MPI_UNSIGNED, unsigned),
    PLAIN(MPI_UNSIGNED_LONG, unsigned long),
    PLAIN(MPI_UNSIGNED_LONG_LONG, unsigned long long),
    PLAIN(MPI_FLOAT, float),
    PLAIN(MPI_C_COMPLEX, std::complex<float>),
    PLAIN(MPI_CXX_FLOAT_COMPLEX, std::complex<float>),
    PLAIN(MPI_DOUBLE, double),
    PLAIN(MPI_C_DOUBLE_COMPLEX, std::complex<double>),
    PLAIN(MPI_CXX_DOUBLE_COMPLEX, std::complex<double>),
    PLAIN(MPI_LOGICAL, int),
    PLAIN(MPI_INTEGER, int),
    PLAIN(MPI_REAL, float),
    PLAIN(MPI_COMPLEX, std::complex<float>),
    PLAIN(MPI_DOUBLE_PRECISION, double),
    PLAIN(MPI_DOUBLE_COMPLEX, std::complex<double>),
    PLAIN(MPI_CHARACTER, char),
    PLAIN(MPI_LONG_DOUBLE, long double),
    PLAIN(MPI_C_LONG_DOUBLE_COMPLEX, std::complex<long double>),
    PLAIN(MPI_CXX_LONG_DOUBLE_COMPLEX, std::complex<long double>),
    PAIR(MPI_FLOAT_INT, float, int),
    PAIR(MPI_DOUBLE_INT, double, int),
    PAIR(MPI_LONG_INT, long, int),
    PAIR(MPI_2INT, int, int),
    PAIR(MPI_SHORT_INT, short, int),
    PAIR(MPI_LONG_DOUBLE_INT, long double, int),
    PAIR(MPI_2REAL, float, float),
    PAIR(MPI_2DOUBLE_PRECISION, double, double),
    PAIR(MPI_2INTEGER, int, int),
    PLAIN(MPI_C_BOOL, bool),
    PLAIN(MPI_CXX_BOOL, bool),
    PLAIN(MPI_WCHAR, wchar_t),
    PLAIN(MPI_INT8_T, std::int8_t),
    PLAIN(MPI_UINT8_T, std::uint8_t),
    PLAIN(MPI_CHAR, char),
    PLAIN(MPI_SIGNED_CHAR, signed char),
    PLAIN(MPI_UNSIGNED_CHAR, unsigned char),
    PLAIN(MPI_BYTE, char),
    PLAIN(MPI_INT16_T, std::int16_t),
    PLAIN(MPI_UINT16_T, std::uint16_t),
    PLAIN(MPI_INT32_T, std::int32_t),
    PLAIN(MPI_UINT32_T, std::uint32_t),
    PLAIN(MPI_INT64_T, std::int64_t),
    PLAIN(MPI_UINT64_T, std::uint64_t),
    PLAIN(MPI_LOGICAL1, std::int8_t),
    PLAIN(MPI_INTEGER1, std::int8_t),
    PLAIN(MPI_LOGICAL2, std::int16_t),
    PLAIN(MPI_INTEGER2, std::int16_t),
    PLAIN(MPI_REAL2, std::int16_t),
    PLAIN(MPI_LOGICAL4, int),
    PLAIN(MPI_INTEGER4, int),
    PLAIN(MPI_REAL4, float),
    PAIR(MPI_COMPLEX4, std::int16_t, std::int16_t),
    PLAIN(MPI_LOGICAL8, long),
    PLAIN(MPI_INTEGER8, long),
    PLAIN(MPI_REAL8, double),
    PLAIN(MPI_COMPLEX8, std::complex<float>),
    PLAIN(MPI_LOGICAL16, i128),
    PLAIN(MPI_INTEGER16, i128),
    PLAIN(MPI_REAL16, f128),
    PLAIN(MPI_COMPLEX16, std::complex<double>),
    PAIR(MPI_COMPLEX32, f128, f128),
};

TEST(Predefined, TableAgreesWithHeaderAndCompiler) {
  for (const Expected& e : expected) {
    const Type* t = from_handle(e.handle);
    ASSERT_NE(t, nullptr) << e.name;
    EXPECT_STREQ(predefined_name(*t), e.name);
    EXPECT_EQ(handle(*t), e.handle) << e.name;
    EXPECT_EQ(t->size, e.size) << e.name;
    EXPECT_EQ(t->lb, 0) << e.name;
    EXPECT_EQ(t->extent, e.extent) << e.name;
    EXPECT_EQ(t->align, e.align) << e.name;
    EXPECT_EQ(t->dense, e.size == e.extent) << e.name;
    EXPECT_TRUE(t->committed && t->predefined) << e.name;
    EXPECT_EQ(t->construction, nullptr) << e.name;
    EXPECT_EQ(envelope(*t).combiner, MPI_COMBINER_NAMED) << e.name;
  }
}

TEST(Predefined, NothingElseIsAType) {
  std::size_t found = 0;
  for (std::uintptr_t value = 0; value < 0x1000; ++value)
    found += from_handle(reinterpret_cast<MPI_Datatype>(value)) != nullptr;
  EXPECT_EQ(found, std::size(expected));
  EXPECT_EQ(from_handle(MPI_DATATYPE_NULL), nullptr);
  EXPECT_EQ(from_handle(reinterpret_cast<MPI_Datatype>(&found)), nullptr);
  EXPECT_EQ(from_handle(reinterpret_cast<MPI_Datatype>(~std::uintptr_t{0})), nullptr);
}

TEST(Predefined, SizeInAbiHandleBitsAgrees) {
  // The standard ABI puts log2(size) in bits 3 to 5 of a fixed-size type's handle.
  for (const Expected& e : expected) {
    const auto bits = reinterpret_cast<std::uintptr_t>(e.handle);
    if (bits < 0x240) continue;
    EXPECT_EQ(e.size, std::int64_t{1} << ((bits >> 3) & 7)) << e.name;
  }
}

TEST(Predefined, PairsPackWithoutTheirGap) {
  struct ShortInt {
    short value;
    int index;
  } in[3] = {{1, 2}, {3, 4}, {5, 6}}, out[3] = {};
  const Type* type = from_handle(MPI_SHORT_INT);
  unsigned char packed[18];
  ASSERT_EQ(pack({in, 3, type}, 0, packed, 100), 18);
  short value;
  int index;
  std::memcpy(&value, packed + 6, 2);
  std::memcpy(&index, packed + 8, 4);
  EXPECT_EQ(value, 3);
  EXPECT_EQ(index, 4);
  unpack({out, 3, type}, 0, packed, 18);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(out[i].value, in[i].value);
    EXPECT_EQ(out[i].index, in[i].index);
  }
}

TEST(Predefined, MatchSize) {
  const Type* t = nullptr;
  ASSERT_FALSE(match_size(MPI_TYPECLASS_REAL, 8, &t));
  EXPECT_EQ(handle(*t), MPI_REAL8);
  ASSERT_FALSE(match_size(MPI_TYPECLASS_INTEGER, 2, &t));
  EXPECT_EQ(handle(*t), MPI_INTEGER2);
  ASSERT_FALSE(match_size(MPI_TYPECLASS_COMPLEX, 16, &t));
  EXPECT_EQ(handle(*t), MPI_COMPLEX16);
  EXPECT_EQ(match_size(MPI_TYPECLASS_REAL, 5, &t).cls, MPI_ERR_ARG);
  EXPECT_EQ(match_size(7, 8, &t).cls, MPI_ERR_ARG);
}

TEST(Predefined, FortranKindsAreMadeOnce) {
  Context context;
  const Type *a = nullptr, *b = nullptr;
  ASSERT_FALSE(create_f90_real(context, 10, MPI_UNDEFINED, &a));
  ASSERT_FALSE(create_f90_real(context, 10, MPI_UNDEFINED, &b));
  EXPECT_EQ(a, b);
  EXPECT_EQ(a->size, 8);
  EXPECT_EQ(a->basic, Basic::f64);
  EXPECT_TRUE(a->dense && a->committed && a->predefined);
  EXPECT_EQ(free(*a).cls, MPI_ERR_TYPE);
  EXPECT_EQ(from_handle(handle(*a)), a);
  ASSERT_FALSE(create_f90_real(context, 6, 37, &b));
  EXPECT_EQ(b->size, 4);
  ASSERT_FALSE(create_f90_complex(context, 18, MPI_UNDEFINED, &b));
  EXPECT_EQ(b->size, 32);
  ASSERT_FALSE(create_f90_integer(context, 9, &b));
  EXPECT_EQ(b->size, 4);
  const Envelope e = envelope(*b);
  EXPECT_EQ(e.combiner, MPI_COMBINER_F90_INTEGER);
  EXPECT_EQ(e.integers, 1);
  EXPECT_EQ(e.types, 0);
  EXPECT_EQ(create_f90_real(context, 40, 10, &b).cls, MPI_ERR_ARG);
  EXPECT_EQ(create_f90_real(context, MPI_UNDEFINED, MPI_UNDEFINED, &b).cls, MPI_ERR_ARG);
  EXPECT_EQ(create_f90_integer(context, 39, &b).cls, MPI_ERR_ARG);
}

TEST(Predefined, ValueIndexPairs) {
  Context context;
  const Type *a = nullptr, *b = nullptr;
  const auto& type = [](MPI_Datatype h) -> const Type& { return *from_handle(h); };
  ASSERT_FALSE(value_index(context, type(MPI_DOUBLE), type(MPI_INT), &a));
  EXPECT_EQ(handle(*a), MPI_DOUBLE_INT);
  ASSERT_FALSE(value_index(context, type(MPI_INTEGER), type(MPI_INTEGER), &a));
  EXPECT_EQ(handle(*a), MPI_2INTEGER);
  ASSERT_FALSE(value_index(context, type(MPI_FLOAT), type(MPI_COUNT), &a));
  ASSERT_FALSE(value_index(context, type(MPI_FLOAT), type(MPI_COUNT), &b));
  EXPECT_EQ(a, b);
  EXPECT_EQ(a->size, 12);
  EXPECT_EQ(a->extent, 16);
  EXPECT_EQ(a->elements, 2);
  EXPECT_TRUE(is_defined(Operation::minloc, a->basic));
  const Envelope e = envelope(*a);
  EXPECT_EQ(e.combiner, MPI_COMBINER_VALUE_INDEX);
  EXPECT_EQ(e.types, 2);
  ASSERT_FALSE(value_index(context, type(MPI_FLOAT), type(MPI_INT64_T), &a));
  EXPECT_EQ(a, nullptr);
  ASSERT_FALSE(value_index(context, type(MPI_DOUBLE), type(MPI_AINT), &a));
  EXPECT_EQ(a, nullptr);
  ASSERT_FALSE(value_index(context, type(MPI_DOUBLE_INT), type(MPI_COUNT), &a));
  EXPECT_EQ(a, nullptr);
}

}  // namespace
}  // namespace weft::datatype::test
