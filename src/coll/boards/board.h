// SPDX-License-Identifier: Apache-2.0
//
// Boards: where the ranks of a communicator meet in collectives through shared memory. A ring of
// `board_count` boards in the job's heap; operation n uses board n % board_count, so that several
// may be under way at once. A board has a line per rank: how far the rank is (its phase), and where
// its buffers are if the others can reach them (ranks of one process); else the rank has an area,
// where it puts what others are to read.
//
// Phases. A line's word is operation << phase_bits | phase and only grows. signal() stores it
// (release) after what it announces; who awaits a phase loads it (acquire) and then reads the
// rank's buffers or area. What a rank has written or shown before a signal is thus there.
//
// Reuse. A rank may write its line and area of operation n when all ranks have finished operation
// n - board_count: they read nothing of it any more. Each rank publishes the newest operation up to
// which it has finished all of its own (they may finish in any order); the least of these is known
// to everybody who looks. Who finds too little asks for news (`wanted`), and whoever finishes an
// operation then wakes all.
//
// A rank never waits for room in a call that must not wait: opening the board is the first thing a
// schedule does when it runs. All ranks number operations alike, and n - board_count does not
// depend on n, so operation n - board_count ends whatever n waits for.
//
// No lost wake-up: every wait announces itself, runs a barrier on all threads of the job
// (sync/wait.h) and looks once more before it sleeps; signal() and finish() store first and look
// for sleepers afterwards. So either the sleeper's last look sees the store, or the wake-up sees
// the sleeper. For `wanted` the same: it is raised before that last look.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "coll/limits.h"
#include "object/objects.h"
#include "pt2pt/engine.h"

namespace weft::coll {

using object::Comm;

inline constexpr int phase_bits = 24;
// In the names of blocks; bit 33 says that it is a window's (rma/create.cc).
inline constexpr int node_shift = 34;

/// How long a block is, in an area (in front of it, if the block is there too); of the operation
/// with that number at the board.
struct Label {
  std::uint64_t number;
  std::int64_t length;
};

/// Where each rank puts what others read, if they do not reach its buffers; else its labels.
struct Areas {
  std::byte* first;
  std::size_t room;
  bool direct;  // all ranks reach each other's buffers
  std::byte* of(int rank) const { return first + static_cast<std::size_t>(rank) * room; }
};

/// The ranks of a communicator that are on this rank's node, which meet at its boards.
struct Here {
  explicit Here(Comm& comm);
  int rank = 0;                     // this one's place
  std::vector<std::int32_t> ranks;  // in the communicator, ascending
  std::vector<std::int32_t> world;
  int size() const { return static_cast<int>(ranks.size()); }
};

class Boards {
 public:
  /// What a rank can show on a line.
  static constexpr int shown_max = 3;

  /// The ring of a communicator on this node (name 0), or a board for one persistent operation:
  /// `name` counts them alike on all ranks. No message; the same answer on all ranks. Null: none to
  /// be had.
  static Boards* attach(Comm& comm, const Here& here, std::uint32_t name);
  static memory::BlockName block_name(const Comm& comm, std::uint32_t name) {
    pt2pt::Engine& e = *comm.engine;  // pretended nodes have one memory
    const auto node = static_cast<std::uint64_t>(e.job->node_of(e.world_rank));
    return {comm.context, node << node_shift | name};
  }
  ~Boards();
  Boards(const Boards&) = delete;
  Boards& operator=(const Boards&) = delete;

  /// The number of this rank's next operation: 1, 2, ...
  std::uint64_t take() {
    // release: pairs with has_called()
    finished_[rank_].taken.store(++taken_, std::memory_order_release);
    return taken_;
  }
  std::uint64_t next() const { return taken_ + 1; }
  /// Which board of the ring an operation uses.
  int place_of(std::uint64_t number) const {
    return static_cast<int>(number % static_cast<std::uint64_t>(boards_));
  }
  /// Has that rank taken the number? (It may not have begun yet.)
  bool has_called(std::uint64_t number, int rank) const {
    return finished_[rank].taken.load(std::memory_order_acquire) >= number;
  }
  /// May this rank write its line and area of operation `number`? `asked`: whether it has asked for
  /// news; false at first.
  bool open(std::uint64_t number, bool* asked);
  void finish(std::uint64_t number);
  /// Does opening board `number` wait for that rank to finish an operation?
  bool is_behind(std::uint64_t number, int rank) const {
    return !has_finished(number - static_cast<std::uint64_t>(boards_), rank);
  }
  /// The same of a rank of the communicator; one on another node does nothing here.
  bool is_behind_rank(std::uint64_t number, int rank) const {
    const auto at = std::find(here_.ranks.begin(), here_.ranks.end(), rank);
    return at != here_.ranks.end() && is_behind(number, static_cast<int>(at - here_.ranks.begin()));
  }
  bool has_finished(std::uint64_t number, int rank) const {
    return finished_[rank].number.load(std::memory_order_acquire) >= number;
  }
  bool has_begun(std::uint64_t number, int rank) const { return has_come(number, rank, 0); }

