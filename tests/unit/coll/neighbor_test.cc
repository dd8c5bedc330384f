// SPDX-License-Identifier: Apache-2.0
//
// Neighborhood algorithms, simulated for 1 to 17 ranks: a ring, where what goes down arrives from
// above, and a graph with parallel edges, which match in order.
#include "unit/coll/simulator.h"

namespace weft::coll::sim {
namespace {

using Ranks = std::vector<int>;
struct Sides {
  Ranks sources, destinations;
};

Sides ring(int r, int p) {
  const Ranks both{(r + p - 1) % p, (r + 1) % p};
  return {both, both};
}
Sides graph(int r, int p) {  // to the next, twice, and to the third
  const int before = (r + p - 1) % p, third = (r + 3 * p - 3) % p;
  return {{third, before, before}, {(r + 1) % p, (r + 1) % p, (r + 3) % p}};
}

/// Which block of `source` arrives in block `i` of rank `to`: of several between two ranks the n-th
/// is the n-th.
int sent_block(const Sides& source, const Sides& to, int i, int rank) {
  const auto at = to.sources.begin() + i;
  auto n = std::count(to.sources.begin(), at, *at);
  for (int k = 0;; ++k)
    if (source.destinations[static_cast<std::size_t>(k)] == rank && n-- == 0) return k;
}

int value(int from, int block, std::int64_t i) {
  return from * 1'000'000 + block * 10'000 + static_cast<int>(i) * 10;
}

/// `gather`: everybody gets the sender's block 0.
void test(bool grid, bool gather) {
  const auto sides = [&](int r, int p) { return grid ? ring(r, p) : graph(r, p); };
  for (int p = 1; p <= max_ranks; ++p)
    for (const std::int64_t count : {0, 1, 20})
      for (const Words* words : all_types())
        for (const Way way : both_ways) {
          SCOPED_TRACE(testing::Message() << p << " ranks, " << count << " x " << words->name);
          const int blocks = grid ? 2 : 3;
          Simulator sim(p, {words});
          std::vector<Array> send, got, want;
          std::vector<Sides> all;
          for (int r = 0; r < p; ++r) all.push_back(sides(r, p));
          for (int r = 0; r < p; ++r) {
            send.emplace_back(*words, count * blocks);
            got.emplace_back(*words, count * blocks);
            want.emplace_back(*words, count * blocks);
            for (int b = 0; b < blocks; ++b) {
              const Sides& mine = all[static_cast<std::size_t>(r)];
              const int from = mine.sources[static_cast<std::size_t>(b)];
              const int k =
                  grid ? 1 - b : sent_block(all[static_cast<std::size_t>(from)], mine, b, r);
              for (std::int64_t i = 0; i < count; ++i) {
                send.back().set(b * count + i, value(r, b, i));
                want.back().set(b * count + i, value(from, gather ? 0 : k, i));
              }
            }
          }
          for (std::size_t r = 0; r < send.size(); ++r) {
            const object::Neighbors n{all[r].sources, all[r].destinations, grid};
            Schedule& s = sim.schedule(static_cast<int>(r));
            const Blocks into(got[r].buffer(0, count));
            if (gather)
              neighbor_allgather_direct(s, send[r].buffer(0, count), into, n);
            else
              neighbor_alltoall_direct(s, Blocks(send[r].buffer(0, count)), into, n);
          }
          const double time = sim.run(way, {1, 0, 0});
          if (way == Way::eager) {
            EXPECT_EQ(time, count == 0 ? 0 : blocks) << "one message per edge";
          }
          for (std::size_t r = 0; r < got.size(); ++r) ASSERT_TRUE(got[r] == want[r]) << r;
        }
}

TEST(Neighbor, AlltoallOnARing) {
  test(true, false);
}
TEST(Neighbor, AllgatherOnARing) {
  test(true, true);
}
TEST(Neighbor, AlltoallInAGraph) {
  test(false, false);
}
TEST(Neighbor, AllgatherInAGraph) {
  test(false, true);
}

}  // namespace
}  // namespace weft::coll::sim
