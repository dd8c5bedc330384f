// SPDX-License-Identifier: Apache-2.0
#include "plan.h"

#include <stdlib.h>

#include <algorithm>

#include "base/cpus.h"
#include "hosting.h"
#include "network_profile.h"
#include "places.h"
#include "rank_variables.h"

namespace weft::launch {
namespace {

bool user_places_threads(const Environment& env) {
  for (const char* name : {"OMP_PLACES", "OMP_PROC_BIND", "GOMP_CPU_AFFINITY", "KMP_AFFINITY"})
    if (env.get(name) != nullptr) return true;
  return false;
}

void set_openmp(Environment& env, const topo::Slice* slice, int threads) {
  if (slice != nullptr && !user_places_threads(env)) env.set("OMP_PLACES", slice->omp_places());
  if (env.get("OMP_NUM_THREADS") == nullptr) env.set("OMP_NUM_THREADS", std::to_string(threads));
}

class Planner {
 public:
  Planner(const Options& options, bool as_threads, memory::Job& job,
          const std::string& debug_directory)
      : options_(options),
        job_(job),
        debug_directory_(debug_directory),
        places_(place_ranks(options, as_threads, job)) {}

  /// For spawned ranks.
  Planner(const Options& options, const Spawn& spawn, memory::Job& job,
          const std::string& debug_directory)
      : options_(options),
        job_(job),
        debug_directory_(debug_directory),
        here_{spawn.world.first, spawn.world.size},
        world_(spawn.world),
        behind_(spawn.first),
        next_(spawn.first) {}

  /// The next program of the job; of its ranks those are planned that run on this host.
  void add(const Program& program, const Runnable& runnable, int appnum, Plan& plan) {
    Process base = common(program, runnable);
    for (int r = behind_; r < behind_ + program.ranks; ++r) {
      job_.entry(r).appnum = appnum;
      job_.entry(r).app_size = program.ranks;
    }
    next_ = std::max(behind_, here_.first);
    behind_ += program.ranks;
    const int end = std::min(behind_, here_.end());
    while (next_ < end) {
      if (is_elsewhere(next_)) {
        ++next_;
        continue;
      }
      const int count = runnable.as_threads ? on_one_node(end) : 1;
      plan.processes.push_back(runnable.as_threads ? host(base, count) : rank(base, next_));
      next_ += count;
    }
  }

  const Places& places() const { return places_; }

 private:
  Process common(const Program& program, const Runnable& runnable) const {
    Process out;
    out.name = program.argv[0];
    out.path = runnable.path;
    out.program = runnable.path;
    out.argv = program.argv;
    out.directory = program.directory;
    out.env = Environment::inherited(program.inherit.value_or(options_.inherit));
    if (!options_.launch_agent.empty()) out.env.set("WEFT_SPAWN_AGENT", options_.launch_agent);
    for (const auto& [name, value] : options_.env) out.env.set(name, value);
    for (const auto& [name, value] : program.env) out.env.set(name, value);
    if (job_.nodes() > 1)  // all ranks must have them
      for (const std::string& name : network_price_variables())
        if (const char* value = getenv(name.c_str());
            value != nullptr && out.env.get(name) == nullptr)
          out.env.set(name, value);
    for (const char* name : size_variables) out.env.set(name, std::to_string(world_.size));
    for (const char* name : local_size_variables)
      out.env.set(name, std::to_string(local_rank(here_.end())));
    for (const char* name : rank_variables) out.env.unset(name);
    for (const char* name : local_rank_variables) out.env.unset(name);
    return out;
  }

  std::string job_variable(int first, int count) const {
    return std::to_string(job_.fd()) + "," + std::to_string(first) + "," + std::to_string(count);
  }

  const topo::Slice* slice(int rank) const {
    return !places_.bound ? nullptr : &places_.slices[static_cast<std::size_t>(rank - here_.first)];
  }

  Process rank(Process process, int r) const {
    process.first = r;
    process.env.set("WEFT_JOB", job_variable(r, 1));
    for (const char* name : rank_variables) process.env.set(name, std::to_string(r - world_.first));
    for (const char* name : local_rank_variables)
      process.env.set(name, std::to_string(local_rank(r)));
    const topo::Slice* own = slice(r);
    if (own != nullptr) process.cpus = own->cpus();
    set_openmp(process.env, own, threads_per_rank(own));
    return process;
  }

