// SPDX-License-Identifier: Apache-2.0
//
// Broadcast, reduction and allreduce of long vectors across nodes, in S segments: while a leader's
// messages of one segment travel, it and the other ranks of its node work on the one before and on
// the one behind. S makes the time that segments take on a node when nothing travels, n/S, as long
// as the latencies of S times between nodes; it depends on what all ranks know.
//
//   bcast      between nodes: k        on each: k - 1
//   reduce     on each: k              between nodes: k - 1
//   allreduce  folded: k; between: k - 1; broadcast: k - 2
//
// The work on the node is done while messages of the first round of B travel, of r rounds: A + B +
// (S-1) (A + B - min(A, B/r)), each of n/S; of B only what the network does without the CPU.
//
// Through areas ranks meet before each phase on the node, because these follow each other without
// one that all ranks have to wait for.
//
// source   Traeff, Hempel: Scheduling and composition as in Karonis et al., IPDPS 2000, with the
//          pipelining of Thakur, Rabenseifner, Gropp, IJHPCA 2005, section 4
// legal    any root, count, type; MPI_IN_PLACE; operations that commute
#include <cmath>
#include <string_view>

#include "coll/boards/algorithms.h"
#include "coll/limits.h"
#include "coll/nodes/algorithms.h"

namespace weft::coll {
namespace {

/// Of a vector of `total` (bytes, or elements of `size` bytes).
struct Segments {
  Segments(std::int64_t all, std::int64_t size, const Across& at) : total(all) {
    if (total == 0 || size == 0) return;
    const model::Network& x = at.cluster.between.machine.network;
    const double latency = x.latency * log2_ceil(at.nodes().count());
    const double bytes = static_cast<double>(total * size);
    const double best = std::sqrt(bytes * model::line_bytes * latency / x.line);
    const double least = std::max(static_cast<double>(least_segment), bytes / most_segments);
    each = static_cast<std::int64_t>(std::ceil(std::max(best, least) / static_cast<double>(size)));
    each = std::max<std::int64_t>(each, 1);
    count = static_cast<int>((total + each - 1) / each);
  }
  std::int64_t begin(int k) const { return k * each; }
  std::int64_t length(int k) const { return std::min(each, total - k * each); }
  bool has(int k) const { return k >= 0 && k < count; }
  /// A meeting before each of two phases on a node.
  int stages() const { return std::max(4 * count, Phases::usual_stages); }

  std::int64_t total, each = 1;
  int count = 0;
};

/// Segment k of the operands; what is not there, or in place, stays so.
Operands segment(const Operands& x, const Segments& segments, int k) {
  const auto shifted = [&](const void* data) {
    const bool is_there = data != nullptr && !is_in_place(data);
    return is_there ? element(data, segments.begin(k), *x.type) : data;
  };
  return {shifted(x.send), const_cast<void*>(shifted(x.recv)), segments.length(k), x.type, x.op};
}

struct Shares {
  double between = 0, on_node = 0;
};
/// What a vector costs that goes in one; `emit(across)` emits its phases.
template <class Emit>
Shares in_one(const Across& at, Emit&& emit) {
  model::Prediction found;
  emit(Across{.cluster = at.cluster, .rank = at.rank, .site = at.site, .price = &found});
  Shares out;
  for (const model::Part& part : found.parts())
    (std::string_view(part.what) == "between nodes" ? out.between : out.on_node) += part.seconds;
  return out;
}

/// The time of one segment, and of the others, of which messages of the first of so many rounds
/// hide what is done on the node.
template <class One, class Whole>
void price(const Across& at, int segments, int rounds, One&& one, Whole&& whole) {
  // A segment fits a cache, but comes from a vector that may not.
  const Shares first = in_one(at, one), all_of_it = in_one(at, whole);
  const double between = std::max(first.between, all_of_it.between / segments);
  const double on_node = std::max(first.on_node, all_of_it.on_node / segments);
  const double all = between + on_node;
  const model::Machine& node = at.cluster.on_node.machine;
  const bool meets = at.site != nullptr && !at.site->direct() && node.levels > 0;
  const double meeting = meets ? node.ranks() * node.top().line() : 0;
  at.price->add("first segment", "its phases", all);
  // Of a message's time what the CPU copies hides nothing: memory's price of a line, which is all
  // of it between nodes of one machine. Measured there (2 x 2 threads, 1 MiB, EPYC family 26 model
  // 2, 2026-11-24): allreduce 353 us in one, 700 in segments, where the walk said they were faster.
  const model::Machine& x = at.cluster.between.machine;
  const double carried = std::max(0.0, 1 - x.memory.b / x.network.line);
  const double hidden = std::min(on_node, carried * first.between / std::max(rounds, 1));
  at.price->add("other segments", "their phases, of which the first round between nodes hides some",
                (segments - 1) * (all - hidden));
  at.price->add("meetings", "a + b of each rank", 2 * segments * meeting);
}

Case case_of(const Operands& x, std::int64_t count) {
  return {
      .bytes = count * x.type->size, .commutative = x.op->commutative, .plain = is_plain(*x.type)};
}

/// Phases of a reduction's segments.
class Folding {
 public:
  Folding(Schedule& s, const Operands& x, const Across& at, int root, const Segments& segments)
      : x_(x), segments_(segments), phases(s, at, root, segments.stages()) {}

