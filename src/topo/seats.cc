// SPDX-License-Identifier: Apache-2.0
#include "topo/seats.h"

#include <algorithm>
#include <charconv>
#include <cstdint>

namespace weft::topo {
namespace {

struct Name {
  std::string_view text;
  SeatName name;
};
constexpr Name names[] = {
    {"auto", SeatName::automatic},      {"dedicated-core", SeatName::dedicated_core},
    {"same-core", SeatName::same_core}, {"smt", SeatName::smt},
    {"smt-sleep", SeatName::smt_sleep}, {"llc", SeatName::llc}};

constexpr int most_cpus = 1 << 16;

/// The number in front of `text`, which it loses; -1: there is none.
int take_cpu(std::string_view& text) {
  int cpu = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), cpu);
  if (error != std::errc{} || cpu >= most_cpus) return -1;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return cpu;
}

/// "8-11,15"; empty if it is not that.
std::vector<int> cpus_of(std::string_view text) {
  std::vector<int> out;
  for (;;) {
    const int first = take_cpu(text);
    int last = first;
    if (text.starts_with('-')) {
      text.remove_prefix(1);
      last = take_cpu(text);
    }
    if (first < 0 || last < first) return {};
    for (int cpu = first; cpu <= last; ++cpu) out.push_back(cpu);
    if (text.empty()) return out;
    if (!text.starts_with(',')) return {};
    text.remove_prefix(1);
  }
}

bool holds(const std::vector<int>& cpus, int cpu) {
  return std::find(cpus.begin(), cpus.end(), cpu) != cpus.end();
}

/// How far two cores are apart, by the domains that hold both.
int apart(const Core& a, const Core& b) {
  if (a.llc == b.llc) return 0;
  if (a.package != b.package) return 3;
  return a.numa == b.numa ? 1 : 2;
}
constexpr const char* where[] = {"in the same last-level cache", "in the same memory domain",
                                 "in the same package", "in another package"};
constexpr int farthest = 3;

class Room {
 public:
  Room(std::span<const Core> cores, std::span<const Slice> slices, int computing,
       std::size_t ranks_per_thread)
      : cores_(cores),
        slices_(slices),
        taken_(cores.size(), false),
        of_(cores.size(), nobody),
        ranks_per_thread_(ranks_per_thread) {
    for (std::size_t r = 0; r < slices.size(); ++r) {
      const auto& places = slices[r].places;
      for (std::size_t p = 0; p < places.size(); ++p) {
        const std::size_t core = core_of(places[p].front());
        if (core == cores.size()) continue;
        if (p < static_cast<std::size_t>(std::max(1, computing))) {
          taken_[core] = true;
          computing_.push_back(places[p].front());
        }
        of_[core] = r;
      }
    }
  }
  /// Where the rank computes, first of all.
  int home(std::size_t rank) const { return slices_[rank].places.front().front(); }

  Seat same_core(std::size_t rank, std::string why) const {
    return {SeatName::same_core, false, true, {home(rank)}, std::move(why)};
  }
  /// For each rank that has a thread an idle core, at most so far: of its own slice, else of
  /// nobody's. The nearest pairs first. Who gets none has no CPUs.
  std::vector<Seat> idle_cores(int most_far, SeatName name) {
    std::vector<Seat> out(slices_.size());
    for (int far = 0; far <= most_far; ++far)
      for (const bool own : {true, false})
        for (std::size_t rank = 0; rank < slices_.size(); rank += ranks_per_thread_)
          if (out[rank].cpus.empty()) take_idle_core(rank, far, own, name, out[rank]);
    return out;
  }
  /// Another hardware thread of the core that the rank computes on. None: no CPUs.
  Seat sibling(std::size_t rank, SeatName name) const {
    const std::size_t at = core_of(home(rank));
    Seat seat{name, false, true, {}, "a hardware thread of the core that computes"};
    if (at == cores_.size()) return seat;
    for (int cpu : cores_[at].cpus)
      if (!holds(computing_, cpu) && free_of_others(cpu, rank)) seat.cpus.push_back(cpu);
    return seat;
  }

