// SPDX-License-Identifier: Apache-2.0
//
// Neighborhood collectives: one message per edge, all at once.
//
// Two ranks may be neighbors more than once, and their messages match in the order of posting. In a
// graph that is the order of the edges. In a grid, what goes down arrives from above (MPI-5.0 §8.6,
// figures 8.1 and 8.2), which shows where a periodic dimension has one or two ranks: so receives
// are posted from above first.
//
// source   MPI-5.0 section 8.6 (the definition)
// cost     T = d * (alpha + n*beta), d the larger one of in- and outdegree
// legal    any topology, degrees, counts, types; MPI_PROC_NULL leaves its block alone
// example  a ring of two: rank 0 sends block 0 (down), then block 1 (up) to rank 1; rank 1 receives
//          them in blocks 1 (from above) and 0 (from below).
#include "coll/messages/algorithms.h"

namespace weft::coll {
namespace {

void receive_all(Schedule& s, const Blocks& recv, const object::Neighbors& n) {
  for (std::size_t k = 0; k < n.sources.size(); ++k) {
    const std::size_t i = n.grid ? k ^ 1 : k;
    if (n.sources[i] != MPI_PROC_NULL) s.recv(recv[static_cast<int>(i)], n.sources[i]);
  }
}

}  // namespace

void neighbor_allgather_direct(Schedule& s, const ConstBuffer& send, const Blocks& recv,
                               const object::Neighbors& n) {
  receive_all(s, recv, n);
  for (const int to : n.destinations)
    if (to != MPI_PROC_NULL) s.send(send, to);
  s.next_round();
}

void neighbor_alltoall_direct(Schedule& s, const Blocks& send, const Blocks& recv,
                              const object::Neighbors& n) {
  receive_all(s, recv, n);
  for (std::size_t i = 0; i < n.destinations.size(); ++i)
    if (n.destinations[i] != MPI_PROC_NULL) s.send(send[static_cast<int>(i)], n.destinations[i]);
  s.next_round();
}

}  // namespace weft::coll
