// SPDX-License-Identifier: Apache-2.0
//
// Queries on topologies.
#include "object/topology.h"

#include <algorithm>

namespace weft::object {
namespace {

const char* name_of(int what) {
  switch (what) {
    case MPI_CART:
      return "a Cartesian topology";
    case MPI_GRAPH:
      return "a graph topology";
    case MPI_DIST_GRAPH:
      return "a distributed graph topology";
    default:
      return "no topology";
  }
}

Err demand(const Comm& comm, int what) {
  if (topology_of(comm) == what) return ok;
  return fail(MPI_ERR_TOPOLOGY, "the communicator has %s; this call needs %s",
              name_of(topology_of(comm)), name_of(what));
}

Err check_rank(const Comm& comm, int rank) {
  if (rank >= 0 && rank < comm.size()) return ok;
  return fail(MPI_ERR_RANK, "rank is %d; the communicator has ranks 0 to %d", rank,
              comm.size() - 1);
}

Err check_room(int room, std::size_t need, const char* what) {
  if (room >= static_cast<int>(need)) return ok;
  return fail(MPI_ERR_ARG, "%s is %d; there are %zu", what, room, need);
}

void give(const std::vector<int>& from, int room, int* to) {
  const auto n = std::min(from.size(), static_cast<std::size_t>(std::max(room, 0)));
  std::copy_n(from.begin(), n, to);
}

std::span<const int> graph_neighbors_of(const Topology& t, int rank) {
  const int first = rank == 0 ? 0 : t.index[static_cast<std::size_t>(rank) - 1];
  return {t.edges.data() + first,
          static_cast<std::size_t>(t.index[static_cast<std::size_t>(rank)] - first)};
}

bool is_symmetric(const Topology& t) {
  std::vector<std::pair<int, int>> there, back;
  for (int i = 0; i < static_cast<int>(t.index.size()); ++i)
    for (const int j : graph_neighbors_of(t, i)) {
      there.emplace_back(i, j);
      back.emplace_back(j, i);
    }
  std::sort(there.begin(), there.end());
  std::sort(back.begin(), back.end());
  return there == back;
}

/// The rank at `coords`, wrapped where the grid is periodic; MPI_PROC_NULL outside of it.
int rank_at(const Topology& t, std::span<const int> coords) {
  int rank = 0;
  for (std::size_t d = 0; d < t.dims.size(); ++d) {
    const int extent = t.dims[d];
    int c = coords[d];
    if (t.periods[d]) {
      c = c % extent;
      if (c < 0) c += extent;
    } else if (c < 0 || c >= extent) {
      return MPI_PROC_NULL;
    }
    rank = rank * extent + c;
  }
  return rank;
}

int shifted(const Topology& t, std::size_t direction, std::int64_t disp) {
  std::vector<int> coords = t.coords;
  std::int64_t c = coords[direction] + disp;
  // Reduced here, so that the sum of an int and a huge displacement stays an int.
  if (t.periods[direction]) {
    c %= t.dims[direction];
  } else if (c < 0 || c >= t.dims[direction]) {
    return MPI_PROC_NULL;
  }
  coords[direction] = static_cast<int>(c);
  return rank_at(t, coords);
}

}  // namespace

Topology* dup_topology(const Topology* topology) {
  return topology != nullptr ? new Topology(*topology) : nullptr;
}

void settle(Topology& t, int rank) {
  if (t.what == MPI_DIST_GRAPH) return;
  if (t.what == MPI_GRAPH) {
    const std::span<const int> found = graph_neighbors_of(t, rank);
    t.sources.assign(found.begin(), found.end());
    t.symmetric = is_symmetric(t);
  } else {
    t.coords = coords_of(t.dims, rank);
    for (std::size_t d = 0; d < t.dims.size(); ++d)
      for (const int disp : {-1, 1}) t.sources.push_back(shifted(t, d, disp));
  }
  t.destinations = t.sources;
}

void free_topology(Topology* topology) {
  delete topology;
}

Err cartdim_get(const Comm& comm, int* ndims) {
  WEFT_TRY(demand(comm, MPI_CART));
  *ndims = static_cast<int>(comm.topology->dims.size());
  return ok;
}

Err cart_get(const Comm& comm, int maxdims, int* dims, int* periods, int* coords) {
  WEFT_TRY(demand(comm, MPI_CART));
  const Topology& t = *comm.topology;
  WEFT_TRY(check_room(maxdims, t.dims.size(), "maxdims"));
  give(t.dims, maxdims, dims);
  give(t.periods, maxdims, periods);
  give(t.coords, maxdims, coords);
  return ok;
}

Err cart_rank(const Comm& comm, const int* coords, int* rank) {
  WEFT_TRY(demand(comm, MPI_CART));
  const Topology& t = *comm.topology;
  const int found = rank_at(t, {coords, t.dims.size()});
  if (found == MPI_PROC_NULL) {
    for (std::size_t d = 0; d < t.dims.size(); ++d)
      if (!t.periods[d] && (coords[d] < 0 || coords[d] >= t.dims[d]))
        return fail(MPI_ERR_ARG,
                    "coords[%zu] is %d; dimension %zu is not periodic and has coordinates "
                    "0 to %d",
                    d, coords[d], d, t.dims[d] - 1);
  }
  *rank = found;
  return ok;
}

Err cart_coords(const Comm& comm, int rank, int maxdims, int* coords) {
  WEFT_TRY(demand(comm, MPI_CART));
  WEFT_TRY(check_rank(comm, rank));
  WEFT_TRY(check_room(maxdims, comm.topology->dims.size(), "maxdims"));
  give(coords_of(comm.topology->dims, rank), maxdims, coords);
  return ok;
}

Err cart_shift(const Comm& comm, int direction, int disp, int* source, int* dest) {
  WEFT_TRY(demand(comm, MPI_CART));
  const Topology& t = *comm.topology;
  if (direction < 0 || direction >= static_cast<int>(t.dims.size()))
    return fail(MPI_ERR_ARG, "direction is %d; the topology has %zu dimensions, numbered from 0",
                direction, t.dims.size());
  *source = shifted(t, static_cast<std::size_t>(direction), -std::int64_t{disp});
  *dest = shifted(t, static_cast<std::size_t>(direction), disp);
  return ok;
}

Err grid_size(std::span<const int> dims, int size, int* nnodes) {
  std::int64_t product = 1;
  for (std::size_t d = 0; d < dims.size(); ++d) {
    if (dims[d] <= 0)
      return fail(MPI_ERR_DIMS,
                  "dims[%zu] is %d; a dimension must be positive (MPI_Dims_create can "
                  "choose)",
                  d, dims[d]);
    product *= dims[d];
    if (product > size)
      return fail(MPI_ERR_DIMS, "the grid has more ranks than the communicator, which has %d",
                  size);
  }
  *nnodes = static_cast<int>(product);
  return ok;
}

std::vector<int> coords_of(std::span<const int> dims, int rank) {
  std::vector<int> coords(dims.size());
  for (std::size_t d = dims.size(); d-- > 0;) {
    coords[d] = rank % dims[d];
    rank /= dims[d];
  }
  return coords;
}

Err check_graph(int nnodes, std::span<const int> index, const int* edges, int size) {
  if (nnodes < 0 || nnodes > size)
    return fail(MPI_ERR_ARG, "nnodes is %d; the communicator has %d ranks", nnodes, size);
  int before = 0;
  for (std::size_t i = 0; i < index.size(); ++i) {
    if (index[i] < before)
      return fail(MPI_ERR_ARG, "index[%zu] is %d, less than the entry before it", i, index[i]);
    before = index[i];
  }
  if (before > 0 && edges == nullptr)
    return fail(MPI_ERR_ARG, "edges is a null pointer, but index[%d] says there are %d", nnodes - 1,
                before);
  for (int i = 0; i < before; ++i)
    if (edges[i] < 0 || edges[i] >= nnodes)
      return fail(MPI_ERR_ARG, "edges[%d] is %d; the graph has nodes 0 to %d", i, edges[i],
                  nnodes - 1);
  return ok;
}

Err graph_map(const Comm& comm, int nnodes, std::span<const int> index, const int* edges,
              int* newrank) {
  WEFT_TRY(check_graph(nnodes, index, edges, comm.size()));
  *newrank = comm.rank < nnodes ? comm.rank : MPI_UNDEFINED;
  return ok;
}

Err graphdims_get(const Comm& comm, int* nnodes, int* nedges) {
  WEFT_TRY(demand(comm, MPI_GRAPH));
  *nnodes = static_cast<int>(comm.topology->index.size());
  *nedges = static_cast<int>(comm.topology->edges.size());
  return ok;
}

Err graph_get(const Comm& comm, int maxindex, int maxedges, int* index, int* edges) {
  WEFT_TRY(demand(comm, MPI_GRAPH));
  const Topology& t = *comm.topology;
  WEFT_TRY(check_room(maxindex, t.index.size(), "maxindex"));
  WEFT_TRY(check_room(maxedges, t.edges.size(), "maxedges"));
  give(t.index, maxindex, index);
  give(t.edges, maxedges, edges);
  return ok;
}

Err graph_neighbors_count(const Comm& comm, int rank, int* count) {
  WEFT_TRY(demand(comm, MPI_GRAPH));
  WEFT_TRY(check_rank(comm, rank));
  *count = static_cast<int>(graph_neighbors_of(*comm.topology, rank).size());
  return ok;
}

Err graph_neighbors(const Comm& comm, int rank, int maxneighbors, int* neighbors) {
  WEFT_TRY(demand(comm, MPI_GRAPH));
  WEFT_TRY(check_rank(comm, rank));
  const std::span<const int> found = graph_neighbors_of(*comm.topology, rank);
  WEFT_TRY(check_room(maxneighbors, found.size(), "maxneighbors"));
  std::copy(found.begin(), found.end(), neighbors);
  return ok;
}

Err dist_graph_neighbors_count(const Comm& comm, int* indegree, int* outdegree, int* weighted) {
  WEFT_TRY(demand(comm, MPI_DIST_GRAPH));
  const Topology& t = *comm.topology;
  *indegree = static_cast<int>(t.sources.size());
  *outdegree = static_cast<int>(t.destinations.size());
  *weighted = t.weighted;
  return ok;
}

Err dist_graph_neighbors(const Comm& comm, int maxindegree, int* sources, int* source_weights,
                         int maxoutdegree, int* destinations, int* destination_weights) {
  WEFT_TRY(demand(comm, MPI_DIST_GRAPH));
  const Topology& t = *comm.topology;
  // Fewer are legal here: the first of them are returned (§8.5.5).
  give(t.sources, maxindegree, sources);
  give(t.destinations, maxoutdegree, destinations);
  const auto is_array = [](const int* p) { return p != MPI_UNWEIGHTED && p != MPI_WEIGHTS_EMPTY; };
  if (t.weighted && is_array(source_weights)) give(t.source_weights, maxindegree, source_weights);
  if (t.weighted && is_array(destination_weights))
    give(t.destination_weights, maxoutdegree, destination_weights);
  return ok;
}

Err neighbors(const Comm& comm, Neighbors* out) {
  const Topology* t = comm.topology;
  if (t == nullptr)
    return fail(MPI_ERR_TOPOLOGY,
                "the communicator has no topology; a neighborhood collective needs one made by "
                "MPI_Cart_create, MPI_Graph_create or MPI_Dist_graph_create");
  if (!t->symmetric)
    return fail(MPI_ERR_TOPOLOGY,
                "the communicator's graph has an edge that does not go back; neighborhood "
                "collectives need both directions, or MPI_Dist_graph_create, which has one");
  *out = {t->sources, t->destinations, t->what == MPI_CART};
  return ok;
}

}  // namespace weft::object
