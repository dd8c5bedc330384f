// SPDX-License-Identifier: Apache-2.0
//
// What the memory of a node costs, and how the ranks of a communicator lie on it: all that the cost
// formulas know. Pure data; times are seconds, lengths are cache lines (64 bytes).
//
// source   Li, Hoefler, Snir: NUMA-Aware Shared-Memory Collective Communication for MPI, HPDC 2013,
//          section 2.1
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/params.h"
#include "topo/hierarchy.h"

namespace weft::model {

inline constexpr double line_bytes = 64;
inline double lines_of(std::int64_t bytes) {
  return static_cast<double>(bytes) / line_bytes;
}

/// Reading lines that another core has just written, where this is the smallest part of the
/// machine that holds both cores. One line costs a + b, m lines in a row a + b*m.
struct Level {
  char name[topo::HierarchyTable::name_bytes];  // hwloc's
  double a;                                     // s
  double b;                                     // s per line, one reader
  double B;          // s per line and reader, of many readers: 1/B is the bandwidth they share
  double far_a = 0;  // s; `a` between the two farthest subparts, where they differ
  double w = 0;      // s per line written again that another core has read; not the paper's

  /// m lines while d ranks do the same (1/(Bd) <= 1/b: nobody is faster than alone).
  double read(double m, double d) const { return a + std::max(b, B * d) * m; }
  double line() const { return a + b; }
  /// s per line to write again what others here have read; as much as reading it if not known.
  double back() const { return w > 0 ? w : b; }
  /// s per line that others here have, and a copy overwrites: it is only taken from them. Measured,
  /// near and far cores of a 2-core EPYC, 2026-11: 0.5 and 1.0 ns with the copy, which alone takes
  /// 0.5, where reading takes 0.7 and 1.8 to 2.6.
  double taken() const { return back() / 14; }
  /// s per line that a rank reads where another one has copied it to: with ordinary loads, of which
  /// fewer are under way than of a copy. Measured as above: 0.7 and 2.6 ns, by a copy 0.5 and 1.7.
  double arrived() const { return 1.5 * b; }
  /// To read m lines in the farthest subpart, for d ranks.
  double read_far(double m, double d) const { return std::max(a, far_a) + std::max(b, B * d) * m; }
};

inline constexpr int most_levels = topo::HierarchyTable::most_levels;
inline constexpr int most_caches = 4;

/// Copying lines that are in no cache, to where they are in none: s per line alone (b), and of all
/// readers together (B); past: the same with stores that go past the caches. Not known: zero.
struct Memory {
  double b = 0, B = 0, past = 0;
  double copy(double d) const { return std::max(b, B * d); }
};

/// Caches of one kind: what one of them holds, and how many CPUs share it.
struct Cache {
  double lines = 0;
  int cpus = 0;
  int level = 0;  // 2 or 3
};

/// The node's prices, by level name; measured by `weft tune`, or built in. Plain data: the launcher
/// puts it into the job's memory, so that all ranks have the same.
struct Parameters {
  int levels = 0;
  Level level[most_levels] = {};
  double copy = 0;    // s per line copied between own buffers in the cache
  double reduce = 0;  // s per line folded into another one
  Memory memory = {};
  double turn = 0;     // s until the next of several ranks on one CPU runs
  double call = 0;     // s of software in a collective call
  double message = 0;  // s of software in a message, at both ends
  double step = 0;     // s of software to begin or await anything at a board
  bool measured = false;
  int caches = 0;  // kinds; from the topology, never from a file
  Cache cache[most_caches] = {};

