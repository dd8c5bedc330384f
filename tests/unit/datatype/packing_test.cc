// SPDX-License-Identifier: Apache-2.0
//
// MPI_Pack positions, external32, counts of elements.
#include <gtest/gtest.h>

#include <complex>
#include <cstring>

#include "unit/datatype/random_type.h"

namespace weft::datatype::test {
namespace {

using std::int64_t;
using Bytes = std::vector<unsigned char>;

const Type& basic(MPI_Datatype h) {
  return *from_handle(h);
}

TEST(Packing, PositionAdvancesAndRoomIsChecked) {
  const int in[4] = {1, 2, 3, 4};
  int out[4] = {};
  unsigned char room[20];
  int64_t position = 0;
  ASSERT_FALSE(pack_at({in, 2, &basic(MPI_INT)}, room, 20, &position));
  ASSERT_FALSE(pack_at({in + 2, 2, &basic(MPI_INT)}, room, 20, &position));
  EXPECT_EQ(position, 16);
  EXPECT_EQ(pack_at({in, 2, &basic(MPI_INT)}, room, 20, &position).cls, MPI_ERR_ARG);
  EXPECT_EQ(position, 16);
  position = 0;
  ASSERT_FALSE(unpack_at(room, 16, &position, {out, 4, &basic(MPI_INT)}));
  EXPECT_EQ(position, 16);
  EXPECT_EQ(0, std::memcmp(in, out, sizeof in));
  EXPECT_EQ(unpack_at(room, 16, &position, {out, 1, &basic(MPI_INT)}).cls, MPI_ERR_ARG);
  int64_t bytes = 0;
  ASSERT_FALSE(pack_size(3, basic(MPI_DOUBLE_INT), &bytes));
  EXPECT_EQ(bytes, 36);
  EXPECT_EQ(pack_size(INT64_MAX / 2, basic(MPI_DOUBLE), &bytes).cls, MPI_ERR_COUNT);
}

template <class T>
Bytes external(MPI_Datatype type, T value) {
  int64_t bytes = 0, position = 0;
  expect_ok(pack_external_size("external32", 1, basic(type), &bytes));
  Bytes out(static_cast<std::size_t>(bytes));
  expect_ok(pack_external("external32", {&value, 1, &basic(type)}, out.data(), bytes, &position));
  EXPECT_EQ(position, bytes);
  T back{};
  position = 0;
  expect_ok(unpack_external("external32", out.data(), bytes, &position, {&back, 1, &basic(type)}));
  EXPECT_TRUE(back == value);
  return out;
}

TEST(Packing, External32) {
  EXPECT_EQ(external(MPI_INT, 0x01020304), (Bytes{1, 2, 3, 4}));
  EXPECT_EQ(external(MPI_SHORT, short{-2}), (Bytes{0xff, 0xfe}));
  EXPECT_EQ(external(MPI_LONG, -2L), (Bytes{0xff, 0xff, 0xff, 0xfe}));
  EXPECT_EQ(external(MPI_LONG, 0x7fffffffL), (Bytes{0x7f, 0xff, 0xff, 0xff}));
  EXPECT_EQ(external(MPI_UNSIGNED_LONG, 0xf0000001UL), (Bytes{0xf0, 0, 0, 1}));
  EXPECT_EQ(external(MPI_INT64_T, int64_t{5}), (Bytes{0, 0, 0, 0, 0, 0, 0, 5}));
  EXPECT_EQ(external(MPI_WCHAR, L'\x20ac'), (Bytes{0x20, 0xac}));
  EXPECT_EQ(external(MPI_FLOAT, 1.0f), (Bytes{0x3f, 0x80, 0, 0}));
  EXPECT_EQ(external(MPI_DOUBLE, -2.0), (Bytes{0xc0, 0, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(external(MPI_LONG_DOUBLE, 1.5L),
            (Bytes{0x3f, 0xff, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(external(MPI_C_FLOAT_COMPLEX, std::complex<float>(1, 2)),
            (Bytes{0x3f, 0x80, 0, 0, 0x40, 0, 0, 0}));
  EXPECT_EQ(external(MPI_C_BOOL, true), (Bytes{1}));
}

TEST(Packing, External32RefusesWhatDoesNotFit) {
  unsigned char out[8];
  int64_t position = 0, bytes = 0;
  const long large = 0x80000000L, low = -0x80000001L;
  const auto pack_long = [&](const long& value) {
    return pack_external("external32", {&value, 1, &basic(MPI_LONG)}, out, 8, &position).cls;
  };
  EXPECT_EQ(pack_long(large), MPI_ERR_CONVERSION);
  EXPECT_EQ(pack_long(low), MPI_ERR_CONVERSION);
  EXPECT_EQ(position, 0);
  EXPECT_EQ(pack_external_size("native", 1, basic(MPI_INT), &bytes).cls, MPI_ERR_ARG);
  const double d[2] = {};
  EXPECT_EQ(pack_external("external32", {d, 2, &basic(MPI_DOUBLE)}, out, 8, &position).cls,
            MPI_ERR_ARG);
}

TEST(Packing, External32OfRandomTypesComesBack) {
  Context context;
  for (unsigned seed = 1; seed <= 300; ++seed) {
    RandomTypes random(context, seed);
    const Modelled m = random.make(static_cast<int>(random.pick(1, 3)));
    commit(*m.type);
    Map map;
    map.place(m.map, 0, 2, m.type->extent);
    const int64_t low = std::min<int64_t>(0, map.true_lb());
    Bytes a(static_cast<std::size_t>(std::max<int64_t>(0, map.true_ub()) - low) + 1), b(a.size());
    for (const Piece& p : map.pieces)  // zero bytes are a valid value of every type
      for (int64_t i = 0; i < p.bytes; ++i) a[static_cast<std::size_t>(p.disp + i - low)] = 0;
    int64_t bytes = 0, position = 0;
    expect_ok(pack_external_size("external32", 2, *m.type, &bytes));
    ASSERT_EQ(bytes,
              map.size());  // no type among these changes its width, but long double's padding
    Bytes packed(static_cast<std::size_t>(bytes) + 1, 0x77);
    expect_ok(
        pack_external("external32", {a.data() - low, 2, m.type}, packed.data(), bytes, &position));
    ASSERT_EQ(position, bytes);
    ASSERT_EQ(packed.back(), 0x77);
    position = 0;
    expect_ok(unpack_external("external32", packed.data(), bytes, &position,
                              {b.data() - low, 2, m.type}));
    ASSERT_EQ(a, b) << "seed " << seed;
    random.give_up(m);
  }
}

TEST(Packing, External32OfNothingEndsHoweverOftenItIs) {
  Context context;
  Type *nothing = nullptr, *often = nullptr, *mixed = nullptr;
  expect_ok(create_contiguous(context, 0, basic(MPI_INT), &nothing));
  expect_ok(create_vector({context, true}, INT64_MAX / 4, 2, 3, *nothing, &often));
  const int64_t lengths[] = {INT64_MAX / 4, 1}, disps[] = {0, 4};
  const MPI_Datatype types[] = {handle(*often), MPI_INT};
  expect_ok(create_struct(context, 2, lengths, disps, types, &mixed));
  const int in[] = {1, 2};
  unsigned char out[4];
  int64_t position = 0;
  expect_ok(pack_external("external32", {in, INT64_MAX, nothing}, out, 4, &position));
  expect_ok(pack_external("external32", {in, 3, often}, out, 4, &position));
  EXPECT_EQ(position, 0);
  expect_ok(pack_external("external32", {in, 1, mixed}, out, 4, &position));
  EXPECT_EQ(position, 4);
  EXPECT_EQ(out[3], 2);
  for (Type* type : {mixed, often, nothing}) expect_ok(free(*type));
}

TEST(Packing, CountsAndElements) {
  Context context;
  Type* t = nullptr;
  const int lengths[] = {2, 1};
  const MPI_Aint disps[] = {0, 8};
  const MPI_Datatype types[] = {MPI_INT, MPI_DOUBLE_INT};
  expect_ok(create_struct(context, 2, lengths, disps, types, &t));  // 4 + 4 + (8 + 4) bytes
  EXPECT_EQ(t->elements, 4);
  EXPECT_EQ(count_of(*t, 40), 2);
  EXPECT_EQ(count_of(*t, 41), MPI_UNDEFINED);
  const int64_t bytes[] = {0, 4, 8, 16, 20, 24, 40, 56};
  const int64_t elements[] = {0, 1, 2, 3, 4, 5, 8, 11};
  for (int i = 0; i < 8; ++i) {
    EXPECT_EQ(elements_of(*t, bytes[i]), elements[i]);
    EXPECT_EQ(bytes_of_elements(*t, elements[i]), bytes[i]);
  }
  for (const int64_t odd : {1, 5, 12, 19, 21, 30}) EXPECT_EQ(elements_of(*t, odd), MPI_UNDEFINED);
  expect_ok(free(*t));
  expect_ok(create_contiguous(context, 0, basic(MPI_INT), &t));
  EXPECT_EQ(count_of(*t, 0), 0);
  EXPECT_EQ(count_of(*t, 4), MPI_UNDEFINED);
  EXPECT_EQ(elements_of(*t, 0), 0);
  expect_ok(free(*t));
}

TEST(Packing, ElementsOfRandomTypes) {
  Context context;
  for (unsigned seed = 1; seed <= 300; ++seed) {
    RandomTypes random(context, seed);
    const Modelled m = random.make(static_cast<int>(random.pick(1, 3)));
    int64_t bytes = 0, elements = 0;
    for (int copy = 0; copy < 2; ++copy)
      for (const Piece& p : m.map.pieces) {
        bytes += p.bytes;
        ++elements;
        ASSERT_EQ(elements_of(*m.type, bytes), elements) << "seed " << seed;
        ASSERT_EQ(bytes_of_elements(*m.type, elements), bytes) << "seed " << seed;
        if (p.bytes == 1) continue;
        ASSERT_EQ(elements_of(*m.type, bytes - 1), MPI_UNDEFINED) << "seed " << seed;
      }
    random.give_up(m);
  }
}

}  // namespace
}  // namespace weft::datatype::test