  /// This rank begins: what it does, for the others to compare (signature.h), and the length of
  /// what it has for all of them.
  void begin(std::uint64_t number, std::uint64_t note, std::int64_t length = 0) {
    line(number, rank_).note.store(note, std::memory_order_relaxed);
    line(number, rank_).length.store(length, std::memory_order_relaxed);
    line(number, rank_).failed.store(0, std::memory_order_relaxed);
    signal(number, 0);
  }
  std::uint64_t noted(std::uint64_t number, int rank) const {
    return line(number, rank).note.load(std::memory_order_relaxed);
  }
  /// This rank found that another one does something else: nobody waits for it any more, and who
  /// does finds that out too.
  void give_up(std::uint64_t number, int error_class) {
    line(number, rank_).failed.store(error_class, std::memory_order_relaxed);
    signal(number, (std::int64_t{1} << phase_bits) - 1);
    for (int r = 0; r < size_; ++r)
      if (r != rank_) wake(r);
  }
  std::int64_t length(std::uint64_t number, int rank) const {
    return line(number, rank).length.load(std::memory_order_relaxed);
  }
  int failed(std::uint64_t number, int rank) const {
    return line(number, rank).failed.load(std::memory_order_relaxed);
  }

  void show(std::uint64_t number, int what, const datatype::ConstBuffer* views) {
    line(number, rank_).shown[what] = views;
  }
  const datatype::ConstBuffer* shown(std::uint64_t number, int rank, int what) const {
    return line(number, rank).shown[what];
  }
  void signal(std::uint64_t number, std::int64_t phase) {
    // release: pairs with has_come()
    line(number, rank_).word.store(word(number, phase), std::memory_order_release);
  }
  bool has_come(std::uint64_t number, int rank, std::int64_t phase) const {
    // Modulo 2^64: after 2^40 operations the words begin anew.
    const std::uint64_t at = line(number, rank).word.load(std::memory_order_acquire);
    return static_cast<std::int64_t>(at - word(number, phase)) >= 0;
  }
  void wake(int rank) { pt2pt::wake_rank(engine_, here_.world[static_cast<std::size_t>(rank)]); }
  Areas areas(std::uint64_t number) const {
    return {areas_ + at(number) * area_room_, area_room_, direct_};
  }
  /// Do all ranks reach each other's buffers?
  bool direct() const { return direct_; }

 private:
  struct alignas(64) Line {
    std::atomic<std::uint64_t> word;
    std::atomic<std::uint64_t> note;  // relaxed, as the next two: `word` orders them
    std::atomic<std::int64_t> length;
    std::atomic<std::int32_t> failed;  // class of the error with which the rank gave up
    const datatype::ConstBuffer* shown[shown_max];
  };
  struct alignas(64) Finished {
    std::atomic<std::uint64_t> number;  // all operations up to this one
    std::atomic<std::uint64_t> taken;   // the newest that the rank has called
  };
  struct alignas(64) Header {
    std::atomic<std::uint32_t> wanted;  // operations that wait for others to finish
  };

  Boards(pt2pt::Engine& engine, const Here& here, std::uint64_t offset, int boards, bool direct);
  /// Two labels for each rank, or strips.
  static std::size_t area_room(const pt2pt::Engine& e, bool direct, int ranks);
  static std::uint64_t word(std::uint64_t number, std::int64_t phase) {
    return number << phase_bits | static_cast<std::uint64_t>(phase);
  }
  std::size_t at(std::uint64_t number) const {
    return static_cast<std::size_t>(number % static_cast<std::uint64_t>(boards_)) *
           static_cast<std::size_t>(size_);
  }
  Line& line(std::uint64_t number, int rank) const {
    return lines_[at(number) + static_cast<std::size_t>(rank)];
  }
  bool look(std::uint64_t number);

  pt2pt::Engine& engine_;
  const Here& here_;
  const std::uint64_t offset_;
  const int rank_, size_, boards_;
  const bool direct_;
  const std::size_t area_room_;
  Header& header_;
  Finished* finished_;
  Line* lines_;
  std::byte* areas_;
  std::uint64_t taken_ = 0;
  std::uint64_t known_ = 0;    // all ranks have finished all operations up to this one
  std::uint64_t through_ = 0;  // this rank has
  std::uint64_t beyond_ = 0;   // bit i: it has also finished through_ + 1 + i
};

}  // namespace weft::coll
