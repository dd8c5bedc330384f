// SPDX-License-Identifier: Apache-2.0
//
// The progress threads of a process: each has one rank in its charge (charge.h), or a group of
// them, one after the other. It sleeps on its own signal and on the mailboxes of all its ranks that
// await news, by one system call (futex_waitv; where the kernel has none, Linux before 5.16, a
// thread of several ranks looks every 500 us instead).
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "base/params.h"
#include "memory/job.h"
#include "progress/charge.h"
#include "sync/thread.h"

namespace weft::progress {

/// Is there to be a thread for this rank? With `auto` only where an idle core was found for it,
/// that no OpenMP thread of the rank will compute on; or, between nodes, a hardware thread beside.
bool is_wanted(const Params& params, const topo::SeatRecord& seat, const memory::JobHeader& job,
               int openmp_threads);

class Worker {
 public:
  /// Begin to work for `first`, a rank's first context, and perhaps for others.
  Err start(const pt2pt::Engine& first, const topo::SeatRecord& seat, bool has_others);
  void take(Charge& charge);
  /// It has no more turns. True if the worker has nothing left to do.
  bool let_go(Charge& charge);
  void end() { thread_.end(); }

 private:
  void run();
  /// A turn of each. What may be slept on is in `news_` then.
  std::int64_t turns();
  void sleep(std::int64_t until_ns);

  Nature nature_;
  bool helps_ = false;          // with large work of the process, while it rests: a CPU is free
  std::atomic<int> asking_{0};  // threads that want charges_
  std::mutex mutex_;            // guards charges_; held by the thread during turns
  std::vector<Charge*> charges_;
  std::vector<sync::ParkWord*> news_;
  sync::Thread thread_;
};

class Threads {
 public:
  /// By a rank that is_wanted, the so manieth of the process.
  Err start(Charge& charge, const Params& params, const pt2pt::Engine& first,
            const topo::SeatRecord& seat, int place);
  /// By the rank. Nothing if it was not started.
  void stop(Charge& charge);

 private:
  struct Group {
    int number;
    std::unique_ptr<Worker> worker;
  };
  std::mutex mutex_;
  std::vector<Group> groups_;
};

}  // namespace weft::progress
