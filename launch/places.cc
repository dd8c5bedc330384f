// SPDX-License-Identifier: Apache-2.0
#include "places.h"

#include <string.h>

#include <algorithm>
#include <cstdio>
#include <set>

#include "base/cpus.h"
#include "progress/mode.h"
#include "topo/placement.h"
#include "topo/table.h"
#include "tuning.h"

namespace weft::launch {
namespace {

/// "Package 0, NUMANode 0, Core 4-7": the parts of each level that hold these CPUs.
std::string parts_of(const Places& places, const std::vector<int>& cpus) {
  std::string out;
  for (const topo::Level& level : places.levels) {
    if (level.name == "Machine" || level.name == "Group" || level.name == "PU") continue;
    std::set<int> parts;
    for (int cpu : cpus)
      if (level.part(cpu) >= 0) parts.insert(level.part(cpu));
    const std::vector<int> list(parts.begin(), parts.end());
    if (!list.empty()) out += (out.empty() ? "" : ", ") + level.name + " " + cpu_list(list);
  }
  return out;
}

/// "3" or "0-3"
std::string rank_range(int first, int last) {
  return std::to_string(first) + (last > first ? "-" + std::to_string(last) : "");
}

topo::SeatWish wish_of(P parameter) {
  const Result<topo::SeatWish> wish = topo::seat_wish(Params::from_env(false).text(parameter));
  if (!wish)
    throw Failure{2, "weft: " + param_env_name(param_table()[static_cast<std::size_t>(parameter)]) +
                         ": " + last_error_text(wish.err.cls)};
  return wish.value;
}

/// Of progress threads, whether or not the job will have them: its variables are not known here.
void seat_threads(const topo::Topology& node, bool as_threads, memory::Job& job, Places& out) {
  const bool alone = job.nodes() > 1 || !as_threads;
  const int most = alone ? 1 : progress::most_ranks(Params::from_env(false));
  const auto seats = [&](P parameter, topo::SeatWork work) {
    return topo::seats(node.cores(), out.slices, 1, wish_of(parameter), work,
                       static_cast<std::size_t>(most));
  };
  const auto memory = seats(P::progress_placement, topo::SeatWork::memory);
  const auto network = seats(P::progress_placement_network, topo::SeatWork::network);
  out.seats = topo::seat_records(out.slices, memory, network, job.nodes() > 1);
  for (std::size_t rank = 0; rank < out.seats.size(); ++rank) {
    out.why.push_back(out.seats[rank].network_only ? network[rank].why : memory[rank].why);
    if (out.bound) job.entry(out.first + static_cast<int>(rank)).seat = out.seats[rank];
  }
}

}  // namespace

Places place_ranks(const Options& options, bool as_threads, memory::Job& job) {
  Places out;
  out.first = options.here().first;
  if (!options.bind || options.here().count == 0) return out;
  const Result<topo::Topology> node = topo::Topology::this_node();
  if (!node || node.value.cores().empty()) {
    const char* why = node ? "hwloc finds no CPU" : last_error_text(node.err.cls);
    std::fprintf(stderr, "weft: ranks are not bound to CPUs: %s\n", why);
    return out;
  }
  Result<std::vector<topo::Slice>> placed =
      topo::place(node.value, options.here().count, options.place);
  if (!placed) throw Failure{2, std::string("weft: ") + last_error_text(placed.err.cls)};
  out.slices = std::move(placed.value);
  out.bound = node.value.is_here();
  out.levels.assign(node.value.levels().begin(), node.value.levels().end());
  out.count = node.value.count_levels();
  seat_threads(node.value, as_threads, job, out);
  // Ranks choose by the table, and all of them the same: on several hosts they have no common one.
  if (options.hosts.size() <= 1) topo::fill_table(node.value, out.slices, job.hierarchy_table());
  const Tuning tuning = read_tuning(node.value);
  if (!tuning.complaint.empty()) std::fprintf(stderr, "weft: %s\n", tuning.complaint.c_str());
  static_assert(sizeof tuning.prices <= memory::price_bytes);
  memcpy(job.header().prices, &tuning.prices, sizeof tuning.prices);
  return out;
}

std::string describe(const Options& options, const std::vector<Runnable>& runnables,
                     const Places& places) {
  std::string text = "weft:";
  if (!options.hosts.empty()) text += " on " + options.host().name + ":";
  const Ranks here = options.here();
  int behind = 0;
  bool any = false;
  for (std::size_t i = 0; i < runnables.size(); ++i) {
    const Program& program = options.programs[i];
    const int first = std::max(behind, here.first);
    behind += program.ranks;
    const int last = std::min(behind, here.end()) - 1;
    if (last < first) continue;
    text += std::string(any ? ";" : "") + (last > first ? " ranks " : " rank ") +
            rank_range(first, last) + " " + program.argv[0] + " as " +
            (runnables[i].as_threads ? "threads" : "processes");
    any = true;
  }
  if (places.slices.empty()) return text + "; not bound to CPUs";
  if (!places.bound) text += "; not bound to CPUs, placed on a declared machine";
  text += "; " + places.count + "; CPUs by rank:";
  for (std::size_t r = 0; r < places.slices.size(); ++r) {
    std::size_t same = r;  // ranks that share their CPUs are shown together
    while (same + 1 < places.slices.size() &&
           places.slices[same + 1].places == places.slices[r].places)
      ++same;
    text += " " +
            rank_range(places.first + static_cast<int>(r), places.first + static_cast<int>(same)) +
            ":{" + cpu_list(places.slices[r].cpus()) + "}";
    r = same;
  }
  return text;
}

std::string describe_seats(const Places& places) {
  const progress::Mode mode = progress::mode_of(Params::from_env(false));
  if (places.seats.empty() || mode == progress::Mode::off) return "";
  std::vector<std::string> texts;
  for (std::size_t rank = 0; rank < places.seats.size(); ++rank) {
    const topo::SeatRecord& seat = places.seats[rank];
    const std::vector<int> own = places.slices[rank].cpus();
    const std::string cpus = cpu_list(seat.count > 0 ? seat.list() : std::span<const int>(own));
    if (mode == progress::Mode::automatic && !seat.idle && !seat.network_only)
      texts.push_back("none, " + places.why[rank]);
    else
      texts.push_back("CPUs " + cpus + ", " + std::string(topo::name_of(seat.is)) + ", " +
                      places.why[rank] + (seat.network_only ? ", for the network's steps" : ""));
  }
  std::string out = "weft: progress threads by rank:";
  for (std::size_t rank = 0; rank < texts.size();) {
    const std::size_t first = rank;  // ranks of which the same is true are shown together
    while (rank < texts.size() && texts[rank] == texts[first]) ++rank;
    out += "\nweft:   " +
           rank_range(places.first + static_cast<int>(first),
                      places.first + static_cast<int>(rank) - 1) +
           ": " + texts[first];
  }
  return out;
}

std::string report_bindings(const Options& options, const Places& places) {
  const Ranks here = options.here();
  std::string out;
  int rank = 0;
  for (const Program& program : options.programs)
    for (int i = 0; i < program.ranks; ++i, ++rank) {
      if (rank < here.first || rank >= here.end()) continue;
      out += (out.empty() ? "" : "\n") + std::string("weft: rank ") + std::to_string(rank) + " (" +
             program.argv[0] + ") ";
      if (places.slices.empty()) {
        out += "is not bound to CPUs";
        continue;
      }
      const std::vector<int> cpus =
          places.slices[static_cast<std::size_t>(rank - here.first)].cpus();
      const bool one = cpus.size() == 1;
      out += places.bound ? "is bound to CPU" : "is placed on, not bound to, CPU";
      out += (one ? " " : "s ") + cpu_list(cpus) + ": " + parts_of(places, cpus);
    }
  return out;
}

}  // namespace weft::launch
