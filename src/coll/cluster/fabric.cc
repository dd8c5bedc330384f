// SPDX-License-Identifier: Apache-2.0
#include "coll/cluster/fabric.h"

#include <algorithm>

#include "base/params.h"
#include "coll/limits.h"

namespace weft::coll {
namespace {

/// radix=36,taper=2 behind a fabric's name.
bool take_numbers(std::string_view text, std::int64_t* radix, std::int64_t* taper,
                  std::string* why) {
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), word.size() + 1));
    const std::size_t equals = word.find('=');
    const std::string_view name = word.substr(0, equals);
    std::int64_t* const out = name == "radix" ? radix : name == "taper" ? taper : nullptr;
    const std::string value(equals == word.npos ? "" : word.substr(equals + 1));
    if (out == nullptr || !parse_integer(value.c_str(), out)) {
      *why = "`" + std::string(word) + "` is not understood; expected radix=NUMBER" +
             (taper != nullptr ? " or taper=NUMBER" : "");
      return false;
    }
  }
  if (*radix < least_radix || *radix > most_radix) {
    *why = "radix is " + std::to_string(least_radix) + " to " + std::to_string(most_radix) +
           ", ports of a switch";
    return false;
  }
  if (taper != nullptr && (*taper < 1 || *taper > *radix / 2)) {
    *why = "taper is 1 to radix/2";
    return false;
  }
  return true;
}

}  // namespace

std::optional<Fabric> Fabric::parse(std::string_view text, int nodes, std::string* why) {
  Fabric out;
  out.nodes_ = nodes;
  const std::string_view name = text.substr(0, text.find(':'));
  const std::string_view numbers = name.size() < text.size() ? text.substr(name.size() + 1) : "";
  std::int64_t radix = 36, taper = 1;
  if (name == "full" && numbers.empty()) return out;
  if (name == "fat-tree") {
    if (!take_numbers(numbers, &radix, &taper, why)) return {};
    out.lay_fat_tree(radix, taper);
    return out;
  }
  if (name == "dragonfly") {
    radix = 64;
    if (!take_numbers(numbers, &radix, nullptr, why) || !out.lay_dragonfly(radix, why)) return {};
    return out;
  }
  *why = "`" + std::string(text) +
         "` is no fabric; expected full, fat-tree:radix=36, fat-tree:radix=36,taper=2 or "
         "dragonfly:radix=64";
  return {};
}

void Fabric::lay_fat_tree(std::int64_t radix, std::int64_t taper) {
  kind_ = Kind::fat_tree;
  const std::int64_t down = radix / 2, up = std::max<std::int64_t>(down / taper, 1);
  Level level;
  while (level.down < nodes_) {
    level.down *= down;
    level.width *= up;
    const std::int64_t subtrees = (nodes_ + level.down - 1) / level.down;
    level.up_at = links_;
    level.down_at = links_ + subtrees * level.width;
    if (subtrees > 1) links_ = level.down_at + subtrees * level.width;
    levels_.push_back(level);
  }
}

void Fabric::through_tree(int from, int to, std::vector<std::int64_t>& out) const {
  std::size_t top = 0;
  while (from / levels_[top].down != to / levels_[top].down) ++top;
  for (std::size_t i = 0; i < top; ++i) {
    const Level& l = levels_[i];
    out.push_back(l.up_at + from / l.down * l.width + to % l.width);
  }
  for (std::size_t i = top; i-- > 0;) {
    const Level& l = levels_[i];
    out.push_back(l.down_at + to / l.down * l.width + to % l.width);
  }
}

bool Fabric::lay_dragonfly(std::int64_t radix, std::string* why) {
  kind_ = Kind::dragonfly;
  at_router_ = radix / 4;
  routers_ = 2 * at_router_;
  const std::int64_t in_group = at_router_ * routers_;  // nodes, and links to other groups
  groups_ = (nodes_ + in_group - 1) / in_group;
  if (groups_ > in_group + 1) {
    *why = "a dragonfly of radix " + std::to_string(radix) + " has " +
           std::to_string(in_group * (in_group + 1)) + " nodes at most";
    return false;
  }
  between_two_ = groups_ > 1 ? in_group / (groups_ - 1) : 1;
  globals_at_ = groups_ * routers_ * routers_;
  links_ = globals_at_ + groups_ * groups_ * between_two_;
  return true;
}

void Fabric::through_groups(int from, int to, std::vector<std::int64_t>& out) const {
  const auto local = [&](std::int64_t group, std::int64_t a, std::int64_t b) {
    if (a != b) out.push_back((group * routers_ + a) * routers_ + b);
  };
  const std::int64_t in_group = at_router_ * routers_;
  const std::int64_t g = from / in_group, h = to / in_group;
  const std::int64_t a = from % in_group / at_router_, b = to % in_group / at_router_;
  if (g == h) return local(g, a, b);
  // Links to the other groups are dealt out to the routers in turn, at both ends.
  const std::int64_t which = to % between_two_;
  const std::int64_t away = (h - g + groups_) % groups_ - 1, back = groups_ - 2 - away;
  const std::int64_t leaves = (away * between_two_ + which) / at_router_ % routers_;
  const std::int64_t enters = (back * between_two_ + which) / at_router_ % routers_;
  local(g, a, leaves);
  out.push_back(globals_at_ + (g * groups_ + h) * between_two_ + which);
  local(h, enters, b);
}

void Fabric::route(int from, int to, std::vector<std::int64_t>& out) const {
  out.clear();
  if (from == to) return;
  if (kind_ == Kind::fat_tree) through_tree(from, to, out);
  if (kind_ == Kind::dragonfly) through_groups(from, to, out);
}

std::string Fabric::describe() const {
  switch (kind_) {
    case Kind::full:
      return "full: no two pairs of nodes share a link";
    case Kind::fat_tree:
      return "fat tree of " + std::to_string(levels_.size()) + " levels, " +
             std::to_string(links_) + " links";
    case Kind::dragonfly:
      return "dragonfly of " + std::to_string(groups_) + " groups of " + std::to_string(routers_) +
             " routers with " + std::to_string(at_router_) + " nodes";
  }
  return "";
}

}  // namespace weft::coll
