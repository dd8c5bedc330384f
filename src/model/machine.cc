// SPDX-License-Identifier: Apache-2.0
#include "model/machine.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <map>
#include <utility>

#include "base/keyed_hash.h"

namespace weft::model {
namespace {

constexpr double ns = 1e-9;

// Orders of magnitude of today's server processors, so that choices are sane before the machine is
// measured: `weft tune` replaces them. L3Cache and NUMANode are about what a 2-core EPYC has when
// its cores are near and far (2026-11).
constexpr Parameters defaults{
    .levels = 8,
    .level = {{"PU", 10 * ns, 0.1 * ns, 0.1 * ns, 0, 0.1 * ns},
              {"Core", 20 * ns, 0.2 * ns, 0.2 * ns, 0, 0.2 * ns},
              {"L2Cache", 30 * ns, 0.3 * ns, 0.2 * ns, 0, 0.3 * ns},
              {"L3Cache", 60 * ns, 0.5 * ns, 0.25 * ns, 0, 1 * ns},
              {"NUMANode", 290 * ns, 1.7 * ns, 0.8 * ns, 0, 7 * ns},
              {"Group", 300 * ns, 2 * ns, 0.9 * ns, 0, 7 * ns},
              {"Package", 310 * ns, 2.5 * ns, 1 * ns, 0, 8 * ns},
              {"Machine", 500 * ns, 6 * ns, 2 * ns, 0, 10 * ns}},
    .copy = 0.6 * ns,
    .reduce = 0.7 * ns,
    .memory = {8 * ns, 3 * ns, 2.5 * ns},
    .turn = 1000 * ns,
    .call = 60 * ns,
    .message = 200 * ns,
    .step = 80 * ns,
};

/// Without levels.
Machine priced_by(const Parameters& prices) {
  Machine out;
  out.copy = prices.copy;
  out.reduce = prices.reduce;
  out.call = prices.call;
  out.message = prices.message;
  out.step = prices.step;
  out.memory = prices.memory;
  out.turn = prices.turn;
  return out;
}

}  // namespace

const Parameters& built_in() {
  return defaults;
}

// What is built in was measured with two cores, and 21 GB/s copied may be all that a small node
// has. Nodes of many cores have channels for them. Not measured: servers of 2017 with two sockets,
// 56 and 64 cores, are published with 200 and 250 GB/s of STREAM (AnandTech, July 2017), 1.6
// and 2 lines read and written in a ns; this says 1.2 and 1.3.
Memory usual_memory(int cores) {
  constexpr double small_node_cores = 16;
  const double share = std::min(1.0, small_node_cores / std::max(cores, 1));
  return {defaults.memory.b, share * defaults.memory.B, share * defaults.memory.past};
}

Level Parameters::at(std::string_view name) const {
  const auto find = [&](const Parameters& in) {
    const Level* end = in.level + in.levels;
    return std::find_if(in.level, end, [&](const Level& l) { return l.name == name; });
  };
  if (const Level* own = find(*this); own != level + levels) return *own;
  if (const Level* other = find(defaults); other != defaults.level + defaults.levels) return *other;
  return defaults.level[defaults.levels - 1];
}

std::string doubts_about(const Parameters& p) {
  constexpr double longest_line = 10'000 * ns, longest_turn = 200'000 * ns;
  const auto about = [](const Level& level, const char* what) {
    return std::string("between cores of one ") + level.name + " " + what;
  };
  for (int l = 0; l < p.levels; ++l) {
    const Level& level = p.level[l];
    if (level.line() > longest_line) return about(level, "a line took more than 10 us");
    if (level.line() <= 0) return about(level, "a line took no time");
    if (p.memory.b > 0 && std::max(level.b, level.B) > 4 * p.memory.b)
      return about(level, "each of many lines took four times as long as from memory");
    for (int inner = 0; inner < l; ++inner)
      if (level.line() < p.level[inner].line() / 3)
        return about(level, "a line was three times as fast as between cores nearer to each other");
  }
  if (p.copy <= 0 || p.reduce <= 0) return "a line was copied or folded in no time";
  if (p.memory.b > 0 && std::max(p.copy, p.reduce) > 4 * p.memory.b)
    return "a line in the cache took four times as long as one from memory";
  if (p.turn > longest_turn) return "the next thread on a CPU ran only after 200 us";
  return "";
}

Machine Machine::holding_lines(double lines, Others others) const {
  Machine out = *this;
  if (cache_lines <= 0 || memory.b <= 0) return out;
  const double gone = std::clamp((lines - cache_lines) / cache_lines, 0.0, 1.0);
  const bool past = others == Others::in_memory && streams(lines);
  const double there = past ? memory.past * ranks() : memory.copy(ranks());
  const double extra = gone * std::max(0.0, there - copy);
  out.copy += extra;
  if (others == Others::in_cache) return out;
  out.reduce += extra;
  // A line that comes from memory is not also fetched out of a cache.
  for (int l = 0; l < levels; ++l) {
    out.level[l].b = std::max(level[l].b - extra, 0.0);
    out.level[l].w = std::max(level[l].w - extra, 0.0);
  }
  return out;
}

const Level& Machine::holding(int n) const {
  int l = 0;
  while (l < levels - 1 && ranks_in(l) < n) ++l;
  return level[l];
}

std::string_view price_name(const topo::Hierarchy& node, int l) {
  const bool outside = node.name(l) == "NUMANode" && node.level_named("Package") > l;
  return outside ? "Machine" : node.name(l);
}

std::uint64_t name_of(const Machine& x) {
  SipState state{HashKey{}};
  const auto add = [&](auto... numbers) {
    (state.add(std::bit_cast<std::uint64_t>(static_cast<double>(numbers))), ...);
  };
  for (int l = 0; l < x.levels; ++l) {
    const Level& level = x.level[l];
    add(level.a, level.b, level.B, level.far_a, level.w, x.fan[l]);
  }
  add(x.levels, x.members, x.copy, x.reduce, x.call, x.message, x.step, x.cache_lines, x.cpus);
  add(x.memory.b, x.memory.B, x.memory.past, x.turn, x.nodes);
  add(x.network.latency, x.network.gap, x.network.line, x.network.pairs);
  return state.end();
}

double cache_share(const Parameters& prices, int ranks) {
  double most = 0;
  for (const Cache& cache : std::span(prices.cache).first(static_cast<std::size_t>(prices.caches)))
    most = std::max(most, cache.lines / std::min(cache.cpus, ranks));
  return most;
}

std::int64_t bulk_bytes(const Parameters& prices, int ranks) {
  constexpr double usual_l2 = 8192;  // lines
  double l2 = 0, around = 0;
  for (const Cache& cache : std::span(prices.cache).first(static_cast<std::size_t>(prices.caches)))
    (cache.level == 2 ? l2 : around) = cache.lines / std::min(cache.cpus, ranks);
  const double lines = l2 > 0 ? l2 + std::min(l2, around / 2) : 2 * usual_l2;
  return static_cast<std::int64_t>(lines * line_bytes);
}

Machine machine_of(const Parameters& prices, const topo::Hierarchy& node,
                   std::span<const std::int32_t> members) {
  Machine out = priced_by(prices);
  out.members = static_cast<int>(members.size());
  out.cache_lines = cache_share(prices, out.members);
  int inside = 1;  // ranks in one part of the last level taken
  for (int l = node.levels() - 1; l >= 0; --l) {
    std::map<std::int32_t, int> held;
    int most = 0;
    for (const std::int32_t rank : members) {
      const std::int32_t part = node.group_of(l, rank);
      if (part >= 0 || l == 0) most = std::max(most, ++held[part]);
    }
    if (l == 0) most = static_cast<int>(members.size());
    if (most <= inside) continue;
    Level& level = out.level[out.levels];
    level = prices.at(price_name(node, l));
    out.fan[out.levels++] = (most + inside - 1) / inside;
    inside *= out.fan[out.levels - 1];
  }
  return out;
}

namespace {

template <class Value>
Network network_by(Value&& value) {
  constexpr double megabyte = 1e6;
  return {.latency = value(P::net_latency) * ns,
          .gap = value(P::net_gap) * ns,
          .line = line_bytes / (value(P::net_bandwidth) * megabyte),
          .pairs = value(P::net_pairs)};
}

}  // namespace

Network network_of(const Params& params) {
  return network_by([&](P id) { return static_cast<double>(params.integer(id)); });
}

Network usual_network() {
  return network_by([](P id) {
    const ParamDef& def = param_table()[static_cast<std::size_t>(id)];
    std::int64_t value = 0;
    param_parse(def, def.fallback, &value);
    return static_cast<double>(value);
  });
}

Machine machine_across(int nodes, int most, const Network& network) {
  // Lines that a rank, or a leader with the blocks of its node, has near. With twice as many the
  // walk said 64 us of an alltoall of 64 KiB through leaders, where 229 to 305 were measured (2
  // pretended nodes x 2, `weft bench network --regret`, EPYC family 26 model 2, 2026-11-24).
  constexpr double usual_share = 16384;
  Machine out = priced_by(defaults);
  out.levels = most > 1 ? 1 : 0;
  out.level[0] = defaults.at("L3Cache");
  out.fan[0] = out.members = most;
  out.memory = usual_memory(most);
  out.cache_lines = usual_share;
  out.nodes = nodes;
  out.network = network;
  return out;
}

}  // namespace weft::model
