// SPDX-License-Identifier: Apache-2.0
#include "parallel/jobs.h"

#include <algorithm>
#include <bit>

#include "base/assert.h"
#include "sync/wait.h"

namespace weft::parallel {
namespace {

constinit Jobs process_jobs;
// Waits of the calling thread that are counted.
constinit thread_local int my_waits = 0;

}  // namespace

Jobs& jobs() {
  return process_jobs;
}

std::uint32_t Job::drain(std::uint32_t most, bool from_end) {
  constexpr std::uint64_t one_at_end = std::uint64_t{1} << 32;
  std::uint32_t done = 0;
  // relaxed: hands out disjoint chunks
  std::uint64_t left = left_.load(std::memory_order_relaxed);
  while (done < most && has_chunks(left)) {
    if (!left_.compare_exchange_weak(left, from_end ? left - one_at_end : left + 1,
                                     std::memory_order_relaxed))
      continue;
    chunk_(context_, from_end ? end_of(left) - 1 : first_of(left));
    ++done;
    left = left_.load(std::memory_order_relaxed);
  }
  return done;
}

std::uint32_t Job::help(std::uint32_t most) {
  if (!has_chunks(left_.load(std::memory_order_relaxed))) return 0;
  std::uint64_t state = state_.load(std::memory_order_relaxed);
  do {
    if ((state & active_mask) >= state >> most_shift) return 0;  // closed, or full
    // acquire: the job's fields; pairs with publish()
  } while (!state_.compare_exchange_weak(state, state + 1, std::memory_order_acquire,
                                         std::memory_order_relaxed));
  const std::uint32_t done = drain(most, !in_order_);
  state_.fetch_sub(1, std::memory_order_release);  // the chunks are done; pairs with close()
  return done;
}

void Jobs::configure(const Settings& settings) {
  most_helpers_.store(std::min(settings.most_helpers, 0x7fff), std::memory_order_relaxed);
  min_bytes_.store(settings.min_bytes, std::memory_order_relaxed);
  transfers_.store(settings.transfers, std::memory_order_relaxed);
  cached_ns_.store(settings.cached_ns, std::memory_order_relaxed);
  memory_ns_.store(settings.memory_ns, std::memory_order_relaxed);
  cached_lines_.store(settings.cached_lines, std::memory_order_relaxed);
}

std::uint32_t Jobs::chunks_for(std::int64_t worth_ns) const {
  const std::int64_t least =
      is_forced() ? least_chunks_forced
                  : std::clamp(worth_ns / least_chunk_ns, least_chunks, usual_chunks);
  return static_cast<std::uint32_t>(std::clamp(worth_ns / chunk_ns, least, most_chunks));
}

Job* Jobs::claim() {
  // acquire: the last caller is through with it; pairs with offer()
  std::uint64_t claimed = claimed_.load(std::memory_order_relaxed);
  while (~claimed != 0) {
    const int i = std::countr_one(claimed);
    const std::uint64_t bit = std::uint64_t{1} << i;
    if (!claimed_.compare_exchange_weak(claimed, claimed | bit, std::memory_order_acquire,
                                        std::memory_order_relaxed))
      continue;
    job_[i].bit_ = bit;
    return &job_[i];
  }
  return nullptr;
}

void Jobs::publish(Job& job, const Work& work) {
  job.in_order_ = work.in_order;
  job.chunk_ = work.chunk;
  job.context_ = work.context;
  // relaxed: released with the state
  job.left_.store(std::uint64_t{work.chunks} << 32, std::memory_order_relaxed);
  const auto most = static_cast<std::uint64_t>(most_helpers_.load(std::memory_order_relaxed));
  job.state_.store(most << Job::most_shift, std::memory_order_release);  // pairs with help()
  offered_.fetch_or(job.bit_);                                           // seq_cst: sync/spare.h
}

std::uint32_t Jobs::call_helpers(Job& job, std::int64_t worth_ns) {
  const int most = most_helpers_.load(std::memory_order_relaxed);
  if (most == 0) return 0;
  if (worth_ns >= wake_worth_ns) wake(most);
  // relaxed: a function
  Call* call = call_.load(std::memory_order_relaxed);
  return call != nullptr ? call(*this, job, worth_ns) : 0;
}

/// All chunks are taken, and some perhaps not done: wait for those who do them. They run, or were
/// switched off in a chunk and want a core.
void Jobs::close(Job& job) {
  job.state_.fetch_and(Job::active_mask, std::memory_order_relaxed);
  // acquire: what the helpers did; pairs with help()
  for (int looks = 0; job.state_.load(std::memory_order_acquire) != 0; ++looks)
    looks < looks_for_last_chunks ? sync::pause() : sync::yield();
}

std::uint32_t Jobs::offer(const Work& work) {
  if (work.chunks == 0) return 0;
  Job* job = work.chunks > 1 ? claim() : nullptr;
  if (job == nullptr) {
    for (std::uint32_t i = 0; i < work.chunks; ++i) work.chunk(work.context, i);
    return 0;
  }
  publish(*job, work);
  std::uint32_t mine = call_helpers(*job, work.worth_ns);
  mine += job->work();
  close(*job);
  // Until here, threads that wait give way to those that are in its last chunks (sync/wait.cc).
  offered_.fetch_and(~job->bit_, std::memory_order_relaxed);
  claimed_.fetch_and(~job->bit_, std::memory_order_release);  // pairs with claim()
  // relaxed: statistics
  jobs_.fetch_add(1, std::memory_order_relaxed);
  chunks_.fetch_add(work.chunks, std::memory_order_relaxed);
  const std::uint32_t given = work.chunks - mine;
  if (given > 0) given_.fetch_add(given, std::memory_order_relaxed);
  return given;
}

int Jobs::idle(std::int64_t worth_ns) const {
  // relaxed: who begins or ends to wait just now is missed, or counted in vain
  const int most = most_helpers_.load(std::memory_order_relaxed);
  const int asleep = worth_ns < wake_worth_ns ? sleeping_.load(std::memory_order_relaxed) : 0;
  const int here = std::max(0, waiting_.load(std::memory_order_relaxed) - my_waits - asleep);
  Callable* callable = callable_.load(std::memory_order_relaxed);
  const int called = here < most && callable != nullptr ? callable(worth_ns) : 0;
  return std::min(most, here + called);
}

std::int64_t Jobs::least_transfer() const {
  // relaxed: numbers that do not change
  const std::int64_t min = min_bytes_.load(std::memory_order_relaxed);
  if (min >= 0) return min;
  const Rule rule = transfers_.load(std::memory_order_relaxed);
  if (rule == Rule::alone || most_helpers_.load(std::memory_order_relaxed) == 0) return INT64_MAX;
  if (rule == Rule::paper) return 0;
  constexpr double line = 64;
  const double line_ns = std::max(cached_ns_.load(std::memory_order_relaxed),
                                  memory_ns_.load(std::memory_order_relaxed));
  return static_cast<std::int64_t>(line * least_worth_ns / line_ns);
}

std::int64_t Jobs::at_once(std::int64_t bytes, std::int64_t room_bytes, std::int64_t worth_ns,
                           bool peer_here) const {
  const std::int64_t min = min_bytes_.load(std::memory_order_relaxed);
  if (min >= 0) return bytes >= min ? std::min(bytes, room_bytes) : 0;
  const Rule rule = transfers_.load(std::memory_order_relaxed);
  Transfer transfer{bytes, room_bytes, worth_ns, most_helpers_.load(std::memory_order_relaxed)};
  if (parallel::at_once(rule, transfer) == 0) return 0;  // however many are idle
  transfer.idle = idle(worth_ns) - (peer_here ? 1 : 0);
  return parallel::at_once(rule, transfer);
}

void Jobs::add_waiting(Spare& spare, int change) {
  my_waits += change;
  static_cast<Jobs&>(spare).waiting_.fetch_add(change, std::memory_order_relaxed);
}

bool Jobs::help(std::uint32_t most) {
  bool found = false;
  // relaxed: a guess; Job::help() looks again
  std::uint64_t offered = offered_.load(std::memory_order_relaxed);
  for (; offered != 0; offered &= offered - 1)
    found |= job_[std::countr_zero(offered)].help(most) > 0;
  return found;
}

bool Jobs::join_any(Spare& spare) {
  auto& all = static_cast<Jobs&>(spare);
  std::uint64_t offered = all.offered_.load(std::memory_order_relaxed);
  for (; offered != 0; offered &= offered - 1)
    if (all.job_[std::countr_zero(offered)].help(1) > 0) return true;
  return false;
}

bool Jobs::any_has_room(const Spare& spare) {
  const auto& all = static_cast<const Jobs&>(spare);
  std::uint64_t offered = all.offered_.load(std::memory_order_relaxed);
  for (; offered != 0; offered &= offered - 1)
    if (all.job_[std::countr_zero(offered)].has_room()) return true;
  return false;
}

Jobs::Done Jobs::done() const {
  return {jobs_.load(std::memory_order_relaxed), chunks_.load(std::memory_order_relaxed),
          given_.load(std::memory_order_relaxed)};
}

}  // namespace weft::parallel
