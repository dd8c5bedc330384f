// SPDX-License-Identifier: Apache-2.0
//
// The compiler from descriptions to layout programs. Two rules do the work: repeat() turns n copies
// of something into the simplest node that says the same, and List collects parts in packed order,
// merges neighbours and picks the most regular node for what is left.
#include "datatype/layout.h"

#include <new>
#include <vector>

#include "base/assert.h"
#include "datatype/construction.h"

namespace weft::datatype {

using std::int64_t;

Arena::~Arena() {
  while (blocks_ != nullptr) {
    Block* next = blocks_->next;
    std::free(blocks_);
    blocks_ = next;
  }
}

void* Arena::take(std::size_t bytes) {
  bytes = (bytes + 7) / 8 * 8;
  if (bytes > left_) {
    // A small type needs one small block; a large table gets one of its own.
    const std::size_t room = bytes > 1024 ? bytes : blocks_ == nullptr ? 256 : 1024;
    left_ = room > bytes ? room : bytes;
    auto* block = static_cast<Block*>(std::malloc(sizeof(Block) + left_));
    WEFT_CHECK(block != nullptr);
    block->next = blocks_;
    blocks_ = block;
    free_ = reinterpret_cast<std::byte*>(block + 1);
  }
  void* at = free_;
  free_ += bytes;
  left_ -= bytes;
  return at;
}

std::uint8_t levels_of(const Node& node) {
  if (node.kind == Node::Kind::vector) return 1;
  if (node.kind != Node::Kind::loop) return 0;
  const int below = node.child->levels;
  return static_cast<std::uint8_t>(below == 0 || below == max_levels ? 0 : below + 1);
}

namespace {

using Kind = Node::Kind;

/// Lists of at most this many runs are opened up when they become part of another list.
constexpr int64_t open_up_max = 8;

Node* make_node(Arena& arena, const Node& node) {
  return new (arena.make<Node>(1)) Node(node);
}

const Node* block_node(Arena& arena, int64_t length) {
  return make_node(arena,
                   {.kind = Kind::block, .size = length, .length = length, .child = nullptr});
}

/// Is a copy of `child` at distance `stride` its own next round?
bool continues(const Node& child, int64_t stride) {
  int64_t whole = 0;
  return !__builtin_mul_overflow(child.count, child.stride, &whole) && whole == stride;
}

Layout repeat(Layout one, int64_t n, int64_t stride, Arena& arena) {
  if (n == 0 || one.node == nullptr) return {};
  if (n == 1) return one;
  const Node& child = *one.node;
  Node node{
      .kind = Kind::loop, .size = n * child.size, .count = n, .stride = stride, .child = nullptr};
  if (child.kind == Kind::block && stride == child.length)
    return {block_node(arena, node.size), one.disp};
  if (child.kind == Kind::block) {
    node.kind = Kind::vector;
    node.length = child.length;
  } else if (child.kind == Kind::vector && continues(child, stride)) {
    node.kind = Kind::vector;
    node.count = n * child.count;
    node.stride = child.stride;
    node.length = child.length;
  } else if (child.kind == Kind::loop && continues(child, stride)) {
    node.count = n * child.count;
    node.stride = child.stride;
    node.child = child.child;
  } else {
    node.child = one.node;
  }
  node.levels = levels_of(node);
  return {make_node(arena, node), one.disp};
}

/// Parts in packed order. Blocks that touch are merged as they come.
class List {
 public:
  explicit List(Arena& arena) : arena_(arena) {}
  void reserve(int64_t n) { parts_.reserve(static_cast<std::size_t>(n)); }

  void add_block(int64_t disp, int64_t length) {
    if (added_++ == 0)
      unit_ = length;
    else if (length != unit_)
      unit_ = 0;
    if (!parts_.empty()) {
      Item& last = parts_.back();
      if (last.node == nullptr && last.disp + last.length == disp) {
        last.length += length;
        return;
      }
    }
    parts_.push_back({disp, length, nullptr});
  }

  void add(Layout part) {
    if (part.node == nullptr) return;
    const Node& node = *part.node;
    if (node.kind == Kind::block) {
      add_block(part.disp, node.length);
    } else if (node.count <= open_up_max && node.kind == Kind::vector) {
      for (int64_t i = 0; i < node.count; ++i) add_block(part.disp + i * node.stride, node.length);
    } else if (node.count <= open_up_max && node.kind == Kind::scatter) {
      for (int64_t i = 0; i < node.count; ++i) add_block(part.disp + node.disps[i], node.length);
    } else if (node.count <= open_up_max && node.kind == Kind::blocks) {
      for (int64_t i = 0; i < node.count; ++i)
        add_block(part.disp + node.runs[i].disp, node.runs[i + 1].at - node.runs[i].at);
    } else {
      parts_.push_back({part.disp, node.size, part.node});
      all_blocks_ = false;
    }
  }

  Layout finish() {
    if (parts_.empty()) return {};
    if (parts_.size() == 1) return single(parts_[0]);
    if (all_blocks_ && unit_ > 0 && parts_.size() > added_ / 2) split();
    if (all_blocks_) return blocks(0, parts_.size());
    if (Layout same = all_same(); same.node != nullptr) return same;
    return sequence();
  }

 private:
  struct Item {
    int64_t disp;
    int64_t length;    // packed bytes
    const Node* node;  // nullptr: a block
  };

  Layout single(const Item& item) {
    if (item.node != nullptr) return {item.node, item.disp};
    return {block_node(arena_, item.length), item.disp};
  }

  bool even(std::size_t begin, std::size_t end) const {
    const int64_t stride = parts_[begin + 1].disp - parts_[begin].disp;
    for (std::size_t i = begin + 1; i < end; ++i)
      if (parts_[i].disp - parts_[i - 1].disp != stride) return false;
    return true;
  }

