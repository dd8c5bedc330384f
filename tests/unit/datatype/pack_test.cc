// SPDX-License-Identifier: Apache-2.0
//
// pack, unpack, copy and runs against the naive model of random types, at random offsets.
#include <gtest/gtest.h>
#include <sys/uio.h>

#include <algorithm>
#include <chrono>
#include <cstring>

#include "unit/datatype/arrayed.h"
#include "unit/parallel/helping.h"
#include "unit/sanitizer.h"

namespace weft::datatype::test {
namespace {

void check_bounds(const Modelled& m) {
  ASSERT_EQ(m.type->size, m.map.size());
  ASSERT_EQ(m.type->elements, static_cast<std::int64_t>(m.map.pieces.size()));
  ASSERT_EQ(m.type->true_lb, m.map.true_lb());
  ASSERT_EQ(m.type->true_extent, m.map.true_ub() - m.map.true_lb());
  ASSERT_EQ(m.type->lb, m.map.lb());
  ASSERT_EQ(m.type->ub(), m.map.ub());
}

/// Two threads must not write the same byte, as a type that overlaps itself has them do: such types
/// are not legal to receive into (§5.1.11). One thread alone must survive them.
enum class Writers { one, several };

void check_one(Context& context, unsigned seed, Writers writers = Writers::one) {
  RandomTypes random(context, seed);
  const int depth = static_cast<int>(random.pick(1, 4));
  const Modelled element = random.make(depth);
  // small types also many times: some loops take many rounds at once
  Arrayed a(element, element.map.pieces.size() <= 6 && seed % 8 == 0 ? random.pick(60, 130)
                                                                     : random.pick(1, 3));
  commit(*a.element.type);
  check_bounds(a.element);
  a.memory = random_bytes(random, a.memory.size());
  const auto at = a.positions();
  const auto total = static_cast<std::int64_t>(at.size());
  ASSERT_EQ(a.buffer().bytes(), total);
  Bytes packed;
  for (const std::size_t i : at) packed.push_back(a.memory[i]);

  for (int part = 0; part < 12; ++part) {
    const std::int64_t offset = part == 0 ? 0 : random.pick(0, total);
    const std::int64_t max = part == 0 ? total : random.pick(0, total + 8);
    const std::int64_t n = std::min(max, total - offset);

    Bytes out(static_cast<std::size_t>(n) + 1, 0xee);
    ASSERT_EQ(pack(a.buffer(), offset, out.data(), max), n);
    ASSERT_EQ(out.back(), 0xee);
    ASSERT_TRUE(std::equal(out.begin(), out.end() - 1, packed.begin() + offset));

    // unpack writes exactly its bytes
    const Bytes in = random_bytes(random, static_cast<std::size_t>(n));
    Bytes expected = a.memory;
    for (std::int64_t i = 0; i < n; ++i)
      expected[at[static_cast<std::size_t>(offset + i)]] = in[static_cast<std::size_t>(i)];
    const Bytes saved = a.memory;
    if (writers == Writers::one || !a.map.overlaps()) unpack(a.buffer(), offset, in.data(), n);
    ASSERT_TRUE(a.map.overlaps() || a.memory == expected);
    a.memory = saved;

    struct iovec list[7];
    std::int64_t bytes = 0;
    const int found = runs(a.buffer(), offset, list, 7, &bytes);
    std::int64_t seen = 0;
    for (int i = 0; i < found; ++i) {
      ASSERT_LE(seen + static_cast<std::int64_t>(list[i].iov_len), total - offset);
      ASSERT_EQ(0, std::memcmp(list[i].iov_base, packed.data() + offset + seen, list[i].iov_len));
      seen += static_cast<std::int64_t>(list[i].iov_len);
    }
    ASSERT_EQ(seen, bytes);
    ASSERT_TRUE(bytes == total - offset || found == 7);
  }

  // copy into another type of enough bytes
  Arrayed b(random.make(static_cast<int>(random.pick(1, 4))), 1);
  commit(*b.element.type);
  const auto into = b.positions();
  const auto n = std::min(total, static_cast<std::int64_t>(into.size()));
  Bytes expected = b.memory;
  for (std::size_t i = 0; i < static_cast<std::size_t>(n); ++i) expected[into[i]] = packed[i];
  if (writers == Writers::one || !b.map.overlaps()) copy(a.buffer(), b.buffer(), n);
  ASSERT_TRUE(b.map.overlaps() || b.memory == expected);

  // and into another element of the same type
  Arrayed c(a.element, a.count);
  expected = c.memory;
  for (std::size_t i = 0; i < at.size(); ++i) expected[at[i]] = packed[i];
  if (writers == Writers::one || !a.map.overlaps()) copy(a.buffer(), c.buffer(), total);
  ASSERT_TRUE(a.map.overlaps() || c.memory == expected);
  random.give_up(a.element);
  random.give_up(b.element);
}

TEST(Pack, AgreesWithNaiveWalkerOnRandomTypes) {
  Context context;
  for (unsigned seed = 1; seed <= 600; ++seed) {
    check_one(context, seed);
    ASSERT_FALSE(HasFatalFailure()) << "seed " << seed;
    ASSERT_EQ(context.types.live(), 0u) << "seed " << seed;
  }
}

using Clock = std::chrono::steady_clock;
/// On a busy machine a helper may come late.
bool is_patient(Clock::time_point since) {
  return Clock::now() - since < std::chrono::seconds(30);
}

/// Every pack, unpack and copy in up to 64 parts, of a byte each if it has no more, by several
/// threads.
TEST(Pack, AgreesWithNaiveWalkerInPartsByAnyThreads) {
  Context context;
  for (int helpers : {0, 1, 3}) {
    if (weft::test::under_thread_sanitizer && helpers == 0) continue;
    const parallel::test::AllJobsOffered offered(helpers);
    const auto start = Clock::now();
    const auto is_unhelped = [&] { return helpers > 0 && offered.given() == 0; };
    const FuzzTime time;
    for (unsigned seed = 1; seed <= 300 || time.is_left() || (is_unhelped() && is_patient(start));
         ++seed) {
      check_one(context, seed, Writers::several);
      ASSERT_FALSE(HasFatalFailure()) << "seed " << seed << ", helpers " << helpers;
    }
    EXPECT_EQ(offered.given() > 0, helpers > 0);
  }
}

/// A plane of a 3D array is a loop of vectors: parts begin within a vector, and within a block.
TEST(Pack, PlanesInPartsByAnyThreads) {
  const parallel::test::AllJobsOffered offered(2);
  Context context;
  Type *row = nullptr, *plane = nullptr;
  constexpr std::int64_t nx = 3, ny = 50, nz = 70, element = 8;
  expect_ok(create_vector(context, ny, 1, nx, *predefined(0x214), &row));
  expect_ok(create_hvector(context, nz, 1, nx * ny * element, *row, &plane));
  commit(*plane);
  ASSERT_EQ(plane->size, ny * nz * element);
  Bytes array(nx * ny * nz * element), out(static_cast<std::size_t>(plane->size));
  for (std::size_t i = 0; i < array.size(); ++i)
    array[i] = static_cast<unsigned char>(i * 7 + i / 256);
  const auto start = Clock::now();
  for (int round = 0; round < 50 || (offered.given() == 0 && is_patient(start)); ++round) {
    std::fill(out.begin(), out.end(), 0);
    pack({array.data(), 1, plane}, 0, out.data(), plane->size);
    for (std::int64_t i = 0; i < ny * nz; ++i)
      ASSERT_EQ(0, std::memcmp(&out[static_cast<std::size_t>(i * element)],
                               &array[static_cast<std::size_t>(i * nx * element)], element));
  }
  EXPECT_GT(offered.given(), 0U);
  expect_ok(free(*row));
  expect_ok(free(*plane));
}

Modelled make_vector(Context& context, std::int64_t count, std::int64_t length,
                     std::int64_t stride) {
  Type* out = nullptr;
  expect_ok(create_vector(context, count, length, stride, *predefined(0x208), &out));
  commit(*out);
  Map map;
  for (std::int64_t i = 0; i < count; ++i)
    for (std::int64_t k = 0; k < length; ++k) map.pieces.push_back({2 * (i * stride + k), 2});
  map.align = 2;
  return {out, map};
}

TEST(Pack, CopiesBetweenVectorsOfAnyBlockLengths) {
  Context context;
  RandomTypes random(context, 7);
  for (const std::int64_t from_length : {1, 2, 3, 4, 6, 8, 12, 24})
    for (const std::int64_t to_length : {1, 2, 3, 4, 6, 8, 12, 24})
      for (const std::int64_t count : {1, 2, 5}) {
        Arrayed a(make_vector(context, 24 * count / from_length, from_length, from_length + 2), 1);
        Arrayed b(make_vector(context, 24 * count / to_length, to_length, to_length + 3), 1);
        a.memory = random_bytes(random, a.memory.size());
        Bytes expected = b.memory;
        const auto from = a.positions(), to = b.positions();
        const auto bytes = static_cast<std::size_t>(48 * count - random.pick(0, 5));
        for (std::size_t i = 0; i < bytes; ++i) expected[to[i]] = a.memory[from[i]];
        copy(a.buffer(), b.buffer(), static_cast<std::int64_t>(bytes));
        ASSERT_EQ(b.memory, expected) << from_length << " to " << to_length << " times " << count;
        random.give_up(a.element);
        random.give_up(b.element);
      }
}

}  // namespace
}  // namespace weft::datatype::test
