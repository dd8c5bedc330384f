// SPDX-License-Identifier: Apache-2.0
#include "parallel/openmp/members.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "parallel/jobs.h"
#include "parallel/limits.h"
#include "parallel/openmp/ompt.h"
#include "parallel/openmp/runtime.h"
#include "sync/wait.h"

namespace weft::parallel::openmp {

constinit thread_local int last_request = -1;
constinit std::atomic<bool> watched{false};

namespace {

/// Where threads wait that want to enter a critical section: a futex mutex whose waiters help.
/// 0: free; 1: held; 2: held, and somebody may sleep.
struct Gate {
  std::atomic<Mutex> key{0};
  std::atomic<std::uint32_t> word{0};

  bool try_pass() {
    std::uint32_t free = 0;
    // acquire: pairs with leave()
    return word.compare_exchange_strong(free, 1, std::memory_order_acquire);
  }
  void pass();
  void leave();
};

constinit Member members[most_members];
constinit std::atomic<int> members_seen{0};  // all that were ever used are before it
constinit Gate gates[most_gates];
constinit std::atomic<Team> teams{0};

/// Who has slept takes it as `2`, because others may sleep whom its last holder did not wake.
void Gate::pass() {
  constexpr int looks_per_clock = 64;
  const std::int64_t since = now_ns();
  Jobs& all = jobs();
  bool patient = true;
  // acquire: pairs with leave()
  for (int looks = 1; patient ? !try_pass() : word.exchange(2, std::memory_order_acquire) != 0;
       ++looks) {
    if (all.is_offered() && all.help(1)) continue;
    if (!patient) {
      const sync::Spare::Sleeper sleeper(&all, word, sync::Spare::Sleeper::Scope::process);
      if (!sleeper.is_wanted())
        syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), FUTEX_WAIT_PRIVATE, 2, nullptr,
                nullptr, 0);
      continue;
    }
    sync::pause();
    if (looks % looks_per_clock != 0) continue;
    sync::yield();
    patient = now_ns() - since < patience_ns;
  }
}

void Gate::leave() {
  // release: pairs with try_pass()
  if (word.exchange(0, std::memory_order_release) == 2)
    syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), FUTEX_WAKE_PRIVATE, 1, nullptr,
            nullptr, 0);
}

/// Gates are added and never taken away, so a search may end at the first that is free.
Gate* gate_of(Mutex key, bool add) {
  const std::uint64_t start = key * 0x9E3779B97F4A7C15ULL >> 56;
  constexpr std::uint64_t most_steps = 8;
  for (std::uint64_t i = 0; i < most_steps; ++i) {
    Gate& gate = gates[(start + i) % most_gates];
    Mutex other = gate.key.load(std::memory_order_relaxed);
    if (other == key) return &gate;
    if (other != 0) continue;
    if (!add) return nullptr;
    if (gate.key.compare_exchange_strong(other, key, std::memory_order_relaxed) || other == key)
      return &gate;
  }
  return nullptr;
}

}  // namespace

/// Gives a thread's member back when it ends.
class Leaver {
 public:
  Member* member = nullptr;
  ~Leaver() {
    if (member == nullptr) return;
    member->leave({0, false});
    member->wanted_.store(0, std::memory_order_relaxed);
    member->runs_task_.store(false, std::memory_order_relaxed);
    member->held_count_ = 0;
    member->used_.store(false, std::memory_order_release);  // pairs with mine()
    member = nullptr;
  }
};

namespace {
thread_local Leaver own;
}

Member* Member::mine() {
  if (own.member != nullptr) return own.member;
  for (int i = 0; i < most_members; ++i) {
    bool free = false;
    // acquire: what the last owner left; pairs with ~Leaver()
    if (!members[i].used_.compare_exchange_strong(free, true, std::memory_order_acquire)) continue;
    int seen = members_seen.load();
    while (seen < i + 1 && !members_seen.compare_exchange_weak(seen, i + 1)) continue;
    return own.member = &members[i];
  }
  return nullptr;
}

Team new_team() {
  return teams.fetch_add(1, std::memory_order_relaxed) + 1;
}

