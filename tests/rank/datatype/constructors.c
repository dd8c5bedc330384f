// SPDX-License-Identifier: Apache-2.0
// Size, extent and true extent of types of every constructor: negative strides, zero counts,
// resized bounds, sizes of the predefined types.
#include <complex.h>
#include <stdbool.h>
#include <stddef.h>
#include <wchar.h>

#include "../check.h"

static void expect_(int line, MPI_Datatype type, MPI_Aint bytes, MPI_Aint low, MPI_Aint extent,
                    MPI_Aint true_low, MPI_Aint true_extent) {
  int got_size = -1;
  MPI_Aint got_low = -1, got_extent = -1, got_true_low = -1, got_true_extent = -1;
  MPI_Count size_c = -1, low_c = -1, extent_c = -1;
  OK(MPI_Type_size(type, &got_size));
  OK(MPI_Type_get_extent(type, &got_low, &got_extent));
  OK(MPI_Type_get_true_extent(type, &got_true_low, &got_true_extent));
  CHECK(got_size == bytes, "line %d: size %d, expected %ld", line, got_size, (long)bytes);
  CHECK(got_low == low && got_extent == extent, "line %d: bounds %ld + %ld, expected %ld + %ld",
        line, (long)got_low, (long)got_extent, (long)low, (long)extent);
  CHECK(got_true_low == true_low && got_true_extent == true_extent,
        "line %d: true bounds %ld + %ld, expected %ld + %ld", line, (long)got_true_low,
        (long)got_true_extent, (long)true_low, (long)true_extent);
  OK(MPI_Type_size_c(type, &size_c));
  OK(MPI_Type_get_extent_c(type, &low_c, &extent_c));
  EQ(size_c, bytes);
  EQ(low_c, low);
  EQ(extent_c, extent);
  OK(MPI_Type_get_true_extent_x(type, &low_c, &extent_c));
  EQ(low_c, true_low);
  EQ(extent_c, true_extent);
}
#define EXPECT(...) expect_(__LINE__, __VA_ARGS__)
// The last constructor's type is looked at and freed.
#define EXPECT_FREE(type, ...)                                               \
  do {                                                                       \
    EXPECT(type, __VA_ARGS__);                                               \
    OK(MPI_Type_free(&type));                                                \
    CHECK(type == MPI_DATATYPE_NULL, "Type_free left the handle as it was"); \
  } while (0)

static void predefined(void) {
  const struct {
    MPI_Datatype type;
    size_t bytes;
  } all[] = {{MPI_CHAR, 1},
             {MPI_SIGNED_CHAR, 1},
             {MPI_UNSIGNED_CHAR, 1},
             {MPI_BYTE, 1},
             {MPI_PACKED, 1},
             {MPI_WCHAR, sizeof(wchar_t)},
             {MPI_SHORT, sizeof(short)},
             {MPI_UNSIGNED_SHORT, sizeof(short)},
             {MPI_INT, sizeof(int)},
             {MPI_UNSIGNED, sizeof(int)},
             {MPI_LONG, sizeof(long)},
             {MPI_UNSIGNED_LONG, sizeof(long)},
             {MPI_LONG_LONG, 8},
             {MPI_LONG_LONG_INT, 8},
             {MPI_UNSIGNED_LONG_LONG, 8},
             {MPI_FLOAT, 4},
             {MPI_DOUBLE, 8},
             {MPI_LONG_DOUBLE, sizeof(long double)},
             {MPI_C_BOOL, sizeof(bool)},
             {MPI_INT8_T, 1},
             {MPI_INT16_T, 2},
             {MPI_INT32_T, 4},
             {MPI_INT64_T, 8},
             {MPI_UINT8_T, 1},
             {MPI_UINT16_T, 2},
             {MPI_UINT32_T, 4},
             {MPI_UINT64_T, 8},
             {MPI_AINT, sizeof(MPI_Aint)},
             {MPI_COUNT, sizeof(MPI_Count)},
             {MPI_OFFSET, sizeof(MPI_Offset)},
             {MPI_C_COMPLEX, 8},
             {MPI_C_FLOAT_COMPLEX, 8},
             {MPI_C_DOUBLE_COMPLEX, 16},
             {MPI_C_LONG_DOUBLE_COMPLEX, sizeof(long double complex)},
             {MPI_CXX_BOOL, 1},
             {MPI_CXX_FLOAT_COMPLEX, 8},
             {MPI_CXX_DOUBLE_COMPLEX, 16}};
  for (size_t i = 0; i < sizeof all / sizeof *all; ++i) {
    const MPI_Aint bytes = (MPI_Aint)all[i].bytes;
    EXPECT(all[i].type, bytes, 0, bytes, 0, bytes);
  }
  struct {
    double a;
    int b;
  } pair;
  EXPECT(MPI_DOUBLE_INT, 12, 0, sizeof pair, 0, 12);
  EXPECT(MPI_2INT, 8, 0, 8, 0, 8);
  EXPECT(MPI_SHORT_INT, 6, 0, 8, 0, 8);
}