  /// Ranks from the next one on, and before `end`.
  bool is_spawned() const { return world_.first > 0; }
  /// Of spawned ranks only some are on this host, not in a row.
  bool is_elsewhere(int rank) const {
    return is_spawned() && !options_.hosts.empty() && job_.nodes() > 1 &&
           job_.node_of(rank) != options_.node;
  }
  /// Among the ranks of this host.
  int local_rank(int rank) const {
    if (!is_spawned()) return rank - here_.first;
    int out = 0;
    for (int r = here_.first; r < rank; ++r) out += is_elsewhere(r) ? 0 : 1;
    return out;
  }

  int on_one_node(int end) const {
    int count = 1;
    while (next_ + count < end && job_.node_of(next_ + count) == job_.node_of(next_)) ++count;
    return count;
  }

  Process host(Process process, int count) const {
    process.first = next_;
    process.count = count;
    process.is_host = true;
    process.env.set("WEFT_JOB", job_variable(next_, count));
    if (options_.input.rank != 0)
      process.env.set("WEFT_HOST_STDIN", std::to_string(options_.input.rank));
    const int local_first = next_ - local_rank(next_);
    if (local_first > 0) process.env.set("WEFT_HOST_LOCAL", std::to_string(local_first));
    if (world_.first > 0) process.env.set("WEFT_HOST_WORLD", std::to_string(world_.first));
    make_host_command(process, options_, debug_directory_);
    // The same for all ranks; their places differ, and the host sets them.
    set_openmp(process.env, nullptr, threads_per_rank(slice(next_)));
    if (places_.bound) {
      std::string lists;
      for (int r = next_; r < next_ + count; ++r)
        lists += (r > next_ ? ";" : "") + cpu_list(slice(r)->cpus());
      process.env.set("WEFT_HOST_CPUS", lists);
      if (!user_places_threads(process.env)) process.env.set("WEFT_HOST_OMP", "1");
    }
    return process;
  }

  int threads_per_rank(const topo::Slice* own) const {
    const int share = std::max(1, usable_ / job_.sharing());
    return own != nullptr ? std::min(static_cast<int>(own->places.size()), share) : share;
  }

  const Options& options_;
  memory::Job& job_;
  const std::string& debug_directory_;
  Places places_;
  const int usable_ = usable_cpus();
  const Ranks here_ = options_.here();
  const memory::World world_{0, options_.ranks()};
  int behind_ = 0;  // the first rank of the next program
  int next_ = 0;
};

}  // namespace

std::vector<Process> as_processes(const Options& options, const Process& host, memory::Job& job) {
  const std::string no_directory;
  Planner planner(options, false, job, no_directory);
  Plan plan;
  for (std::size_t i = 0; i < options.programs.size(); ++i)
    planner.add(options.programs[i], {host.program, false, ""}, static_cast<int>(i), plan);
  const auto begin = plan.processes.begin() + (host.first - options.here().first);
  return {begin, begin + host.count};
}

Plan make_spawned_plan(const Options& options, const Runnable& runnable, const Spawn& spawn,
                       memory::Job& job, const std::string& debug_directory) {
  Plan plan;
  Planner(options, spawn, job, debug_directory)
      .add(options.programs[0], runnable, spawn.appnum, plan);
  for (Process& process : plan.processes) process.is_spawned = true;
  return plan;
}

Plan make_plan(const Options& options, const std::vector<Runnable>& runnables, memory::Job& job,
               const std::string& debug_directory) {
  Plan plan;
  const bool as_threads = std::all_of(runnables.begin(), runnables.end(),
                                      [](const Runnable& each) { return each.as_threads; });
  Planner planner(options, as_threads, job, debug_directory);
  for (std::size_t i = 0; i < runnables.size(); ++i)
    planner.add(options.programs[i], runnables[i], static_cast<int>(i), plan);
  if (options.verbose && options.here().count > 0) {
    plan.map = describe(options, runnables, planner.places());
    const std::string seats = describe_seats(planner.places());
    if (!seats.empty()) plan.map += "\n" + seats;
  }
  if (options.report_bindings)
    plan.map += (plan.map.empty() ? "" : "\n") + report_bindings(options, planner.places());
  return plan;
}

}  // namespace weft::launch
