// SPDX-License-Identifier: Apache-2.0
//
// Gather, scatter and alltoall across nodes with blocks of any sizes. Only the root, or the two
// ranks it goes between, knows how long a block is. So the ranks of a node first tell their leader,
// on the node, and what leaders do is emitted when they know (Schedule::later); between nodes
// nothing is told. A block that is longer than what costs a leader as much as a message of its own
// goes by itself, from its sender to its receiver, behind the others: all who deal with a block
// know its length, so all agree.
//
//   gatherv    lengths to leaders, blocks to leaders, to the root        A(8) + A(n) + B(qn)
//   scatterv   lengths to leaders, from the root, from leaders           A(8) + B(qn) + A(n)
//   alltoallv  blocks of the node; lengths, rows to leaders, leaders     A(qn) + A(16Nq)
//              exchange, rows from leaders                               + 2 A(Nqn) + B(qqn)
//
// source   as moves.cc; lengths in front: Traeff, Rougier: Zero-copy, hierarchical gather is not
//          possible with MPI datatypes and collectives, EuroMPI 2014, who say why one has to
// legal    any root, counts, types; MPI_IN_PLACE; ranks may lie on nodes as they like
#include <memory>
#include <optional>

#include "coll/nodes/algorithms.h"

namespace weft::coll {
namespace {

Buffer nothing() {
  return as_bytes(static_cast<void*>(nullptr), 0);
}
const Blocks& no_blocks() {
  static const Blocks none(nothing());
  return none;
}
const Buffer in_place{MPI_IN_PLACE, 0, &byte_type()};

/// What phases cost that move blocks of so many bytes; to choose a way they are of no use, because
/// not all ranks know them.
Case uneven(const Schedule& s, std::int64_t bytes) {
  return {.bytes = s.is_imagined() ? bytes : 0, .uniform = false};
}

/// The longest block that goes through leaders: there it is copied four times more, and one after
/// the other; by itself it is a message.
std::int64_t longest_together(const Across& at) {
  const model::Machine& x = at.cluster.between.machine;
  return static_cast<std::int64_t>((x.message + x.network.gap) / (4 * x.copy) * model::line_bytes);
}

/// What is emitted later has its own of what the caller has.
struct Later {
  Later(const Phases& now, const Across& a)
      : site(a.site != nullptr ? std::optional<Site>(*a.site) : std::nullopt),
        at{a.cluster, a.rank, site ? &*site : nullptr, a.price, a.marked},
        phases(now, at) {}
  const std::optional<Site> site;
  const Across at;
  Phases phases;
};

/// The bytes of a buffer: where they lie, or in room of the schedule's.
struct Packed {
  Packed(Schedule& s, const Buffer& buffer) : is_there(buffer.type->dense || buffer.bytes() == 0) {
    const std::int64_t n = buffer.bytes();
    bytes = n == 0     ? nothing()
            : is_there ? as_bytes(static_cast<std::byte*>(buffer.data) + buffer.type->true_lb, n)
                       : as_bytes(s.bytes(n), n);
  }
  const bool is_there;
  Buffer bytes;
};

/// What the ranks of this node tell their leader.
class Lengths {
 public:
  Lengths(Schedule& s, Phases& phases, std::span<const std::int64_t> mine) : each_(mine.size()) {
    const auto n = static_cast<std::int64_t>(mine.size_bytes());
    std::byte* own = s.bytes(n);
    if (!s.is_imagined()) std::copy(mine.begin(), mine.end(), reinterpret_cast<std::int64_t*>(own));
    std::byte* all = phases.leads() ? s.bytes(n * phases.here()) : nullptr;
    phases.tell(own, all, n);
    if (s.is_imagined())
      imagined_.assign(mine.begin(), mine.end());
    else
      told_ = reinterpret_cast<const std::int64_t*>(all);
  }
  /// Of the rank at `place`; at the leader, later.
  std::span<const std::int64_t> of(int place) const {
    if (told_ == nullptr) return imagined_;
    return {told_ + static_cast<std::size_t>(place) * each_, each_};
  }