int main(int argc, char** argv) {
  start(&argc, &argv);
  MPI_Datatype t, u;
  predefined();
  OK(MPI_Type_contiguous(5, MPI_INT, &t));
  EXPECT(t, 20, 0, 20, 0, 20);
  OK(MPI_Type_vector(3, 2, 4, t, &u));  // blocks of 2, every 4: 10 of 12 wide
  EXPECT_FREE(u, 120, 0, 200, 0, 200);
  OK(MPI_Type_vector(3, 1, -2, MPI_INT, &u));
  EXPECT_FREE(u, 12, -16, 20, -16, 20);
  OK(MPI_Type_create_hvector(4, 1, 10, MPI_SHORT, &u));
  EXPECT_FREE(u, 8, 0, 32, 0, 32);
  OK(MPI_Type_vector(0, 1, 1, MPI_INT, &u));
  EXPECT_FREE(u, 0, 0, 0, 0, 0);
  const int lengths[4] = {2, 0, 3, 1}, places[4] = {5, -100, -4, 0};
  const MPI_Aint bytes[4] = {50, 0, -40, 7};
  OK(MPI_Type_indexed(4, lengths, places, MPI_INT, &u));  // the empty block at -100 does not count
  EXPECT_FREE(u, 24, -16, 44, -16, 44);
  OK(MPI_Type_create_hindexed(4, lengths, bytes, MPI_SHORT, &u));
  EXPECT_FREE(u, 12, -40, 94, -40, 94);
  OK(MPI_Type_create_indexed_block(3, 2, places + 1, MPI_INT, &u));
  EXPECT_FREE(u, 24, -400, 408, -400, 408);
  OK(MPI_Type_create_hindexed_block(4, 1, bytes, MPI_CHAR, &u));
  EXPECT_FREE(u, 4, -40, 91, -40, 91);
  const MPI_Datatype types[3] = {MPI_CHAR, MPI_DOUBLE, MPI_CHAR};
  struct {
    char a;
    double b;
    char c;
  } s;
  const int one[3] = {1, 1, 1};
  const MPI_Aint fields[3] = {0, offsetof(__typeof__(s), b), offsetof(__typeof__(s), c)};
  OK(MPI_Type_create_struct(3, one, fields, types, &u));  // padded to the alignment of double
  EXPECT(u, 10, 0, 24, 0, 17);
  OK(MPI_Type_free(&t));
  OK(MPI_Type_contiguous(3, u, &t));
  EXPECT_FREE(t, 30, 0, 72, 0, 65);
  OK(MPI_Type_create_resized(u, -8, 40, &t));
  EXPECT(t, 10, -8, 40, 0, 17);
  OK(MPI_Type_free(&u));
  OK(MPI_Type_contiguous(2, t, &u));
  EXPECT_FREE(u, 20, -8, 80, 0, 57);
  OK(MPI_Type_dup(t, &u));
  EXPECT_FREE(u, 10, -8, 40, 0, 17);
  OK(MPI_Type_free(&t));
  OK(MPI_Type_create_resized(MPI_INT, 0, 2, &t));  // extent smaller than the data
  OK(MPI_Type_contiguous(3, t, &u));
  EXPECT_FREE(u, 12, 0, 6, 0, 8);
  OK(MPI_Type_free(&t));
  const int whole[3] = {10, 20, 30}, part[3] = {2, 3, 4}, from[3] = {1, 2, 3};
  OK(MPI_Type_create_subarray(3, whole, part, from, MPI_ORDER_C, MPI_INT, &t));
  EXPECT_FREE(t, 96, 0, 24000, 4 * (1 * 600 + 2 * 30 + 3), 4 * (600 + 2 * 30 + 4));
  OK(MPI_Type_create_subarray(3, whole, part, from, MPI_ORDER_FORTRAN, MPI_INT, &t));
  EXPECT_FREE(t, 96, 0, 24000, 4 * (3 * 200 + 2 * 10 + 1), 4 * (3 * 200 + 2 * 10 + 2));
  return finish();
}