  /// The level of that name, or the built-in one if it has not been measured.
  Level at(std::string_view name) const;
};

/// What serves where nothing has been measured.
const Parameters& built_in();

/// What memory costs a node of so many cores where nobody has measured it.
Memory usual_memory(int cores);

/// "" or why these numbers cannot be what memory costs: they were measured while something else
/// ran.
std::string doubts_about(const Parameters& prices);

/// Where the lines of others are that a rank reads: in a block that stays in the cache, or, as its
/// own, in buffers of which not all fits.
enum class Others { in_cache, in_memory };

/// What a message between nodes costs, by LogGP: s on its way, s and s per line that it keeps its
/// sender, and, a latency later, its receiver. One connection seldom fills what leads out of a node
/// and into one: the messages of `pairs` ranks pass there at once (ours; LogGP has one processor in
/// a node). The same on all nodes, so that all ranks choose alike.
///
/// source   Alexandrov, Ionescu, Schauser, Scheiman: LogGP, JPDC 44(1), 1997
struct Network {
  double latency = 0, gap = 0, line = 0;
  double pairs = 1;
  /// s that a message of so many lines keeps its sender.
  double takes(double lines) const { return gap + line * lines; }
  /// s that it keeps what leads out of a node.
  double keeps(double lines) const { return takes(lines) / pairs; }
  /// What each of `senders` on every node has of it while all of them send.
  Network shared_by(int senders) const {
    const double each = std::max(1.0, senders / pairs);
    return {latency, gap * each, line * each, std::max(1.0, pairs / senders)};
  }
};

/// The prices between the ranks of one communicator: levels from the inside out, each with how many
/// of the parts inside it are used. Levels that divide no ranks are left out.
struct Machine {
  int levels = 0;
  Level level[most_levels] = {};
  int fan[most_levels] = {};  // parts of the level below that hold ranks (level 0: ranks)
  int members = 0;            // ranks, where parts are uneven; 0: the product of all fans
  double copy = 0, reduce = 0, call = 0, message = 0, step = 0;
  Memory memory = {};
  double cache_lines = 0;  // a rank's share of the largest cache; 0: not known, all fits
  int cpus = 0;            // 0: one for every rank
  double turn = 0;
  int nodes = 1;  // of so many ranks each, at most
  Network network = {};

  /// Do the farthest ranks share no cache, by the price of a line? Between the 60 and the 300 ns
  /// that were measured on one machine in its two states (docs/cost-model.md).
  bool is_far() const { return top().line() > 140e-9; }
  bool crowded() const { return cpus > 0 && cpus < ranks(); }
  /// Is a copy between buffers of so many lines cheaper past the caches, which do not hold them?
  bool streams(double lines) const {
    return cache_lines > 0 && lines >= 2 * cache_lines && memory.past > 0 && memory.past < memory.B;
  }
  /// The prices when each rank works on `lines` of its own: what does not fit its cache comes from
  /// memory, and of twice as much as fits, all.
  Machine holding_lines(double lines, Others others) const;
  /// Of a node.
  int ranks() const { return ranks_in(levels - 1); }
  int all_ranks() const { return ranks() * nodes; }
  /// Ranks in one (full) part of level l; 1 for l = -1.
  int ranks_in(int l) const {
    if (l == levels - 1 && members > 0) return members;
    int n = 1;
    for (int i = 0; i <= l; ++i) n *= fan[i];
    return n;
  }
  /// Ranks with which a rank has level l in common and no smaller part.
  int peers_at(int l) const { return ranks_in(l) - ranks_in(l - 1); }
  /// The smallest level that holds `n` neighbouring ranks.
  const Level& holding(int n) const;
  const Level& top() const { return level[levels - 1]; }
};

/// The name under which level l of `node` has its price. Memory that all packages share tells
/// nothing of how near they are.
std::string_view price_name(const topo::Hierarchy& node, int l);

/// A rank's share of the largest cache, in lines, where so many ranks work; 0: not known.
double cache_share(const Parameters& prices, int ranks);

/// Room (bytes) in which a rank's bulk data for others goes round, where so many ranks work. Lines
/// that still lie in a reader's L2 cost the writer a fetch each; those that have fallen to the
/// cache around it cost less. So the room does not fit an L2, as far as the rank's share of the
/// cache around it allows. Without a known L2: as for one of 512 KiB.
std::int64_t bulk_bytes(const Parameters& prices, int ranks);

/// The machine of the ranks `members` (world ranks, at least two). Where parts hold different
/// numbers of ranks the largest counts.
Machine machine_of(const Parameters& prices, const topo::Hierarchy& node,
                   std::span<const std::int32_t> members);

/// A number that another machine has not.
std::uint64_t name_of(const Machine& x);

/// As net.latency, net.gap and net.bandwidth say.
Network network_of(const Params& params);
/// What the parameters say of it if nobody sets them.
Network usual_network();

/// The machine of ranks on several nodes, of which the largest has `most`; built-in prices, so that
/// it is the same wherever it is computed.
Machine machine_across(int nodes, int most, const Network& network);

}  // namespace weft::model
