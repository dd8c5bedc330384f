// SPDX-License-Identifier: Apache-2.0
#include "plan.h"

#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <sstream>

#include "hosting.h"
#include "topo/table.h"
#include "tuning.h"

namespace weft::launch {
namespace {

bool is_file(const std::string& path) {
  struct stat s {};
  return stat(path.c_str(), &s) == 0 && S_ISREG(s.st_mode);
}

/// The value that `name` will have for the program, or `otherwise`.
std::string variable(const Options& options, const Program& program, std::string_view name,
                     const char* otherwise) {
  const char* value = getenv(std::string(name).c_str());
  for (const Variables* list : {&options.env, &program.env})
    for (const auto& [n, v] : *list)
      if (n == name) value = v.c_str();
  return value != nullptr ? value : otherwise;
}

// Absolute, because the process changes its directory before it becomes the program.
std::string in_directory(const std::string& directory, const std::string& path) {
  return std::filesystem::absolute(std::filesystem::path(directory) / path).lexically_normal();
}

std::string find_program(const Options& options, const Program& program) {
  const std::string& name = program.argv[0];
  if (!program.directory.empty()) {
    struct stat s {};
    if (stat(program.directory.c_str(), &s) != 0 || !S_ISDIR(s.st_mode))
      throw Failure{127, "weft: the directory " + program.directory + " does not exist"};
  }
  if (name.find('/') != std::string::npos) {
    const std::string path = in_directory(program.directory, name);
    struct stat s {};
    if (stat(path.c_str(), &s) != 0)
      throw Failure{127, "weft: program " + path + " cannot be found: " + strerror(errno)};
    if (S_ISDIR(s.st_mode)) throw Failure{126, "weft: " + path + " is a directory, not a program"};
    if (access(path.c_str(), X_OK) != 0)
      throw Failure{126, "weft: program " + path + " is not executable; try chmod +x " + path};
    return path;
  }
  std::string unusable;
  std::istringstream directories(
      variable(options, program, "PATH", "/usr/local/bin:/usr/bin:/bin"));
  for (std::string directory; std::getline(directories, directory, ':');) {
    const std::string path = in_directory(directory, name);
    if (!is_file(path)) continue;
    if (access(path.c_str(), X_OK) == 0) return path;
    if (unusable.empty()) unusable = path;
  }
  if (!unusable.empty()) throw Failure{126, "weft: program " + unusable + " is not executable"};
  const bool is_here = is_file(in_directory(program.directory, name));
  throw Failure{127, "weft: program " + name + " was not found in PATH" +
                         (is_here ? "; did you mean ./" + name + "?" : "")};
}

struct Places {
  std::vector<topo::Slice> slices;  // empty: nothing is known of where ranks run
  bool bound = false;               // false on a declared machine
  std::string levels;
};

Places place_ranks(const Options& options, memory::Job& job) {
  Places out;
  if (options.bind == Bind::none) return out;
  const Result<topo::Topology> node = topo::Topology::this_node();
  if (!node || node.value.cores().empty()) {
    const char* why = node ? "hwloc finds no CPU" : last_error_text(node.err.cls);
    std::fprintf(stderr, "weft: ranks are not bound to CPUs: %s\n", why);
    return out;
  }
  const int nranks = options.ranks();
  out.slices = options.bind == Bind::core ? topo::single_cores(node.value, nranks)
                                          : topo::slices(node.value, nranks);
  out.bound = node.value.is_here();
  out.levels = node.value.count_levels();
  topo::fill_table(node.value, out.slices, job.hierarchy_table());
  const Tuning tuning = read_tuning(node.value);
  if (!tuning.complaint.empty()) std::fprintf(stderr, "weft: %s\n", tuning.complaint.c_str());
  static_assert(sizeof tuning.prices <= memory::price_bytes);
  memcpy(job.header().prices, &tuning.prices, sizeof tuning.prices);
  return out;
}

std::string describe(const Options& options, const std::vector<Runnable>& runnables,
                     const Places& places) {
  std::string text = "weft:";
  int first = 0;
  for (std::size_t i = 0; i < runnables.size(); ++i) {
    const Program& program = options.programs[i];
    const int last = first + program.ranks - 1;
    text += std::string(i > 0 ? ";" : "") + (last > first ? " ranks " : " rank ") +
            std::to_string(first) + (last > first ? "-" + std::to_string(last) : "") + " " +
            program.argv[0] + " as " + (runnables[i].as_threads ? "threads" : "processes");
    first = last + 1;
  }
  if (places.slices.empty()) return text + "; not bound to CPUs";
  if (!places.bound) text += "; not bound to CPUs, placed on a declared machine";
  text += "; " + places.levels + "; CPUs by rank:";
  for (std::size_t r = 0; r < places.slices.size(); ++r) {
    std::size_t same = r;  // ranks that share their CPUs are shown together
    while (same + 1 < places.slices.size() &&
           places.slices[same + 1].places == places.slices[r].places)
      ++same;
    text += " " + std::to_string(r) + (same > r ? "-" + std::to_string(same) : "") + ":{" +
            topo::cpu_list(places.slices[r].cpus()) + "}";
    r = same;
  }
  return text;
}

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
  Planner(const Options& options, memory::Job& job, const std::string& debug_directory)
      : options_(options),
        job_(job),
        debug_directory_(debug_directory),
        places_(place_ranks(options, job)) {}