  /// The ranks of a node fold segment k of `mine` into `to` of its leader.
  void fold(const void* mine, void* to, int k) {
    const Operands here = segment({mine, to, x_.count, x_.type, x_.op}, segments_, k);
    phases.meet();
    phases.on_node({.call = Call::reduce, .root = phases.leader_place(), .operands = &here}, of(k));
  }
  void spread(void* result, int k) {
    const Operands here = segment({nullptr, result, x_.count, x_.type, x_.op}, segments_, k);
    phases.meet();
    phases.on_node({.call = Call::bcast,
                    .root = phases.leader_place(),
                    .buffer = {here.recv, here.count, here.type}},
                   of(k));
  }
  Case of(int k) const { return case_of(x_, segments_.length(k)); }

 private:
  const Operands& x_;
  const Segments& segments_;

 public:
  Phases phases;
};

}  // namespace

void bcast_segments(Schedule& s, const Buffer& buffer, int root, const Across& at) {
  const Segments segments(buffer.bytes(), 1, at);
  if (segments.count < 2) return bcast_nodes(s, buffer, root, at);
  if (at.price != nullptr)
    return price(
        at, segments.count, log2_ceil(at.nodes().count()),
        [&](const Across& one) { bcast_nodes(s, as_bytes(buffer.data, segments.each), root, one); },
        [&](const Across& whole) { bcast_nodes(s, buffer, root, whole); });
  Phases phases(s, at, root, segments.stages());
  // Ranks may have other types, so segments are of bytes.
  std::byte* data = buffer.type->dense ? static_cast<std::byte*>(buffer.data) + buffer.type->true_lb
                                       : s.bytes(segments.total);
  const Buffer packed = as_bytes(data, segments.total);
  if (!buffer.type->dense && at.rank == root) s.copy(buffer, packed);
  s.next_round();
  const auto part = [&](int k) { return as_bytes(data + segments.begin(k), segments.length(k)); };
  for (int k = 0; k <= segments.count; ++k) {
    const auto here = [&] {
      if (!segments.has(k - 1)) return;
      phases.meet();
      phases.on_node({.call = Call::bcast, .root = phases.leader_place(), .buffer = part(k - 1)},
                     {.bytes = segments.length(k - 1)});
    };
    if (!segments.has(k)) {
      here();
      break;
    }
    phases.between_beside({.call = Call::bcast, .root = phases.root_node(), .buffer = part(k)},
                          {.bytes = segments.length(k)}, here);
  }
  if (!buffer.type->dense && at.rank != root) s.copy(packed, buffer);
}

void reduce_segments(Schedule& s, const Operands& x, int root, const Across& at) {
  const Segments segments(x.count, x.type->size, at);
  if (segments.count < 2) return reduce_nodes(s, x, root, at);
  if (at.price != nullptr)
    return price(
        at, segments.count, log2_ceil(at.nodes().count()),
        [&](const Across& one) { reduce_nodes(s, segment(x, segments, 0), root, one); },
        [&](const Across& whole) { reduce_nodes(s, x, root, whole); });
  Folding folding(s, x, at, root, segments);
  Phases& phases = folding.phases;
  const bool is_root = at.rank == root;
  void* const folded = is_root                             ? x.recv
                       : phases.leads() && !phases.alone() ? s.elements(x.count, *x.type)
                                                           : nullptr;
  const Operands across = phases.alone() ? x
                          : is_root      ? Operands{MPI_IN_PLACE, x.recv, x.count, x.type, x.op}
                                         : Operands{folded, nullptr, x.count, x.type, x.op};
  for (int k = 0; k <= segments.count; ++k) {
    const auto here = [&] {
      if (segments.has(k)) folding.fold(x.send, folded, k);
    };
    if (k == 0) {
      here();
      continue;
    }
    const Operands part = segment(across, segments, k - 1);
    phases.between_beside({.call = Call::reduce, .root = phases.root_node(), .operands = &part},
                          folding.of(k - 1), here);
  }
}

void allreduce_segments(Schedule& s, const Operands& x, const Across& at) {
  const Segments segments(x.count, x.type->size, at);
  if (segments.count < 2) return allreduce_nodes(s, x, at);
  if (at.price != nullptr)
    return price(
        at, segments.count, 2 * log2_ceil(at.nodes().count()),
        [&](const Across& one) { allreduce_nodes(s, segment(x, segments, 0), one); },
        [&](const Across& whole) { allreduce_nodes(s, x, whole); });
  Folding folding(s, x, at, 0, segments);
  Phases& phases = folding.phases;
  const bool leads = phases.leads();
  const Operands across =
      phases.alone() ? x : Operands{MPI_IN_PLACE, x.recv, x.count, x.type, x.op};
  for (int k = 0; k <= segments.count + 1; ++k) {
    const auto here = [&] {
      if (segments.has(k)) folding.fold(leads ? x.send : operand(x), leads ? x.recv : nullptr, k);
      if (segments.has(k - 2)) folding.spread(x.recv, k - 2);
    };
    if (!segments.has(k - 1)) {
      here();
      continue;
    }
    const Operands part = segment(across, segments, k - 1);
    phases.between_beside({.call = Call::allreduce, .operands = &part}, folding.of(k - 1), here);
  }
}

}  // namespace weft::coll
