// SPDX-License-Identifier: Apache-2.0
//
// The simulated threads: fibers of one kernel thread, each on a core of its own with a clock of its
// own. Whoever is earliest runs. A fiber lets the others go first before each access of a cache
// line that is later than their clocks, so accesses happen in the order of simulated time, and the
// same run gives the same numbers.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

namespace weft::simulator {

struct Fiber {
  int number = 0;
  int core = 0;
  int rank = 0;  // of the job
  double now_ns = 0;
  int phase = 0;                    // what the program says it does
  double in_calls_ns = 0;           // its time in calls, as the program saw it
  void* rank_of_library = nullptr;  // world::this_thread_rank while it runs
  const void* sleeps_on = nullptr;  // a futex
  bool timed_out = false;
  bool finished = false;

  std::function<void()> body;
  std::unique_ptr<std::byte[]> stack;
  void* stack_pointer = nullptr;
};

class Fibers {
 public:
  Fiber& add(int rank, int core, double start_ns, std::function<void()> body);
  /// Until all have ended. False: nobody can run, and some have not ended.
  bool run();

  Fiber& current() { return *current_; }
  bool inside() const { return current_ != nullptr; }
  /// The current one's clock; outside the latest of all, which stands still.
  double now_ns() const;
  /// Let those run whose clocks are behind the current one's.
  void settle() {
    while (current_->now_ns > earliest_ns_) give_way();
  }
  /// Sleep on `word` until woken, or `limit_ns` from now (0: without end). False: time is up.
  bool sleep(const void* word, double limit_ns);
  /// Wake up to `most` that sleep on `word`; they run on from `at_ns`. Returns how many.
  int wake(const void* word, int most, double at_ns);
  const std::vector<std::unique_ptr<Fiber>>& all() const { return all_; }

 private:
  static void begin();
  void give_way();
  void switch_to(Fiber* next);
  void set_time(int number, double ns);
  int earlier(int a, int b) const {
    return times_[static_cast<std::size_t>(b)] < times_[static_cast<std::size_t>(a)] ? b : a;
  }

  std::vector<std::unique_ptr<Fiber>> all_;
  Fiber* current_ = nullptr;
  double earliest_ns_ = 0;  // of those that wait to run
  // A tournament: leaf i is the clock of fiber i, a node the earlier of its two children.
  std::vector<double> times_;
  std::vector<int> winners_;
  int leaves_ = 1;
  void* outside_ = nullptr;  // stack pointer of run()
};

}  // namespace weft::simulator
