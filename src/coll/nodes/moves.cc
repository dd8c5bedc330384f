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
//   in parts   each rank exchanges with those of its place on other nodes what it has for these,
//              then with its own node what came for it: as many copies, but no leader makes them,
//              and N messages of each rank for N q                        q B(qn) at once + A(Nn)
//
// source   Karonis et al.: Exploiting hierarchy in parallel computer networks to optimize
//          collective operation performance, IPDPS 2000; Traeff, Rougier: MPI collectives and
//          datatypes for hierarchical all-to-all communication, EuroMPI 2014; in parts: Traeff,
//          Hunold: Decomposing MPI collectives for exploiting multi-lane communication, CLUSTER
//          2020
// legal    any root, counts, types; MPI_IN_PLACE; ranks may lie on nodes as they like: what does
//          not follow each other is packed at leaders. Uniform blocks, but allgather any; the
//          others have uneven.cc
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
  if (!recv.is_uniform()) return gatherv_nodes(s, send, recv, root, at);
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
  if (!send.is_uniform()) return scatterv_nodes(s, send, recv, root, at);
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

namespace {

/// Blocks of any sizes, which all ranks know, packed node by node; where they lie so, there.
class PackedBlocks {
 public:
  PackedBlocks(Schedule& s, const Nodes& nodes, const Blocks& blocks)
      : s_(s), nodes_(nodes), blocks_(blocks) {
    for (int i = 0; i < nodes.count(); ++i) {
      node_begins_.push_back(total_);
      for (const int rank : nodes.members(i)) {
        counts_.push_back(blocks[rank].bytes());
        begins_.push_back(total_);
        total_ += counts_.back();
      }
      node_counts_.push_back(total_ - node_begins_.back());
    }
    data_ = place();
    is_there = data_ != nullptr;
    if (!is_there) data_ = s.bytes(total_);
  }
  Blocks of_nodes() const { return of(node_counts_, node_begins_, 0); }
  Blocks of_ranks(int node) const { return of(counts_, begins_, first(node)); }
  Buffer whole() const { return as_bytes(data_, total_); }
  Buffer of_rank(int rank) const {
    const std::size_t i = first(nodes_.node_of(rank)) + at(nodes_.place_of(rank));
    return as_bytes(data_ + begins_[i], counts_[i]);
  }
  std::int64_t mean() const { return total_ / nodes_.ranks(); }
  void unpack() {
    if (is_there) return;
    s_.next_round();
    for (int rank = 0; rank < nodes_.ranks(); ++rank) s_.copy(of_rank(rank), blocks_[rank]);
  }

 private:
  static std::size_t at(int i) { return static_cast<std::size_t>(i); }
  std::size_t first(int node) const {
    std::size_t before = 0;
    for (int i = 0; i < node; ++i) before += at(nodes_.size_of(i));
    return before;
  }
  Blocks of(const std::vector<std::int64_t>& counts, const std::vector<std::int64_t>& begins,
            std::size_t from) const {
    return Blocks(
        VBuffer{data_, {counts.data() + from, true}, {begins.data() + from, true}, &byte_type()});
  }
  /// Where the blocks are one behind the other; null: they are not.
  std::byte* place() const {
    std::byte* found = nullptr;
    std::size_t i = 0;
    for (int node = 0; node < nodes_.count(); ++node)
      for (const int rank : nodes_.members(node)) {
        const Buffer block = blocks_[rank];
        const std::size_t number = i++;
        if (counts_[number] == 0) continue;
        if (!block.type->dense) return nullptr;
        std::byte* const begin =
            static_cast<std::byte*>(block.data) + block.type->true_lb - begins_[number];
        if (found != nullptr && begin != found) return nullptr;
        found = begin;
      }
    return found;
  }

  Schedule& s_;
  const Nodes& nodes_;
  const Blocks& blocks_;
  std::vector<std::int64_t> counts_, begins_;  // of ranks, node by node
  std::vector<std::int64_t> node_counts_, node_begins_;
  std::int64_t total_ = 0;
  std::byte* data_ = nullptr;

 public:
  bool is_there = false;
};

void allgather_uneven(Schedule& s, const ConstBuffer& send, const Blocks& recv, const Across& at) {
  Phases phases(s, at);
  PackedBlocks blocks(s, at.nodes(), recv);
  const ConstBuffer mine = contribution(send, recv[at.rank]);
  const Case on_node{.bytes = blocks.mean(), .uniform = false};
  const Blocks here = blocks.of_ranks(phases.node());
  if (phases.alone()) {
    if (!is_in_place(send.data) || !blocks.is_there) s.copy(mine, here[0]);
  } else {
    const bool is_there = phases.leads() && is_in_place(send.data) && blocks.is_there;
    phases.on_node({.call = Call::gatherv,
                    .root = phases.leader_place(),
                    .send = is_there ? ConstBuffer(in_place) : mine,
                    .to = phases.leads() ? &here : &no_blocks()},
                   on_node);
  }
  const Blocks of_nodes = blocks.of_nodes();
  phases.between({.call = Call::allgatherv, .send = in_place, .to = &of_nodes},
                 {.bytes = blocks.mean() * at.nodes().most(), .uniform = false});
  const Buffer whole = blocks.whole();
  phases.on_node({.call = Call::bcast, .root = phases.leader_place(), .buffer = whole},
                 {.bytes = whole.bytes()});
  blocks.unpack();
}

}  // namespace

void allgather_nodes(Schedule& s, const ConstBuffer& send, const Blocks& recv, const Across& at) {
  if (!recv.is_uniform()) return allgather_uneven(s, send, recv, at);
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
  if (!recv.is_uniform()) return alltoallv_nodes(s, send, recv, at);
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
      const auto size = static_cast<std::int64_t>(there.size());
      const std::int64_t run = nodes.in_rows() ? size : 1;
      begins.push_back(begin);
      counts.push_back(n * q * size);
      for (int i = 0; i < q; ++i)
        for (std::int64_t j = 0; j < size; j += run, begin += n * run)
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

void alltoall_parts(Schedule& s, const Blocks& send, const Blocks& recv, const Across& at) {
  Phases phases(s, at);
  const Nodes& nodes = at.nodes();
  const int q = nodes.most();
  const std::int64_t n = recv[0].bytes(), column = n * nodes.count();
  NodeBlocks given(s, nodes, send.in_place() ? recv : send);
  given.pack();
  // For each node by rank of this one; for each rank of this node by node of the sender.
  std::byte* came = s.bytes(column * q);
  std::byte* sorted = s.bytes(column * q);
  const Blocks of_nodes = given.of_nodes(), from_nodes(as_bytes(came, n * q));
  phases.between_parts(q, {.call = Call::alltoall, .from = &of_nodes, .to = &from_nodes},
                       {.bytes = n * q});
  s.next_round();
  for (int k = 0; k < nodes.count(); ++k)
    for (int j = 0; j < q; ++j)
      s.copy(as_bytes(came + (k * q + j) * n, n), as_bytes(sorted + j * column + k * n, n));
  const Blocks for_here(as_bytes(sorted, column)), from_here(as_bytes(came, column));
  phases.on_node({.call = Call::alltoall, .from = &for_here, .to = &from_here}, {.bytes = column});
  s.next_round();
  for (int k = 0; k < nodes.count(); ++k)
    for (int j = 0; j < q; ++j)
      s.copy(as_bytes(came + j * column + k * n, n),
             recv[nodes.members(k)[static_cast<std::size_t>(j)]]);
}

}  // namespace weft::coll
