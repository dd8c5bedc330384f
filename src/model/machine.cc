// SPDX-License-Identifier: Apache-2.0
#include "model/machine.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <utility>

namespace weft::model {
namespace {

constexpr double ns = 1e-9;

// Orders of magnitude of today's server processors, so that choices are sane before the machine is
// measured: `weft tune` replaces them. L3Cache and NUMANode are about what a 2-core EPYC has when
// its cores are near and far (2026-11).
constexpr Parameters defaults{
    .levels = 8,
    .level = {{"PU", 10 * ns, 0.1 * ns, 0.1 * ns},
              {"Core", 20 * ns, 0.2 * ns, 0.2 * ns},
              {"L2Cache", 30 * ns, 0.3 * ns, 0.2 * ns},
              {"L3Cache", 60 * ns, 0.5 * ns, 0.25 * ns},
              {"NUMANode", 290 * ns, 1.7 * ns, 0.8 * ns},
              {"Group", 300 * ns, 2 * ns, 0.9 * ns},
              {"Package", 310 * ns, 2.5 * ns, 1 * ns},
              {"Machine", 500 * ns, 6 * ns, 2 * ns}},
    .copy = 0.6 * ns,
    .reduce = 0.7 * ns,
    .call = 60 * ns,
    .message = 200 * ns,
};

}  // namespace

const Parameters& built_in() {
  return defaults;
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

const Level& Machine::holding(int n) const {
  int l = 0;
  while (l < levels - 1 && ranks_in(l) < n) ++l;
  return level[l];
}

std::string_view price_name(const topo::Hierarchy& node, int l) {
  const bool outside = node.name(l) == "NUMANode" && node.level_named("Package") > l;
  return outside ? "Machine" : node.name(l);
}

Machine machine_of(const Parameters& prices, const topo::Hierarchy& node,
                   std::span<const std::int32_t> members) {
  Machine out;
  out.members = static_cast<int>(members.size());
  out.copy = prices.copy;
  out.reduce = prices.reduce;
  out.call = prices.call;
  out.message = prices.message;
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

}  // namespace weft::model
