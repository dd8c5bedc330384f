// SPDX-License-Identifier: Apache-2.0
// Topologies (MPI-5.0 chapter 8): grids, graphs, MPI_Dims_create.
#include "object/topology.h"

#include <gtest/gtest.h>

#include <numeric>

#include "object/group.h"
#include "object/store.h"

namespace weft::object {
namespace {

std::vector<int> list(std::span<const int> s) {
  return {s.begin(), s.end()};
}

std::vector<int> dims(int nnodes, std::vector<int> given) {
  const Err err = create_dims(nnodes, given);
  if (err) return {-err.cls};
  return given;
}

TEST(Dims, SmallExamples) {
  EXPECT_EQ(dims(6, {0, 0}), (std::vector{3, 2}));
  EXPECT_EQ(dims(7, {0, 0}), (std::vector{7, 1}));
  EXPECT_EQ(dims(6, {0, 3, 0}), (std::vector{2, 3, 1}));
  EXPECT_EQ(dims(7, {0, 3, 0}), (std::vector{-MPI_ERR_DIMS}));
  EXPECT_EQ(dims(12, {0, 0, 0}), (std::vector{3, 2, 2}));
  EXPECT_EQ(dims(64, {0, 0, 0}), (std::vector{4, 4, 4}));
  EXPECT_EQ(dims(1, {0, 0, 0}), (std::vector{1, 1, 1}));
  EXPECT_EQ(dims(6, {2, 3}), (std::vector{2, 3}));
  EXPECT_EQ(dims(1, {}), (std::vector<int>{}));
  EXPECT_EQ(dims(0, {0}), (std::vector{-MPI_ERR_ARG}));
  EXPECT_EQ(dims(6, {-1, 0}), (std::vector{-MPI_ERR_DIMS}));
  EXPECT_EQ(dims(8, {2, 3}), (std::vector{-MPI_ERR_DIMS}));
}

TEST(Dims, AlwaysAProductInNonIncreasingOrder) {
  for (int n = 1; n <= 3000; ++n)
    for (std::size_t d = 1; d <= 4; ++d) {
      const std::vector<int> got = dims(n, std::vector<int>(d, 0));
      ASSERT_EQ(std::accumulate(got.begin(), got.end(), 1, std::multiplies<>()), n);
      ASSERT_TRUE(std::is_sorted(got.rbegin(), got.rend())) << n;
      if (d == 2) {  // no better pair: nothing divides between the root and the larger factor
        for (int k = got[0] - 1; k * k >= n; --k) ASSERT_NE(n % k, 0) << n;
      }
    }
}

/// All non-increasing factorizations of n into what is left of `found`.
void factorizations(int n, std::size_t left, std::vector<int> found,
                    std::vector<std::vector<int>>* all) {
  if (left == 0) {
    if (n == 1) all->push_back(found);
    return;
  }
  for (int d = 1; d <= n && (found.empty() || d <= found.back()); ++d) {
    if (n % d != 0) continue;
    found.push_back(d);
    factorizations(n / d, left - 1, found, all);
    found.pop_back();
  }
}

TEST(Dims, AsCloseToEachOtherAsPossible) {
  EXPECT_EQ(dims(19008, {0, 0, 0}), (std::vector{33, 24, 24}));  // not 32 x 27 x 22
  EXPECT_EQ(dims(5040, {0, 0, 0}), (std::vector{21, 16, 15}));
  for (int n = 1; n <= 1000; ++n)
    for (std::size_t d = 1; d <= 4; ++d) {
      const std::vector<int> got = dims(n, std::vector<int>(d, 0));
      std::vector<std::vector<int>> all;
      factorizations(n, d, {}, &all);
      for (const std::vector<int>& other : all)
        ASSERT_LE(got.front() - got.back(), other.front() - other.back()) << n;
    }
}

TEST(Dims, LargeNumbersAreFast) {
  EXPECT_EQ(dims(2147483647, {0, 0, 0}), (std::vector{2147483647, 1, 1}));
  const std::vector<int> got = dims(735134400, std::vector<int>(8, 0));
  EXPECT_EQ(std::accumulate(got.begin(), got.end(), 1LL, std::multiplies<>()), 735134400);
  EXPECT_EQ(dims(1 << 30, std::vector<int>(10, 0)), std::vector<int>(10, 8));
}

/// A communicator with a topology but without an engine: enough for queries.
class Grid : public testing::Test {
 protected:
  ~Grid() override {
    if (comm_.group != nullptr) store.groups.destroy(comm_.group);
  }
  Comm& comm(int size, int rank, Topology topology) {
    comm_.group = make_group(store, std::vector<std::int32_t>(static_cast<std::size_t>(size)));
    comm_.rank = rank;
    topology_ = std::move(topology);
    settle(topology_, rank);
    comm_.topology = &topology_;
    return comm_;
  }
  Comm& grid(std::vector<int> extents, std::vector<int> periods, int rank) {
    Topology t;
    t.what = MPI_CART;
    t.dims = std::move(extents);
    t.periods = std::move(periods);
    return comm(64, rank, std::move(t));
  }
  Store store;
  Comm comm_;
  Topology topology_;
};

TEST_F(Grid, RanksAndCoordinatesAreRowMajor) {
  Comm& c = grid({2, 3, 4}, {0, 0, 0}, 17);
  int rank = 0;
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 3; ++j)
      for (int k = 0; k < 4; ++k, ++rank) {
        const int coords[] = {i, j, k};
        int got_rank = -1, got[3];
        ASSERT_FALSE(cart_rank(c, coords, &got_rank));
        EXPECT_EQ(got_rank, rank);
        ASSERT_FALSE(cart_coords(c, rank, 3, got));
        EXPECT_EQ(std::vector<int>(got, got + 3), (std::vector{i, j, k}));
      }
  int few[1];
  EXPECT_EQ(cart_coords(c, 0, 1, few).cls, MPI_ERR_ARG);
  EXPECT_EQ(cart_coords(c, 99, 3, few).cls, MPI_ERR_RANK);
}

TEST_F(Grid, PeriodicDimensionsWrap) {
  Comm& c = grid({3, 4}, {1, 0}, 5);  // (1, 1)
  int rank = -1;
  const int below[] = {-1, 2}, far[] = {7, 0}, outside[] = {0, 4};
  ASSERT_FALSE(cart_rank(c, below, &rank));
  EXPECT_EQ(rank, 10);
  ASSERT_FALSE(cart_rank(c, far, &rank));
  EXPECT_EQ(rank, 4);
  EXPECT_EQ(cart_rank(c, outside, &rank).cls, MPI_ERR_ARG);
  int source = 0, dest = 0;
  ASSERT_FALSE(cart_shift(c, 0, 1, &source, &dest));
  EXPECT_EQ(source, 1);
  EXPECT_EQ(dest, 9);
  ASSERT_FALSE(cart_shift(c, 0, 2147483647, &source, &dest));  // = 1 modulo 3
  EXPECT_EQ(dest, 9);
  ASSERT_FALSE(cart_shift(c, 1, -2, &source, &dest));
  EXPECT_EQ(source, 7);
  EXPECT_EQ(dest, MPI_PROC_NULL);
  EXPECT_EQ(cart_shift(c, 2, 1, &source, &dest).cls, MPI_ERR_ARG);
  Neighbors n;
  ASSERT_FALSE(neighbors(c, &n));
  EXPECT_EQ(list(n.sources), (std::vector{1, 9, 4, 6}));
  EXPECT_EQ(list(n.destinations), list(n.sources));
  EXPECT_TRUE(n.grid);
}

TEST_F(Grid, ZeroDimensionsAreOnePoint) {
  Comm& c = grid({}, {}, 0);
  int n = -1, rank = -1;
  ASSERT_FALSE(cartdim_get(c, &n));
  EXPECT_EQ(n, 0);
  ASSERT_FALSE(cart_rank(c, nullptr, &rank));
  EXPECT_EQ(rank, 0);
  EXPECT_FALSE(grid_size({}, 4, &n));
  EXPECT_EQ(n, 1);
}

TEST_F(Grid, SizesAreChecked) {
  int n = 0;
  const int fits[] = {2, 3}, large[] = {3, 3}, zero[] = {0, 3}, huge[] = {65536, 65536, 65536};
  EXPECT_FALSE(grid_size(fits, 8, &n));
  EXPECT_EQ(n, 6);
  EXPECT_EQ(grid_size(large, 8, &n).cls, MPI_ERR_DIMS);
  EXPECT_EQ(grid_size(zero, 8, &n).cls, MPI_ERR_DIMS);
  EXPECT_EQ(grid_size(huge, 8, &n).cls, MPI_ERR_DIMS);
}

TEST_F(Grid, GraphNeighbours) {
  Topology t;  // the example of MPI_Graph_create: 0-1, 0-3, 1-0, 2-3, 3-0, 3-2
  t.what = MPI_GRAPH;
  t.index = {2, 3, 4, 6};
  t.edges = {1, 3, 0, 3, 0, 2};
  Comm& c = comm(4, 3, std::move(t));
  int count = 0, found[2], nodes = 0, edges = 0;
  ASSERT_FALSE(graph_neighbors_count(c, 0, &count));
  EXPECT_EQ(count, 2);
  ASSERT_FALSE(graph_neighbors(c, 3, 2, found));
  EXPECT_EQ(found[0], 0);
  EXPECT_EQ(found[1], 2);
  EXPECT_EQ(graph_neighbors(c, 3, 1, found).cls, MPI_ERR_ARG);
  ASSERT_FALSE(graphdims_get(c, &nodes, &edges));
  EXPECT_EQ(nodes, 4);
  EXPECT_EQ(edges, 6);
  EXPECT_EQ(cartdim_get(c, &nodes).cls, MPI_ERR_TOPOLOGY);
  Neighbors n;
  ASSERT_FALSE(neighbors(c, &n));
  EXPECT_EQ(list(n.destinations), (std::vector{0, 2}));
  EXPECT_FALSE(n.grid);
  const int bad_edges[] = {4}, index[] = {1}, falling[] = {1, 0};
  EXPECT_EQ(check_graph(1, index, bad_edges, 4).cls, MPI_ERR_ARG);
  EXPECT_EQ(check_graph(2, falling, bad_edges, 4).cls, MPI_ERR_ARG);
  EXPECT_EQ(check_graph(5, {}, nullptr, 4).cls, MPI_ERR_ARG);
}

TEST_F(Grid, NeighborhoodsNeedEdgesBothWays) {
  const auto graph = [&](std::vector<int> index, std::vector<int> edges) {
    Topology t;
    t.what = MPI_GRAPH;
    t.index = std::move(index);
    t.edges = std::move(edges);
    Neighbors n;
    return neighbors(comm(3, 0, std::move(t)), &n).cls;
  };
  EXPECT_EQ(graph({1, 2, 2}, {1, 0}), MPI_SUCCESS);
  EXPECT_EQ(graph({1, 1, 1}, {1}), MPI_ERR_TOPOLOGY);
  EXPECT_EQ(graph({2, 3, 3}, {1, 1, 0}), MPI_ERR_TOPOLOGY) << "two there, one back";
  EXPECT_EQ(graph({0, 1, 1}, {2}), MPI_ERR_TOPOLOGY) << "of others: all ranks say the same";
  EXPECT_EQ(graph({3, 5, 5}, {0, 1, 1, 0, 0}), MPI_SUCCESS) << "a loop, and two edges";
  comm(3, 0, {}).topology = nullptr;
  Neighbors n;
  EXPECT_EQ(neighbors(comm_, &n).cls, MPI_ERR_TOPOLOGY);
}

}  // namespace
}  // namespace weft::object
