// SPDX-License-Identifier: Apache-2.0
//
// A schedule: what one rank does in one collective operation, as rounds of steps. Algorithms
// (algorithms/) only emit schedules, the Executor runs them; so blocking, nonblocking and
// persistent forms come from one body, and a test can run p of them in one process
// (tests/unit/coll).
//
// Rules of a round: its messages are posted first, receives before sends, each kind in the order of
// the steps; then its local steps run in order while the messages travel, so they must not touch
// what the same round receives. The next round starts when everything is done. All messages of a
// schedule have one tag: between two ranks they match in the order in which both sides emitted
// them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "datatype/type.h"
#include "object/objects.h"
#include "object/request.h"

namespace weft::coll {

using datatype::Buffer;
using datatype::ConstBuffer;
using datatype::Type;
using object::Op;

/// The calling rank's place among the ranks that take part.
struct Position {
  int rank;
  int size;
};

struct Step {
  enum class What : std::uint8_t { send, recv, copy, reduce, compare };
  What what;
  bool ends_round;
  std::int32_t peer;
  const void* from;  // send, copy; left operand of reduce; of compare: everybody's Signature
  void* to;          // recv, copy; right operand and result of reduce
  std::int64_t count;
  const Type* type;  // of `from` and `to`; of copy: of `from`
  union {
    const Op* op;           // reduce
    std::int64_t to_count;  // copy
  };
  const Type* to_type;  // copy

  ConstBuffer source() const { return {from, count, type}; }
  Buffer target() const {
    return what == What::copy ? Buffer{to, to_count, to_type} : Buffer{to, count, type};
  }
};

/// Memory of a schedule: pieces live until clear(), which keeps the memory for the next use.
class Scratch {
 public:
  ~Scratch();
  Scratch() = default;
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  /// `bytes` uninitialized bytes, aligned to a cache line.
  std::byte* take(std::int64_t bytes);
  void clear();

 private:
  struct Chunk {
    std::byte* data;
    std::int64_t size;
  };
  std::vector<Chunk> chunks_;
  std::size_t at_ = 0;     // chunk in use
  std::int64_t used_ = 0;  // of that chunk
};

class Schedule {
 public:
  // Emitting. Blocks without data are not sent, received, copied or reduced.
  void send(const ConstBuffer& what, int to);
  void recv(const Buffer& into, int from);
  /// A message without data.
  void notify(int to);
  void await(int from);
  void copy(const ConstBuffer& from, const Buffer& to);
  /// inout = in op inout
  void reduce(const void* in, void* inout, std::int64_t count, const Type& type, const Op& op);
  /// End the operation with an error if the `ranks` signatures at `all` differ.
  void compare(const void* all, int ranks);
  /// The steps so far come before the steps to follow. No effect twice in a row.
  void next_round();

  std::byte* bytes(std::int64_t n) { return scratch_.take(n); }
  /// Room for `count` elements of `type`: the address of element 0 (its lower bound may be
  /// elsewhere).
  void* elements(std::int64_t count, const Type& type);

  const std::vector<Step>& steps() const { return steps_; }
  void clear();

 private:
  friend class Executor;
  std::vector<Step> steps_;
  Scratch scratch_;

  // While it runs (executor.cc).
  std::size_t next_ = 0;                   // first step that is not yet posted
  std::vector<object::Request*> pending_;  // of the current round
  int tag_ = 0;
  Err error_{};

 public:
  Schedule* next_free = nullptr;  // CommState's list
};

/// MPI_BYTE: packed data and parts of dense data travel as bytes.
const Type& byte_type();
inline ConstBuffer as_bytes(const void* data, std::int64_t n) {
  return {data, n, &byte_type()};
}
inline Buffer as_bytes(void* data, std::int64_t n) {
  return {data, n, &byte_type()};
}

/// Element i of an array of `type` at `data`.
inline void* element(void* data, std::int64_t i, const Type& type) {
  return static_cast<std::byte*>(data) + i * type.extent;
}
inline const void* element(const void* data, std::int64_t i, const Type& type) {
  return static_cast<const std::byte*>(data) + i * type.extent;
}

/// The first power of two that is >= p, as an exponent; the last one that is <= p.
int log2_ceil(int p);
int log2_floor(int p);

/// What an algorithm costs on its longest path, one message at a time per rank and direction:
/// T = messages * alpha + bytes * beta + reduced * gamma. Each algorithm has a function *_cost(p,
/// n) beside it; tests/unit/coll compares it with executed schedules.
struct Cost {
  std::int64_t messages = 0;
  std::int64_t bytes = 0;
  std::int64_t reduced = 0;
  friend bool operator==(const Cost&, const Cost&) = default;
};

}  // namespace weft::coll
