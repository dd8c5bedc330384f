// SPDX-License-Identifier: Apache-2.0
#include "spawner.h"

#include <algorithm>

#include "packing.h"

namespace weft::launch {

Spawner::Spawner(const Options& options, Send send, SendAll send_all, Fail fail)
    : options_(options),
      send_(std::move(send)),
      send_all_(std::move(send_all)),
      fail_(std::move(fail)),
      nodes_(static_cast<int>(options.hosts.size())),
      start_runs_(options.hosts.size(), true) {}

void Spawner::begun(int places) {
  places_ = places_ == 0 ? places : std::min(places_, places);
}

Spawner::Family* Spawner::find(std::uint64_t serial) {
  const auto at = families_.find(serial);
  return at != families_.end() ? &at->second : nullptr;
}

void Spawner::take(int node, const Frame& frame) {
  switch (frame.kind) {
    case FrameKind::spawn:
      return place(node, unpacked<Wanted>(frame.payload));
    case FrameKind::placed:
      return take_outcome(node, unpacked<StartOutcome>(frame.payload));
    case FrameKind::told:
      return take_told(unpacked<Told>(frame.payload));
    case FrameKind::known:
      return take_known(unpacked<std::uint64_t>(frame.payload));
    case FrameKind::ended:
      return take_ended(node, unpacked<std::uint64_t>(frame.payload));
    case FrameKind::question:
      return ask(node, unpacked<Question>(frame.payload));
    case FrameKind::leaving:
      for (int other = 0; other < nodes_; ++other)
        if (other != node) send_(other, FrameKind::leaving, frame.payload);
      return;
    default:
      throw Failure{1, "a frame that only mpiexec sends"};
  }
}

void Spawner::place(int node, const Wanted& wanted) {
  Family family;
  family.by = node;
  family.at = wanted.at;
  try {
    if (!seating_) seating_.emplace(options_, options_.ranks(), places_);
    family.seats = seating_->reserve(memory::commands_of(wanted.text));
  } catch (const Failure& failure) {
    return send_(node, FrameKind::answer, packed(Answer{wanted.at, false, false, 0, failure.text}));
  }
  const auto first = static_cast<std::size_t>(family.seats.world.first - options_.ranks());
  spawned_on_.resize(std::max(spawned_on_.size(), first + family.seats.node_of.size()));
  std::copy(family.seats.node_of.begin(), family.seats.node_of.end(),
            spawned_on_.begin() + static_cast<std::ptrdiff_t>(first));
  family.has_placed.assign(static_cast<std::size_t>(nodes_), false);
  family.ends_due.resize(static_cast<std::size_t>(nodes_));
  for (const std::int32_t n : family.seats.node_of)
    family.ends_due[static_cast<std::size_t>(n)] = 1;
  const std::uint64_t serial = ++count_;
  send_all_(FrameKind::place,
            packed(Placement{serial, wanted.world, wanted.link, family.seats.world.first,
                             family.seats.node_of, wanted.parents, wanted.text}));
  families_.emplace(serial, std::move(family));
}

void Spawner::take_outcome(int node, const StartOutcome& outcome) {
  Family* const family = find(outcome.serial);
  if (family == nullptr || family->has_placed[static_cast<std::size_t>(node)])
    throw Failure{1, "an answer without a question"};
  family->has_placed[static_cast<std::size_t>(node)] = true;
  if (family->why.empty()) family->why = outcome.why;
  settle(outcome.serial);
}

/// All agents have answered, or all ranks ended: is there something to do?
void Spawner::settle(std::uint64_t serial) {
  Family& family = *find(serial);
  const auto is_set = [](bool yes) { return yes; };
  if (!std::all_of(family.has_placed.begin(), family.has_placed.end(), is_set)) return;
  if (family.at != 0) {
    send_(
        family.by, FrameKind::answer,
        packed(Answer{family.at, false, family.why.empty(), family.seats.world.first, family.why}));
    family.at = 0;
  }
  if (!family.why.empty() && !family.is_withdrawn) {
    family.is_withdrawn = true;
    for (int node = 0; node < nodes_; ++node) {
      int& due = family.ends_due[static_cast<std::size_t>(node)];
      if (due == 0) continue;
      ++due;
      send_(node, FrameKind::withdraw, packed(serial));
    }
  }
  if (std::any_of(family.ends_due.begin(), family.ends_due.end(), [](int due) { return due > 0; }))
    return;
  send_all_(FrameKind::vacate, packed(serial));
  seating_->free(family.seats);
  families_.erase(serial);
  dismiss();
}

void Spawner::take_told(Told told) {
  Family* const family = find(told.serial);
  if (family == nullptr) return;  // it has been withdrawn
  for (auto& one : told.addresses) {
    if (one.first < family->seats.world.first || one.first >= family->seats.world.end())
      throw Failure{1, "addresses of a rank that it does not have"};
    family->addresses.push_back(std::move(one));
  }
  check_absence(*family);
  const auto ranks = static_cast<std::size_t>(family->seats.world.size);
  if (family->addresses.size() == ranks)
    send_all_(FrameKind::told, packed(Told{told.serial, family->addresses}));
}

/// Ranks that have called MPI_Init would wait for ever for those that never will.
void Spawner::check_absence(const Family& family) {
  if (!family.has_absent || family.addresses.empty() || !family.why.empty()) return;
  fail_(
      "weft: a rank of " + std::to_string(family.seats.world.size) +
      " spawned ended without calling MPI_Init, which another has called; all ranks of a job must "
      "call it");
}

void Spawner::take_known(std::uint64_t serial) {
  Family* const family = find(serial);
  if (family != nullptr && ++family->know == nodes_) send_all_(FrameKind::reached, packed(serial));
}

void Spawner::take_ended(int node, std::uint64_t serial) {
  if (serial == 0) {
    start_runs_[static_cast<std::size_t>(node)] = false;
    return dismiss();
  }
  Family* const family = find(serial);
  if (family == nullptr) throw Failure{1, "the end of ranks that there are not"};
  --family->ends_due[static_cast<std::size_t>(node)];
  const std::vector<std::int32_t>& node_of = family->seats.node_of;
  const auto told =
      std::count_if(family->addresses.begin(), family->addresses.end(), [&](const auto& one) {
        return node_of[static_cast<std::size_t>(one.first - family->seats.world.first)] == node;
      });
  family->has_absent |= told < std::count(node_of.begin(), node_of.end(), node);
  check_absence(*family);
  settle(serial);
}

/// Nobody is left who could spawn.
void Spawner::dismiss() {
  const bool start_runs =
      std::any_of(start_runs_.begin(), start_runs_.end(), [](bool yes) { return yes; });
  if (start_runs || !families_.empty() || are_dismissed_) return;
  are_dismissed_ = true;
  send_all_(FrameKind::dismiss, {});
}

void Spawner::ask(int node, const Question& question) {
  Answer out{question.at, true, false, 0, ""};
  const auto found = names_.find(question.name);
  switch (static_cast<memory::Ask>(question.what)) {
    case memory::Ask::add:
      out.is_granted = names_.emplace(question.name, question.value).second;
      break;
    case memory::Ask::find:
      out.is_granted = found != names_.end();
      if (out.is_granted) out.text = found->second;
      break;
    case memory::Ask::remove:
      out.is_granted = found != names_.end() && found->second == question.value;
      if (out.is_granted) names_.erase(found);
      break;
    case memory::Ask::guest:
      out.is_granted = true;
      out.text = std::to_string(guests_.emplace(question.name, guests_.size()).first->second);
      break;
    default:
      throw Failure{1, "a question that there is not"};
  }
  send_(node, FrameKind::answer, packed(out));
}

}  // namespace weft::launch
