// SPDX-License-Identifier: Apache-2.0
// Communicators with a topology (MPI-5.0 §8.5): who is in them, and who is whose neighbour.
#include "object/topology.h"

#include <algorithm>

#include "unit/world/ranks.h"
#include "world/comms.h"

namespace weft::world {
namespace {

class Topologies : public testing::TestWithParam<int> {
 protected:
  template <class Body>
  void run(Body body) {
    run_ranks(GetParam(), [&](Rank& rank) {
      body(rank, *rank.store.comm_world);
      EXPECT_EQ(rank.store.comms.live(), 2u) << "communicators were lost";
    });
  }
};
INSTANTIATE_TEST_SUITE_P(Sizes, Topologies, testing::Values(1, 2, 4, 6, 7),
                         testing::PrintToStringParamName());

std::vector<int> list(std::span<const int> s) {
  return {s.begin(), s.end()};
}

void free_comm(Rank& rank, MPI_Comm handle) {
  EXPECT_FALSE(comm_free(*rank.store.comm(handle), &handle));
}

TEST_P(Topologies, GridsAndTheirRows) {
  run([](Rank& rank, Comm& world) {
    const int p = world.size(), rows = p / 2 > 0 ? p / 2 : 1, columns = p > 1 ? 2 : 1;
    const int dims[] = {rows, columns}, periods[] = {0, 7};
    MPI_Comm handle, row;
    ASSERT_FALSE(cart_create(world, dims, periods, false, &handle));
    if (world.rank >= rows * columns) {
      EXPECT_EQ(handle, MPI_COMM_NULL) << "more ranks than points of the grid";
      return;
    }
    Comm& grid = *rank.store.comm(handle);
    EXPECT_EQ(grid.size(), rows * columns);
    int got_dims[2], got_periods[2], coords[2];
    ASSERT_FALSE(object::cart_get(grid, 2, got_dims, got_periods, coords));
    EXPECT_EQ(got_dims[0], rows);
    EXPECT_EQ(got_periods[1], 1) << "any true value is 1";
    EXPECT_EQ(coords[0] * columns + coords[1], grid.rank);

    const int keep_columns[] = {0, 1}, keep_none[] = {0, 0};
    ASSERT_FALSE(cart_sub(grid, keep_columns, &row));
    Comm& mine = *rank.store.comm(row);
    EXPECT_EQ(mine.size(), columns);
    EXPECT_EQ(mine.rank, coords[1]);
    EXPECT_EQ(mine.group->members[0], coords[0] * columns);
    EXPECT_EQ(mine.topology->dims, std::vector{columns});
    free_comm(rank, row);
    ASSERT_FALSE(cart_sub(grid, keep_none, &row));
    EXPECT_EQ(rank.store.comm(row)->size(), 1);
    EXPECT_TRUE(rank.store.comm(row)->topology->dims.empty());
    free_comm(rank, row);
    // A duplicate has the topology too.
    ASSERT_FALSE(comm_dup(grid, &row));
    EXPECT_EQ(object::topology_of(*rank.store.comm(row)), MPI_CART);
    free_comm(rank, row);
    free_comm(rank, handle);
  });
}

TEST_P(Topologies, NoDimensionsAndTooMany) {
  run([](Rank& rank, Comm& world) {
    MPI_Comm handle;
    ASSERT_FALSE(cart_create(world, {}, nullptr, false, &handle));
    EXPECT_EQ(handle == MPI_COMM_NULL, world.rank != 0);
    if (handle != MPI_COMM_NULL) free_comm(rank, handle);
    const int dims[] = {world.size() + 1}, periods[] = {0};
    EXPECT_EQ(cart_create(world, dims, periods, false, &handle).cls, MPI_ERR_DIMS);
  });
}

TEST_P(Topologies, GraphOfARing) {
  run([](Rank& rank, Comm& world) {
    const int p = world.size();
    std::vector<int> index, edges;
    for (int i = 0; i < p; ++i) {
      edges.push_back((i + p - 1) % p);
      edges.push_back((i + 1) % p);
      index.push_back(2 * (i + 1));
    }
    MPI_Comm handle;
    ASSERT_FALSE(graph_create(world, p, index.data(), edges.data(), &handle));
    object::Neighbors found;
    ASSERT_FALSE(object::neighbors(*rank.store.comm(handle), &found));
    EXPECT_EQ(list(found.sources), (std::vector{(world.rank + p - 1) % p, (world.rank + 1) % p}));
    free_comm(rank, handle);
    ASSERT_FALSE(graph_create(world, 0, nullptr, nullptr, &handle));
    EXPECT_EQ(handle, MPI_COMM_NULL);
  });
}

TEST_P(Topologies, DistributedGraphsSayTheSameInBothForms) {
  run([](Rank& rank, Comm& world) {
    // Every rank sends to the next two; rank 0 alone knows all edges.
    const int p = world.size(), r = world.rank;
    std::vector<int> sources, degrees, destinations, weights;
    if (r == 0)
      for (int i = 0; i < p; ++i) {
        sources.push_back(i);
        degrees.push_back(2);
        for (const int step : {1, 2}) {
          destinations.push_back((i + step) % p);
          weights.push_back(10 * i + step);
        }
      }
    const int* given = r == 0 ? weights.data() : MPI_WEIGHTS_EMPTY;
    MPI_Comm handle, adjacent;
    ASSERT_FALSE(
        dist_graph_create(world, sources, degrees.data(), destinations.data(), given, &handle));
    Comm& graph = *rank.store.comm(handle);
    int indegree = 0, outdegree = 0, weighted = 0;
    ASSERT_FALSE(object::dist_graph_neighbors_count(graph, &indegree, &outdegree, &weighted));
    EXPECT_EQ(indegree, 2);
    EXPECT_EQ(outdegree, 2);
    EXPECT_TRUE(weighted);
    int from[2], from_weights[2], to[2], to_weights[2];
    ASSERT_FALSE(object::dist_graph_neighbors(graph, 2, from, from_weights, 2, to, to_weights));
    for (int i = 0; i < 2; ++i) {
      EXPECT_EQ(to[i], (r + i + 1) % p);
      EXPECT_EQ(to_weights[i], 10 * r + i + 1);
      const int step = from_weights[i] % 10;
      EXPECT_EQ(from_weights[i] / 10, from[i]);
      EXPECT_EQ((from[i] + step) % p, r);
    }
    ASSERT_FALSE(
        dist_graph_create_adjacent(world, {from, MPI_UNWEIGHTED}, {to, MPI_UNWEIGHTED}, &adjacent));
    Comm& second = *rank.store.comm(adjacent);
    EXPECT_EQ(second.topology->sources, graph.topology->sources);
    EXPECT_EQ(second.topology->destinations, graph.topology->destinations);
    EXPECT_FALSE(second.topology->weighted);
    free_comm(rank, adjacent);
    free_comm(rank, handle);
    const int wrong[] = {p};
    EXPECT_EQ(
        dist_graph_create_adjacent(world, {wrong, MPI_UNWEIGHTED}, {{}, MPI_UNWEIGHTED}, &handle)
            .cls,
        MPI_ERR_RANK);
  });
}

}  // namespace
}  // namespace weft::world
