// SPDX-License-Identifier: Apache-2.0
//
// What a thread says about its wait once it lasts: a Record in the job's memory, which mpiexec (or,
// without weft's mpiexec, a waiting rank) reads to find out whether anybody can still move. Plain
// numbers and short names, no pointers that others would have to follow.
//
// A rank has `Board::slots` records. A thread takes a free one for the time of its wait, writes it
// as often as something changes, and gives it back. Readers copy it between two looks at its
// version (a sequence lock whose words are all atomic), so they never see half of it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "memory/job.h"

namespace weft::hang {

inline constexpr std::int32_t nobody = -1;
inline constexpr std::size_t name_bytes = 32, call_bytes = 40;

/// A wait is written down when it has lasted so long: far more than any that should be fast. Under
/// a sanitizer at once, so that every kind of wait in the tests is also noted.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr std::int64_t noted_after_ns = 1'000;
#else
inline constexpr std::int64_t noted_after_ns = 20'000'000;
#endif
/// So often a thread that another one has to wake writes its note anew.
inline constexpr std::int64_t renewed_after_ns = 1'000'000'000;

enum class What : std::uint32_t {
  receive,
  send,
  probe,
  collective,       // a message of a collective, or a rank's part of one in shared memory
  construction,     // a message of a communicator's construction
  channel_message,  // through a channel
  channel_room,     // a receiver of a channel has to receive or to release a message
  window,   // of one-sided communication: a rank has to reach a call, or to give a lock back
  program,  // MPI_Grequest_complete by a thread of this rank
  other,    // something of which nothing is known: it may always come
};

/// Some ranks of MPI_COMM_WORLD: first, first + stride, ...; a count of 0: it is not known which.
struct Ranks {
  std::int32_t first = 0, stride = 1, count = 0;
};

struct CommName {
  std::uint64_t context = 0;
  std::int32_t size = 0;
  std::int32_t spare = 0;
  char name[name_bytes] = "";
};

/// One thing that a thread waits for.
struct Need {
  static constexpr std::uint64_t not_counted = UINT64_MAX;
  What what = What::other;
  std::int32_t peer = nobody;          // world rank; nobody: any of `among`
  std::int32_t rank = nobody;          // the same, as a rank of the communicator
  std::int32_t tag = 0;                // MPI_ANY_TAG too
  std::int64_t bytes = 0;              // of a receive: that have room
  std::uint64_t number = not_counted;  // of a collective, as Begun counts them
  Ranks among;
  std::int32_t spare = 0;
  // Of a collective by its request: "MPI_Iallreduce"; of a window: "MPI_Win_post for halo"; else
  // empty.
  char call[call_bytes] = "";
  CommName comm;
};

/// A message that no receive has matched.
struct Message {
  std::int32_t sender = nobody;  // world rank
  std::int32_t source = nobody;  // its rank in the communicator
  std::int32_t tag = 0;
  std::int32_t offered = 0;  // its sender waits until it is received
  std::int64_t bytes = 0;
  CommName comm;
};

/// Collectives by schedules, boards or messages, that a rank has begun on a communicator.
struct Begun {
  std::uint64_t context = 0;
  std::uint32_t operations = 0;
  std::uint32_t spare = 0;
};

struct Record {
  static constexpr int needs_max = 8, messages_max = 6, begun_max = 8;

  std::uint64_t wait = 0;  // number of this wait of the rank; 0: the record is free
  std::int64_t since_ns = 0;
  std::int64_t moved_ns = 0;    // when the rank last sent, received or copied anything
  std::uint64_t park_at = 0;    // offset of the word it sleeps on; 0: another thread wakes it
  std::uint64_t call_site = 0;  // address that the MPI call returns to
  char call[call_bytes] = "";   // "MPI_Waitall"
  std::int32_t pid = 0, tid = 0;
  std::int32_t multiple = 0;  // MPI_THREAD_MULTIPLE: other threads of the rank may be in MPI
  std::int32_t one_is_enough = 0;
  std::int32_t needs_count = 0;  // may be more than needs_max
  std::int32_t messages_count =
      0;  // of all unmatched messages, about: some of the last may be collectives'
  std::int32_t begun_count = 0;  // entries in `begun`
  std::int32_t spare = 0;
  Need needs[needs_max];
  // In place of those that have no room here: from whom one of them may come, at most. `among`
  // covers them all; What::other if one may always come.
  Need rest;
  Message messages[messages_max];
  Begun begun[begun_max];
};
static_assert(sizeof(Record) % 8 == 0);

/// A Record in shared memory. One writer, the thread that holds it.
class Slot {
 public:
  bool try_take() {
    std::uint32_t free = 0;
    // acquire: what its last holder wrote comes before; pairs with give_back()
    return held_.load(std::memory_order_relaxed) == 0 &&
           held_.compare_exchange_strong(free, 1, std::memory_order_acquire);
  }
  void give_back();
  void write(const Record& record);
  /// False: no wait is noted, or it changed meanwhile.
  bool read(Record* out, std::uint64_t* looks) const;
  /// The thread looked (after messages, if that is its turn), found nothing, wrote what it waits
  /// for, and is about to sleep.
  void count_look() {
    // release: what it did before; pairs with read(). Only its thread writes it.
    looks_.store(looks_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  }

 private:
  static constexpr std::size_t words = sizeof(Record) / 8;
  std::atomic<std::uint32_t> held_;
  std::atomic<std::uint32_t> version_;  // odd: being written
  std::atomic<std::uint64_t> looks_;
  std::atomic<std::uint64_t> words_[words];
};

/// What a rank's progress thread (progress/charge.h) does for it.
enum class Helper : std::uint32_t {
  none,         // there is none
  rests,        // nothing has begun, or the rank waits in MPI itself
  awaits_news,  // all that has begun needs messages of others, or room
  stays_out,    // the rank is in MPI, or comes and goes
  works
};

/// The records of one rank, in the job's memory; zero at the start.
struct Board {
  static constexpr int slots = 256;
  std::atomic<std::uint64_t> waits;         // noted so far
  std::atomic<std::uint32_t> used;          // slots that have ever been taken: the first ones
  std::atomic<std::uint32_t> without_slot;  // threads that found no free slot and wait still
  std::atomic<std::uint32_t> helper;        // a Helper; by the progress thread, relaxed
  alignas(64) Slot slot[slots];

  /// A free slot; nullptr: there is none.
  Slot* try_take();
};
static_assert(sizeof(Board) <= memory::rank_waits_bytes);

inline Board& board(memory::Job& job, int world_rank) {
  return *reinterpret_cast<Board*>(job.waits(world_rank));
}

}  // namespace weft::hang
