// SPDX-License-Identifier: Apache-2.0
//
// A schedule: what one rank does in one collective operation, as rounds of steps. Algorithms
// (messages/, boards/) only emit schedules, the Executor runs them; so blocking, nonblocking and
// persistent forms come from one body, and a test can run p of them in one process
// (tests/unit/coll). There are two ways to reach others: messages, and a board in shared memory.
//
// Rules of a round: its messages are posted first, receives before sends, each kind in the order of
// the steps; then its local steps run in order while the messages travel, so they must not touch
// what the same round receives or sends; they may wait for phases. The next round starts when
// everything is done. All messages of a
// schedule have one tag: between two ranks they match in the order in which both sides emitted
// them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "datatype/type.h"
#include "object/objects.h"
#include "object/request.h"

namespace weft::coll {

class Boards;  // boards/board.h

using datatype::Buffer;
using datatype::ConstBuffer;
using datatype::Type;
using object::Op;

/// The calling rank's place among the ranks that take part.
struct Position {
  int rank;
  int size;
};

/// Data that a step at a board reads, or what `give` writes: what a rank shows there (view `index`
/// of `what`), or a buffer known by its address, of this rank or in a rank's area.
struct Source {
  static constexpr std::int8_t by_address = -1;
  static constexpr std::int32_t own = -1;
  std::int32_t rank = own;
  std::int8_t what = by_address;
  std::int32_t index = 0;
  ConstBuffer here{};
};

struct Step {
  enum class What : std::uint8_t {
    send,
    recv,
    copy,
    reduce,
    compare,
    show,    // `count` views at `from` as `what_shown`
    signal,  // phase `count`
    wake,    // `peer`, which may sleep until a phase signalled before
    await,   // phase `count` of `peer`
    label,   // in front of a block in this rank's area: it has `bytes` bytes
    expect,  // `bytes` bytes from `peer`: by the label at `from`, or (null) by what it announced
    fetch,   // copy `bytes` bytes from byte `at` on of a source to the same place of a buffer
    give,    // copy all of `from` to a view of `peer`, which expects what the label at `to` says
    fold,    // `count` elements from byte `at` on of a source into `to`
    meet,    // everybody waits for everybody; `bytes` are folded on the way (block/steps.h)
    later,   // what comes in between is emitted when all before is done, once
  };
  What what;
  bool ends_round;
  std::int8_t what_shown = Source::by_address;  // show, fetch, give, fold
  std::int32_t peer;
  const void* from;  // send, copy; left operand of reduce; of compare: everybody's Signature
  void* to;          // recv, copy; right operand and result of reduce
  std::int64_t count;
  const Type* type;  // of `from` and `to`; of copy and fetch: of `from`
  union {
    const Op* op;           // reduce, fold
    std::int64_t to_count;  // copy, fetch
  };
  const Type* to_type;  // copy, fetch
  std::int64_t at = 0, bytes = 0;
  std::int32_t index = 0;  // of the view

