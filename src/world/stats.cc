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

struct CounterDef {
  const char* name;
  const char* unit;
  std::uint64_t Counters::*value;
};
constexpr CounterDef counters[] = {
#define X(name, unit, help) {#name, unit, &Counters::name},
    WEFT_COUNTERS(X)
#undef X
};

struct LevelCounterDef {
  const char* name;
  std::uint64_t (Counters::*values)[Counters::levels];
};
constexpr LevelCounterDef level_counters[] = {
#define X(name, unit, help) {#name, &Counters::name},
    WEFT_LEVEL_COUNTERS(X)
#undef X
};

bool is_mark(const CounterDef& def) {
  return std::strstr(def.name, "peak") != nullptr || std::strstr(def.name, "longest") != nullptr;
}

double number(std::uint64_t n) {
  return static_cast<double>(n);
}
double ratio(double of, double to) {
  return to != 0 ? of / to : 0;
}
double in_mpi_ns(const Counters& c) {
  return number(c.issue_ns + c.poll_ns + c.empty_ns + c.sync_ns);
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
     [](const Counters& c) { return 100 * ratio(number(c.issue_ns), in_mpi_ns(c)); }, in_mpi_ns},
    {"  POLL: looks that found news [%]",
     [](const Counters& c) { return 100 * ratio(number(c.poll_ns), in_mpi_ns(c)); }, in_mpi_ns},
    {"  EMPTY CS: looks that found none [%]",
     [](const Counters& c) { return 100 * ratio(number(c.empty_ns), in_mpi_ns(c)); }, in_mpi_ns},
    {"  SYNC: lock, signal, between looks [%]",
     [](const Counters& c) { return 100 * ratio(number(c.sync_ns), in_mpi_ns(c)); }, in_mpi_ns},
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

Counters sum_of(std::span<const Counters> ranks) {
  Counters sum;
  for (const Counters& rank : ranks) {
    for (const CounterDef& def : counters) {
      std::uint64_t& total = sum.*def.value;
      total = is_mark(def) ? std::max(total, rank.*def.value) : total + rank.*def.value;
    }
    for (const LevelCounterDef& def : level_counters)
      for (int l = 0; l < Counters::levels; ++l) (sum.*def.values)[l] += (rank.*def.values)[l];
  }
  return sum;
}

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
  const Counters sum = sum_of(ranks);
  char line[160];
  std::snprintf(line, sizeof line, "weft: counters of %zu rank%s\n%-41s %14s %14s %14s %14s\n",
                ranks.size(), ranks.size() == 1 ? "" : "s", "", "all", "least of one", "median",
                "most of one");
  std::string text = line;
  for (const Derived& d : derived)
    if (d.relevant(sum) != 0) add_row(text, d.name, ranks, sum, d.value);
  for (const CounterDef& def : counters) {
    const bool shown_above = std::strcmp(def.unit, "ns") == 0 && !is_mark(def);
    if (sum.*def.value != 0 && !shown_above)
      add_row(text, def.name, ranks, sum,
              [&def](const Counters& c) { return number(c.*def.value); });
  }
  for (const LevelCounterDef& def : level_counters)
    for (int l = 0; l < Counters::levels; ++l)
      if ((sum.*def.values)[l] != 0)
        add_row(text, (std::string(def.name) + ", level " + std::to_string(l)).c_str(), ranks, sum,
                [&def, l](const Counters& c) { return number((c.*def.values)[l]); });
  return text;
}

Err print_stats(Rank& rank) {
  object::Comm& world = *rank.store.comm_world;
  const Counters mine = rank.all_counters();
  std::vector<Counters> all(world.rank == 0 ? world.group->members.size() : 0);
  const auto* byte = datatype::predefined(reinterpret_cast<std::uintptr_t>(MPI_BYTE));
  const std::int64_t bytes = sizeof mine;
  WEFT_TRY(coll::gather({&mine, bytes, byte}, {all.data(), bytes, byte}, 0, world));
  if (world.rank == 0) std::fputs(stats_table(all).c_str(), stderr);
  return ok;
}

}  // namespace weft::world
