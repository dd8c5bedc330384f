// SPDX-License-Identifier: Apache-2.0
//
// A part of the machine is a list of cores (with a part of their hardware threads where the level
// is inside a core), in the machine's order. First each rank gets the part it is mapped to, then
// the parts to bind to: those inside that part, in turn, or the one around it.
#include "topo/placement.h"

#include <algorithm>

namespace weft::topo {
namespace {

using Part = std::vector<Core>;
using Parts = std::vector<Part>;

constexpr const char* level_name(Unit unit) {
  switch (unit) {
    case Unit::l2cache:
      return "L2Cache";
    case Unit::l3cache:
      return "L3Cache";
    case Unit::numa:
      return "NUMANode";
    case Unit::package:
      return "Package";
    case Unit::hwthread:
      return "PU";
    case Unit::core:
      return "Core";
    case Unit::machine:
    case Unit::slice:
      break;
  }
  return "Machine";
}

Parts hardware_threads(std::span<const Core> cores) {
  Parts out;
  for (const Core& core : cores)
    for (int cpu : core.cpus) {
      out.push_back({core});
      out.back()[0].cpus = {cpu};
    }
  return out;
}

/// Empty where the machine has no such level.
Parts parts_of(const Topology& topology, Unit unit) {
  const std::span<const Core> cores = topology.cores();
  if (unit == Unit::hwthread) return hardware_threads(cores);
  Parts out;
  if (unit == Unit::core)
    for (const Core& core : cores) out.push_back({core});
  if (unit == Unit::machine) out.emplace_back(cores.begin(), cores.end());
  for (const Level& level : topology.levels()) {
    if (unit == Unit::core || unit == Unit::machine || level.name != level_name(unit)) continue;
    std::vector<int> place_of(static_cast<std::size_t>(level.parts), -1);
    for (const Core& core : cores) {
      const int part = level.part(core.cpus.front());
      if (part < 0) continue;
      int& place = place_of[static_cast<std::size_t>(part)];
      if (place < 0) {
        place = static_cast<int>(out.size());
        out.emplace_back();
      }
      out[static_cast<std::size_t>(place)].push_back(core);
    }
  }
  return out;
}

Part part_of(const Slice& slice) {
  Part out;
  for (const std::vector<int>& place : slice.places) {
    out.emplace_back();
    out.back().cpus = place;
  }
  return out;
}

bool overlap(const Part& a, const Part& b) {
  for (const Core& x : a)
    for (const Core& y : b)
      for (int cpu : x.cpus)
        if (std::find(y.cpus.begin(), y.cpus.end(), cpu) != y.cpus.end()) return true;
  return false;
}

/// Where a rank is mapped to: the part, and which of its ranks this one is.
struct Seat {
  std::size_t part = 0;
  int index = 0, of = 0;
};

std::vector<Seat> seats(std::size_t parts, int nranks, std::size_t stride, bool fill) {
  std::vector<std::size_t> part_of_rank;
  for (std::size_t r = 0; r < static_cast<std::size_t>(nranks); ++r)
    part_of_rank.push_back(r * stride % parts);
  if (fill) std::sort(part_of_rank.begin(), part_of_rank.end());
  std::vector<int> taken(parts, 0);
  std::vector<Seat> out;
  for (const std::size_t part : part_of_rank) out.push_back({part, taken[part]++, 0});
  for (Seat& seat : out) seat.of = taken[seat.part];
  return out;
}

Slice slice_of(const Parts& all, std::size_t first, std::size_t width) {
  Slice out;
  for (std::size_t i = first; i < first + width; ++i)
    for (const Core& core : all[i]) out.places.push_back(core.cpus);
  return out;
}

class Binder {
 public:
  Binder(const Parts& all, int width) : all_(all), width_(static_cast<std::size_t>(width)) {}

  /// Positions in `all` of the first part that overlaps, and how many do.
  std::pair<std::size_t, std::size_t> inside(const Part& part) const {
    std::size_t first = 0, count = 0;
    for (std::size_t i = 0; i < all_.size(); ++i)
      if (overlap(all_[i], part)) {
        if (count == 0) first = i;
        ++count;
      }
    return {first, count};
  }

  Slice bind(const Part& part, int index) const {
    const auto [first, count] = inside(part);
    const std::size_t groups = std::max<std::size_t>(1, count / width_);
    const std::size_t at = first + static_cast<std::size_t>(index) % groups * width_;
    return slice_of(all_, std::min(at, all_.size() - width_), width_);
  }

 private:
  const Parts& all_;
  std::size_t width_;
};

Err no_level(const Topology& topology, Unit unit) {
  return fail(MPI_ERR_ARG,
              "this machine has no level %s for ranks to be mapped or bound to; it has %s",
              level_name(unit), topology.count_levels().c_str());
}

/// Each rank gets its share of the part it is mapped to.
std::vector<Slice> divide(const Parts& objects, int nranks, bool fill) {
  const std::vector<Seat> all = seats(objects.size(), nranks, 1, fill);
  std::vector<std::vector<Slice>> shares(objects.size());
  std::vector<Slice> out;
  for (const Seat& seat : all) {
    if (shares[seat.part].empty()) shares[seat.part] = slices(objects[seat.part], seat.of);
    out.push_back(shares[seat.part][static_cast<std::size_t>(seat.index)]);
  }
  return out;
}

Parts objects_of(const Topology& topology, int nranks, Unit map) {
  if (map != Unit::slice) return parts_of(topology, map);
  Parts out;
  for (const Slice& slice : slices(topology, nranks)) out.push_back(part_of(slice));
  return out;
}

}  // namespace

Result<std::vector<Slice>> place(const Topology& topology, int nranks, const Placement& wish) {
  if (wish.map == Unit::slice && wish.bind == Unit::slice) return slices(topology, nranks);
  const Parts objects = objects_of(topology, nranks, wish.map);
  if (objects.empty()) return no_level(topology, wish.map);
  if (wish.bind == Unit::slice) return divide(objects, nranks, wish.fill);
  const Parts targets = parts_of(topology, wish.bind);
  if (targets.empty()) return no_level(topology, wish.bind);
  const auto width = static_cast<std::size_t>(wish.width);
  const Binder binder(targets, wish.width);
  const std::size_t room = binder.inside(objects[0]).second;
  const bool may_leave = wish.map <= wish.bind;  // the part it is mapped to
  if (targets.size() < width || (!may_leave && room < width))
    return fail(MPI_ERR_ARG, "a rank cannot have %d times %s where there are %zu", wish.width,
                level_name(wish.bind), may_leave ? targets.size() : room);
  const std::size_t stride = room < width && wish.map != Unit::slice ? width : 1;
  std::vector<Slice> out;
  for (const Seat& seat : seats(objects.size(), nranks, stride, wish.fill))
    out.push_back(binder.bind(objects[seat.part], seat.index));
  return out;
}

}  // namespace weft::topo
