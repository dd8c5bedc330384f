// SPDX-License-Identifier: Apache-2.0
//
// Making and freeing a block, and the moves that all operations are made of: reserve, publish,
// await, finish, meet.
//
// When may a seat be written again? In operation n a rank uses the seat of operation n - window,
// which others may still read. `known_` is a lower bound of what all have finished: after a meeting
// m it is m - 1, since everybody came to m; otherwise it is the least of the numbers that ranks
// publish at the end of each stream. They do not publish at the end of meetings: if no stream lies
// between n - window and n, then n - 1 was a meeting and known_ is n - 2.
#include "coll/shared/shared.h"

#include <algorithm>

#include "coll/algorithms/algorithms.h"
#include "coll/state.h"

namespace weft::coll {
namespace {

// Ranks that look at each other's seats directly when each has a core; at most `fan`, so that the
// fold is the same as at a node. To be measured by bench/collectives.
constexpr int flat_max = fan;
// Looks at a flag before the rank looks after its messages too. A look is 1-2 ns while nothing
// changes, so this is a few line transfers between cores (60-140 ns each, 2 cores, 2026-11).
constexpr int tight_looks = 400;

std::atomic<std::uint64_t>& number_at(std::byte* lines, int rank) {
  return *reinterpret_cast<std::atomic<std::uint64_t>*>(lines + rank * 64);
}

}  // namespace

template <class Done>
void Shared::wait(Done&& done) {
  if (!engine_.policy.crowded)
    for (int i = 0; i < tight_looks; ++i)
      if (done()) return;
  pt2pt::wait_until(engine_, done);
}

void Shared::wake(int rank) {
  pt2pt::wake_rank(engine_, comm_.group->members[static_cast<std::size_t>(rank)]);
}

void Shared::wake_all() {
  for (int i = 0; i < size_; ++i)
    if (i != rank_) wake(i);
}

void Shared::publish() {
  seat(rank_).turn.store(now_, std::memory_order_release);
}

const std::byte* Shared::await(int rank, std::int64_t bytes) {
  Seat& theirs = seat(rank);
  // acquire: pairs with publish()
  if (theirs.turn.load(std::memory_order_acquire) != now_)
    wait([&] { return theirs.turn.load(std::memory_order_acquire) == now_; });
  return slot(rank, bytes);
}

void Shared::finish() {
  // release: what was read from seats is read before others write them again; pairs with
  // look_at_finished(). A waiting rank sleeps only after a membarrier (sync/wait.h), so either it
  // sees this store or `wanted` is seen here.
  number_at(finished_, rank_).store(now_, std::memory_order_release);
  if (header_.wanted.load(std::memory_order_relaxed) != 0) [[unlikely]]
    wake_all();
}

void Shared::look_at_finished() {
  std::uint64_t least = now_ - 1;  // our own
  for (int i = 0; i < size_; ++i)
    if (i != rank_)
      least = std::min(least, number_at(finished_, i).load(std::memory_order_acquire));
  known_ = std::max(known_, least);
}

void Shared::wait_for_room() {
  look_at_finished();
  if (now_ - known_ <= window) return;
  header_.wanted.fetch_add(1, std::memory_order_seq_cst);
  wait([&] {
    look_at_finished();
    return now_ - known_ <= window;
  });
  header_.wanted.fetch_sub(1, std::memory_order_relaxed);
}

/// Everybody waits for everybody. With operands, the fold of all seats is in the meeting's payload
/// then.
void Shared::meet(const Operands* x, std::int64_t bytes) {
  ++meetings_;
  const bool inlined = bytes <= inline_max;
  std::byte* result = inlined ? meeting_->payload : meeting_slot_;
  const auto node_value = [&](int node) {
    return inlined ? nodes_[node].payload : node_slots_ + node * slot_bytes_;
  };
  int index = rank_, members = size_;
  int level_start = 0, below_start = -1;  // nodes of this level; of the one below (-1: ranks)
  for (;;) {
    const int groups = (members + fan - 1) / fan;
    const int group = index / fan;
    const int first = group * fan;
    const int here = std::min(fan, members - first);
    // acq_rel: the last one to arrive sees what all others wrote before they arrived
    const std::uint32_t arrived =
        nodes_[level_start + group].arrived.fetch_add(1, std::memory_order_acq_rel) + 1;
    if (arrived != meetings_ * static_cast<std::uint32_t>(here)) break;
    if (x != nullptr)
      fold(*x, here, groups == 1 ? result : node_value(level_start + group),
           [&](int i) -> const std::byte* {
             return below_start < 0 ? slot(first + i, bytes) : node_value(below_start + first + i);
           });
    if (groups == 1) {
      meeting_->turn.store(now_, std::memory_order_release);  // pairs with the wait below
      wake_all();
      return;
    }
    below_start = level_start;
    level_start += groups;
    index = group;
    members = groups;
  }
  wait([&] { return meeting_->turn.load(std::memory_order_acquire) == now_; });
}

void Shared::come() {
  publish();
  if (!flat_) return meet(nullptr, 0);
  wake_all();
  for (int i = 0; i < size_; ++i)
    if (i != rank_) await(i, 0);
}

Shared* Shared::attach(Comm& comm) {
  pt2pt::Engine& e = *comm.engine;
  std::uint64_t offset = 0;
  const std::int64_t slot_bytes = (e.shared_max + 63) / 64 * 64;
  if (comm.rank == 0 && slot_bytes > 0) {
    const BlockLayout at(comm.size(), slot_bytes);
    offset = e.job->heap_allocate(at.total, at.zeroed());
    if (offset != 0) {
      auto* header = reinterpret_cast<BlockHeader*>(e.job->at(offset));
      header->slot_bytes = slot_bytes;
      header->flat = !e.policy.crowded && comm.size() <= flat_max;
      header->members.store(static_cast<std::uint32_t>(comm.size()), std::memory_order_relaxed);
    }
  }
  Schedule& s = take_schedule(comm);
  bcast_binomial(s, as_bytes(&offset, sizeof offset), 0, position(comm));
  // A failed message leaves 0: no block. That cannot differ between ranks unless the job is lost.
  if (launch(s, comm, {}) || offset == 0) return nullptr;
  return new Shared(comm, e.job->at(offset), offset);
}

Shared::Shared(Comm& comm, std::byte* block, std::uint64_t offset)
    : comm_(comm),
      engine_(*comm.engine),
      rank_(comm.rank),
      size_(comm.size()),
      offset_(offset),
      header_(*reinterpret_cast<BlockHeader*>(block)),
      slot_bytes_(header_.slot_bytes),
      flat_(header_.flat != 0) {
  const BlockLayout at(size_, slot_bytes_);
  meeting_ = reinterpret_cast<Seat*>(block + at.meeting);
  meeting_slot_ = block + at.meeting_slot;
  nodes_ = reinterpret_cast<Node*>(block + at.nodes);
  node_slots_ = block + at.node_slots;
  seats_ = reinterpret_cast<Seat*>(block + at.seats);
  finished_ = block + at.finished;
  slots_ = block + at.slots;
}

Shared::~Shared() {
  const std::size_t bytes = BlockLayout(size_, slot_bytes_).total;
  // acq_rel: everybody's last access comes before the block is free
  if (header_.members.fetch_sub(1, std::memory_order_acq_rel) == 1)
    engine_.job->heap_free(offset_, bytes);
}

}  // namespace weft::coll
