// SPDX-License-Identifier: Apache-2.0
#include "spawned_here.h"

#include <algorithm>

#include "memory/addresses.h"
#include "memory/spawning.h"
#include "packing.h"

namespace weft::launch {

void SpawnedHere::take(const Frame& frame) {
  switch (frame.kind) {
    case FrameKind::place:
      return place(unpacked<Placement>(frame.payload));
    case FrameKind::answer:
      return answer(unpacked<Answer>(frame.payload));
    case FrameKind::told:
      return learn(unpacked<Told>(frame.payload));
    case FrameKind::reached: {
      const auto family = families_.find(unpacked<std::uint64_t>(frame.payload));
      if (family == families_.end()) return;
      const memory::World& world = family->second.world;
      for (int r = world.first; r < world.end(); ++r) memory::addresses_known(job_, r);
      return;
    }
    case FrameKind::withdraw: {
      const auto family = families_.find(unpacked<std::uint64_t>(frame.payload));
      if (family == families_.end()) return;
      if (family->second.at == 0) return send_(FrameKind::ended, frame.payload);
      // relaxed: released by push_order()
      memory::order_at(job_, family->second.at)
          .state.store(memory::Order::State::withdrawn, std::memory_order_relaxed);
      return memory::push_order(job_, family->second.at);
    }
    case FrameKind::vacate:
      return vacate(unpacked<std::uint64_t>(frame.payload));
    case FrameKind::leaving:
      for (const std::int32_t rank : unpacked<std::vector<std::int32_t>>(frame.payload)) {
        if (rank < 0 || rank >= job_.places()) throw Failure{1, "a rank that there is not"};
        // release: pairs with world/connected.cc
        job_.entry(rank).leaving.store(1, std::memory_order_release);
      }
      return;
    default:
      throw Failure{1, "a frame that only agents send"};
  }
}

void SpawnedHere::place(const Placement& p) {
  const auto ranks = static_cast<int>(p.node_of.size());
  const memory::World world{p.first, ranks};
  if (ranks < 1 || p.first < job_.size() || p.first > job_.places() - ranks)
    throw Failure{1, "ranks at places that there are not"};
  have_been_ = true;
  if (job_.nodes() > 1)
    job_.occupy(world, p.node_of);
  else
    job_.occupy(world);
  const Result<std::uint64_t> at =
      memory::place_order(job_, {p.serial, p.world, p.link, p.first, ranks, p.parents, p.text});
  Family& family = families_[p.serial];
  family.world = world;
  const auto here = [&](int rank) { return is_here(rank); };
  for (int r = world.first; r < world.end(); ++r)
    if (here(r)) family.silent.push_back(r);
  const bool any = !family.silent.empty();
  if (!at) {
    send_(FrameKind::placed, packed(StartOutcome{p.serial, last_error_text(at.err.cls)}));
    if (any) send_(FrameKind::ended, packed(p.serial));
    return;
  }
  family.at = at.value;
  for (int r = world.first; r < world.end(); ++r) {
    job_.entry(r).order = at.value;
    if (job_.nodes() > 1) memory::promise_addresses(job_, r);
  }
  if (any)
    memory::push_order(job_, at.value);
  else
    send_(FrameKind::placed, packed(StartOutcome{p.serial, ""}));
}

void SpawnedHere::answer(const Answer& a) {
  memory::Order& order = memory::order_at(job_, a.at);
  if (!a.is_granted)
    memory::refuse(order, a.text);
  else if (a.is_question)
    memory::answer(order, a.text);
  else
    memory::confirm(order, a.first);
  memory::leave_order(job_, a.at);
}

void SpawnedHere::learn(const Told& told) {
  if (!families_.contains(told.serial)) return;
  for (const auto& [rank, text] : told.addresses) {
    if (rank < job_.size() || rank >= job_.places()) throw Failure{1, "a rank that there is not"};
    if (is_here(rank)) continue;
    if (const Err e = memory::learn_addresses(job_, rank, text))
      return send_(FrameKind::failed,
                   packed(Reason{1, std::string("weft: ") + last_error_text(e.cls)}));
  }
  send_(FrameKind::known, packed(told.serial));
}

void SpawnedHere::vacate(std::uint64_t serial) {
  const auto at = families_.find(serial);
  if (at == families_.end()) throw Failure{1, "the end of ranks that there are not"};
  const Family family = std::move(at->second);
  families_.erase(at);
  for (int r = family.world.first; r < family.world.end(); ++r)
    // release: nobody waits for it any more (world/connected.cc)
    job_.entry(r).state.store(memory::RankState::exited, std::memory_order_release);
  if (family.at != 0) memory::leave_order(job_, family.at);
}

void SpawnedHere::look() {
  if (!have_been_) return;
  tell_addresses();
  tell_who_leaves();
}

void SpawnedHere::tell_addresses() {
  for (auto& [serial, family] : families_) {
    Told told{serial, {}};
    std::erase_if(family.silent, [&](std::int32_t rank) {
      std::string text = memory::addresses_of(job_, rank);
      if (text.empty()) return false;
      told.addresses.emplace_back(rank, std::move(text));
      return true;
    });
    if (!told.addresses.empty()) send_(FrameKind::told, packed(told));
  }
}

void SpawnedHere::tell_who_leaves() {
  told_leave_.resize(static_cast<std::size_t>(job_.places()));
  std::vector<std::int32_t> all;
  for (int r = 0; r < job_.used(); ++r) {
    const memory::RankEntry& entry = job_.entry(r);
    // acquire: what it sent before is out; pairs with world/connected.cc
    if (!is_here(r) || entry.leaving.load(std::memory_order_acquire) == 0) continue;
    const std::uint32_t which = 1 + entry.incarnation.load(std::memory_order_relaxed);
    std::uint32_t& told = told_leave_[static_cast<std::size_t>(r)];
    if (told != which) all.push_back(r);
    told = which;
  }
  if (!all.empty()) send_(FrameKind::leaving, packed(all));
}

}  // namespace weft::launch
