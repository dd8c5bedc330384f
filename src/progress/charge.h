// SPDX-License-Identifier: Apache-2.0
//
// A rank in the charge of a thread of weft's own (worker.h), which goes on with what the rank has
// begun (schedules of nonblocking and persistent collectives, large messages, messages that found
// no room) while no thread of the rank is in MPI: the server of last resort (pt2pt/contexts.h).
//
// As long as all calls of the rank come from one thread, it comes as a guest (sync/sole_lock.h):
// only while that thread is outside, and it goes as soon as it is wanted. With several threads it
// takes the contexts' locks, of those alone that nobody waits in.
//
// It rests while nothing has begun, and while a thread of the rank waits in MPI. No lost wake-up:
//   one thread   It decides to rest while it is inside, so the owner is not. The owner's next call
//                sees that it rests, and wakes it if it leaves something behind
//                (say_what_has_begun). Below MPI_THREAD_SERIALIZED its calls take no lock while it
//                rests, and look as they end (Engine::framed, tests/model/rest.pml). If all that
//                has begun awaits news, it names itself at the
//                rank's mailbox first, as a server that goes to sleep, and looks once more.
//   several      It says that it rests, then looks which context needs it; a thread says what its
//                context needs, then looks whether it rests (set_needs_progress); both seq_cst.
// While something has begun that nobody tells about, it sleeps for moments.
//
// Nothing here sleeps: a turn ends with what the thread may sleep on until the next one. The thread
// attends to its signal before each turn (sync/thread.h), so what is told after that wakes it.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/trace.h"
#include "hang/record.h"
#include "progress/limits.h"
#include "pt2pt/contexts.h"
#include "sync/wait.h"
#include "topo/seat.h"

namespace weft::progress {

/// What a thread is like that takes ranks in its charge.
struct Nature {
  bool is_apart = false;      // it does not sit where the rank computes
  bool network_only = false;  // it takes nothing out of mailboxes
  bool has_others = false;    // ranks in its charge
  std::int64_t spin_ns = 0;   // it looks for so long before it rests
};

class Worker;

class Charge {
 public:
  explicit Charge(pt2pt::Contexts& contexts) : all_(contexts) {}
  Charge(const Charge&) = delete;
  Charge& operator=(const Charge&) = delete;

  /// By the rank, once its contexts are open; before another thread of it may call MPI.
  void begin(const Nature& nature, Worker& worker, sync::Thread& thread);
  /// By the rank, before it ends its contexts: no more turns are wanted. Wakes who sleeps for it.
  void ask_to_end();
  /// After the last turn.
  void end();
  /// Whose it is; null: nobody's.
  Worker* worker() const { return worker_; }

  /// Until when the thread may sleep, if it is not told.
  struct Sleep {
    std::int64_t until_ns = 0;       // by base/clock.h; 0: for ever
    sync::ParkWord* news = nullptr;  // or while this says `named`
    static constexpr std::uint32_t named = 1;
    static constexpr std::int64_t not_at_all = -1;  // in place of a time
  };
  /// By the thread: what is to be done for the rank now. Returns after one look if the thread has
  /// others in its charge, else when there is no more to be found.
  Sleep turn();

 private:
  using Rests = pt2pt::Contexts::Rests;
  /// Why it sleeps, which says how it goes on.
  enum class At : std::uint8_t { door, told, watches, until_back, away, aside, mailbox, no_lock };

  Sleep sleep(At at, Rests rests, std::int64_t for_ns);
  Sleep again() { return {.until_ns = Sleep::not_at_all}; }
  bool still_sleeps() const;
  /// It wakes; true if it was told.
  bool wake();
  void say(Rests rests);
  void say(hang::Helper what);

  Sleep go_in();
  /// Inside, as a guest: go on until there is nothing to do, or somebody wants to come in.
  Sleep visit();
  /// Inside: leave, and rest until something begins, or until news.
  Sleep rest();
  Sleep rest_at_mailbox();
  void leave_mailbox();
  /// Contexts with locks of their own.
  Sleep by_locks();
  /// Go in once the rank stays away, or something was left to the thread. `told`: it was just now.
  Sleep watch(bool told);
  Sleep after_watch();
  /// The rank is in MPI, or comes and goes: rest if it sleeps there, or for a while.
  Sleep stay_out();
  Sleep after_back();
  /// The rank comes back: was it away for so long that telling the thread was worth it?
  void judge();
  void found_away(bool long_enough);
  bool is_lazy() const { return !nature_.is_apart || in_vain_ > most_in_vain; }
  void pause_longer();
  std::int64_t longest_pause() const;
  /// With the context: a look. True if it found something.
  bool step(pt2pt::Engine& e);
  bool look();
  TraceSpan traced() const;
  bool has_begun() const;
  bool somebody_waits() const;
  bool needs_somebody() const;
  bool is_to_end() const { return ending_.load(std::memory_order_acquire); }

  pt2pt::Contexts& all_;
  Nature nature_;
  Worker* worker_ = nullptr;
  std::atomic<std::uint32_t>* shown_ = nullptr;  // hang::Board::helper
  std::atomic<bool> ending_{false};              // acquire, release: turn() and ask_to_end()
  // Of the thread from here on.
  At at_ = At::door;
  Rests rests_ = Rests::no;  // as it said
  Sleep sleep_;              // as it asked
  std::int64_t pause_ns_ = first_pause_ns;
  std::int64_t told_ns_ = 0;  // when it was told, or looked whether the rank is away
  std::uint64_t taken_ = 0;   // how often the rank had come then
  bool told_ = false;
  bool must_look_ = false;  // there is something that nobody tells about
  int in_vain_ = 0;         // times in a row that the rank was back too soon
};

}  // namespace weft::progress
