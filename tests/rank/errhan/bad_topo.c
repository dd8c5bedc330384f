// SPDX-License-Identifier: Apache-2.0
// Wrong arguments of neighborhood collectives, made by all ranks alike; and what a rank without
// neighbors need not pass.
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

  MPI_Comm ring;
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
  OK(MPI_Comm_free(&ring));

  if (size > 1) {  // an edge that does not go back: all ranks hear of it, not only its ends
    int *index = alloc(sizeof(int) * size), edge = 1;
    for (int i = 0; i < size; ++i) index[i] = 1;
    MPI_Comm graph;
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
