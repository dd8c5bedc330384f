// SPDX-License-Identifier: Apache-2.0
//
// What carries cells to ranks on other nodes, for one communication context. One thread at a time
// (the context's lock).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "wire/cell.h"

namespace weft::wire {

/// Memory of a rank as ranks on other nodes name it, to reach it; travels behind an offer.
struct Place {
  std::uint64_t address, key;
  std::uint64_t bytes;  // 0: it cannot be reached
};

class Network {
 public:
  virtual ~Network() = default;
  /// Learn what the rank on another node has told of itself, if it has.
  virtual void meet(int world_rank) = 0;
  /// Another rank is to have this one's number. Nothing of this one is under way.
  virtual void forget(int world_rank) = 0;
  /// Bytes that may follow a cell.
  virtual std::uint32_t payload_max() const = 0;
  /// Bytes that may follow a cell from where they lie; 0: they have to be copied behind it.
  virtual std::uint32_t lent_max() const = 0;
  /// A cell for a rank to be filled, with so much payload behind it. nullptr: there is
  /// none now, several short ones are better sent together, or the rank has not opened its end yet;
  /// look() helps.
  virtual Cell* take(int world_rank, std::uint32_t payload_bytes) = 0;
  /// Send what was taken, in order with all that was sent to this rank before.
  virtual void send(Cell* cell, std::uint32_t payload_bytes, int world_rank) = 0;
  /// The same, of which the payload stays where it lies, as it is, until look() says
  /// `finished(state)`. lent_max() bytes were taken, so that the cell is alone.
  virtual void send_from(Cell* cell, std::span<const std::byte> payload, int world_rank,
                         void (*finished)(void* state), void* state) = 0;
  /// Bytes of a message that may follow its cell by itself, to be received where it is to lie; 0:
  /// none may.
  virtual std::uint32_t announced_max() const = 0;
  /// Is not too much of that on its way to this rank?
  virtual bool may_announce(int world_rank) = 0;
  /// As send_from, of what follows by itself.
  virtual void announce(Cell* cell, std::span<const std::byte> payload, int world_rank,
                        void (*finished)(void* state), void* state) = 0;
  /// Receive what a rank has announced with this tag; at once, for nothing else of that rank may
  /// come before. look() says `finished(state)` when all of it is here, or, of a rank that is dead,
  /// when nothing is written there any more; or abandon() does.
  virtual void await(std::span<std::byte> memory, int world_rank, std::uint64_t tag,
                     void (*finished)(void* state), void* state) = 0;
  /// What is sent from here on leaves at end_row() at the latest; short ones of one rank together.
  virtual void begin_row() = 0;
  virtual void end_row() = 0;
  /// Let other ranks read this memory, until hide() of the same name (a small number). False: they
  /// cannot.
  virtual bool show(std::uint32_t name, std::span<const std::byte> memory, Place* out) = 0;
  virtual void hide(std::uint32_t name) = 0;
  /// Let other ranks read and write this memory, until close_memory() of the same key. False: they
  /// cannot.
  virtual bool open_memory(std::span<std::byte> memory, Place* out) = 0;
  virtual void close_memory(std::uint64_t key) = 0;
  /// From so many bytes on that is better than to send them behind a cell.
  virtual std::int64_t reach_min() const = 0;
  /// Write where another rank lets one. look() says `finished(state)` when all of it is there.
  /// False: this memory cannot be written from.
  virtual bool write(std::span<const std::byte> memory, int world_rank, const Place& to,
                     void (*finished)(void* state), void* state) = 0;
  /// Read what another rank shows. look() says `finished(state)` when all of it is here; if the
  /// rank dies meanwhile the job ends. False: this memory cannot be read into.
  virtual bool read(std::span<std::byte> memory, int world_rank, const Place& from,
                    void (*finished)(void* state), void* state) = 0;
  /// The rank is dead: say nothing more of what is on its way to it, or read from it.
  virtual void abandon(int world_rank) = 0;
  /// Hand each cell that has come to `arrived`, which reads it and its payload before it returns.
  /// True if there was anything to do. Never waits. `in_passing`: by a call that only sends, and
  /// may be one of many; it does not begin anew what leaves at once.
  virtual bool look(void (*arrived)(void* state, const Cell& cell), void* state,
                    bool in_passing = false) = 0;
  /// A thread is about to sleep until news: wake it when something comes. False: there may be news
  /// already.
  virtual bool arm() = 0;
  /// Is whoever sleeps for this end woken for all that may come, without a look? From arm() until
  /// something has come, or more is sent. Any thread.
  virtual bool is_watched() const = 0;
  /// How long it may sleep then without a look, ns; 0: it is always woken.
  virtual std::int64_t nap_ns() const = 0;
  /// Has all that was sent left, so that this end may close?
  virtual bool is_idle() const = 0;
};

}  // namespace weft::wire
