// SPDX-License-Identifier: Apache-2.0
//
// Delegated sends: somebody else than the sender copies its messages (Buono et al., §IV.B). A
// Delivery is the queue of one row: descriptors, by reference, in order. A set of couriers (the
// paper's communication threads, KT) looks after any number of deliveries; it is known by a name,
// so that channels, and thread ranks of one process, can share it.
//
// Order: who carries holds the delivery (`busy`), and takes its descriptors from the front. So a
// queue's messages keep their order however many threads there are, and several queues are carried
// at once. The sender carries, too, while it waits.
//
// No lost wake-up: couriers sleep on one word in the job's memory and look at all deliveries once
// more after announcing it. Whoever gives them something to do rings there afterwards: the sender
// for a descriptor, a receiver for room. A courier that finds a delivery held looks again, so it
// does not sleep before the holder, who may have looked for room earlier, has let go.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/err.h"
#include "memory/job.h"
#include "sync/thread.h"
#include "sync/wait.h"

namespace weft::channel {

/// Wake the couriers that sleep on this word, after giving them something to do.
inline void ring(sync::ParkWord& word) {
  if (!sync::is_awaited(word)) return;
  word.store(0, std::memory_order_seq_cst);
  sync::wake_all(word);
}

/// The queue of a row, shared by its sender and couriers.
class Delivery {
 public:
  /// Copies and publishes message after message; by who holds the delivery.
  class Row {
   public:
    /// False: there is no room now.
    virtual bool has_room() = 0;
    /// Has nothing to be carried to any more: what is queued is dropped.
    virtual bool is_deserted() const = 0;
    virtual void carry(const void* message) = 0;
    /// The sender may be waiting for what was done.
    virtual void tell_sender() = 0;

   protected:
    ~Row() = default;
  };

  /// `most`: descriptors that may be queued.
  Delivery(Row& row, std::uint64_t most) : row_(&row), queue_(most) {}

  /// By the sender. Not more than `most` that are not carried.
  void post(const void* message) {
    // relaxed: only the sender writes it
    const std::uint64_t n = posted_.load(std::memory_order_relaxed);
    queue_[n % queue_.size()].store(message, std::memory_order_relaxed);
    posted_.store(n + 1, std::memory_order_release);  // the descriptor; pairs with is_pending()
  }
  std::uint64_t posted() const { return posted_.load(std::memory_order_relaxed); }
  /// acquire: what was carried, and the state of the row; pairs with carry_all()
  std::uint64_t carried() const { return carried_.load(std::memory_order_acquire); }
  /// Was this one dropped? Ask when it is carried. relaxed: written before carried_ was
  bool is_dropped(std::uint64_t number) const {
    return number > dropped_after_.load(std::memory_order_relaxed);
  }
  bool is_pending() const { return carried() != posted_.load(std::memory_order_acquire); }
  /// Carry what there is room for, by any thread of the process. False: there is nothing to do now.
  bool carry();
  /// No courier will touch the row from here on.
  void retire();

 private:
  bool carry_all();
  bool try_hold() {
    // acquire: what the last holder did; pairs with let_go()
    return busy_.load(std::memory_order_relaxed) == 0 &&
           busy_.exchange(1, std::memory_order_acquire) == 0;
  }
  void let_go() { busy_.store(0, std::memory_order_release); }  // pairs with try_hold()

  Row* row_;
  // relaxed: written before posted_; written again when the message has been received, which its
  // receiver says, perhaps in another process
  std::vector<std::atomic<const void*>> queue_;
  bool retired_ = false;                               // under `busy`
  alignas(64) std::atomic<std::uint64_t> posted_{0};   // line 0: the sender
  alignas(64) std::atomic<std::uint64_t> carried_{0};  // line 1: who holds it
  std::atomic<std::uint64_t> dropped_after_{UINT64_MAX};
  std::atomic<std::uint32_t> busy_{0};
};

/// Threads of weft's own that carry.
class Couriers {
 public:
  struct Plan {
    std::string name;
    int threads = 1;
    std::vector<int> cpus;  // where they run; empty: where the process may
  };
  /// Begin; an error if there is no thread to be had, or none on those CPUs.
  static Err start(memory::Job& job, const sync::Policy& policy, std::uint64_t word_at,
                   const Plan& plan, std::unique_ptr<Couriers>* out);
  /// Nobody delegates to them any more.
  ~Couriers();
  Couriers(const Couriers&) = delete;
  Couriers& operator=(const Couriers&) = delete;

  void add(std::shared_ptr<Delivery> delivery);
  void remove(const Delivery* delivery);
  /// After giving them something to do.
  void ring() { channel::ring(*word_); }
  /// The word they sleep on, as an offset in the job's memory: for receivers.
  std::uint64_t word_at() const { return word_at_; }
  const std::string& name() const { return name_; }
  int users = 0;  // under CourierSets::mutex

 private:
  using Deliveries = std::vector<std::shared_ptr<Delivery>>;
  Couriers(memory::Job& job, const sync::Policy& policy, std::uint64_t word_at, const Plan& plan);
  void work(const sync::Thread& me);
  bool carry_some(const Deliveries& all, std::size_t first);

  sync::Policy policy_;
  sync::Neighbours neighbours_;
  const std::uint64_t word_at_;
  sync::ParkWord* const word_;
  const std::string name_;
  const bool is_alone_;  // one thread
  std::deque<sync::Thread> threads_;
  std::mutex mutex_;       // guards deliveries_
  Deliveries deliveries_;  // copied by each thread when `version_` changes
  std::atomic<std::uint32_t> version_{1};
  std::atomic<std::uint32_t> started_{0};
};

/// The sets of a process, by name.
class CourierSets {
 public:
  /// Join the set of this name, or begin it.
  Err join(memory::Job& job, const sync::Policy& policy, const Couriers::Plan& plan,
           Couriers** out);
  void leave(Couriers& set);

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<Couriers>> sets_;
  std::vector<std::uint64_t> words_;  // of sets that have ended
};

}  // namespace weft::channel
