// SPDX-License-Identifier: Apache-2.0
//
// Virtual topologies (MPI-5.0 chapter 8) as state: who is whose neighbour. Queries are local and
// live here; communicators with a topology are made in world/comm_topology.cc.
#pragma once

#include <span>
#include <vector>

#include "base/err.h"
#include "object/objects.h"

namespace weft::object {

struct Topology {
  int what = MPI_UNDEFINED;  // MPI_CART, MPI_GRAPH or MPI_DIST_GRAPH
  // Cartesian
  std::vector<int> dims, periods, coords;
  // Graph: neighbours of rank i are edges[index[i - 1]] .. edges[index[i] - 1]
  std::vector<int> index, edges;
  bool symmetric = true;  // as many edges from i to j as from j to i, for all i and j
  // Distributed graph
  std::vector<int> source_weights, destination_weights;
  bool weighted = false;
  // Whom this rank hears from and whom it sends to; MPI_PROC_NULL beyond the border of a grid
  std::vector<int> sources, destinations;
};

/// Fill in what follows from the rank in a grid or graph: coordinates and neighbours. A distributed
/// graph is told of them.
void settle(Topology& topology, int rank);

Topology* dup_topology(const Topology* topology);
void free_topology(Topology* topology);

/// MPI_Topo_test.
inline int topology_of(const Comm& comm) {
  return comm.topology ? comm.topology->what : MPI_UNDEFINED;
}

/// MPI_Dims_create: the free entries (0) of `dims` get factors as close to each other as possible,
/// in non-increasing order: of all choices the one whose sequence is lexicographically smallest.
Err create_dims(int nnodes, std::span<int> dims);

// Cartesian (§8.5.5). Coordinates and ranks are row-major.
Err cartdim_get(const Comm& comm, int* ndims);
Err cart_get(const Comm& comm, int maxdims, int* dims, int* periods, int* coords);
Err cart_rank(const Comm& comm, const int* coords, int* rank);
Err cart_coords(const Comm& comm, int rank, int maxdims, int* coords);
Err cart_shift(const Comm& comm, int direction, int disp, int* source, int* dest);
/// Where this rank would be in a graph of `nnodes` (MPI_Graph_map): where it is.
Err graph_map(const Comm& comm, int nnodes, std::span<const int> index, const int* edges,
              int* newrank);
/// The number of ranks in a grid; an error if a dimension is not positive or it has no room in
/// `size`.
Err grid_size(std::span<const int> dims, int size, int* nnodes);
/// The coordinates of `rank` in a grid.
std::vector<int> coords_of(std::span<const int> dims, int rank);
Err check_graph(int nnodes, std::span<const int> index, const int* edges, int size);

// Graphs (§8.5.3, §8.5.5).
Err graphdims_get(const Comm& comm, int* nnodes, int* nedges);
Err graph_get(const Comm& comm, int maxindex, int maxedges, int* index, int* edges);
Err graph_neighbors_count(const Comm& comm, int rank, int* count);
Err graph_neighbors(const Comm& comm, int rank, int maxneighbors, int* neighbors);
Err dist_graph_neighbors_count(const Comm& comm, int* indegree, int* outdegree, int* weighted);
Err dist_graph_neighbors(const Comm& comm, int maxindegree, int* sources, int* source_weights,
                         int maxoutdegree, int* destinations, int* destination_weights);

/// For the neighborhood collectives (§8.6): whom this rank hears from and whom it sends to, in the
/// order of the blocks; MPI_PROC_NULL beyond the border of a grid. An error if the communicator has
/// no topology, or a graph whose edges do not go both ways.
struct Neighbors {
  std::span<const int> sources, destinations;
  bool grid = false;  // neighbors 2d and 2d + 1 are those in dimension d, down and up
};
Err neighbors(const Comm& comm, Neighbors* out);

}  // namespace weft::object
