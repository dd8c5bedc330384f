// SPDX-License-Identifier: Apache-2.0
//
// The slow halves of waiting: the clock, the kernel's yield, futex and membarrier.
#include "sync/wait.h"

#include <errno.h>
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <climits>
#include <utility>

namespace weft::sync {
void yield() {
  sched_yield();
}

Policy Policy::choose(const Params& params, int local_ranks, int cpus) {
  Policy policy;
  policy.crowded = local_ranks > cpus;
  std::int64_t spin_us = params.integer(P::sync_spin_us);
  if (spin_us < 0) spin_us = policy.crowded ? 0 : default_spin_us;
  policy.spin_ns = spin_us * ns_per_us;
  const std::int64_t yield_us = params.integer(P::sync_yield_us);
  policy.yield_ns = (yield_us < 0 ? default_yield_us : yield_us) * ns_per_us;
  const bool varies = yield_us < 0 && !policy.crowded;
  policy.longest_yield_ns = varies ? longest_yield_us * ns_per_us : policy.yield_ns;
  policy.membarrier = permit_fences();
  const CpuFeatures cpu = cpu_features();
  policy.siblings = cpu.threads_per_core > 1;
  policy.rest = rest_of(cpu);
  return policy;
}

/// Pause, unless it is time to yield.
bool Waiter::is_spinning_on(Spinning spinning) {
  if (spinning == Spinning::not_at_all || policy_.spin_ns == 0) return false;
  if (spinning == Spinning::briefly) return pause(), ++looks_ < brief_looks;
  if (policy_.kind) [[unlikely]] {
    backoff_.step();
    if (++looks_ % rests_per_clock != 0) return true;
  } else {
    pause();
    if (++looks_ % looks_per_clock != 0) return true;
  }
  const std::int64_t now = now_ns();
  if (started_ns_ == 0) started_ns_ = now;
  return now - started_ns_ < policy_.spin_ns;
}

Waiter::Next Waiter::step(Spinning spinning) {
  if (policy_.spare != nullptr && policy_.spare->is_offered()) [[unlikely]]
    return help() ? Next::look_again : give_way();
  if (!yielding_ && is_spinning_on(spinning)) return Next::look_again;
  return give_way();
}

Waiter::Next Waiter::give_way() {
  if (!yielding_) {
    yielding_ = true;
    looks_ = 0;
    started_ns_ = 0;
  }
  const std::int64_t begun = now_ns();
  if (started_ns_ == 0) started_ns_ = begun;
  std::int64_t now = begun;
  if (!std::exchange(gives_way_, true)) neighbours_.begin(begun);
  const bool yields = yields_next_ || !(met_rank_ || neighbours_.compute(begun));
  yields_next_ = !yields;
  if (yields) {
    ++yields_;
    sched_yield();
    now = now_ns();
    // Half of it may be spinning and looks of other threads that wait here, one after the other.
    if (now - begun < 2 * policy_.yield_ns)
      neighbours_.note_none();
    else if (neighbours_.is_strangers(begun, now))
      neighbours_.note_slice(now);
    else
      met_rank_ = true;
  }
  if (!counted_ && policy_.spare != nullptr && (!yields || ++looks_ == yields_until_counted)) {
    counted_ = true;
    policy_.spare->count_waiting(1);
  }
  // Whoever has slept and gone on was woken for little (found()).
  const std::int64_t most = parks_ > 0 ? policy_.yield_ns : neighbours_.yields_for(policy_);
  const bool goes_on = yields && now - started_ns_ < most;
  return goes_on ? Next::look_again : Next::may_park;
}

namespace {

bool membarrier(int command) {
  return syscall(SYS_membarrier, command, 0, 0) == 0;
}

}  // namespace

bool permit_fences() {
  return membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) &&
         membarrier(MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED);
}

void fence_here() {
  if (!membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED)) fence_everywhere();
}

void fence_everywhere() {
  membarrier(MEMBARRIER_CMD_GLOBAL_EXPEDITED);
}

void fence_for_sure() {
  fence_here();
  fence_everywhere();
  for (const std::int64_t until = now_ns() + drain_us * ns_per_us; now_ns() < until;) pause();
}

std::int64_t guarded_ns(const Policy& policy, std::int64_t limit_ns) {
  const std::int64_t most_ns = (policy.membarrier ? longest_sleep_us : blind_sleep_us) * ns_per_us;
  return limit_ns > 0 ? std::min(limit_ns, most_ns) : most_ns;
}

void Waiter::barrier() {
  if (policy_.membarrier) fence_everywhere();
}

void Waiter::sleep(ParkWord& word, std::int64_t limit_ns, std::uint32_t me) {
  ++parks_;
  const bool yielded = !yields_next_;  // long enough, or it slept at once
  yields_next_ = false;
  const Spare::Sleeper sleeper(policy_.spare, word, Spare::Sleeper::Scope::job);
  if (sleeper.is_wanted()) return;
  const timespec limit = timespec_of(guarded_ns(policy_, limit_ns));
  if (counted_) policy_.spare->count_sleeping(1);
  const bool woken = syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), FUTEX_WAIT, me,
                             &limit, nullptr, 0) == 0;
  if (counted_) policy_.spare->count_sleeping(-1);
  if (woken && yielded) neighbours_.note_wait(policy_, now_ns() - started_ns_);
}

void wake_all(ParkWord& word) {
  syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), FUTEX_WAKE, INT_MAX, nullptr, nullptr,
          0);
}

}  // namespace weft::sync
