// SPDX-License-Identifier: Apache-2.0
#include "pt2pt/row_trial.h"

#include <gtest/gtest.h>

namespace weft::pt2pt {
namespace {

constexpr double far_ns = 10;

/// `pieces` to a peer where a line takes so long in each place; how many go through the ring.
int run(RowTrial& row, int pieces, double in_fragments, double in_ring) {
  int through_ring = 0;
  for (int i = 0; i < pieces; ++i) {
    const auto place = row.place();
    through_ring += place == RowTrial::ring;
    const bool far = row.line_ns(place) > far_ns;
    if (row.count(far)) row.took(place == RowTrial::ring ? in_ring : in_fragments, far_ns);
    row.next(far);
  }
  return through_ring;
}

TEST(RowTrial, TakesThePlaceThatTakesLess) {
  RowTrial row;
  run(row, 4 * look_pieces, 3, 1);
  EXPECT_EQ(row.place(), RowTrial::ring);
  run(row, 2 * pieces_between_looks, 1, 3);  // the machine has changed
  EXPECT_EQ(row.place(), RowTrial::fragments);
}

TEST(RowTrial, LooksLessThanThreePercentOfTheTime) {
  RowTrial row;
  run(row, 4 * look_pieces, 1, 1);
  EXPECT_EQ(row.place(), RowTrial::fragments) << "without a difference there is no change";
  constexpr int pieces = 20 * static_cast<int>(pieces_between_looks);
  const int looked = run(row, pieces, 1, 2);
  EXPECT_GT(looked, 0);
  EXPECT_LT(looked, pieces * 0.03);
}

TEST(RowTrial, LooksAtOnceIfALineTakesMuchMore) {
  RowTrial row;
  run(row, 4 * look_pieces, 1, 1.5);
  ASSERT_EQ(row.place(), RowTrial::fragments);
  run(row, 4 * look_pieces, 4, 2);
  EXPECT_EQ(row.place(), RowTrial::ring);
}

TEST(RowTrial, AFarPeerIsWrittenToInFragments) {
  RowTrial row;
  run(row, 4 * look_pieces, 3, 1);
  ASSERT_EQ(row.place(), RowTrial::ring);
  run(row, 4 * look_pieces, 30, 20);  // now it is far
  EXPECT_EQ(row.place(), RowTrial::fragments);
  EXPECT_GT(row.line_ns(RowTrial::fragments), far_ns);
  EXPECT_EQ(run(row, 2 * pieces_between_looks, 30, 20), 0);
}

}  // namespace
}  // namespace weft::pt2pt
