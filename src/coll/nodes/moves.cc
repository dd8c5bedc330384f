// SPDX-License-Identifier: Apache-2.0
//
// Barrier and the collectives that move data, across nodes. Nothing crosses twice: a node sends and
// receives the blocks of its ranks together.
//
//   barrier    ranks arrive at leaders, these meet, ranks leave           A(0) + B(0)
//   bcast      between nodes, then on each                                B(n) + A(n)
//   gather     on each node, then the nodes' blocks to the root           A(n) + B(qn)
//   scatter    the other way round                                        B(qn) + A(n)
//   allgather  gathered, exchanged by leaders, broadcast                  A(n) + B(qn) + A(Nqn)
//   alltoall   gathered, exchanged by leaders, scattered: 2 log N + 4 copies of what messages would
//              copy twice, but N messages for N q                         2 A(Nqn) + B(qqn)
//
// source   Karonis et al.: Exploiting hierarchy in parallel computer networks to optimize
// collective
//          operation performance, IPDPS 2000; Traeff, Rougier: MPI collectives and datatypes for
//          hierarchical all-to-all communication, EuroMPI 2014
// legal    any root, counts, types; uniform blocks; MPI_IN_PLACE; ranks may lie on nodes as they
//          like: what does not follow each other is packed at leaders
#include "coll/nodes/algorithms.h"

namespace weft::coll {
namespace {

const Blocks& no_blocks() {
  static const Blocks none(as_bytes(static_cast<void*>(nullptr), 0));
  return none;
}
const Buffer in_place{MPI_IN_PLACE, 0, &byte_type()};

/// Blocks of one size, one behind the other.
Buffer whole(const Blocks& blocks, int count) {
  const Buffer first = blocks[0];
  return {first.data, first.count * count, first.type};
}

/// Blocks of one size, seen as one of each node: as they lie where nodes are in rows, else in room
/// of the schedule's, node by node.
class NodeBlocks {
 public:
  NodeBlocks(Schedule& s, const Nodes& nodes, const Blocks& each)
      : s_(s), nodes_(nodes), each_(each), first_(each[0]), packed(!nodes.in_rows()) {
    const std::int64_t n = first_.bytes();
    if (packed) first_ = as_bytes(s.bytes(n * nodes.ranks()), n);
    for (int i = 0, begin = 0; i < nodes.count(); begin += nodes.size_of(i++)) {
      counts_.push_back(first_.count * nodes.size_of(i));
      begins_.push_back(first_.count * begin);
    }
  }
  /// Block i is node i's.
  Blocks of_nodes() const {
    if (nodes_.is_even()) return Blocks(Buffer{first_.data, counts_[0], first_.type});
    return Blocks(
        VBuffer{first_.data, {counts_.data(), true}, {begins_.data(), true}, first_.type});
  }
  /// Block i is that of rank i of a node.
  Blocks of_ranks(int node) const { return Blocks(Buffer{at(node, 0), first_.count, first_.type}); }
  void pack() {
    for_packed([&](const Buffer& each, const Buffer& here) { s_.copy(each, here); });
  }
  void unpack() {
    for_packed([&](const Buffer& each, const Buffer& here) { s_.copy(here, each); });
  }

 private:
  void* at(int node, int place) const {
    return element(first_.data, begins_[static_cast<std::size_t>(node)] + place * first_.count,
                   *first_.type);
  }
  template <class Body>
  void for_packed(Body&& body) {
    if (!packed) return;
    s_.next_round();
    for (int i = 0; i < nodes_.count(); ++i)
      for (int j = 0; j < nodes_.size_of(i); ++j)
        body(each_[nodes_.members(i)[static_cast<std::size_t>(j)]],
             Buffer{at(i, j), first_.count, first_.type});
    s_.next_round();
  }

  Schedule& s_;
  const Nodes& nodes_;
  const Blocks& each_;
  Buffer first_;
  std::vector<std::int64_t> counts_, begins_;  // of nodes, in elements

