// SPDX-License-Identifier: Apache-2.0
//
// Waiting. A waiting thread first spins, then gives its core away on every look, then sleeps in the
// kernel on its rank's ParkWord. Whoever brings news (a message in the mailbox, a finished copy)
// asks is_awaited(), which costs one load of a line that is already cached while nobody sleeps.
//
// No lost wake-up. Sleeper: word = 1; barrier; look once more; futex_wait(word == 1). Waker:
// publish; if (word) wake. Store and load of each side must not change places. The waker, on the
// hot path, uses no fence: the sleeper's membarrier() runs one on every thread of the job instead
// (MEMBARRIER_CMD_GLOBAL_EXPEDITED, all processes register). So either the waker's load sees 1, or
// its publication is visible to the sleeper's last look. Where the kernel refuses membarrier,
// sleeps are limited to `blind_sleep_us`; else to `longest_sleep_us`, as it may leave a CPU out.
// tests/model/park.pml checks the protocol.
//
// Where something else computes on the core, whoever gives the core away waits for a slice to end:
// some milliseconds, whatever comes meanwhile. Whoever sleeps is switched on as soon as it is
// woken. So after a yield that has taken as long as a slice, threads sleep instead for a while
// (Neighbours). Where a rank of the same job has computed, which shares the CPUs as there are more
// ranks than CPUs, only this wait does: that rank is about to wait, too.
//
// Being woken can take as long: the waker's core may be wanted by others meanwhile, and the host of
// a virtual machine may give the core of a CPU that sleeps to others. A rank that has lost its core
// for a slice while all others sleep has to wake one after the other, may wait for them longer than
// it spins, and yields: another slice is gone, and so it goes on. So where each rank has a core
// threads yield for two slices before they sleep, and less where waits are longer than that anyhow.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "base/clock.h"
#include "base/params.h"
#include "base/wait_times.h"
#include "sync/backoff.h"
#include "sync/limits.h"
#include "sync/spare.h"

namespace weft::sync {

/// 0: nobody sleeps; else who does (shm/mailbox.h). Lives in shared memory; line of its owner's
/// mailbox that senders read anyway.
using ParkWord = std::atomic<std::uint32_t>;

/// How long to spin and to yield, decided once per process.
struct Policy {
  std::int64_t spin_ns = 0;
  std::int64_t yield_ns = 0;
  std::int64_t longest_yield_ns = 0;  // unless waits are long; else down to yield_ns
  bool crowded = false;  // more ranks than CPUs: the core is somebody else's while we wait
  bool membarrier = false;
  bool siblings = false;  // cores have several hardware threads
  bool kind = false;      // who spins rests meanwhile, for a sibling that computes
  Rest rest = Rest::pause;
  Spare* spare = nullptr;  // what a waiting thread may do meanwhile

  /// Register this process for membarrier and choose from the parameters and the crowd.
  static Policy choose(const Params& params, int local_ranks, int cpus);
};

/// What the waits of a context's threads have found out: do others compute on their cores, so that
/// these had better sleep than yield; and else, for how long had they better yield? All guesses, so
/// relaxed. Any thread.
class Neighbours {
 public:
  /// Before the first wait: this rank's times, and those of all ranks on its CPUs.
  void open(WaitTimes& own, const WaitTimesOfAll& all) {
    own_ = &own;
    all_ = all;
  }
  /// A wait gives the core away from now on; and does so no longer.
  void begin(std::int64_t now_ns) {
    if (own_ != nullptr) own_->begin(now_ns);
  }
  void end() {
    if (own_ != nullptr) own_->end(now_ns());
  }
  /// A yield has taken as long as a slice: was it another program's, as no rank here has computed?
  bool is_strangers(std::int64_t begun_ns, std::int64_t now_ns) const {
    for (int i = 0; i < all_.count; ++i)
      if (all_.of(i).busy_ns(begun_ns, now_ns) >= (now_ns - begun_ns) / least_share) return false;
    return true;
  }
  bool compute(std::int64_t now_ns) const {
    return now_ns < until_ns_.load(std::memory_order_relaxed);
  }
  /// One has kept the core for a slice.
  void note_slice(std::int64_t now_ns) {
    const std::int64_t last = span_ns_.load(std::memory_order_relaxed);
    const std::int64_t span = std::clamp(2 * last, first_neighbour_ns, longest_neighbour_ns);
    span_ns_.store(span, std::memory_order_relaxed);
    until_ns_.store(now_ns + span, std::memory_order_relaxed);
  }
  /// None has.
  void note_none() {
    if (span_ns_.load(std::memory_order_relaxed) != 0) span_ns_.store(0, std::memory_order_relaxed);
  }
  /// How long to yield before a sleep: a half for each long wait that had one, twice as long for
  /// each short one.
  std::int64_t yields_for(const Policy& policy) const {
    return std::max(policy.yield_ns,
                    policy.longest_yield_ns >> halvings_.load(std::memory_order_relaxed));
  }
  /// News has ended a sleep; since the first yield before it so long has passed.
  void note_wait(const Policy& policy, std::int64_t ns) {
    const int halvings = halvings_.load(std::memory_order_relaxed);
    const bool is_long = ns >= policy.longest_yield_ns;
    halvings_.store(std::clamp(halvings + (is_long ? 1 : -1), 0, most_halvings),
                    std::memory_order_relaxed);
  }

