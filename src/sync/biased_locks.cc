// SPDX-License-Identifier: Apache-2.0
#include "sync/biased_locks.h"

#include <algorithm>

namespace weft::sync {

Cohort::Cohort(const LockSettings& settings) : settings_(settings) {
  for (int i = 0; i < std::clamp(settings.domains, 1, most_domains); ++i)
    domains_[i] = std::make_unique<Domain>(settings);
}

void Cohort::acquire() {
  const int count = std::clamp(settings_.domains, 1, most_domains);
  const int mine = settings_.domain != nullptr ? settings_.domain() % count : 0;
  Domain& domain = *domains_[mine];
  domain.queue.acquire();
  if (!domain.keeps_flag) flag_.acquire(settings_);
  domain.keeps_flag = false;
  holder_ = &domain;
}

void Cohort::release() {
  Domain& domain = *holder_;
  const bool enough = settings_.bias != 0 && domain.kept >= settings_.bias;
  domain.keeps_flag = domain.queue.has_waiters() && !enough;
  domain.kept = domain.keeps_flag ? domain.kept + 1 : 0;
  if (!domain.keeps_flag) flag_.release();
  domain.queue.release();
}

bool Cohort::has_waiters() const {
  // Other domains' holders wait for the flag, so theirs cannot be told from here: who has the flag
  // looks at his own domain. Nobody is lost: a candidate of another domain raises the filter
  // itself.
  return holder_->queue.has_waiters();
}

std::uint64_t Cohort::joined() const {
  std::uint64_t sum = 0;
  for (const auto& domain : domains_)
    if (domain != nullptr) sum += domain->queue.joined();
  return sum;
}

template <class Queue>
BiasedLock<Queue>::BiasedLock(const LockSettings& s) : settings_(s), high_(s), low_(s) {}

/// May the holder of the flag keep it although there is a candidate?
template <class Queue>
bool BiasedLock<Queue>::may_pass() {
  // relaxed: a hint, and the candidate that is overlooked once is passed once more
  if (settings_.bias == 0 || !filter_.load(std::memory_order_relaxed)) return true;
  if (passed_ == settings_.bias) return false;
  ++passed_;
  return true;
}

template <class Queue>
void BiasedLock<Queue>::taken() {
  // relaxed, written by the holder only; a count for acquire_low()
  taken_.store(taken_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

template <class Queue>
void BiasedLock<Queue>::acquire() {
  if (!try_acquire()) acquire_as_candidate();
}

template <class Queue>
bool BiasedLock<Queue>::try_acquire() {
  if (!bias_.try_acquire()) return false;
  if (!may_pass()) [[unlikely]] {
    bias_.release();
    return false;
  }
  taken();
  return true;
}

template <class Queue>
void BiasedLock<Queue>::acquire_as_candidate() {
  high_.acquire();
  // relaxed: orders nothing; who overlooks it takes the flag once more
  filter_.store(true, std::memory_order_relaxed);
  bias_.acquire(settings_);
  passed_ = 0;
  taken();
  if (!high_.has_waiters()) filter_.store(false, std::memory_order_relaxed);
  high_.release();
}

template <class Queue>
void BiasedLock<Queue>::acquire_low() {
  low_.acquire();
  const std::uint32_t before = taken_.load(std::memory_order_relaxed);
  for (Spin spin(settings_); filter_.load(std::memory_order_relaxed) || !bias_.try_acquire();) {
    if (settings_.bias != 0 && taken_.load(std::memory_order_relaxed) - before >= settings_.bias) {
      acquire_as_candidate();
      break;
    }
    spin.look();
  }
  low_.release();
}

template class BiasedLock<Clh>;
template class BiasedLock<Cohort>;

}  // namespace weft::sync