 private:
  std::size_t each_;
  const std::int64_t* told_ = nullptr;  // by place
  std::vector<std::int64_t> imagined_;  // as if all had what this rank has
};

/// Room for blocks one behind the other, of which one may have a place already.
struct Row {
  std::vector<Buffer> blocks;
  std::byte* room = nullptr;
  std::int64_t total = 0;
};
Row row_of(Schedule& s, const Lengths& lengths, int ranks) {
  Row row;
  for (int i = 0; i < ranks; ++i) row.total += lengths.of(i)[0];
  row.room = s.bytes(row.total);
  std::byte* at = row.room;
  for (int i = 0; i < ranks; ++i) {
    row.blocks.push_back(as_bytes(at, lengths.of(i)[0]));
    at += lengths.of(i)[0];
  }
  return row;
}

/// The blocks of a rooted operation at its root: those of its own node, rooms for those of other
/// nodes that travel together, and those that travel alone.
class AtRoot {
 public:
  AtRoot(Schedule& s, const Blocks& blocks, int root, const Across& at)
      : s_(s), blocks_(blocks), nodes_(at.nodes()) {
    const std::int64_t most = longest_together(at);
    for (int k = 0; k < nodes_.count(); ++k) {
      std::int64_t total = 0;
      for (const int rank : nodes_.members(k)) {
        const std::int64_t n = blocks[rank].bytes();
        if (k == nodes_.node_of(root)) {
          here.push_back(blocks[rank]);
        } else if (n > most || nodes_.size_of(k) == 1) {
          alone.push_back(rank);
        } else {
          total += n;
          together_.push_back(rank);
        }
      }
      of_nodes.push_back(as_bytes(s.bytes(total), total));
    }
  }
  void pack() {
    each([&](const Buffer& block, const Buffer& room) { s_.copy(block, room); });
  }
  void unpack() {
    each([&](const Buffer& block, const Buffer& room) { s_.copy(room, block); });
  }

 private:
  template <class Body>
  void each(Body&& body) {
    std::vector<std::int64_t> at(of_nodes.size());
    for (const int rank : together_) {
      const auto k = static_cast<std::size_t>(nodes_.node_of(rank));
      const std::int64_t n = blocks_[rank].bytes();
      body(blocks_[rank], as_bytes(static_cast<std::byte*>(of_nodes[k].data) + at[k], n));
      at[k] += n;
    }
  }
  Schedule& s_;
  const Blocks& blocks_;
  const Nodes& nodes_;
  std::vector<int> together_;

