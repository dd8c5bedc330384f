// SPDX-License-Identifier: Apache-2.0
//
// Work that other threads of the process offer, as seen by a thread that waits: one line to read
// between its looks, a part to do, and, where it sleeps in the kernel, a place that says where it
// can be woken. What the work is, is its owner's business (parallel/jobs.h).
//
// Nothing depends on a thread that helps: who offers work does what nobody else does. So the race
// between falling asleep and being woken costs help and never an answer. A sleeper enters its
// place, looks for work, and sleeps; who offers work says so, then reads the places (seq_cst all
// four): either the sleeper sees the work, or its place is read. What is left is a waking that
// comes between the sleeper's look and its sleep.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace weft::sync {

class Spare {
 public:
  /// `join` does a part of what is offered and returns false if there is none to be had;
  /// `has_room` says whether it would; `count` adds to the threads that wait.
  struct Ways {
    bool (*join)(Spare&);
    bool (*has_room)(const Spare&);
    void (*count)(Spare&, int change);
  };
  explicit constexpr Spare(const Ways& ways) : ways_(ways) {}
  Spare(const Spare&) = delete;
  Spare& operator=(const Spare&) = delete;

  /// relaxed: a guess; who joins looks again
  bool is_offered() const { return offered_.load(std::memory_order_relaxed) != 0; }
  /// By a thread that waits and holds no lock. It takes as long as one chunk of the work.
  bool join() { return ways_.join(*this); }

  /// The calling thread has waited for a while (1), or no longer waits (-1).
  void count_waiting(int change) { ways_.count(*this, change); }
  /// Of these, one sleeps, and comes only for what is worth waking it. relaxed: a guess
  void count_sleeping(int change) { sleeping_.fetch_add(change, std::memory_order_relaxed); }

  /// The calling thread is about to sleep on a futex, until the end of the scope.
  class Sleeper {
   public:
    enum class Scope : std::uintptr_t { process = 1, job = 0 };
    Sleeper(Spare* spare, std::atomic<std::uint32_t>& word, Scope scope);
    ~Sleeper();
    Sleeper(const Sleeper&) = delete;
    Sleeper& operator=(const Sleeper&) = delete;
    /// Rather do some work.
    bool is_wanted() const;

   private:
    Spare* const spare_;
    std::atomic<std::uintptr_t>* place_ = nullptr;
  };
  /// Wake at most `most` of those that sleep; how many there were. A system call each.
  int wake(int most);

 protected:
  // Of each slot of the owner's: does it want helpers? Alone in its line, which everybody that
  // waits reads.
  alignas(64) std::atomic<std::uint64_t> offered_{0};
  alignas(64) std::atomic<int> sleeping_{0};

 private:
  static constexpr std::size_t places = 64;
  static constexpr std::size_t most_tries = 4;  // who finds no place is not woken
  Ways ways_;
  std::atomic<std::uintptr_t> place_[places] = {};  // address of a futex, and its Scope
};

}  // namespace weft::sync