 private:
  WaitTimes* own_ = nullptr;
  WaitTimesOfAll all_;
  std::atomic<std::int64_t> until_ns_{0}, span_ns_{0};
  std::atomic<int> halvings_{0};
};

/// Wake all who sleep on `word`.
[[gnu::cold]] void wake_all(ParkWord& word);

/// Does somebody sleep? Ask after publishing the news.
inline bool is_awaited(const ParkWord& word) {
  // relaxed; the compiler must not move it above the publication, the sleeper's membarrier() keeps
  // the processor from doing so. pairs with park()
  std::atomic_signal_fence(std::memory_order_seq_cst);
  return __builtin_expect(word.load(std::memory_order_relaxed) != 0, 0);
}

/// One wait: call step() between looks, without a lock.
class Waiter {
 public:
  Waiter(const Policy& policy, Neighbours& neighbours)
      : policy_(policy), neighbours_(neighbours), backoff_(policy.kind, policy.rest) {}
  ~Waiter() {
    if (gives_way_) neighbours_.end();
    if (counted_) policy_.spare->count_waiting(-1);
  }
  Waiter(const Waiter&) = delete;
  Waiter& operator=(const Waiter&) = delete;

  enum class Next { look_again, may_park };
  /// How long to spin: for the policy's time; for about as long as giving the core away and getting
  /// it back would take; or not at all.
  enum class Spinning { long_, briefly, not_at_all };
  /// Help, pause, or yield the core: at once while work is offered that has no room for another
  /// helper, since those that are in it may want this core. `may_park` when the waiter has waited
  /// long enough to sleep: then call announce(), look once more, and sleep() or retract().
  Next step(Spinning spinning);
  /// Do a part of the work that another thread offers. False: there is none. step() begins with it.
  bool help() {
    return policy_.spare != nullptr && policy_.spare->is_offered() && policy_.spare->join() &&
           ++helped_ > 0;
  }
  bool is_yielding() const { return yielding_; }
  /// A look found something, if not what is waited for: where one thing comes others do, so spin
  /// again before giving the core away.
  void found() {
    yielding_ = false;
    looks_ = 0;
    started_ns_ = 0;
  }

  void announce(ParkWord& word) {
    word.store(1, std::memory_order_seq_cst);
    barrier();
  }
  /// Between a store to a park word and the last look.
  void barrier();
  void retract(ParkWord& word) { word.store(0, std::memory_order_relaxed); }
  /// Sleep until woken, or for guarded_ns(limit_ns), while `word` says `me`. The caller holds no
  /// lock.
  void sleep(ParkWord& word, std::int64_t limit_ns = 0, std::uint32_t me = 1);

  std::uint64_t yields() const { return yields_; }
  std::uint64_t parks() const { return parks_; }
  /// Chunks of other threads' work that this one has done.
  std::uint64_t helped() const { return helped_; }

 private:
  bool is_spinning_on(Spinning spinning);
  Next give_way();

  const Policy& policy_;
  Neighbours& neighbours_;
  Backoff backoff_;
  std::uint64_t yields_ = 0, parks_ = 0, helped_ = 0;
  std::int64_t started_ns_ = 0;
  std::uint32_t looks_ = 0;
  bool yielding_ = false;
  bool yields_next_ = false;  // it could have slept, and it did not if it comes again
  bool counted_ = false;      // among the threads that others may count on
  bool gives_way_ = false;    // said so
  bool met_rank_ = false;     // of the job, that computed for a slice meanwhile
};

void yield();

/// A fence on every thread of this process (membarrier).
void fence_here();
/// The same of every process that permits it; but for a CPU that the kernel has forgotten
/// (longest_sleep_us in limits.h).
void fence_everywhere();
/// The same where that would be an error, not only late: of all processes, and time for what is on
/// its way.
void fence_for_sure();
/// How long to sleep at most if nobody wakes; `limit_ns`: the caller's own limit, 0 if none.
std::int64_t guarded_ns(const Policy& policy, std::int64_t limit_ns);
/// By each process, first. False: the kernel refuses.
bool permit_fences();

}  // namespace weft::sync