 public:
  std::vector<Buffer> here, of_nodes;
  std::vector<int> alone;
};

bool goes_alone(const Phases& phases, const Across& at, std::int64_t bytes) {
  return phases.alone() || bytes > longest_together(at);
}

}  // namespace

void gatherv_nodes(Schedule& s, const ConstBuffer& send, const Blocks& recv, int root,
                   const Across& at) {
  Phases phases(s, at, root);
  const Operation to_root{.call = Call::gatherv, .root = phases.root_node(), .to = &no_blocks()};
  const Operation here{
      .call = Call::gatherv, .root = phases.leader_place(), .send = send, .to = &no_blocks()};
  if (at.rank == root) {
    const std::int64_t n = recv[root].bytes();
    AtRoot blocks(s, recv, root, at);
    const Blocks of_ranks{std::span<const Buffer>(blocks.here)};
    const Blocks of_nodes{std::span<const Buffer>(blocks.of_nodes)};
    if (phases.alone() && !is_in_place(send.data)) s.copy(send, recv[root]);
    Operation mine = here, in = to_root;
    mine.to = &of_ranks;
    phases.on_node(mine, uneven(s, n));
    in.send = in_place;
    in.to = &of_nodes;
    phases.between(in, uneven(s, n * phases.here()));
    blocks.unpack();
    for (const int rank : blocks.alone) s.recv(recv[rank], rank);
    return s.next_round();
  }
  const std::int64_t n = send.bytes();
  if (phases.node() == phases.root_node()) return phases.on_node(here, uneven(s, n));
  const bool is_alone = goes_alone(phases, at, n);
  if (!phases.alone()) {
    const Packed own(s, is_alone ? nothing() : writable(send));
    if (phases.leads() && !own.is_there) s.copy(send, own.bytes);
    const std::int64_t length[] = {own.bytes.count};
    const Lengths lengths(s, phases, length);
    phases.meet();
    if (!phases.leads()) {
      Operation mine = here;
      if (is_alone) mine.send = nothing();
      phases.on_node(mine, uneven(s, n));
    } else {
      s.later(
          [&s, l = std::make_shared<Later>(phases, at), lengths, here, to_root, bytes = own.bytes] {
            const Row row = row_of(s, lengths, l->phases.here());
            const Blocks blocks{std::span<const Buffer>(row.blocks)};
            Operation mine = here, out = to_root;
            mine.send = bytes;
            mine.to = &blocks;
            l->phases.on_node(mine, uneven(s, row.total / l->phases.here()));
            out.send = as_bytes(row.room, row.total);
            l->phases.between(out, uneven(s, row.total));
          });
    }
  }
  s.next_round();
  if (is_alone) s.send(send, root);
}

void scatterv_nodes(Schedule& s, const Blocks& send, const Buffer& recv, int root,
                    const Across& at) {
  Phases phases(s, at, root);
  const Operation from_root{
      .call = Call::scatterv, .root = phases.root_node(), .from = &no_blocks()};
  const Operation here{
      .call = Call::scatterv, .root = phases.leader_place(), .buffer = recv, .from = &no_blocks()};
  if (at.rank == root) {
    const std::int64_t n = send[root].bytes();
    AtRoot blocks(s, send, root, at);
    const Blocks of_ranks{std::span<const Buffer>(blocks.here)};
    const Blocks of_nodes{std::span<const Buffer>(blocks.of_nodes)};
    blocks.pack();
    if (phases.alone() && !is_in_place(recv.data)) s.copy(send[root], recv);
    Operation mine = here, out = from_root;
    out.buffer = in_place;
    out.from = &of_nodes;
    phases.between(out, uneven(s, n * phases.here()));
    mine.from = &of_ranks;
    phases.on_node(mine, uneven(s, n));
    s.next_round();
    for (const int rank : blocks.alone) s.send(send[rank], rank);
    return;
  }
  const std::int64_t n = recv.bytes();
  if (phases.node() == phases.root_node()) return phases.on_node(here, uneven(s, n));
  const bool is_alone = goes_alone(phases, at, n);
  if (!phases.alone()) {
    const Packed own(s, is_alone ? nothing() : recv);
    const std::int64_t length[] = {own.bytes.count};
    const Lengths lengths(s, phases, length);
    if (!phases.leads()) {
      Operation mine = here;
      if (is_alone) mine.buffer = nothing();
      phases.on_node(mine, uneven(s, n));
    } else {
      s.later([&s, l = std::make_shared<Later>(phases, at), lengths, here, from_root,
               bytes = own.bytes] {
        const Row row = row_of(s, lengths, l->phases.here());
        const Blocks blocks{std::span<const Buffer>(row.blocks)};
        Operation mine = here, in = from_root;
        in.buffer = as_bytes(row.room, row.total);
        l->phases.between(in, uneven(s, row.total));
        mine.buffer = bytes;
        mine.from = &blocks;
        l->phases.on_node(mine, uneven(s, row.total / l->phases.here()));
      });
      if (!own.is_there) s.copy(own.bytes, recv);
    }
  }
  s.next_round();
  if (is_alone) s.recv(recv, root);
}

namespace {

/// What a rank has for, and wants from, the ranks of other nodes: in rows, node by node.
struct Rows {
  std::vector<std::int64_t> lengths;  // [rank in order of nodes]: sent together, then received so
  std::vector<int> order;             // ranks
  std::vector<std::uint8_t> sent_alone, received_alone;  // [rank]
  Buffer out, in;
};

class Exchange {
 public:
  Exchange(Schedule& s, const Blocks& send, const Blocks& recv, const Across& at)
      : s_(s),
        recv_(recv),
        at_(at),
        from_(send.in_place() ? recv : send),
        is_in_place_(send.in_place()),
        phases_(s, at, 0, stages) {}

  void emit() {
    make_rows();
    const std::vector<ConstBuffer> kept = pack();
    here();
    if (phases_.alone()) {
      cross(s_, phases_, at_.nodes(), {rows_.lengths}, {rows_.out}, {rows_.in});
    } else {
      through_leader();
    }
    s_.next_round();
    unpack();
    by_themselves(kept);
  }

 private:
  static constexpr int stages = 8;
  using LengthsOf = std::vector<std::span<const std::int64_t>>;

