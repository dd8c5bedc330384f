// SPDX-License-Identifier: Apache-2.0
#include "spawned_here.h"

#include <algorithm>

#include "memory/addresses.h"
#include "memory/guests.h"
#include "memory/spawning.h"
#include "packing.h"
#include "shm/deaths.h"

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
      return leave(unpacked<Leaving>(frame.payload));
    default:
      throw Failure{1, "a frame that only agents send"};
  }
}

void SpawnedHere::leave(const Leaving& leaving) {
  const auto how = static_cast<memory::GuestEnd>(leaving.how);
  const bool are_guests = how != memory::GuestEnd::none;
  const int first = are_guests ? job_.places() : 0;
  const int end = are_guests ? job_.all_places() : job_.places();
  std::vector<std::int32_t> with_users;
  for (const std::int32_t rank : leaving.who) {
    if (rank < first || rank >= end || how > memory::GuestEnd::death)
      throw Failure{1, "a rank that there is not"};
    if (!are_guests) {
      // release: pairs with world/connected.cc
      job_.entry(rank).leaving.store(1, std::memory_order_release);
      continue;
    }
    know_end(rank);
    if (memory::guest_has_ended(job_, rank, how)) with_users.push_back(rank);
  }
  const auto is_mine = [](const void* self, int rank) {
    return static_cast<const SpawnedHere*>(self)->is_here(rank);
  };
  if (how == memory::GuestEnd::death && !shm::mourn(job_, with_users, is_mine, this))
    send_(FrameKind::failed,
          packed(Reason{1, "weft: a rank on " + options_.host().name +
                               " is connected to a process that is dead: " + shm::how_guests_die}));
}

/// Was it not known before that all hosts know?
bool SpawnedHere::know_end(int guest) {
  const auto number = static_cast<std::size_t>(guest - job_.places());
  if (number >= ended_guests_.size()) ended_guests_.resize(number + 1);
  const bool is_news = !ended_guests_[number];
  ended_guests_[number] = true;
  return is_news;
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
  if (job_.has_guests()) tell_ended_guests();
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

void SpawnedHere::tell_ended_guests() {
  for (const auto how : {memory::GuestEnd::goodbye, memory::GuestEnd::death}) {
    Leaving ended{{}, static_cast<std::uint32_t>(how)};
    for (int g = job_.places(); g < job_.guests_end(); ++g)
      if (memory::end_of(job_, g) == how && know_end(g)) ended.who.push_back(g);
    if (!ended.who.empty()) send_(FrameKind::leaving, packed(ended));
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
  if (!all.empty()) send_(FrameKind::leaving, packed(Leaving{all}));
}

}  // namespace weft::launch
