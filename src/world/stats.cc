// SPDX-License-Identifier: Apache-2.0
#include "world/stats.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <vector>

#include "coll/coll.h"
#include "world/rank.h"

namespace weft::world {
namespace {

double number(std::uint64_t n) {
  return static_cast<double>(n);
}
double ratio(double of, double to) {
  return to != 0 ? of / to : 0;
}
double in_mpi_ns(const Counters& c) {
  return number(c.call_ns);
}
/// The parts of that are measured on their own, so they need not be all of it, or may be more.
double of_time(std::uint64_t ns, const Counters& c) {
  return 100 * ratio(number(ns), in_mpi_ns(c));
}
double wake_ups(const Counters& c) {
  return number(c.signals + c.servers);
}
double of_acquisitions(std::uint64_t n, const Counters& c) {
  return 100 * ratio(number(n), number(c.lock_taken));
}

/// What a reader wants to know, computed from counters: for one rank, and for their sum.
struct Derived {
  const char* name;
  double (*value)(const Counters& c);
  double (*relevant)(const Counters& sum);  // a row is shown if this is not 0
};
constexpr Derived derived[] = {
    {"time in MPI calls [ms]", [](const Counters& c) { return in_mpi_ns(c) * 1e-6; }, in_mpi_ns},
    {"  ISSUE: start, finish operations [%]",
     [](const Counters& c) { return of_time(c.issue_ns, c); }, in_mpi_ns},
    {"  POLL: looks that found news [%]", [](const Counters& c) { return of_time(c.poll_ns, c); },
     in_mpi_ns},
    {"  EMPTY CS: looks that found none [%]",
     [](const Counters& c) { return of_time(c.empty_ns, c); }, in_mpi_ns},
    {"  SYNC: lock, signal, between looks [%]",
     [](const Counters& c) { return of_time(c.sync_ns, c); }, in_mpi_ns},
    {"  together [%]",
     [](const Counters& c) { return of_time(c.issue_ns + c.poll_ns + c.empty_ns + c.sync_ns, c); },
     in_mpi_ns},
    {"looks per message received",
     [](const Counters& c) { return ratio(number(c.polls), number(c.messages_received)); },
     [](const Counters& c) { return number(c.messages_received); }},
    {"lock: by the same thread again [%]",
     [](const Counters& c) { return of_acquisitions(c.lock_taken - c.lock_passed, c); },
     [](const Counters& c) { return number(c.lock_taken); }},
    {"lock: to a core of the same cache [%]",
     [](const Counters& c) { return of_acquisitions(c.lock_passed_cluster, c); },
     [](const Counters& c) { return number(c.lock_taken); }},
    {"lock: to one of the same NUMA domain [%]",
     [](const Counters& c) { return of_acquisitions(c.lock_passed_domain, c); },
     [](const Counters& c) { return number(c.lock_taken); }},
    {"lock: to another NUMA domain [%]",
     [](const Counters& c) { return of_acquisitions(c.lock_passed_far, c); },
     [](const Counters& c) { return number(c.lock_taken); }},
    {"lock: taken in vain [%]",
     [](const Counters& c) { return of_acquisitions(c.lock_in_vain, c); },
     [](const Counters& c) { return number(c.lock_taken); }},
    {"wake-ups of threads per completed wait",
     [](const Counters& c) { return ratio(wake_ups(c), wake_ups(c) - number(c.signals_in_vain)); },
     wake_ups},
    {"useless wake-ups per completed wait",
     [](const Counters& c) {
       return ratio(number(c.signals_in_vain), wake_ups(c) - number(c.signals_in_vain));
     },
     wake_ups},
    {"system calls: wait, wake, copy",
     [](const Counters& c) {
       return number(c.yields + c.parks + c.wakes + c.thread_wakes + c.kernel_copies +
                     c.lock_system_calls);
     },
     [](const Counters&) { return 1.0; }},
};

template <class Value>
void add_row(std::string& text, const char* name, std::span<const Counters> ranks,
             const Counters& sum, Value value) {
  std::vector<double> all;
  for (const Counters& rank : ranks) all.push_back(value(rank));
  std::sort(all.begin(), all.end());
  const double total = value(sum);
  // Whole numbers without decimals.
  const int decimals = total == static_cast<double>(static_cast<std::uint64_t>(total)) ? 0 : 2;
  char line[160];
  std::snprintf(line, sizeof line, "%-41s %14.*f %14.*f %14.*f %14.*f\n", name, decimals, total,
                decimals, all.front(), decimals, all[all.size() / 2], decimals, all.back());
  text += line;
}

}  // namespace

std::string stats_table(std::span<const Counters> ranks) {
  Counters sum;
  for (const Counters& rank : ranks) sum.add(rank);
  char line[160];
  std::snprintf(line, sizeof line, "weft: counters of %zu rank%s\n%-41s %14s %14s %14s %14s\n",
                ranks.size(), ranks.size() == 1 ? "" : "s", "", "all", "least of one", "median",
                "most of one");
  std::string text = line;
  for (const Derived& d : derived)
    if (d.relevant(sum) != 0) add_row(text, d.name, ranks, sum, d.value);
  for (const CounterDef& def : counter_table)
    for (int i = 0; i < def.elements; ++i) {
      const bool per_level = def.elements > 1;
      const bool shown_above = std::strcmp(def.unit, "ns") == 0 && !def.is_mark();
      if (def.of(sum)[i] == 0 || shown_above) continue;
      const std::string level = per_level ? ", level " + std::to_string(i) : "";
      add_row(text, (def.name + level).c_str(), ranks, sum,
              [&def, i](const Counters& c) { return number(def.of(c)[i]); });
    }
  return text;
}

Err print_stats(Rank& rank, const Counters& before) {
  object::Comm& world = *rank.store.comm_world;
  Counters mine = rank.all_counters();
  for (std::uint64_t Counters::*time : {&Counters::call_ns, &Counters::issue_ns, &Counters::poll_ns,
                                        &Counters::empty_ns, &Counters::sync_ns})
    mine.*time = before.*time;
  std::vector<Counters> all(world.rank == 0 ? world.group->members.size() : 0);
  const auto* byte = &datatype::byte_type();
  const std::int64_t bytes = sizeof mine;
  WEFT_TRY(coll::gather({&mine, bytes, byte}, {all.data(), bytes, byte}, 0, world));
  if (world.rank == 0) std::fputs(stats_table(all).c_str(), stderr);
  return ok;
}

}  // namespace weft::world
