// SPDX-License-Identifier: Apache-2.0
//
// How the ranks of a communicator lie on nodes. Nodes are numbered by their first ranks. Pure: all
// ranks compute the same.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace weft::coll {

class Nodes {
 public:
  /// `node_of`: of each rank; equal numbers are one node.
  explicit Nodes(std::span<const std::int32_t> node_of);
  /// In rows.
  static Nodes rows(int nodes, int each);

  int count() const { return static_cast<int>(begin_.size()) - 1; }
  int ranks() const { return static_cast<int>(order_.size()); }
  int node_of(int rank) const { return node_[at(rank)]; }
  /// The number of `rank` among those of its node.
  int place_of(int rank) const { return place_[at(rank)]; }
  /// Ascending.
  std::span<const std::int32_t> members(int node) const {
    return std::span(order_).subspan(at(begin_[at(node)]), at(size_of(node)));
  }
  int size_of(int node) const { return begin_[at(node + 1)] - begin_[at(node)]; }
  /// Of the node with the fewest ranks, and with the most.
  int fewest() const { return fewest_; }
  int most() const { return most_; }
  bool is_even() const { return fewest_ == most_; }
  /// Do the ranks of each node follow each other?
  bool in_rows() const { return in_rows_; }

 private:
  static std::size_t at(int i) { return static_cast<std::size_t>(i); }
  std::vector<std::int32_t> node_, place_;  // [rank]
  std::vector<std::int32_t> order_;         // all ranks, node by node
  std::vector<std::int32_t> begin_;         // [node]: where it begins in order_
  int fewest_, most_;
  bool in_rows_;
};

}  // namespace weft::coll
