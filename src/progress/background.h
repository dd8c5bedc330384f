// SPDX-License-Identifier: Apache-2.0
//
// A thread of weft's own that goes on with what a rank has begun (schedules of nonblocking and
// persistent collectives, large messages, messages that found no room), while no thread of the rank
// is in MPI: the server of last resort (pt2pt/contexts.h).
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
#pragma once

#include <cstdint>

#include "base/params.h"
#include "memory/job.h"
#include "progress/limits.h"
#include "pt2pt/contexts.h"
#include "sync/thread.h"
#include "sync/wait.h"

namespace weft::progress {

/// Is there to be a thread for this rank? With `auto` only where an idle core was found for it,
/// that no OpenMP thread of the rank will compute on; or, between nodes, a hardware thread beside.
bool is_wanted(const Params& params, const topo::SeatRecord& seat, const memory::JobHeader& job,
               int openmp_threads);

class Background {
 public:
  explicit Background(pt2pt::Contexts& contexts) : all_(contexts) {}
  Background(const Background&) = delete;
  Background& operator=(const Background&) = delete;

  /// By the rank, once its contexts are open; before another thread of it may call MPI.
  Err start(const topo::SeatRecord& seat);
  /// By the rank, before it ends its contexts. Nothing if it was not started.
  void stop();

 private:
  void run();
  /// Inside, as a guest: go on until there is nothing to do, or somebody wants to come in.
  void visit();
  /// Inside: leave, and rest until something begins, or until news.
  void rest();
  void sleep(std::int64_t limit_ns);
  void sleep_while(pt2pt::Contexts::Rests rests);
  /// The rank has been in one call for long: rest if it sleeps there.
  void rest_until_back();
  void rest_at_mailbox();
  /// Contexts with locks of their own.
  void by_locks();
  /// Sleep for so long, or until it is told; true if it was. `rests`: of what.
  bool doze(pt2pt::Contexts::Rests rests, std::int64_t limit_ns);
  /// For so long.
  bool rank_stays_away(std::int64_t ns);
  /// Return once the rank stays away, or something was left to the thread. `told`: it was just now.
  void watch(bool told);
  /// The rank is in MPI, or comes and goes. True if it was told of something meanwhile.
  bool stay_out();
  /// The rank comes back: was it away for so long that telling the thread was worth it?
  void judge();
  void found_away(bool long_enough);
  bool is_lazy() const { return !is_apart_ || in_vain_ > most_in_vain; }
  /// With the context: a look. True if it found something.
  bool step(pt2pt::Engine& e);
  bool look();
  bool has_begun() const;
  bool somebody_waits() const;
  bool needs_somebody() const;

  pt2pt::Contexts& all_;
  sync::Thread thread_;
  std::int64_t pause_ns_ = 0;
  std::int64_t told_ns_ = 0;   // when it was told, or looked whether the rank is away
  int in_vain_ = 0;            // times in a row that the rank was back too soon
  bool is_apart_ = false;      // it does not sit where the rank computes
  bool helps_ = false;         // with large work of the process, while it rests: a CPU is free
  bool network_only_ = false;  // it takes nothing out of mailboxes
  std::int64_t spin_ns_ = 0;   // it looks for so long before it rests
};

}  // namespace weft::progress
