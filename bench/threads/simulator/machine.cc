// SPDX-License-Identifier: Apache-2.0
#include "machine.h"

#include <algorithm>
#include <numeric>

#include "topo/slices.h"
#include "topo/table.h"

namespace weft::simulator {

Result<Machine> Machine::declare(const std::string& synthetic) {
  auto node = topo::Topology::synthetic(synthetic.c_str());
  if (!node) return node.err;
  Machine out;
  out.topology_ = std::move(node.value);
  const auto cores = out.topology_.cores();
  out.cores_ = static_cast<int>(cores.size());
  if (out.cores_ > most_cores) return fail(MPI_ERR_ARG, "at most %d cores", most_cores);
  const auto count = static_cast<std::size_t>(out.cores_);
  for (const topo::Core& core : cores) out.domains_.push_back(core.numa);
  out.domain_count_ = out.topology_.numas();

  // The hierarchy of a job with a rank on each core tells what two of them have in common.
  std::vector<std::uint64_t> memory(topo::HierarchyTable::bytes(count) / 8 + 1);
  auto& table = *reinterpret_cast<topo::HierarchyTable*>(memory.data());
  topo::fill_table(out.topology_, topo::slices(out.topology_, out.cores_), table);
  const topo::Hierarchy node_levels(table);
  for (int l = 0; l < node_levels.levels(); ++l) {
    out.names_.emplace_back(model::price_name(node_levels, l));
    out.prices_.push_back(model::built_in().at(out.names_.back()));
  }
  out.level_.resize(count * count);
  for (int a = 0; a < out.cores_; ++a)
    for (int b = 0; b < out.cores_; ++b)
      out.level_[static_cast<std::size_t>(a * out.cores_ + b)] =
          static_cast<std::uint8_t>(node_levels.deepest_common(a, b));
  return out;
}

Lines::Lines(const Machine& machine)
    : machine_(machine),
      table_(std::size_t{1} << 14),
      drained_ns_(static_cast<std::size_t>(machine.cores())) {}

Lines::Line& Lines::find(std::uintptr_t line) {
  const std::size_t mask = table_.size() - 1;
  for (std::size_t i = line * 0x9e3779b97f4a7c15U >> 20 & mask;; i = (i + 1) & mask) {
    Line& found = table_[i];
    if (found.name == line) return found;
    if (found.name != 0) continue;
    if (used_ * 2 >= table_.size()) {
      grow();
      return find(line);
    }
    ++used_;
    found.name = line;
    return found;
  }
}

void Lines::grow() {
  std::vector<Line> old(table_.size() * 4);
  old.swap(table_);
  used_ = 0;
  for (const Line& line : old)
    if (line.name != 0) find(line.name) = line;
}

double Lines::cost_ns(int level, bool streamed) const {
  const model::Level& price = machine_.price(level);
  return (streamed ? price.b : price.line()) * 1e9;
}

Transfer Lines::read(std::uintptr_t name, int core, double now_ns, bool streamed) {
  Line& line = find(name);
  const auto me = static_cast<std::size_t>(core);
  if (line.holders[me]) return {now_ns, from_nowhere};
  line.holders.set(me);
  if (line.last < 0) {
    line.last = core;
    return {now_ns, from_nowhere};
  }
  const int level = machine_.level(core, line.last);
  line.free_ns = std::max(now_ns, line.free_ns) + cost_ns(level, streamed);
  return {line.free_ns, level};
}

/// The core becomes the only one that has the line; the level over which it comes.
int Lines::take(Line& line, int core) {
  const auto me = static_cast<std::size_t>(core);
  const int all = machine_.levels();  // levels count from the machine inwards
  int level = all;
  for (std::size_t holder = line.holders._Find_first(); holder < most_cores;
       holder = line.holders._Find_next(holder))
    if (holder != me) level = std::min(level, machine_.level(core, static_cast<int>(holder)));
  line.last = core;
  if (level < all) line.holders.reset();
  line.holders.set(me);
  return level < all ? level : from_nowhere;
}

Transfer Lines::write(std::uintptr_t name, int core, double now_ns, bool streamed) {
  Line& line = find(name);
  const int level = take(line, core);
  double& drained = drained_ns_[static_cast<std::size_t>(core)];
  if (level != from_nowhere)
    line.free_ns = std::max(now_ns, line.free_ns) + cost_ns(level, streamed);
  line.free_ns = drained = std::max(drained, std::max(now_ns, line.free_ns));
  return {now_ns, level};
}

Transfer Lines::modify(std::uintptr_t name, int core, double now_ns) {
  now_ns = std::max(now_ns, drained_ns(core));
  Line& line = find(name);
  const int level = take(line, core);
  if (level == from_nowhere) return {now_ns, level};
  line.free_ns = std::max(now_ns, line.free_ns) + cost_ns(level, false);
  return {line.free_ns, level};
}

}  // namespace weft::simulator