  void add(const Program& program, const Runnable& runnable, int appnum, Plan& plan) {
    Process base = common(program, runnable);
    for (int r = next_; r < next_ + program.ranks; ++r) {
      job_.entry(r).appnum = appnum;
      job_.entry(r).app_size = program.ranks;
    }
    if (runnable.as_threads) {
      plan.processes.push_back(host(std::move(base), program.ranks));
    } else {
      for (int r = next_; r < next_ + program.ranks; ++r) plan.processes.push_back(rank(base, r));
    }
    next_ += program.ranks;
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
    out.env = Environment::inherited();
    for (const auto& [name, value] : options_.env) out.env.set(name, value);
    for (const auto& [name, value] : program.env) out.env.set(name, value);
    out.env.set("MPI_LOCALNRANKS", std::to_string(options_.ranks()));
    return out;
  }

  std::string job_variable(int first, int count) const {
    return std::to_string(job_.fd()) + "," + std::to_string(first) + "," + std::to_string(count);
  }

  const topo::Slice* slice(int rank) const {
    return !places_.bound ? nullptr : &places_.slices[static_cast<std::size_t>(rank)];
  }

  Process rank(Process process, int r) const {
    process.first = r;
    process.env.set("WEFT_JOB", job_variable(r, 1));
    process.env.set("MPI_LOCALRANKID", std::to_string(r));
    const topo::Slice* own = slice(r);
    if (own != nullptr) process.cpus = own->cpus();
    set_openmp(process.env, own, threads_per_rank(own));
    return process;
  }

  Process host(Process process, int count) const {
    process.first = next_;
    process.count = count;
    process.is_host = true;
    process.env.set("WEFT_JOB", job_variable(next_, count));
    make_host_command(process, options_, debug_directory_);
    // The same for all ranks; their places differ, and the host sets them.
    set_openmp(process.env, nullptr, threads_per_rank(slice(next_)));
    if (places_.bound) {
      std::string lists;
      for (int r = next_; r < next_ + count; ++r)
        lists += (r > next_ ? ";" : "") + topo::cpu_list(slice(r)->cpus());
      process.env.set("WEFT_HOST_CPUS", lists);
      if (!user_places_threads(process.env)) process.env.set("WEFT_HOST_OMP", "1");
    }
    return process;
  }

  int threads_per_rank(const topo::Slice* own) const {
    const int share = std::max(1, usable_ / options_.ranks());
    return own != nullptr ? std::min(static_cast<int>(own->places.size()), share) : share;
  }

  const Options& options_;
  memory::Job& job_;
  const std::string& debug_directory_;
  Places places_;
  const int usable_ = usable_cpus();
  int next_ = 0;
};

}  // namespace

std::vector<Runnable> find_programs(const Options& options) {
  std::vector<Runnable> out;
  for (const Program& program : options.programs) {
    Runnable runnable;
    runnable.path = find_program(options, program);
    if (options.mode != RankMode::process) {
      const std::string reason = why_not_threads(
          runnable.path, variable(options, program, "LD_PRELOAD", ""), program.directory);
      runnable.as_threads = reason.empty();
      if (!reason.empty() && options.mode == RankMode::thread)
        throw Failure{126,
                      "weft: " + program.argv[0] + " cannot run with ranks as threads: " + reason};
      if (!reason.empty())
        runnable.note = "weft: ranks of " + program.argv[0] + " are processes: " + reason;
    }
    out.push_back(std::move(runnable));
  }
  return out;
}

int usable_cpus() {
  // The kernel tells how large its masks are by refusing smaller ones; a sandbox refuses them all.
  int cpus = std::max(1, static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN)));
  for (int bits = 1024; bits <= (1 << 20); bits *= 2) {
    cpu_set_t* set = CPU_ALLOC(bits);
    const bool got = sched_getaffinity(0, CPU_ALLOC_SIZE(bits), set) == 0;
    if (got) cpus = CPU_COUNT_S(CPU_ALLOC_SIZE(bits), set);
    CPU_FREE(set);
    if (got) break;
  }
  const int quota = topo::cpu_quota();
  return quota > 0 ? std::min(cpus, quota) : cpus;
}

Plan make_plan(const Options& options, const std::vector<Runnable>& runnables, memory::Job& job,
               const std::string& debug_directory) {
  Plan plan;
  Planner planner(options, job, debug_directory);
  for (std::size_t i = 0; i < runnables.size(); ++i)
    planner.add(options.programs[i], runnables[i], static_cast<int>(i), plan);
  if (options.verbose) plan.map = describe(options, runnables, planner.places());
  return plan;
}

}  // namespace weft::launch
