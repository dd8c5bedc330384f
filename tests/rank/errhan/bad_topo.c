// SPDX-License-Identifier: Apache-2.0
// Wrong arguments of topologies and neighborhood collectives, made by all ranks alike; and what a
// rank without neighbors need not pass.
#include "bad.h"

int main(int argc, char** argv) {
  start_returning(&argc, &argv);
  int a[8] = {0}, b[8], one[2] = {1, 1}, less[2] = {1, -4}, at[2] = {0, 1};
  MPI_Aint far[2] = {0, 4};
  MPI_Datatype ints[2] = {MPI_INT, MPI_INT}, bad[2] = {MPI_INT, MPI_DATATYPE_NULL};
  MPI_Request request;
  const MPI_Comm world = MPI_COMM_WORLD;
  BAD(MPI_Neighbor_allgather(a, 1, MPI_INT, b, 1, MPI_INT, world), MPI_ERR_TOPOLOGY, "no topology");
  BAD(MPI_Neighbor_allgatherv(a, 1, MPI_INT, b, one, at, MPI_INT, world), MPI_ERR_TOPOLOGY,
      "MPI_Cart_create");
  BAD(MPI_Neighbor_alltoall(a, 1, MPI_INT, b, 1, MPI_INT, world), MPI_ERR_TOPOLOGY, "no topology");
  BAD(MPI_Neighbor_alltoallv(a, one, at, MPI_INT, b, one, at, MPI_INT, world), MPI_ERR_TOPOLOGY,
      "no topology");
  BAD(MPI_Neighbor_alltoallw(a, one, far, ints, b, one, far, ints, world), MPI_ERR_TOPOLOGY,
      "no topology");
  BAD(MPI_Ineighbor_alltoall(a, 1, MPI_INT, b, 1, MPI_INT, world, &request), MPI_ERR_TOPOLOGY,
      "no topology");
  BAD(MPI_Neighbor_alltoall_init(a, 1, MPI_INT, b, 1, MPI_INT, world, MPI_INFO_NULL, &request),
      MPI_ERR_TOPOLOGY, "no topology");
  BAD(MPI_Neighbor_alltoall_c(a, 1, MPI_INT, b, 1, MPI_INT, MPI_COMM_NULL), MPI_ERR_COMM,
      "MPI_COMM_NULL");

  MPI_Comm ring, graph;
  const int periodic = 1;
  OK(MPI_Cart_create(world, 1, &size, &periodic, 0, &ring));
  BAD(MPI_Neighbor_allgather(MPI_IN_PLACE, 1, MPI_INT, b, 1, MPI_INT, ring), MPI_ERR_BUFFER,
      "sendbuf", "MPI_IN_PLACE");
  BAD(MPI_Neighbor_alltoall(a, 1, MPI_INT, MPI_IN_PLACE, 1, MPI_INT, ring), MPI_ERR_BUFFER,
      "recvbuf", "MPI_IN_PLACE");
  BAD(MPI_Neighbor_allgather(a, -3, MPI_INT, b, 1, MPI_INT, ring), MPI_ERR_COUNT, "-3");
  BAD(MPI_Neighbor_allgather(NULL, 1, MPI_INT, b, 1, MPI_INT, ring), MPI_ERR_BUFFER, "null");
  BAD(MPI_Neighbor_alltoall(a, 1, MPI_INT, b, 1, MPI_DATATYPE_NULL, ring), MPI_ERR_TYPE,
      "MPI_DATATYPE_NULL");
  BAD(MPI_Neighbor_allgatherv(a, 1, MPI_INT, b, less, at, MPI_INT, ring), MPI_ERR_COUNT,
      "recvcounts[1]", "-4");
  BAD(MPI_Neighbor_alltoallv(a, less, at, MPI_INT, b, one, at, MPI_INT, ring), MPI_ERR_COUNT,
      "sendcounts[1]", "-4");
  BAD(MPI_Neighbor_alltoallv(a, NULL, at, MPI_INT, b, one, at, MPI_INT, ring), MPI_ERR_ARG,
      "sendcounts", "null");
  BAD(MPI_Neighbor_alltoallw(a, one, far, bad, b, one, far, ints, ring), MPI_ERR_TYPE,
      "sendtypes[1]");
  OK(MPI_Neighbor_alltoall(a, 1, MPI_INT, b, 1, MPI_INT, ring));  // it still works

  int n, m;
  BAD(MPI_Cart_rank(ring, NULL, &n), MPI_ERR_ARG, "coords", "null");
  BAD(MPI_Cart_sub(ring, NULL, &graph), MPI_ERR_ARG, "remain_dims", "null");
  BAD(MPI_Cart_shift(ring, 1, 1, &n, &m), MPI_ERR_ARG, "direction is 1");
  BAD(MPI_Cart_coords(ring, size, 1, &n), MPI_ERR_RANK, "rank");
  BAD(MPI_Cart_coords(ring, 0, 0, &n), MPI_ERR_ARG, "maxdims");
  BAD(MPI_Graph_neighbors_count(ring, 0, &n), MPI_ERR_TOPOLOGY, "Cartesian", "graph");
  BAD(MPI_Dist_graph_neighbors_count(ring, &n, &m, &n), MPI_ERR_TOPOLOGY, "distributed");
  BAD(MPI_Cartdim_get(world, &n), MPI_ERR_TOPOLOGY, "no topology");
  OK(MPI_Comm_free(&ring));

  const int most = size + 1, none = 0, negative = -1, far_edge = size, one_edge = 1,
            weights[] = {-5};
  int dims[2] = {0, -1}, two[2] = {2, 0};
  BAD(MPI_Cart_create(world, 1, &most, &periodic, 0, &graph), MPI_ERR_DIMS, "more ranks");
  BAD(MPI_Cart_create(world, 1, &none, &periodic, 0, &graph), MPI_ERR_DIMS, "dims[0] is 0");
  BAD(MPI_Cart_create(world, -1, &none, &periodic, 0, &graph), MPI_ERR_ARG, "ndims", "-1");
  BAD(MPI_Cart_create(world, 1, &size, NULL, 0, &graph), MPI_ERR_ARG, "periods", "null");
  BAD(MPI_Cart_map(world, 1, &most, &periodic, &n), MPI_ERR_DIMS, "more ranks");
  BAD(MPI_Dims_create(7, 2, two), MPI_ERR_DIMS, "7");
  BAD(MPI_Dims_create(6, 2, dims), MPI_ERR_DIMS, "dims[1] is -1");
  BAD(MPI_Graph_create(world, most, &one_edge, &none, 0, &graph), MPI_ERR_ARG, "nnodes");
  BAD(MPI_Graph_create(world, 1, &negative, &none, 0, &graph), MPI_ERR_ARG, "index[0] is -1");
  BAD(MPI_Graph_create(world, 1, &one_edge, &far_edge, 0, &graph), MPI_ERR_ARG, "edges[0]");
  BAD(MPI_Graph_create(world, 1, &one_edge, NULL, 0, &graph), MPI_ERR_ARG, "edges", "null");
  BAD(MPI_Dist_graph_create_adjacent(world, 1, &most, MPI_UNWEIGHTED, 0, NULL, MPI_UNWEIGHTED,
                                     MPI_INFO_NULL, 0, &graph),
      MPI_ERR_RANK, "sources[0]");
  BAD(MPI_Dist_graph_create_adjacent(world, 1, &none, weights, 0, NULL, MPI_WEIGHTS_EMPTY,
                                     MPI_INFO_NULL, 0, &graph),
      MPI_ERR_ARG, "weights[0] is -5");
  BAD(MPI_Dist_graph_create(world, 1, &none, &negative, &none, MPI_UNWEIGHTED, MPI_INFO_NULL, 0,
                            &graph),
      MPI_ERR_ARG, "degrees[0] is -1");
  BAD(MPI_Dist_graph_create(world, 1, &none, &one_edge, &most, MPI_UNWEIGHTED, MPI_INFO_NULL, 0,
                            &graph),
      MPI_ERR_RANK, "destinations[0]");

  if (size > 1) {  // an edge that does not go back: all ranks hear of it, not only its ends
    int *index = alloc(sizeof(int) * size), edge = 1;
    for (int i = 0; i < size; ++i) index[i] = 1;
    OK(MPI_Graph_create(world, size, index, &edge, 0, &graph));
    BAD(MPI_Neighbor_allgather(a, 1, MPI_INT, b, 1, MPI_INT, graph), MPI_ERR_TOPOLOGY,
        "does not go back");
    OK(MPI_Comm_free(&graph));
    free(index);
  }

  MPI_Comm alone;
  OK(MPI_Dist_graph_create_adjacent(world, 0, NULL, MPI_WEIGHTS_EMPTY, 0, NULL, MPI_WEIGHTS_EMPTY,
                                    MPI_INFO_NULL, 0, &alone));
  OK(MPI_Neighbor_allgather(NULL, 1, MPI_INT, NULL, 1, MPI_INT, alone));
  OK(MPI_Neighbor_alltoallv(NULL, NULL, NULL, MPI_INT, NULL, NULL, NULL, MPI_INT, alone));
  OK(MPI_Neighbor_alltoallw(NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, alone));
  OK(MPI_Comm_free(&alone));
  return finish();
}