  /// Few neighbours of equal length touched: equal lengths are worth more than fewer blocks.
  void split() {
    std::vector<Item> equal;
    equal.reserve(added_);
    for (const Item& item : parts_)
      for (int64_t at = 0; at < item.length; at += unit_)
        equal.push_back({item.disp + at, unit_, nullptr});
    parts_.swap(equal);
  }

  /// A list of blocks only, of two or more.
  Layout blocks(std::size_t begin, std::size_t end) {
    const auto n = static_cast<int64_t>(end - begin);
    bool same_length = true;
    int64_t size = 0;
    for (std::size_t i = begin; i < end; ++i) {
      same_length &= parts_[i].length == parts_[begin].length;
      size += parts_[i].length;
    }
    if (same_length && even(begin, end)) {
      const Layout one{block_node(arena_, parts_[begin].length), parts_[begin].disp};
      return repeat(one, n, parts_[begin + 1].disp - parts_[begin].disp, arena_);
    }
    Node node{.kind = Kind::blocks, .size = size, .count = n, .child = nullptr};
    if (same_length) {
      node.kind = Kind::scatter;
      node.length = parts_[begin].length;
      auto* disps = arena_.make<int64_t>(n);
      for (int64_t i = 0; i < n; ++i) disps[i] = parts_[begin + static_cast<std::size_t>(i)].disp;
      node.disps = disps;
    } else {
      auto* runs = arena_.make<Run>(n + 1);
      int64_t at = 0;
      for (int64_t i = 0; i < n; ++i) {
        const Item& item = parts_[begin + static_cast<std::size_t>(i)];
        runs[i] = {item.disp, at};
        at += item.length;
      }
      runs[n] = {0, at};
      node.runs = runs;
    }
    return {make_node(arena_, node), 0};
  }

  /// All parts are one node at even distances.
  Layout all_same() {
    for (const Item& item : parts_)
      if (item.node != parts_[0].node) return {};
    if (!even(0, parts_.size())) return {};
    return repeat({parts_[0].node, parts_[0].disp}, static_cast<int64_t>(parts_.size()),
                  parts_[1].disp - parts_[0].disp, arena_);
  }

  Layout sequence() {
    std::vector<Layout> layouts;
    for (std::size_t i = 0; i < parts_.size();) {
      std::size_t end = i;
      while (end < parts_.size() && parts_[end].node == nullptr) ++end;
      if (end > i + 1) {
        layouts.push_back(blocks(i, end));
        i = end;
      } else {
        layouts.push_back(single(parts_[i++]));
      }
    }
    const auto n = static_cast<int64_t>(layouts.size());
    auto* parts = arena_.make<Part>(n + 1);
    int64_t at = 0;
    for (int64_t i = 0; i < n; ++i) {
      const Layout& part = layouts[static_cast<std::size_t>(i)];
      parts[i] = {part.disp, at, part.node};
      at += part.node->size;
    }
    parts[n] = {0, at, nullptr};
    Node node{.kind = Kind::sequence, .size = at, .count = n, .child = nullptr};
    node.parts = parts;
    return {make_node(arena_, node), 0};
  }

  Arena& arena_;
  std::vector<Item> parts_;
  bool all_blocks_ = true;
  std::size_t added_ = 0;  // blocks before merging
  int64_t unit_ = 0;       // their length if they are of one, else 0
};

}  // namespace

Layout compile(const Term& term, Arena& arena) {
  if (term.type != nullptr) return layout_of(*term.type);
  if (term.n == 1) {
    const Entry& e = term.entries[0];
    Layout one = repeat(compile(*e.child, arena), e.count, e.stride, arena);
    one.disp += e.disp;
    return one;
  }
  List list(arena);
  list.reserve(term.n);
  const Term* last = nullptr;
  Layout child, repeated;
  int64_t repeated_count = -1, repeated_stride = 0;
  for (int64_t i = 0; i < term.n; ++i) {
    const Entry& e = term.entries[i];
    if (e.child != last) {
      child = compile(*e.child, arena);
      repeated_count = -1;
    }
    last = e.child;
    if (e.count == 0 || child.node == nullptr) continue;
    if (child.node->kind == Kind::block && (e.count == 1 || e.stride == child.node->length)) {
      list.add_block(e.disp + child.disp, e.count * child.node->length);
      continue;
    }
    if (e.count != repeated_count || e.stride != repeated_stride)
      repeated = repeat(child, e.count, e.stride, arena);
    repeated_count = e.count;
    repeated_stride = e.stride;
    list.add({repeated.node, repeated.disp + e.disp});
  }
  return list.finish();
}

namespace {
template <std::int64_t Bytes>
constexpr Node basic_block = {
    .kind = Kind::block, .size = Bytes, .length = Bytes, .child = nullptr};

const Node* basic_node(int64_t bytes) {
  switch (bytes) {
    case 1:
      return &basic_block<1>;
    case 2:
      return &basic_block<2>;
    case 4:
      return &basic_block<4>;
    case 8:
      return &basic_block<8>;
    case 16:
      return &basic_block<16>;
    case 32:
      return &basic_block<32>;
  }
  WEFT_CHECK(!"a predefined type of this size");
  return nullptr;
}
}  // namespace

Layout layout_of(const Type& type) {
  Construction* c = type.construction;
  if (c == nullptr) return type.layout != nullptr ? *type.layout : Layout{basic_node(type.size), 0};
  if (!c->compiled) {
    c->layout = compile(c->term, c->arena);
    c->compiled = true;
  }
  return c->layout;
}

}  // namespace weft::datatype
