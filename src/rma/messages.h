// SPDX-License-Identifier: Apache-2.0
//
// One-sided communication with ranks on other nodes: messages that the target serves whenever it
// looks after its messages, or a thread of weft's own does. They travel in order (wire/cell.h,
// What::one_sided), so a target has done all that was asked before when it answers; only what it
// reads from the origin's memory (put_long) may still be under way, and is answered itself.
//
// A request tells the target which of its bytes it is about as runs, so the target needs to know no
// types. One that does not fit into a packet is several, each complete in itself.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <unordered_map>
#include <vector>

#include "datatype/reduce.h"
#include "pt2pt/engine.h"
#include "rma/access.h"
#include "rma/window.h"
#include "wire/cell.h"

namespace weft::rma {

enum class Kind : std::uint8_t {
  // Requests. Operations have a Head and runs behind the cell, and what follows them.
  put,         // (number) data; with a number: answered by `done`
  put_long,    // wire::Place: the target reads it from there
  get,         //
  get_long,    // the target shows its memory
  accumulate,  // the same with elements, if the operation takes any; `data` if Head::answers
  swap,        // new element, element to compare with; answered by `data`
  hide,        // nobody reads what was shown any more (name)
  open,        // where is the target's memory? Answered by `opened`
  // Synchronization, without anything behind the cell.
  flush,     // (number) answered by `done`
  lock,      // (number: 1, shared) answered by `granted`
  unlock,    // (number, as `lock`) answered by `granted`
  post,      // MPI_Win_post for the receiver
  complete,  // MPI_Win_complete by the sender
  arrive,    // at barrier `number`, in round `name`
  // If accesses are compared (races.h); both answered by `seen`.
  visit,   // Visit: may this be accessed?
  forget,  // (number: Forget) accesses are over
  // Answers, to `cookie`, which is the Pending.
  data,     // (number: from which byte or element on)
  shown,    // (name) wire::Place: the origin reads it from there
  opened,   // wire::Place: the origin reads and writes it there
  done,     // all of it is; without a cookie: of all up to `number`
  again,    // memory cannot be read from afar: in pieces, please
  granted,  //
  seen,     // Answer
  refused,  // (number: class of error; name: of how many bytes or elements; cookie may be 0)
};

/// What follows the cell of an operation.
struct Head {
  std::uint32_t runs = 0;
  datatype::Operation operation{};
  datatype::Basic basic{};
  bool answers = false;
  std::uint8_t spare = 0;
  std::int64_t first = 0;  // byte or element of the whole operation
};
/// n bytes, or n elements one after the other as in a C array, at a place that is counted from the
/// target's base (in a dynamic window, from address 0).
struct Run {
  std::int64_t at, n;
};
static_assert(sizeof(Head) == 16 && sizeof(Run) == 16);

/// In one packet at most.
inline constexpr int runs_max = 64;

/// What a window is called between nodes.
struct Name {
  std::uint64_t context, number;
  bool operator==(const Name&) const = default;
};
struct HashName {
  std::size_t operator()(const Name& n) const { return n.context * 31 + n.number; }
};

/// What a message says beside what is behind it.
struct Says {
  Kind kind{};
  std::uint64_t number = 0, cookie = 0;
  std::uint32_t name = 0;
};

/// A message that found no room.
struct Message : Object, pt2pt::Outgoing {
  Exchange* exchange = nullptr;
  Name window{};
  std::int32_t sender = 0;  // rank in the window
  Says says;
  std::vector<std::byte> payload;
};

/// An operation on a rank of another node, at its origin.
struct Pending : Object, pt2pt::Outgoing {
  Window* win = nullptr;
  Remote* to = nullptr;
  Kind what{};
  datatype::Operation operation{};
  datatype::Basic basic{};
  bool answers = false;  // brings data back
  bool reaches = false;  // by the network's own reads and writes: no message
  bool asks = false;     // the target is to say when it is done
  ConstBuffer from{};    // no type: none
  Buffer result{};
  const void* compare = nullptr;
  ConstBuffer there{};        // the target's memory, `base` in place of its address
  std::int64_t total = 0;     // bytes, of accumulations elements
  std::int64_t pushed = 0;    // of these
  std::int64_t back = 0;      // of these
  std::uint64_t number = 0;   // Remote::issued
  std::uint32_t name = none;  // of memory that is shown here,
  wire::Place place{};        // and where that is
  std::uint32_t shown = 0;    // name of memory that the target shows
  int refused = 0;            // class, if a piece of it was
  pt2pt::P2p* request = nullptr;
  static constexpr std::uint32_t none = UINT32_MAX;
};

/// Where the target's memory begins, as far as its origins know: no address that is in use, and not
/// the null pointer, which has no elements.
inline constexpr std::uint64_t far_base = std::uint64_t{1} << 60;

/// Memory that this rank reads from an origin's, for `put_long`.
struct Reading : Object {
  Exchange* exchange = nullptr;
  Name window{};
  std::int32_t world_rank = 0, sender = 0;
  std::uint64_t cookie = 0;
};

/// What the windows of one context share. Under the context's lock.
struct Exchange {
  explicit Exchange(pt2pt::Engine& engine) : engine(engine) {}
  pt2pt::Engine& engine;
  std::unordered_map<Name, Window*, HashName> windows;
  std::vector<Window*> locking;  // that have lock requests
  bool is_polled = false;        // `locking` is
  Pool<Pending, weft::Kind::dead> pendings;
  Pool<Message, weft::Kind::dead> messages;
  Pool<Reading, weft::Kind::dead> readings;
};

// --- exchange.cc: who gets what
/// Be reached by members on other nodes from here on.
void join_exchange(Windows& windows, Window& win);
void leave_exchange(Window& win);
/// What `says` says, and the payload: now, or when there is room; behind what was sent to the rank
/// before, or (urgent: answers) before what waits.
enum class Order { in_line, urgent };
void send(Window& win, std::int32_t world_rank, const Says& says,
          std::span<const std::byte> payload = {}, Order order = Order::in_line);
/// The same of what found no room.
void send_later(Window& win, std::int32_t world_rank, const Says& says,
                std::vector<std::byte> payload, Order order);
/// Look after the lock requests of this window now and then, until all are granted.
void poll_locks(Window& win);
/// A packet for a message with so much behind it, if there is room and nothing waits before it.
bool claim(pt2pt::Engine& e, pt2pt::Peer& peer, const Says& says, const Window& win,
           std::uint32_t payload_bytes, shm::Claim* out);
/// Something came that a thread of this rank may wait for.
void tell(pt2pt::Engine& e);

// --- serve.cc: what the target does
void serve(Window& win, Kind kind, const wire::Cell& cell);
// --- away.cc: what the origin does with answers
void take_answer(Window& win, Kind kind, const wire::Cell& cell);

/// The beginning of what is behind a cell: the head, the runs, and the rest.
struct Body {
  Head head;
  const std::byte* runs_at;
  std::span<const std::byte> rest;
  Run run(std::uint32_t i) const {
    Run out;
    std::memcpy(&out, runs_at + i * sizeof out, sizeof out);
    return out;
  }
};
inline Body body_of(const wire::Cell& cell) {
  Body b{};
  const auto* at = reinterpret_cast<const std::byte*>(&cell + 1);
  std::memcpy(&b.head, at, sizeof b.head);
  b.runs_at = at + sizeof b.head;
  const std::size_t before = sizeof b.head + b.head.runs * sizeof(Run);
  b.rest = {at + before, cell.piece - before};
  return b;
}

// --- away.cc: operations; arguments are checked, but for what depends on the target
Err put_away(const ConstBuffer& from, const Place& to, Window& win, MPI_Request* out);
Err get_away(const Buffer& to, const Place& from, Window& win, MPI_Request* out);
/// `from`, `result` may have no type.
struct Accumulation {
  datatype::Operation operation;
  datatype::Basic basic;
  ConstBuffer from;
  Buffer result;
};
Err accumulate_away(const Accumulation& what, const Place& to, Window& win, MPI_Request* out);
Err swap_away(const void* from, const void* compare, void* result, const Place& to, Window& win);

/// Is there an epoch for it, is it in the window? Locks the target if that is still to do. With the
/// context's lock. `passive`: an operation with a request.
Err reach_away(Window& win, const Place& place, bool passive, Pending* out);
Err truncated(std::int64_t sent, std::int64_t room, const char* from, const char* to);
/// Do both sides have the same length, in elements?
Err check_lengths(const Accumulation& what, std::int64_t room_bytes, std::int64_t* elements);

// --- away.cc: when they are over
/// Nothing of this rank's is under way to it.
inline bool is_done_here(const Remote& r) {
  return r.pending == 0;
}
inline bool is_done_there(const Remote& r) {
  return r.pending == 0 && r.confirmed == r.issued;
}
/// Ask whether all is done there, unless it is known.
void ask_whether_done(Window& win, Remote& remote);
/// The first error that a target has answered with since the last time.
Err take_error(Window& win);

// --- accumulate.cc, for both sides
/// Elements one after the other, as in a C array.
struct Stretch {
  std::byte* at = nullptr;
  std::int64_t n = 0;
};
/// The elements of a buffer from the k-th on.
Stretch stretch(const ConstBuffer& b, datatype::Basic basic, std::int64_t total, std::int64_t k);
/// Change elements of this rank's own memory as an origin on this node would.
void change_own(Window& win, datatype::Operation operation, datatype::Basic basic,
                std::byte* target, const std::byte* in, std::byte* out, std::int64_t n);
void swap_own(Window& win, datatype::Basic basic, void* target, const void* from,
              const void* compare, void* result);
/// Is it attached (of a dynamic window), as far as one can know?
bool is_attached(const Words& words, std::uint64_t begin, std::uint64_t end);

}  // namespace weft::rma
