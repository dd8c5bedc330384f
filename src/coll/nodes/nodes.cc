// SPDX-License-Identifier: Apache-2.0
#include "coll/nodes/nodes.h"

#include <algorithm>
#include <unordered_map>

namespace weft::coll {

Nodes::Nodes(std::span<const std::int32_t> node_of) : begin_{0} {
  std::unordered_map<std::int32_t, std::int32_t> numbers;
  std::vector<std::int32_t> sizes;
  std::int32_t last = -1, number = -1;  // mostly the same as of the rank before
  node_.reserve(node_of.size());
  in_rows_ = true;
  for (const std::int32_t node : node_of) {
    if (node != last || number < 0) {
      const auto next = static_cast<std::int32_t>(sizes.size());
      const auto [found, is_new] = numbers.try_emplace(node, next);
      if (is_new) sizes.push_back(0);
      last = node;
      number = found->second;
    }
    node_.push_back(number);
    ++sizes[at(number)];
    in_rows_ &= number == static_cast<std::int32_t>(sizes.size()) - 1;
  }
  begin_.reserve(sizes.size() + 1);
  for (const std::int32_t size : sizes) begin_.push_back(begin_.back() + size);
  fewest_ = *std::min_element(sizes.begin(), sizes.end());
  most_ = *std::max_element(sizes.begin(), sizes.end());
  if (in_rows_ && is_even()) node_ = {};
  if (in_rows_) return;
  order_.resize(node_.size());
  place_.reserve(node_.size());
  std::fill(sizes.begin(), sizes.end(), 0);
  for (std::size_t rank = 0; rank < node_.size(); ++rank) {
    place_.push_back(sizes[at(node_[rank])]++);
    order_[at(begin_[at(node_[rank])] + place_[rank])] = static_cast<std::int32_t>(rank);
  }
}

Nodes Nodes::rows(int nodes, int each) {
  std::vector<std::int32_t> node_of;
  for (int r = 0; r < nodes * each; ++r) node_of.push_back(r / each);
  return Nodes(node_of);
}

}  // namespace weft::coll
