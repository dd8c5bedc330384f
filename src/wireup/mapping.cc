// SPDX-License-Identifier: Apache-2.0
#include "wireup/mapping.h"

#include <cstdio>
#include <cstring>

namespace weft::wireup {
namespace {

/// Reads blocks at `at`, and gives ranks their nodes until there are `all`.
class Reader {
 public:
  Reader(const char* at, std::size_t all) : at_(at), all_(all) {}

  /// blocks: one or more of "(first node,nodes,ranks of each)" or "[blocks]xtimes", between commas.
  bool blocks() {
    do {
      if (!(*at_ == '[' ? repeated() : block())) return false;
    } while (skip(','));
    return true;
  }
  bool skip(char c) {
    if (*at_ != c) return false;
    ++at_;
    return true;
  }
  std::vector<int> nodes;

 private:
  bool block() {
    int first = 0, count = 0, each = 0, read = 0;
    if (std::sscanf(at_, "(%d,%d,%d)%n", &first, &count, &each, &read) != 3 || read == 0)
      return false;
    at_ += read;
    for (int node = first; node < first + count && nodes.size() < all_; ++node)
      for (int i = 0; i < each && nodes.size() < all_; ++i) nodes.push_back(node);
    return true;
  }
  bool repeated() {
    const std::size_t begin = nodes.size();
    int times = 0, read = 0;
    if (!skip('[') || !blocks() || std::sscanf(at_, "]x%d%n", &times, &read) != 1) return false;
    at_ += read;
    const std::vector<int> once(nodes.begin() + static_cast<std::ptrdiff_t>(begin), nodes.end());
    for (int i = 1; i < times && nodes.size() < all_ && !once.empty(); ++i)
      nodes.insert(nodes.end(), once.begin(), once.end());
    return true;
  }

  const char* at_;
  std::size_t all_;
};

}  // namespace

Result<std::vector<int>> nodes_of_mapping(const std::string& mapping, int size) {
  if (size == 1) return std::vector<int>{0};  // Hydra says (vector,0) then
  constexpr const char* head = "(vector,";
  const auto all = static_cast<std::size_t>(size);
  Reader reader(mapping.c_str() + std::strlen(head), all);
  if (mapping.rfind(head, 0) != 0 || !reader.blocks() || !reader.skip(')') || reader.nodes.empty())
    return fail(MPI_ERR_OTHER,
                "the process manager says \"%s\" about where %d ranks run, expected (vector,(first "
                "node,nodes,ranks per node),...)",
                mapping.c_str(), size);
  std::vector<int>& nodes = reader.nodes;
  const std::size_t said = nodes.size();
  while (nodes.size() < all) nodes.push_back(nodes[nodes.size() - said]);
  nodes.resize(all);
  return nodes;
}

}  // namespace weft::wireup
