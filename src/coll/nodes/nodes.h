// SPDX-License-Identifier: Apache-2.0
//
// How the ranks of a communicator lie on nodes. Nodes are numbered by their first ranks. Pure: all
// ranks compute the same. Each rank has this of all others, so it is small where ranks lie in rows
// of the same length, as they mostly do.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace weft::coll {

class Nodes {
 public:
  /// The ranks of a node, ascending.
  class Members {
   public:
    /// They follow each other, or `listed` has them.
    Members(std::int32_t first, std::size_t size, const std::int32_t* listed)
        : first_(first), size_(size), listed_(listed) {}
    std::size_t size() const { return size_; }
    std::int32_t operator[](std::size_t i) const {
      return listed_ != nullptr ? listed_[i] : first_ + static_cast<std::int32_t>(i);
    }
    std::int32_t front() const { return (*this)[0]; }
    std::int32_t back() const { return (*this)[size_ - 1]; }

    struct Iterator {
      const Members* of;
      std::size_t i;
      std::int32_t operator*() const { return (*of)[i]; }
      Iterator& operator++() { return ++i, *this; }
      bool operator==(const Iterator&) const = default;
    };
    Iterator begin() const { return {this, 0}; }
    Iterator end() const { return {this, size_}; }

   private:
    std::int32_t first_;
    std::size_t size_;
    const std::int32_t* listed_;
  };

  /// `node_of`: of each rank; equal numbers are one node.
  explicit Nodes(std::span<const std::int32_t> node_of);
  /// In rows.
  static Nodes rows(int nodes, int each);

  int count() const { return static_cast<int>(begin_.size()) - 1; }
  int ranks() const { return begin_.back(); }
  int node_of(int rank) const { return node_.empty() ? rank / most_ : node_[at(rank)]; }
  /// The number of `rank` among those of its node.
  int place_of(int rank) const {
    return in_rows_ ? rank - begin_[at(node_of(rank))] : place_[at(rank)];
  }
  Members members(int node) const {
    const std::int32_t begin = begin_[at(node)];
    return {begin, at(size_of(node)), in_rows_ ? nullptr : order_.data() + begin};
  }
  int size_of(int node) const { return begin_[at(node + 1)] - begin_[at(node)]; }
  /// Of the node with the fewest ranks, and with the most.
  int fewest() const { return fewest_; }
  int most() const { return most_; }
  bool is_even() const { return fewest_ == most_; }
  /// Do the ranks of each node follow each other?
  bool in_rows() const { return in_rows_; }
  /// Of memory, about.
  std::size_t bytes() const {
    return sizeof(std::int32_t) * (node_.size() + place_.size() + order_.size() + begin_.size());
  }

 private:
  static std::size_t at(int i) { return static_cast<std::size_t>(i); }
  std::vector<std::int32_t> node_;   // [rank]; not of even rows
  std::vector<std::int32_t> place_;  // [rank]; not of rows
  std::vector<std::int32_t> order_;  // all ranks, node by node; not of rows
  std::vector<std::int32_t> begin_;  // [node]: where it begins in order_
  int fewest_, most_;
  bool in_rows_;
};

}  // namespace weft::coll
