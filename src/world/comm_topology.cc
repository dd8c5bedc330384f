// SPDX-License-Identifier: Apache-2.0
//
// Communicators with a topology (§8.5). Where reordering is allowed, a grid is laid over the node's
// hierarchy (topo/grid.h); graphs keep the order of their ranks.
#include <algorithm>

#include "coll/coll.h"
#include "object/topology.h"
#include "topo/grid.h"
#include "world/comm_agree.h"
#include "world/comms.h"
#include "world/rank.h"

namespace weft::world {
namespace {

using object::Topology;

Err intracomm_only(const Comm& comm) {
  if (!comm.is_inter()) return ok;
  return fail(MPI_ERR_COMM,
              "the communicator is an intercommunicator; topologies need an "
              "intracommunicator");
}

Members first_members(const Comm& comm, int n) {
  return {comm.group->members.begin(), comm.group->members.begin() + n};
}

/// Who is at each point of a grid of these ranks, as an index into them.
std::vector<int> place(Comm& comm, const Members& members, const topo::Grid& grid) {
  return topo::place_grid(comm.owner->process->job->hierarchy(), members, grid);
}

/// Give the new communicator its topology, or report that this rank is not in it.
Err give(const Result<Comm*>& made, Topology topology, MPI_Comm* out) {
  if (!made) return made.err;
  *out = MPI_COMM_NULL;
  if (made.value == nullptr) return ok;
  made.value->topology = new Topology(std::move(topology));
  object::settle(*made.value->topology, made.value->rank);
  *out = object::handle_of(*made.value);
  return ok;
}

bool is_array(const int* weights) {
  return weights != MPI_UNWEIGHTED && weights != MPI_WEIGHTS_EMPTY;
}

Err check_ranks(const Comm& comm, std::span<const int> ranks, const char* name) {
  for (std::size_t i = 0; i < ranks.size(); ++i)
    if (ranks[i] < 0 || ranks[i] >= comm.size())
      return fail(MPI_ERR_RANK, "%s[%zu] is %d; the communicator has ranks 0 to %d", name, i,
                  ranks[i], comm.size() - 1);
  return ok;
}

Err check_weights(const int* weights, std::size_t n) {
  for (std::size_t i = 0; weights != nullptr && is_array(weights) && i < n; ++i)
    if (weights[i] < 0)
      return fail(MPI_ERR_ARG, "weights[%zu] is %d; a weight must not be negative", i, weights[i]);
  if (n > 0 && (weights == nullptr || weights == MPI_WEIGHTS_EMPTY))
    return fail(MPI_ERR_ARG,
                "the weights are %s, but there are edges; pass MPI_UNWEIGHTED if there are "
                "no weights",
                weights == nullptr ? "a null pointer" : "MPI_WEIGHTS_EMPTY");
  return ok;
}

/// One edge of a distributed graph, on its way to the ranks at its ends.
struct Edge {
  int source, destination, weight;
};

const datatype::Type& int_type() {
  return *datatype::predefined(reinterpret_cast<std::uintptr_t>(MPI_INT));
}

/// Send `edges` to the rank at one of their ends (`end`); what other ranks sent here, by sender.
Err trade(Comm& comm, const std::vector<Edge>& edges, int Edge::*end, std::vector<Edge>* got) {
  const auto p = static_cast<std::size_t>(comm.size());
  constexpr int ints = sizeof(Edge) / sizeof(int);
  std::vector<int> to(p), from(p), to_at(p), from_at(p);
  for (const Edge& e : edges) to[static_cast<std::size_t>(e.*end)] += ints;
  WEFT_TRY(coll::alltoall({to.data(), 1, &int_type()}, {from.data(), 1, &int_type()}, comm));
  for (std::size_t i = 1; i < p; ++i) {
    to_at[i] = to_at[i - 1] + to[i - 1];
    from_at[i] = from_at[i - 1] + from[i - 1];
  }
  std::vector<Edge> sorted = edges;
  std::stable_sort(sorted.begin(), sorted.end(),
                   [&](const Edge& a, const Edge& b) { return a.*end < b.*end; });
  got->resize(static_cast<std::size_t>(from_at[p - 1] + from[p - 1]) / ints);
  const coll::VBuffer send{sorted.data(), {to.data(), false}, {to_at.data(), false}, &int_type()};
  const coll::VBuffer recv{got->data(), {from.data(), false}, {from_at.data(), false}, &int_type()};
  return coll::alltoallv(send, recv, comm);
}

}  // namespace

Err cart_create(Comm& comm, std::span<const int> dims, const int* periods, bool reorder,
                MPI_Comm* out) {
  *out = MPI_COMM_NULL;
  WEFT_TRY(intracomm_only(comm));
  int nnodes = 0;
  WEFT_TRY(object::grid_size(dims, comm.size(), &nnodes));
  Topology t;
  t.what = MPI_CART;
  t.dims.assign(dims.begin(), dims.end());
  for (std::size_t d = 0; d < dims.size(); ++d) t.periods.push_back(periods[d] != 0);
  Members members = first_members(comm, nnodes);
  if (reorder) {
    const Members in_order = members;
    const std::vector<int> placed = place(comm, in_order, {dims, t.periods});
    for (std::size_t p = 0; p < members.size(); ++p)
      members[p] = in_order[static_cast<std::size_t>(placed[p])];
  }
  return give(make_part(comm, std::move(members)), std::move(t), out);
}

Err cart_map(Comm& comm, std::span<const int> dims, const int* periods, int* newrank) {
  WEFT_TRY(intracomm_only(comm));
  int nnodes = 0;
  WEFT_TRY(object::grid_size(dims, comm.size(), &nnodes));
  *newrank = MPI_UNDEFINED;
  const std::vector<int> placed =
      place(comm, first_members(comm, nnodes), {dims, {periods, dims.size()}});
  for (int p = 0; p < nnodes; ++p)
    if (placed[static_cast<std::size_t>(p)] == comm.rank) *newrank = p;
  return ok;
}

Err cart_sub(Comm& comm, const int* remain_dims, MPI_Comm* out) {
  *out = MPI_COMM_NULL;
  int ndims = 0;
  WEFT_TRY(object::cartdim_get(comm, &ndims));
  const Topology& whole = *comm.topology;
  Topology t;
  t.what = MPI_CART;
  const auto n = static_cast<std::size_t>(ndims);
  for (std::size_t d = 0; d < n; ++d) {
    if (!remain_dims[d]) continue;
    t.dims.push_back(whole.dims[d]);
    t.periods.push_back(whole.periods[d]);
  }
  // Those with this rank's coordinates in the dimensions that go; row-major order is kept.
  Members members;
  for (int rank = 0; rank < comm.size(); ++rank) {
    const std::vector<int> coords = object::coords_of(whole.dims, rank);
    bool same = true;
    for (std::size_t d = 0; d < n; ++d)
      if (!remain_dims[d] && coords[d] != whole.coords[d]) same = false;
    if (same) members.push_back(comm.group->members[static_cast<std::size_t>(rank)]);
  }
  return give(make_part(comm, std::move(members)), std::move(t), out);
}

Err graph_create(Comm& comm, int nnodes, const int* index, const int* edges, MPI_Comm* out) {
  *out = MPI_COMM_NULL;
  WEFT_TRY(intracomm_only(comm));
  const std::span<const int> given{index, static_cast<std::size_t>(std::max(nnodes, 0))};
  WEFT_TRY(object::check_graph(nnodes, given, edges, comm.size()));
  Topology t;
  t.what = MPI_GRAPH;
  t.index.assign(given.begin(), given.end());
  t.edges.assign(edges, edges + (nnodes > 0 ? given.back() : 0));
  return give(make_part(comm, first_members(comm, nnodes)), std::move(t), out);
}

Err dist_graph_create_adjacent(Comm& comm, const Edges& sources, const Edges& destinations,
                               MPI_Comm* out) {
  WEFT_TRY(intracomm_only(comm));
  WEFT_TRY(check_ranks(comm, sources.ranks, "sources"));
  WEFT_TRY(check_ranks(comm, destinations.ranks, "destinations"));
  WEFT_TRY(check_weights(sources.weights, sources.ranks.size()));
  WEFT_TRY(check_weights(destinations.weights, destinations.ranks.size()));
  Topology t;
  t.what = MPI_DIST_GRAPH;
  t.sources.assign(sources.ranks.begin(), sources.ranks.end());
  t.destinations.assign(destinations.ranks.begin(), destinations.ranks.end());
  t.weighted = sources.weights != MPI_UNWEIGHTED;
  if (t.weighted && !t.sources.empty())
    t.source_weights.assign(sources.weights, sources.weights + t.sources.size());
  if (t.weighted && !t.destinations.empty() && destinations.weights != MPI_UNWEIGHTED)
    t.destination_weights.assign(destinations.weights,
                                 destinations.weights + t.destinations.size());
  return give(make_part(comm, comm.group->members), std::move(t), out);
}

Err dist_graph_create(Comm& comm, std::span<const int> sources, const int* degrees,
                      const int* destinations, const int* weights, MPI_Comm* out) {
  WEFT_TRY(intracomm_only(comm));
  WEFT_TRY(check_ranks(comm, sources, "sources"));
  std::size_t n = 0;
  for (std::size_t i = 0; i < sources.size(); ++i) {
    if (degrees[i] < 0)
      return fail(MPI_ERR_ARG, "degrees[%zu] is %d; it is a number of edges", i, degrees[i]);
    n += static_cast<std::size_t>(degrees[i]);
  }
  WEFT_TRY(check_ranks(comm, {destinations, n}, "destinations"));
  WEFT_TRY(check_weights(weights, n));
  std::vector<Edge> edges;
  for (std::size_t i = 0, at = 0; i < sources.size(); ++i)
    for (int k = 0; k < degrees[i]; ++k, ++at)
      edges.push_back({sources[i], destinations[at], is_array(weights) ? weights[at] : 1});

  Topology t;
  t.what = MPI_DIST_GRAPH;
  t.weighted = weights != MPI_UNWEIGHTED;
  std::vector<Edge> in, outgoing;
  WEFT_TRY(trade(comm, edges, &Edge::destination, &in));
  WEFT_TRY(trade(comm, edges, &Edge::source, &outgoing));
  for (const Edge& e : in) {
    t.sources.push_back(e.source);
    t.source_weights.push_back(e.weight);
  }
  for (const Edge& e : outgoing) {
    t.destinations.push_back(e.destination);
    t.destination_weights.push_back(e.weight);
  }
  return give(make_part(comm, comm.group->members), std::move(t), out);
}

}  // namespace weft::world