  void make_rows() {
    const Nodes& nodes = at_.nodes();
    const std::int64_t most = longest_together(at_);
    const auto p = static_cast<std::size_t>(nodes.ranks());
    rows_.lengths.resize(2 * p);
    rows_.sent_alone.resize(p);
    rows_.received_alone.resize(p);
    std::int64_t out = 0, in = 0;
    for (int k = 0; k < nodes.count(); ++k)
      for (const int rank : nodes.members(k)) {
        const std::size_t i = rows_.order.size(), r = static_cast<std::size_t>(rank);
        rows_.order.push_back(rank);
        if (k == phases_.node()) continue;
        const bool may = !phases_.alone() || nodes.size_of(k) > 1;
        const std::int64_t sent = from_[rank].bytes(), received = recv_[rank].bytes();
        rows_.sent_alone[r] = !may || sent > most;
        rows_.received_alone[r] = !may || received > most;
        out += rows_.lengths[i] = rows_.sent_alone[r] ? 0 : sent;
        in += rows_.lengths[p + i] = rows_.received_alone[r] ? 0 : received;
      }
    rows_.out = as_bytes(s_.bytes(out), out);
    rows_.in = as_bytes(s_.bytes(in), in);
  }

  /// Also what goes by itself, where what is received would overwrite it.
  std::vector<ConstBuffer> pack() {
    auto* at = static_cast<std::byte*>(rows_.out.data);
    std::vector<ConstBuffer> kept;
    for (std::size_t i = 0; i < rows_.order.size(); ++i) {
      const int rank = rows_.order[i];
      const std::int64_t n = rows_.lengths[i];
      s_.copy(from_[rank], as_bytes(at, n));
      at += n;
    }
    for (int rank = 0; rank < at_.nodes().ranks(); ++rank) {
      ConstBuffer block = nothing();
      if (rows_.sent_alone[static_cast<std::size_t>(rank)]) block = from_[rank];
      if (is_in_place_ && block.bytes() > 0) {
        const Buffer copy = as_bytes(s_.bytes(block.bytes()), block.bytes());
        s_.copy(block, copy);
        block = copy;
      }
      kept.push_back(block);
    }
    s_.next_round();
    return kept;
  }

  void here() {
    std::vector<Buffer> sent, received;
    std::int64_t n = 0;
    for (const int rank : at_.nodes().members(phases_.node())) {
      sent.push_back(from_[rank]);
      received.push_back(recv_[rank]);
      n = received.back().bytes();
    }
    if (phases_.alone() && !is_in_place_) s_.copy(sent[0], received[0]);
    const Blocks to{std::span<const Buffer>(received)};
    const Blocks from = is_in_place_ ? Blocks(in_place) : Blocks(std::span<const Buffer>(sent));
    phases_.on_node({.call = Call::alltoallv, .from = &from, .to = &to}, uneven(s_, n));
  }

  void through_leader() {
    phases_.meet();
    const Lengths lengths(s_, phases_, rows_.lengths);
    phases_.meet();
    const Operation gather{.call = Call::gatherv,
                           .root = phases_.leader_place(),
                           .send = rows_.out,
                           .to = &no_blocks()};
    const Operation scatter{.call = Call::scatterv,
                            .root = phases_.leader_place(),
                            .buffer = rows_.in,
                            .from = &no_blocks()};
    if (!phases_.leads()) {
      phases_.on_node(gather, uneven(s_, rows_.out.count));
      return phases_.on_node(scatter, uneven(s_, rows_.in.count));
    }
    s_.later([&s = s_, l = std::make_shared<Later>(phases_, at_), lengths, gather, scatter,
              rows = rows_] {
      Phases& phases = l->phases;
      const Nodes& nodes = l->at.nodes();
      const auto p = static_cast<std::size_t>(nodes.ranks());
      LengthsOf all;
      std::vector<Buffer> out, in;
      std::int64_t sent = 0, received = 0;
      for (int i = 0; i < phases.here(); ++i) {
        const std::span<const std::int64_t> of = all.emplace_back(lengths.of(i));
        const std::int64_t n = sum(of.first(p)), m = sum(of.last(p));
        sent += n;
        received += m;
        out.push_back(as_bytes(static_cast<void*>(nullptr), n));
        in.push_back(as_bytes(static_cast<void*>(nullptr), m));
      }
      // This rank's rows are where they are.
      lay(s.bytes(sent), out, phases.place(), rows.out);
      lay(s.bytes(received), in, phases.place(), rows.in);
      const Blocks given{std::span<const Buffer>(out)}, wanted{std::span<const Buffer>(in)};
      Operation gathered = gather, scattered = scatter;
      gathered.send = in_place;
      gathered.to = &given;
      phases.on_node(gathered, uneven(s, rows.out.count));
      cross(s, phases, nodes, all, out, in);
      scattered.buffer = in_place;
      scattered.from = &wanted;
      phases.on_node(scattered, uneven(s, rows.in.count));
    });
  }