 public:
  const bool packed;
};

/// The blocks of this rank's node come to their places at its leader. `mine`: what this rank
/// brings.
void gather_here(Schedule& s, Phases& phases, const ConstBuffer& mine, bool is_there,
                 const Blocks& here, std::int64_t bytes) {
  if (phases.alone()) {
    if (!is_there) s.copy(mine, here[0]);
    return;
  }
  const ConstBuffer send = is_there ? ConstBuffer(in_place) : mine;
  phases.on_node({.call = Call::gather, .root = phases.leader_place(), .send = send, .to = &here},
                 {.bytes = bytes});
}

/// What leaders exchange: `bytes` of each rank.
Case between_nodes(const Nodes& nodes, std::int64_t bytes) {
  return {.bytes = bytes * nodes.most(), .uniform = nodes.is_even()};
}

}  // namespace

void barrier_nodes(Schedule& s, const Across& at) {
  Phases phases(s, at);
  phases.arrive();
  phases.between({.call = Call::barrier}, {});
  phases.leave();
}

void bcast_nodes(Schedule& s, const Buffer& buffer, int root, const Across& at) {
  Phases phases(s, at, root);
  const Case c{.bytes = buffer.bytes()};
  phases.between({.call = Call::bcast, .root = phases.root_node(), .buffer = buffer}, c);
  phases.on_node({.call = Call::bcast, .root = phases.leader_place(), .buffer = buffer}, c);
}

void gather_nodes(Schedule& s, const ConstBuffer& send, const Blocks& recv, int root,
                  const Across& at) {
  Phases phases(s, at, root);
  const Operation to_root{.call = Call::gather, .root = phases.root_node(), .to = &no_blocks()};
  if (at.rank != root) {
    const std::int64_t n = send.bytes();
    Operation out = to_root;
    out.send = send;
    if (phases.leads() && !phases.alone()) {
      std::byte* room = s.bytes(n * phases.here());
      out.send = as_bytes(static_cast<const void*>(room), n * phases.here());
      gather_here(s, phases, send, false, Blocks(as_bytes(room, n)), n);
    } else if (!phases.alone()) {
      gather_here(s, phases, send, false, no_blocks(), n);
    }
    return phases.between(out, between_nodes(at.nodes(), n));
  }
  const std::int64_t n = recv[root].bytes();
  NodeBlocks blocks(s, at.nodes(), recv);
  const ConstBuffer mine = contribution(send, recv[root]);
  const bool is_there = is_in_place(send.data) && !blocks.packed;
  gather_here(s, phases, mine, is_there, blocks.of_ranks(phases.node()), n);
  const Blocks of_nodes = blocks.of_nodes();
  Operation in = to_root;
  in.send = in_place;
  in.to = &of_nodes;
  phases.between(in, between_nodes(at.nodes(), n));
  blocks.unpack();
}

void scatter_nodes(Schedule& s, const Blocks& send, const Buffer& recv, int root,
                   const Across& at) {
  Phases phases(s, at, root);
  const Nodes& nodes = at.nodes();
  const auto between = [&](const Blocks& from, const Buffer& to, std::int64_t n) {
    phases.between({.call = Call::scatter, .root = phases.root_node(), .buffer = to, .from = &from},
                   between_nodes(nodes, n));
  };
  const auto here = [&](const Blocks& from, std::int64_t n) {
    phases.on_node(
        {.call = Call::scatter, .root = phases.leader_place(), .buffer = recv, .from = &from},
        {.bytes = n});
  };
  if (at.rank != root) {
    const std::int64_t n = recv.bytes();
    if (!phases.leads()) return here(no_blocks(), n);
    if (phases.alone()) return between(no_blocks(), recv, n);
    std::byte* room = s.bytes(n * phases.here());
    between(no_blocks(), as_bytes(room, n * phases.here()), n);
    return here(Blocks(as_bytes(room, n)), n);
  }
  const std::int64_t n = send[root].bytes();
  NodeBlocks blocks(s, nodes, send);
  blocks.pack();
  between(blocks.of_nodes(), in_place, n);
  if (phases.alone() && !is_in_place(recv.data)) s.copy(send[root], recv);
  here(blocks.of_ranks(phases.node()), n);
}

void allgather_nodes(Schedule& s, const ConstBuffer& send, const Blocks& recv, const Across& at) {
  Phases phases(s, at);
  const int p = at.nodes().ranks();
  const std::int64_t n = recv[0].bytes();
  const ConstBuffer mine = contribution(send, recv[at.rank]);
  if (phases.leads()) {
    NodeBlocks blocks(s, at.nodes(), recv);
    const bool is_there = is_in_place(send.data) && !blocks.packed;
    gather_here(s, phases, mine, is_there, blocks.of_ranks(phases.node()), n);
    const Blocks of_nodes = blocks.of_nodes();
    phases.between({.call = Call::allgather, .send = in_place, .to = &of_nodes},
                   between_nodes(at.nodes(), n));
    blocks.unpack();
  } else {
    gather_here(s, phases, mine, false, no_blocks(), n);
  }
  phases.on_node({.call = Call::bcast, .root = phases.leader_place(), .buffer = whole(recv, p)},
                 {.bytes = n * p});
}

void alltoall_nodes(Schedule& s, const Blocks& send, const Blocks& recv, const Across& at) {
  Phases phases(s, at);
  const Nodes& nodes = at.nodes();
  const int p = nodes.ranks(), q = phases.here();
  const std::int64_t n = recv[0].bytes(), row = n * p;
  const Buffer mine = whole(recv, p);
  const ConstBuffer all = send.in_place() ? ConstBuffer(mine) : ConstBuffer(whole(send, p));
  if (!phases.leads()) {
    gather_here(s, phases, all, false, no_blocks(), row);
  } else {
    // By rank of this node and receiver; for each node by rank of this one; for each node by its
    // rank; by rank of this node and sender.
    std::byte* given = s.bytes(row * q);
    std::byte* out = s.bytes(row * q);
    std::byte* in = s.bytes(row * q);
    gather_here(s, phases, all, false, Blocks(as_bytes(given, row)), row);
    std::vector<std::int64_t> counts, begins;
    std::int64_t begin = 0;
    s.next_round();
    for (int k = 0; k < nodes.count(); ++k) {
      const auto there = nodes.members(k);
      const std::int64_t run = nodes.in_rows() ? std::ssize(there) : 1;
      begins.push_back(begin);
      counts.push_back(n * q * std::ssize(there));
      for (int i = 0; i < q; ++i)
        for (std::int64_t j = 0; j < std::ssize(there); j += run, begin += n * run)
          s.copy(as_bytes(given + i * row + there[static_cast<std::size_t>(j)] * n, n * run),
                 as_bytes(out + begin, n * run));
    }
    const auto of_nodes = [&](std::byte* data) {
      if (nodes.is_even()) return Blocks(as_bytes(data, counts[0]));
      return Blocks(VBuffer{data, {counts.data(), true}, {begins.data(), true}, &byte_type()});
    };
    const Blocks from = of_nodes(out), to = of_nodes(in);
    phases.between({.call = Call::alltoall, .from = &from, .to = &to},
                   between_nodes(nodes, n * nodes.most()));
    s.next_round();
    const std::byte* next = in;
    for (int k = 0; k < nodes.count(); ++k)
      for (const int sender : nodes.members(k))
        for (int i = 0; i < q; ++i, next += n)
          s.copy(as_bytes(next, n), as_bytes(given + i * row + sender * n, n));
    s.next_round();
    if (phases.alone()) return s.copy(as_bytes(given, row), mine);
    const Blocks rows(as_bytes(given, row));
    return phases.on_node(
        {.call = Call::scatter, .root = phases.leader_place(), .buffer = mine, .from = &rows},
        {.bytes = row});
  }
  phases.on_node(
      {.call = Call::scatter, .root = phases.leader_place(), .buffer = mine, .from = &no_blocks()},
      {.bytes = row});
}

}  // namespace weft::coll
