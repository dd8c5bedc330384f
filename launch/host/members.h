// SPDX-License-Identifier: Apache-2.0
//
// The threads of a rank: how many there are, so that the last one can end it, and what processor
// time they used, which is the rank's as a process would count it.
#pragma once

#include <sys/resource.h>
#include <time.h>

#include <condition_variable>
#include <mutex>
#include <vector>

namespace weft::host {

class Members {
 public:
  /// A member makes a thread; `cancel` if that fails.
  void expect();
  void cancel();
  /// The calling thread begins, or ends, to belong to the rank.
  void enter();
  void leave();
  /// The main thread leaves before others: wait for the last of them, or until one ends the rank
  /// in its place (false).
  bool main_leaves();
  /// End the rank in the main thread's place, if that has left.
  bool end_for_main();
  void wait_until_main_left();

  /// Processor time of all of them, also of those that ended.
  timespec cpu_time();
  /// The same as getrusage says it. Of other threads that run, all is user time.
  struct rusage usage();

 private:
  std::mutex lock_;
  std::condition_variable changed_;
  std::size_t count_ = 0;
  bool main_has_left_ = false, ended_for_main_ = false;
  std::vector<clockid_t> clocks_;  // of those that run
  struct rusage ended_ {};
};

void add_usage(struct rusage& sum, const struct rusage& one);

}  // namespace weft::host
