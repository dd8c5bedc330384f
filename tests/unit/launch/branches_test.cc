// SPDX-License-Identifier: Apache-2.0
#include "launch/branches.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "coll/limits.h"
#include "launch/options.h"
#include "launch/order.h"
#include "launch/packing.h"

namespace weft::launch {
namespace {

/// Starts every host of the row once, as mpiexec and agents do; returns how deep the tree is.
int grow(Row row, int width, std::vector<int>& started) {
  int depth = 0;
  const std::vector<Row> all = parts(row, width);
  EXPECT_LE(static_cast<int>(all.size()), width);
  for (const Row& part : all) {
    ++started[static_cast<std::size_t>(part.first)];
    depth = std::max(depth, 1 + grow({part.first + 1, part.count - 1}, width, started));
  }
  return depth;
}

TEST(Branches, start_each_host_once) {
  for (const int width : {1, 2, 3, 32})
    for (const int hosts : {1, 2, 3, 9, 32, 33, 100, 1000}) {
      std::vector<int> started(static_cast<std::size_t>(hosts));
      const int depth = grow({0, hosts}, width, started);
      EXPECT_EQ(std::count(started.begin(), started.end(), 1), hosts);
      int reach = 0, generation = 1;  // hosts of a full tree of that depth
      for (int d = 1; d < depth && reach < hosts; ++d) reach += generation *= width;
      EXPECT_LT(reach, hosts) << width << " " << hosts << ": the tree is deeper than it must be";
    }
}

TEST(Branches, parts_are_as_equal_as_can_be) {
  const std::vector<Row> all = parts({5, 8}, 3);
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[0].first, 5);
  EXPECT_EQ(all[0].count, 3);
  EXPECT_EQ(all[1].first, 8);
  EXPECT_EQ(all[1].count, 3);
  EXPECT_EQ(all[2].first, 11);
  EXPECT_EQ(all[2].count, 2);
  EXPECT_TRUE(parts({5, 0}, 3).empty());
}

TEST(Branches, wrap_frames) {
  const Unwrapped inner = unwrapped(wrapped(7, FrameKind::output, "text"));
  EXPECT_EQ(inner.node, 7);
  EXPECT_EQ(inner.frame.kind, FrameKind::output);
  EXPECT_EQ(inner.frame.payload, "text");
}

TEST(Branches, addresses_for_all_are_as_long_as_weft_simulate_says) {
  Addresses all;
  for (std::int32_t rank = 0; rank < 7; ++rank) all.emplace_back(rank, std::string(40, 'x'));
  const std::string frame =
      framed(FrameKind::for_all, wrapped(3, FrameKind::addresses, packed(all)));
  EXPECT_EQ(static_cast<std::int64_t>(frame.size()),
            coll::addresses_frame_bytes + 7 * (coll::address_head_bytes + 40));
}

TEST(Branches, refuse_what_is_not_one_frame) {
  const std::string good = wrapped(7, FrameKind::output, "text");
  for (const std::string& bad :
       {std::string(), std::string("abc"), good.substr(0, good.size() - 1), good + "x",
        good + framed(FrameKind::beat), wrapped(7, FrameKind::relayed, good),
        wrapped(7, FrameKind::for_all, good), std::string("\0\0\0\0GET / HTTP", 14)})
    EXPECT_THROW(unwrapped(bad), Failure) << bad.size();
}

}  // namespace
}  // namespace weft::launch