// What a member says of itself is relaxed: who asks learns what was so a moment ago.

Member::Place Member::enter(Team team) {
  const Place before{team_.load(std::memory_order_relaxed), waits_.load(std::memory_order_relaxed)};
  waits_.store(false, std::memory_order_relaxed);
  team_.store(team, std::memory_order_relaxed);
  return before;
}

void Member::leave(const Place& before) {
  team_.store(before.team, std::memory_order_relaxed);
  waits_.store(before.waits, std::memory_order_relaxed);
}

void Member::reach_barrier() {
  waits_.store(true, std::memory_order_relaxed);
}

bool Member::holds(Mutex mutex) const {
  for (int i = 0; i < held_count_; ++i)
    if (held_[i] == mutex) return true;
  return false;
}

void Member::want(Mutex mutex) {
  wanted_.store(mutex, std::memory_order_relaxed);
  Gate* gate = gate_of(mutex, false);
  if (gate == nullptr || gated_count_ == most_held) return;
  gate->pass();
  gated_[gated_count_++] = mutex;
}

void Member::have(Mutex mutex) {
  wanted_.store(0, std::memory_order_relaxed);
  if (held_count_ < most_held) held_[held_count_++] = mutex;
}

void Member::release(Mutex mutex) {
  const auto take = [mutex](Mutex* list, int& count) {
    for (int i = count - 1; i >= 0; --i) {
      if (list[i] != mutex) continue;
      list[i] = list[--count];
      return true;
    }
    return false;
  };
  take(held_, held_count_);
  if (take(gated_, gated_count_)) gate_of(mutex, false)->leave();
}

void Member::open_gates() {
  for (int i = 0; i < held_count_; ++i) {
    bool has_gate = false;
    for (int k = 0; k < gated_count_; ++k) has_gate |= gated_[k] == held_[i];
    if (has_gate || gated_count_ == most_held) continue;
    // Who is in the section has not come by the gate. Who wants it from now on is to wait there.
    Gate* gate = gate_of(held_[i], true);
    if (gate != nullptr && gate->try_pass()) gated_[gated_count_++] = held_[i];
  }
}

void watch() {
  if (watched.load(std::memory_order_relaxed) || watched.exchange(true)) return;
  watch_by_tools();
}

/// One thread's question.
struct Query {
  const Member& me;
  const Team team = me.team_.load(std::memory_order_relaxed);
  Idle answer = {};

  void ask(const Member& other) {
    if (&other == &me || !other.used_.load(std::memory_order_relaxed)) return;
    const bool waits = other.waits_.load(std::memory_order_relaxed) &&
                       !other.runs_task_.load(std::memory_order_relaxed);
    const Mutex wanted = other.wanted_.load(std::memory_order_relaxed);
    const Team others = other.team_.load(std::memory_order_relaxed);
    if (waits && others != 0)
      ++(others == team && !tasks_may_run() ? answer.guaranteed : answer.temporary);
    else if (wanted != 0)
      ++(me.holds(wanted) ? answer.guaranteed : answer.temporary);
  }

 private:
  /// Where the runtime does not tell who runs a task, a thread at a barrier may do so.
  bool tasks_may_run() const {
    if (is_told_by_tool()) return false;
    for (int i = 0; i < members_seen.load(); ++i)
      if (members[i].made_tasks_.load(std::memory_order_relaxed) == team) return true;
    return false;
  }
};

Idle idle() {
  watch();
  Member* me = Member::mine();
  const Runtime* runtime = current();
  if (me == nullptr || runtime == nullptr) return {};
  Idle all;
  if (runtime->get_level() == 0) {
    // The end of the last region was a barrier of all its threads, and they wait for the next.
    const int asked = last_request;
    if (asked >= 0) all.guaranteed = (asked > 0 ? asked : runtime->get_max_threads()) - 1;
    return all;
  }
  Query query{*me};
  for (int i = 0; i < members_seen.load(); ++i) query.ask(members[i]);
  return query.answer;
}

}  // namespace weft::parallel::openmp
