// SPDX-License-Identifier: Apache-2.0
#include "channel/couriers.h"

#include <errno.h>

#include <algorithm>
#include <cstring>

namespace weft::channel {

// --- a delivery

bool Delivery::carry() {
  if (!is_pending()) return false;
  if (!try_hold()) return sync::pause(), true;
  const bool some = !retired_ && carry_all();
  let_go();
  return some;
}

bool Delivery::carry_all() {
  std::uint64_t n = carried_.load(std::memory_order_relaxed);
  const std::uint64_t first = n;
  // acquire: the descriptors; pairs with post()
  while (n != posted_.load(std::memory_order_acquire)) {
    if (row_->is_deserted()) {
      if (!is_dropped(n + 1)) dropped_after_.store(n, std::memory_order_relaxed);
      n = posted_.load(std::memory_order_acquire);
      carried_.store(n, std::memory_order_release);
      break;
    }
    if (!row_->has_room()) break;
    row_->carry(queue_[n % queue_.size()].load(std::memory_order_relaxed));
    carried_.store(++n, std::memory_order_release);  // pairs with carried()
  }
  if (n == first) return false;
  row_->tell_sender();
  return true;
}

void Delivery::retire() {
  while (!try_hold()) sync::yield();
  retired_ = true;
  let_go();
}

// --- couriers

Couriers::Couriers(memory::Job& job, const sync::Policy& policy, std::uint64_t word_at,
                   const Plan& plan)
    : policy_(policy),
      word_at_(word_at),
      word_(reinterpret_cast<sync::ParkWord*>(job.at(word_at))),
      name_(plan.name),
      is_alone_(plan.threads == 1) {
  policy_.spare = nullptr;  // they are for messages
  policy_.kind = policy_.siblings;
}

Err Couriers::start(memory::Job& job, const sync::Policy& policy, std::uint64_t word_at,
                    const Plan& plan, std::unique_ptr<Couriers>* out) {
  std::unique_ptr<Couriers> made(new Couriers(job, policy, word_at, plan));
  const auto work = [](sync::Thread& me, void* set) { static_cast<Couriers*>(set)->work(me); };
  for (int i = 0; i < plan.threads; ++i) {
    sync::Thread& thread = made->threads_.emplace_back();
    WEFT_TRY(thread.start({"weft-courier", plan.cpus, work, made.get()}));
    if (!plan.cpus.empty() && !thread.is_placed())
      return fail(
          MPI_ERR_OTHER,
          "communication thread %d of %d of '%s' cannot run on the CPUs asked for; are they "
          "among those of the process?",
          i + 1, plan.threads, plan.name.c_str());
  }
  *out = std::move(made);
  return ok;
}

Couriers::~Couriers() {
  for (sync::Thread& thread : threads_) thread.ask_to_end();
  ring();
  for (sync::Thread& thread : threads_) thread.end();
}

void Couriers::add(std::shared_ptr<Delivery> delivery) {
  const std::lock_guard guard(mutex_);
  deliveries_.push_back(std::move(delivery));
  version_.fetch_add(1, std::memory_order_release);  // pairs with work()
}

void Couriers::remove(const Delivery* delivery) {
  const std::lock_guard guard(mutex_);
  std::erase_if(deliveries_, [delivery](const auto& d) { return d.get() == delivery; });
  version_.fetch_add(1, std::memory_order_release);
}

/// A round through all deliveries; threads begin at different ones.
bool Couriers::carry_some(const Deliveries& all, std::size_t first) {
  bool any = false;
  for (std::size_t i = 0; i < all.size(); ++i) any |= all[(first + i) % all.size()]->carry();
  return any;
}

void Couriers::work(const sync::Thread& me) {
  const std::size_t turn = started_.fetch_add(1, std::memory_order_relaxed);
  Deliveries mine;
  std::uint32_t version = 0;
  const auto look = [&] {
    // acquire: the list; pairs with add() and remove()
    if (const std::uint32_t now = version_.load(std::memory_order_acquire); now != version) {
      const std::lock_guard guard(mutex_);
      mine = deliveries_;
      version = now;
    }
    return carry_some(mine, mine.empty() ? 0 : turn % mine.size());
  };
  const auto spinning =
      policy_.crowded ? sync::Waiter::Spinning::not_at_all : sync::Waiter::Spinning::long_;
  while (!me.is_to_end()) {
    sync::Waiter waiter(policy_, neighbours_);
    while (!look() && !me.is_to_end()) {
      if (waiter.step(spinning) != sync::Waiter::Next::may_park) continue;
      waiter.announce(*word_);
      if (look() || me.is_to_end()) {
        if (is_alone_) waiter.retract(*word_);  // else others may rely on it
        break;
      }
      waiter.sleep(*word_);
    }
  }
  ring();  // another one may have fallen asleep meanwhile
}

// --- sets

Err CourierSets::join(memory::Job& job, const sync::Policy& policy, const Couriers::Plan& plan,
                      Couriers** out) {
  const std::lock_guard guard(mutex_);
  for (const auto& set : sets_)
    if (set->name() == plan.name) {
      ++set->users;
      *out = set.get();
      return ok;
    }
  const std::uint64_t word_at = words_.empty() ? job.extend(64) : words_.back();
  if (word_at == 0)
    return fail(MPI_ERR_NO_MEM, "no memory for the communication threads '%s': %s",
                plan.name.c_str(), std::strerror(errno));
  std::unique_ptr<Couriers> made;
  WEFT_TRY(Couriers::start(job, policy, word_at, plan, &made));
  if (!words_.empty()) words_.pop_back();
  made->users = 1;
  *out = made.get();
  sets_.push_back(std::move(made));
  return ok;
}

void CourierSets::leave(Couriers& set) {
  std::unique_ptr<Couriers> last;
  {
    const std::lock_guard guard(mutex_);
    if (--set.users > 0) return;
    const auto at =
        std::find_if(sets_.begin(), sets_.end(), [&set](const auto& s) { return s.get() == &set; });
    last = std::move(*at);
    sets_.erase(at);
  }
  const std::uint64_t word_at = last->word_at();
  last.reset();  // ends its threads: another set's may not sleep at their word before
  const std::lock_guard guard(mutex_);
  words_.push_back(word_at);
}

}  // namespace weft::channel
