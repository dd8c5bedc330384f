// SPDX-License-Identifier: Apache-2.0
//
// The links between the nodes of a declared cluster, and which of them a message goes through:
// always the same ones between the same two nodes, as switches with fixed tables do it. What leads
// out of a node and into it is not among them (replay.h).
//
//   full        every two nodes have a link of their own: nothing is shared
//   fat-tree    switches of `radix` ports, half of them down, as many levels as the nodes need; up
//               by digits of the receiver's number, so that its messages come down one way
//               (D-mod-k). taper: so many times fewer ports up than down
//   dragonfly   routers of `radix` ports: a quarter for nodes, a half to the others of a group,
//               a quarter to other groups; the shortest way: in the group, between groups, in the
//               group
//
// source   Leiserson, Fat-trees, IEEE Trans. Comp. 1985; Zahavi, D-Mod-K routing providing
//          non-blocking traffic for shift permutations on real life fat trees, 2010; Kim, Dally,
//          Scott, Abts: Technology-driven, highly-scalable dragonfly topology, ISCA 2008
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weft::coll {

class Fabric {
 public:
  /// full, fat-tree:radix=36, fat-tree:radix=36,taper=2, dragonfly:radix=64. Nothing, and a
  /// sentence in `why`, if it is not understood or has no place for so many nodes.
  static std::optional<Fabric> parse(std::string_view text, int nodes, std::string* why);

  /// Links are numbered from 0.
  std::int64_t links() const { return links_; }
  /// The links from one node to another one, in order.
  void route(int from, int to, std::vector<std::int64_t>& out) const;
  /// For people: how large it is.
  std::string describe() const;

 private:
  enum class Kind : std::uint8_t { full, fat_tree, dragonfly };
  struct Level {             // of a fat tree
    std::int64_t down = 1;   // nodes below a switch's subtree
    std::int64_t width = 1;  // links that lead up from it, and as many down to it
    std::int64_t up_at = 0, down_at = 0;
  };
  void lay_fat_tree(std::int64_t radix, std::int64_t taper);
  bool lay_dragonfly(std::int64_t radix, std::string* why);
  void through_tree(int from, int to, std::vector<std::int64_t>& out) const;
  void through_groups(int from, int to, std::vector<std::int64_t>& out) const;

  Kind kind_ = Kind::full;
  int nodes_ = 1;
  std::int64_t links_ = 0;
  std::vector<Level> levels_;
  // Dragonfly.
  std::int64_t at_router_ = 1, routers_ = 1, groups_ = 1, between_two_ = 1, globals_at_ = 0;
};

}  // namespace weft::coll