  bool has_to_type() const { return what == What::copy || what == What::fetch; }
  bool has_op() const { return what == What::reduce || what == What::fold; }
  std::span<const ConstBuffer> views() const {  // of show
    return {static_cast<const ConstBuffer*>(from), static_cast<std::size_t>(count)};
  }
  ConstBuffer source() const { return {from, count, type}; }
  Buffer target() const {
    return has_to_type() ? Buffer{to, to_count, to_type} : Buffer{to, count, type};
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
  /// Phases of a stage: a vector of 64 GiB in strips of an area, in each of four stages. Of a
  /// vector that goes in segments there are more stages, and as many phases less in each.
  static constexpr int stage_bits = 22;

  Schedule() = default;
  ~Schedule() { clear(); }
  Schedule(const Schedule&) = delete;
  Schedule& operator=(const Schedule&) = delete;

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
  /// From here on peers of messages are places in `ranks`, which is there while this is emitted;
  /// empty: ranks.
  void among(std::span<const std::int32_t> ranks) { among_ = ranks; }
  /// The steps so far come before the steps to follow. No effect twice in a row.
  void next_round();
  /// At the end of the next round `emit` adds steps to it, that are done while its messages travel;
  /// if there is none, flush_beside() has them added then.
  void beside(void (*emit)(void* state), void* state) {
    beside_ = emit;
    beside_state_ = state;
  }
  void flush_beside();

  /// In this place `emit` adds steps when those before are done: what depends on what they have
  /// brought. It sees bytes only (no types to be kept), and runs once, also for a persistent
  /// operation. Imagined, it runs at once. Once in a schedule.
  void later(std::function<void()> emit);

  /// What this is (signature.h); at a board all ranks that are awaited have the same.
  void note(std::uint64_t note) { note_ = note; }
  // At a board.
  void use(Boards& boards, std::uint64_t number) {
    boards_ = &boards;
    number_ = number;
  }
  /// Phases are counted from 0 again, behind those of the stages before.
  void stage(int number, int bits = stage_bits) {
    first_phase_ = static_cast<std::int64_t>(number) << bits;
  }
  /// Let others read these buffers from the next signal on; as long as the schedule runs.
  void show(int what, std::span<const ConstBuffer> views);
  void signal(std::int64_t phase);
  void wake(int rank);
  void await_phase(int rank, std::int64_t phase);
  /// `looks`: then everybody looks at everybody's flag.
  void meet(std::int64_t folded, bool looks);
  /// Bytes [at, at + bytes) of the packed form of a source become those of `to`.
  void fetch(const Source& from, std::int64_t at, std::int64_t bytes, const Buffer& to);
  /// Copy a buffer into one that its rank shows, and that no other rank writes. `label`: in that
  /// rank's area, how much it expects; what it shows is there as long as it expects anything.
  void give(const ConstBuffer& from, const Source& to, const std::byte* label);
  /// inout = in op inout, where `in` is `count` elements from byte `at` of a dense source on.
  void fold(const Source& in, std::int64_t at, void* inout, std::int64_t count, const Type& type,
            const Op& op);

  /// The length of what this rank has for all; and the label of what it has for one, in its area.
  void announce(std::int64_t length) { length_ = length; }
  void label(std::byte* at, std::int64_t length);
  /// After a phase: end with an error unless `rank` has so many bytes for this one. `label`: in its
  /// area; null: announced.
  void expect(int rank, std::int64_t bytes, const std::byte* label);

  /// Become the owner of the board in use, for the starts of a persistent operation.
  void own_boards() { owns_boards_ = true; }

  /// Emit to find out what is done, not to do it (walk.h): nothing will be read or written, so
  /// there is no memory. Until clear().
  void imagine() { imagined_ = first_imagined; }
  bool is_imagined() const { return imagined_ != 0; }
  /// Of the memory that there would be.
  std::int64_t imagined_bytes() const { return imagined_ > 0 ? imagined_ - first_imagined : 0; }

  std::byte* bytes(std::int64_t n);
  /// Room for buffers to show.
  ConstBuffer* views(std::int64_t n);
  /// Room for `count` elements of `type`: the address of element 0 (its lower bound may be
  /// elsewhere).
  void* elements(std::int64_t count, const Type& type);

  const std::vector<Step>& steps() const { return steps_; }
  void clear();

 private:
  friend class Executor;
  static constexpr std::int64_t first_imagined = std::int64_t{1} << 43;
  /// The steps that later() has left out, behind step `at`.
  void emit_behind(std::size_t at);
  int rank_of(int peer) const {
    return among_.empty() ? peer : among_[static_cast<std::size_t>(peer)];
  }
  std::vector<Step> steps_;
  Scratch scratch_;

  Boards* boards_ = nullptr;
  std::uint64_t number_ = 0;  // of the operation there
  std::uint64_t note_ = 0;
  std::int64_t length_ = 0;
  std::int64_t first_phase_ = 0;  // of the stage
  std::span<const std::int32_t> among_;
  void (*beside_)(void* state) = nullptr;  // for the end of the next round
  void* beside_state_ = nullptr;
  std::function<void()> later_;
  bool owns_boards_ = false;   // of a persistent operation: one board, used again at each start
  std::int64_t imagined_ = 0;  // the end of the memory that is not there; 0: there is

  // While it runs (executor.cc).
  std::size_t next_ = 0;    // first step that has not run; messages: posted_
  std::size_t round_ = 0;   // begin of the round under way
  std::size_t posted_ = 0;  // its end
  bool open_ = false;       // the board is this operation's
  bool asked_ = false;      // Boards::open
  bool leaves_ = false;     // copies to the rank's thread, in the call that starts it
  std::int64_t moved_ = 0;  // of the next step: bytes that a visitor has moved
  std::vector<object::Request*> pending_;  // of the current round
  int tag_ = 0;
  Err error_{};

 public:
  Schedule* next_free = nullptr;  // CommState's list
};

/// MPI_BYTE: packed data and parts of dense data travel as bytes.
using datatype::byte_type;
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

}  // namespace weft::coll