 private:
  static constexpr std::size_t nobody = SIZE_MAX;
  std::size_t core_of(int cpu) const {
    std::size_t c = 0;
    while (c < cores_.size() && !holds(cores_[c].cpus, cpu)) ++c;
    return c;
  }
  void take_idle_core(std::size_t rank, int far, bool own, SeatName name, Seat& out) {
    const std::size_t at = core_of(home(rank));
    if (at == cores_.size()) return;
    for (std::size_t c = cores_.size(); c-- > 0;) {  // from the end: the first ones compute
      if (taken_[c] || of_[c] != (own ? rank : nobody) || apart(cores_[at], cores_[c]) != far)
        continue;
      taken_[c] = true;
      out = {name, true, own, cores_[c].cpus, std::string("an idle core ") + where[far]};
      return;
    }
  }
  bool free_of_others(int cpu, std::size_t rank) const {
    for (std::size_t r = 0; r < slices_.size(); ++r)
      for (const std::vector<int>& place : slices_[r].places)
        if (r != rank && holds(place, cpu)) return false;
    return true;
  }

  std::span<const Core> cores_;
  std::span<const Slice> slices_;
  std::vector<bool> taken_;  // cores: somebody computes or sits there
  std::vector<std::size_t> of_;
  std::vector<int> computing_;
  std::size_t ranks_per_thread_;
};

/// What is not an idle core.
Seat seat_of(const Room& room, std::size_t rank, std::size_t thread, const SeatWish& wish,
             SeatWork work) {
  switch (wish.name) {
    case SeatName::same_core:
      return room.same_core(rank, "as asked");
    case SeatName::listed:
      return {SeatName::listed, false, false, {wish.cpus[thread % wish.cpus.size()]}, "as listed"};
    case SeatName::llc:
      return room.same_core(rank, "no core of its last-level cache is idle");
    case SeatName::dedicated_core:
      return room.same_core(rank, "no core is idle");
    default:
      break;
  }
  const bool by_work = wish.name == SeatName::automatic;
  if (by_work && work == SeatWork::memory)
    return {SeatName::same_core, false, true, {}, "no core is idle"};
  Seat seat = room.sibling(rank, by_work ? SeatName::smt_sleep : wish.name);
  if (!seat.cpus.empty()) return seat;
  return room.same_core(rank, "its core has no hardware thread that nobody computes on");
}

}  // namespace

Result<SeatWish> seat_wish(std::string_view text) {
  for (const Name& name : names)
    if (text == name.text) return SeatWish{name.name, {}};
  std::vector<int> cpus = cpus_of(text);
  if (!cpus.empty()) return SeatWish{SeatName::listed, std::move(cpus)};
  return fail(MPI_ERR_ARG,
              "`%.*s` is no place for a thread; expected auto, dedicated-core, same-core, smt, "
              "smt-sleep, llc, or CPUs such as 8-11,15",
              static_cast<int>(text.size()), text.data());
}

std::string_view name_of(SeatName name) {
  for (const Name& known : names)
    if (known.name == name) return known.text;
  return "listed";
}

std::vector<Seat> seats(std::span<const Core> cores, std::span<const Slice> slices, int computing,
                        const SeatWish& wish, SeatWork work, std::size_t ranks_per_thread) {
  Room room(cores, slices, computing, ranks_per_thread);
  std::vector<Seat> out(slices.size());
  if (wish.name == SeatName::llc) out = room.idle_cores(0, SeatName::llc);
  if (wish.name == SeatName::dedicated_core || wish.name == SeatName::automatic)
    out = room.idle_cores(farthest, SeatName::dedicated_core);
  for (std::size_t rank = 0; rank < slices.size(); ++rank)
    if (const std::size_t first = rank - rank % ranks_per_thread; first < rank)
      out[rank] = out[first];
    else if (out[rank].cpus.empty())
      out[rank] = seat_of(room, rank, rank / ranks_per_thread, wish, work);
  return out;
}

std::vector<SeatRecord> seat_records(std::span<const Slice> slices, std::span<const Seat> memory,
                                     std::span<const Seat> network, bool several_nodes) {
  std::vector<SeatRecord> out(slices.size());
  for (std::size_t rank = 0; rank < slices.size(); ++rank) {
    SeatRecord& record = out[rank];
    const bool is_asked_for = memory[rank].is == SeatName::listed;
    record.network_only = several_nodes && !memory[rank].idle && !is_asked_for &&
                          !network[rank].cpus.empty() && network[rank].is != SeatName::same_core;
    const Seat& seat = record.network_only ? network[rank] : memory[rank];
    record.count =
        static_cast<std::uint16_t>(std::min<std::size_t>(seat.cpus.size(), SeatRecord::most_cpus));
    std::copy_n(seat.cpus.begin(), record.count, record.cpus);
    record.cores = static_cast<std::uint16_t>(slices[rank].places.size());
    record.is = seat.is;
    record.idle = seat.idle;
    record.own = seat.own;
  }
  return out;
}

}  // namespace weft::topo
