// SPDX-License-Identifier: Apache-2.0
//
// The layout program: where the bytes of one element are, in packed order. A program is a small
// tree of nodes; what a Node describes is relative to a base address, so nodes are shared between
// the types that contain them. compile() (layout.cc) makes the tree as flat and as regular as it
// can: neighbouring blocks merge, equal distances become a vector, equal lengths a scatter.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "datatype/type.h"

namespace weft::datatype {

struct Node;

/// One block of a list: `blocks` entries from the table of an irregular node.
struct Run {
  std::int64_t disp;
  std::int64_t at;  // where it starts in the packed form; the next entry's `at` ends it
};
/// One part of a sequence.
struct Part {
  std::int64_t disp;
  std::int64_t at;
  const Node* node;
};

/// Nests up to this deep are run by one call; deeper ones by recursion.
inline constexpr int max_levels = 6;
/// A loop over at most this many blocks is copied block by block for many rounds at once (an array
/// of structs member by member).
inline constexpr std::int64_t max_members = 8;

struct Node {
  enum class Kind : std::uint8_t {
    block,     // `length` bytes
    vector,    // `count` blocks of `length` bytes, `stride` apart
    scatter,   // `count` blocks of `length` bytes at disps[i]
    blocks,    // `count` blocks at runs[i].disp, of any length
    loop,      // `count` times `child`, `stride` apart
    sequence,  // `count` parts, one after the other
  };
  Kind kind = Kind::block;
  std::uint8_t levels = 0;  // of loops down to one vector and nothing else; 0: it is not like that
  std::int64_t size = 0;    // packed bytes
  std::int64_t count = 1;
  std::int64_t stride = 0;
  std::int64_t length = 0;
  union {
    const Node* child = nullptr;
    const std::int64_t* disps;
    const Run* runs;    // count + 1 entries; the last one's `at` is size
    const Part* parts;  // count + 1 entries, likewise
  };
};

/// Node::levels from the node's other members.
std::uint8_t levels_of(const Node& node);

/// A node and where it is placed. node == nullptr: no data.
struct Layout {
  const Node* node = nullptr;
  std::int64_t disp = 0;
};

/// Memory of one type's nodes and tables: grows by whole blocks, freed at once.
class Arena {
 public:
  Arena() = default;
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;
  ~Arena();
  /// Uninitialised room for n objects of a trivial type.
  template <class T>
  T* make(std::int64_t n) {
    static_assert(alignof(T) <= 8);
    return static_cast<T*>(take(static_cast<std::size_t>(n) * sizeof(T)));
  }

 private:
  struct Block {
    Block* next;
  };
  void* take(std::size_t bytes);
  Block* blocks_ = nullptr;
  std::byte* free_ = nullptr;
  std::size_t left_ = 0;
};

struct Term;
/// The layout program of a type's description. Nodes of components are shared, not copied.
Layout compile(const Term& term, Arena& arena);
/// The program of a type, compiled on first use (so that components need not be committed).
Layout layout_of(const Type& type);

}  // namespace weft::datatype