  static std::int64_t sum(std::span<const std::int64_t> lengths) {
    std::int64_t total = 0;
    for (const std::int64_t n : lengths) total += n;
    return total;
  }
  static std::byte* begin(const Buffer& row) { return static_cast<std::byte*>(row.data); }
  static void lay(std::byte* room, std::vector<Buffer>& rows, int place, const Buffer& own) {
    for (Buffer& row : rows) {
      row.data = room;
      room += row.count;
    }
    rows[static_cast<std::size_t>(place)] = own;
  }

  /// Leaders exchange. A message has what each rank of the sender's node has for each rank of the
  /// receiver's.
  static void cross(Schedule& s, Phases& phases, const Nodes& nodes, const LengthsOf& lengths,
                    const std::vector<Buffer>& out, const std::vector<Buffer>& in) {
    const std::size_t q = out.size(), p = static_cast<std::size_t>(nodes.ranks());
    std::vector<Buffer> from, to;
    std::vector<std::int64_t> at(q);
    std::size_t first = 0;
    s.next_round();
    for (int k = 0; k < nodes.count(); ++k) {
      const auto there = static_cast<std::size_t>(nodes.size_of(k));
      std::int64_t sent = 0, received = 0;
      for (const auto& of : lengths) {
        sent += sum(of.subspan(first, there));
        received += sum(of.subspan(p + first, there));
      }
      std::byte* next = s.bytes(sent);
      from.push_back(as_bytes(next, sent));
      to.push_back(as_bytes(s.bytes(received), received));
      for (std::size_t i = 0; i < q; ++i) {
        const std::int64_t n = sum(lengths[i].subspan(first, there));
        s.copy(as_bytes(begin(out[i]) + at[i], n), as_bytes(next, n));
        at[i] += n;
        next += n;
      }
      first += there;
    }
    const Blocks sends{std::span<const Buffer>(from)}, receives{std::span<const Buffer>(to)};
    phases.between({.call = Call::alltoallv, .from = &sends, .to = &receives},
                   uneven(s, from.back().count));
    s.next_round();
    std::fill(at.begin(), at.end(), 0);
    first = 0;
    for (int k = 0; k < nodes.count(); ++k) {
      const std::byte* next = begin(to[static_cast<std::size_t>(k)]);
      for (int sender = 0; sender < nodes.size_of(k); ++sender, ++first)
        for (std::size_t i = 0; i < q; ++i) {
          const std::int64_t n = lengths[i][p + first];
          s.copy(as_bytes(next, n), as_bytes(begin(in[i]) + at[i], n));
          at[i] += n;
          next += n;
        }
    }
    s.next_round();
  }

  void unpack() {
    auto* at = static_cast<std::byte*>(rows_.in.data);
    const std::size_t p = rows_.order.size();
    for (std::size_t i = 0; i < p; ++i) {
      s_.copy(as_bytes(at, rows_.lengths[p + i]), recv_[rows_.order[i]]);
      at += rows_.lengths[p + i];
    }
  }

  void by_themselves(const std::vector<ConstBuffer>& kept) {
    const int p = at_.nodes().ranks();
    for (int i = 1; i < p; ++i) {
      const int to = (at_.rank + i) % p, from = (at_.rank - i + p) % p;
      s_.send(kept[static_cast<std::size_t>(to)], to);
      if (rows_.received_alone[static_cast<std::size_t>(from)]) s_.recv(recv_[from], from);
      s_.next_round();
    }
  }

  Schedule& s_;
  const Blocks& recv_;
  const Across& at_;
  const Blocks& from_;
  const bool is_in_place_;
  Phases phases_;
  Rows rows_;
};

}  // namespace

void alltoallv_nodes(Schedule& s, const Blocks& send, const Blocks& recv, const Across& at) {
  Exchange(s, send, recv, at).emit();
}

}  // namespace weft::coll
