// SPDX-License-Identifier: Apache-2.0
//
// mpiexec: starts the ranks of a job on this machine, or on several. Read in this order: options.h
// (what was asked for), plan.h (which processes that means), supervisor.h (who watches whom), run.h
// (the job's life); for several hosts head.h and agent.h.
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cstdio>
#include <sstream>
#include <string>

#include "agent.h"
#include "base/cpus.h"
#include "debug_directory.h"
#include "head.h"
#include "network_profile.h"
#include "relay.h"
#include "run.h"
#include "supervisor.h"

namespace weft::launch {
namespace {

// 0, 1 and 2 are open, so that no pipe gets one of these numbers. Writing to one that was closed
// still fails.
void open_standard_descriptors() {
  for (int fd = 0; fd <= 2; ++fd)
    if (fcntl(fd, F_GETFD) < 0) open("/dev/null", O_RDONLY);
}

/// What nobody expected: no memory, a library's error. The job ends as after a mistake.
int say_trouble(const std::exception& trouble) {
  std::fprintf(stderr, "weft: mpiexec cannot go on: %s\n", trouble.what());
  return 1;
}

struct Context {
  const Options& options;
  const std::vector<Runnable>& runnables;
  const DebugDirectory& debug_directory;
};

int work(void* context, int orders, const sigset_t& mask) {
  const auto& c = *static_cast<Context*>(context);
  int exit_code = 1;
  try {
    Result<memory::Job*> job =
        memory::Job::create(c.options.ranks(), usable_cpus(), Params::from_env(false),
                            c.options.node_of(), c.options.slots);
    if (!job) throw Failure{1, std::string("weft: ") + last_error_text(job.err.cls)};
    job.value->header().loopback = c.options.loopback();
    Plan plan = make_plan(c.options, c.runnables, *job.value, c.debug_directory.path());
    exit_code = run(c.options, plan, *job.value, orders, mask);
  } catch (const Failure& failure) {
    std::fprintf(stderr, "%s\n", failure.text.c_str());
    exit_code = failure.exit_code;
  } catch (const std::exception& trouble) {
    exit_code = say_trouble(trouble);
  }
  return exit_code;
}

int work_on_hosts(void* context, int orders, const sigset_t& mask) {
  try {
    return run_on_hosts(*static_cast<const Options*>(context), orders, mask);
  } catch (const Failure& failure) {
    std::fprintf(stderr, "%s\n", failure.text.c_str());
    return failure.exit_code;
  } catch (const std::exception& trouble) {
    return say_trouble(trouble);
  }
}

int work_for_attended(void* context, int orders, const sigset_t& mask) {
  Options options;
  options.bind = false;
  options.input.rank = Reader::nobody;  // it is the program's
  try {
    const Result<memory::Job*> job = memory::Job::open(*static_cast<const int*>(context));
    if (!job) throw Failure{1, std::string("weft: ") + last_error_text(job.err.cls)};
    return attend(options, *job.value, orders, mask);
  } catch (const Failure& failure) {
    std::fprintf(stderr, "%s\n", failure.text.c_str());
    return failure.exit_code;
  } catch (const std::exception& trouble) {
    return say_trouble(trouble);
  }
}

/// The ranks of several nodes; `nodes` as world/attendant.cc has it. Throws Failure.
Options attended_options(const std::string& nodes, const char* launch_agent) {
  Options out;
  out.bind = false;
  out.input.rank = Reader::nobody;  // it is the program's
  out.launch_agent = launch_agent;
  std::istringstream all(nodes);
  for (std::string node; std::getline(all, node, ',');) {
    const std::size_t host = node.find('='), ranks = node.find('=', host + 1);
    if (host == node.npos || ranks == node.npos) throw Failure{2, "weft: no node: " + node};
    out.hosts.push_back({node.substr(0, host), {}, std::atoi(node.c_str() + host + 1)});
    out.memories.push_back(node.substr(ranks + 1));
  }
  Program program;
  program.ranks = 0;
  for (const Host& host : out.hosts) program.ranks += host.ranks;
  program.argv = {"of another process manager"};
  out.programs = {std::move(program)};
  return out;
}

/// Started by weft's library (world/attendant.cc), with the job's memory, which nobody below may
/// have.
int attend(int argc, char** argv) {
  int job = atoi(argv[2]);
  fcntl(job, F_SETFD, FD_CLOEXEC);
  if (argc == 3) return supervise(work_for_attended, &job);
  Options options = attended_options(argv[3], argv[4]);
  const int exit_code = supervise(work_on_hosts, &options);
  // Nobody need wait for another one.
  if (const Result<memory::Job*> its = memory::Job::open(job); its && exit_code != 0)
    its.value->header().attendant.store(0, std::memory_order_release);  // call_launcher()
  return exit_code;
}

int main(int argc, char** argv) {
  open_standard_descriptors();
  try {
    if (argc == 2 && strcmp(argv[1], "--agent") == 0) return agent();
    if ((argc == 3 || argc == 5) && strcmp(argv[1], "--attend") == 0) return attend(argc, argv);
    if (argc == 3 && strcmp(argv[1], "--relay") == 0) return relay(argv[2]);
    Options options = parse({argv + 1, argv + argc});
    if (options.has_idle_hosts() && !may_spawn(options)) options.leave_idle_hosts_out();
    check_terminals(options);
    if (!options.hosts.empty()) {
      for (const std::string& note : options.notes) std::fprintf(stderr, "%s\n", note.c_str());
      return supervise(work_on_hosts, &options);
    }
    const std::vector<Runnable> runnables = find_programs(options);
    for (const std::string& note : options.notes) std::fprintf(stderr, "%s\n", note.c_str());
    for (const Runnable& runnable : runnables)
      if (!runnable.note.empty()) std::fprintf(stderr, "%s\n", runnable.note.c_str());
    if (options.pretended_nodes > 1)
      for (const auto& [name, value] : network_variables(true))
        setenv(name.c_str(), value.c_str(), 1);
    const DebugDirectory debug_directory(options.debug);
    Context context{options, runnables, debug_directory};
    return supervise(work, &context);
  } catch (const Failure& failure) {
    std::FILE* stream = failure.exit_code == 0 ? stdout : stderr;
    const bool said = std::fprintf(stream, "%s\n", failure.text.c_str()) >= 0;
    if ((!said || std::fflush(stream) != 0) && stream == stdout) {
      std::fprintf(stderr, "weft: cannot write to standard output: %s\n", strerror(errno));
      return 1;
    }
    return failure.exit_code;
  } catch (const std::exception& trouble) {
    return say_trouble(trouble);
  }
}

}  // namespace
}  // namespace weft::launch

int main(int argc, char** argv) {
  return weft::launch::main(argc, argv);
}
