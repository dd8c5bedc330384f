// SPDX-License-Identifier: Apache-2.0
#include "orders.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>

namespace weft::launch {

Orders::Orders(memory::Job& job) : job_(job) {
  if ((job.places() == job.size() && job.header().apart == 0) ||
      pipe2(pipe_, O_CLOEXEC | O_NONBLOCK) != 0)
    return;
  // All signals are blocked here, and so there.
  listener_ = std::thread([this] {
    std::uint32_t seen = 0;
    // relaxed: what is waited for is the counter
    while (!ends_.load(std::memory_order_relaxed)) {
      seen = memory::await_order(job_, seen);
      // A full pipe says it, too.
      if (write(pipe_[1], "o", 1) < 0 && errno != EAGAIN) return;
    }
  });
  // release: the listener is there; pairs with world/attendant.cc
  job.header().takes_orders.store(1, std::memory_order_release);
}

Orders::~Orders() {
  if (listener_.joinable()) {
    ends_.store(true, std::memory_order_relaxed);
    memory::stir(job_);
    listener_.join();
  }
  for (const int fd : pipe_)
    if (fd >= 0) close(fd);
}

std::vector<std::uint64_t> Orders::take() {
  char bytes[64];
  while (read(pipe_[0], bytes, sizeof bytes) > 0) {
  }
  return memory::take_orders(job_);
}

namespace {

RankMode mode_of(const std::string& text, RankMode usual) {
  if (text == "process") return RankMode::process;
  if (text == "thread") return RankMode::thread;
  return text == "auto" ? RankMode::automatic : usual;
}

/// Options for one command, as if mpiexec had been called for it.
Options options_of(const Options& job, const memory::Command& command) {
  Options out = job;
  out.mode = mode_of(command.mode, job.mode);
  out.bind = false;  // the CPUs are the first ranks' already
  out.verbose = out.report_bindings = false;
  Program program;
  program.ranks = command.ranks;
  program.argv = command.argv;
  program.directory = command.directory;
  if (!command.path.empty()) {
    const char* usual = getenv("PATH");
    program.env.emplace_back("PATH", command.path + (usual ? std::string(":") + usual : ""));
  }
  out.programs = {std::move(program)};
  return out;
}

}  // namespace

Plan plan_order(const Options& options, const std::vector<memory::Command>& commands,
                const memory::World& world, memory::Job& job, const std::string& debug_directory) {
  Plan out;
  int first = world.first;
  for (std::size_t i = 0; i < commands.size(); ++i) {
    Options own = options_of(options, commands[i]);
    const std::vector<Runnable> runnables = find_programs(own);
    // What it turned out to be: nobody looks a second time.
    if (own.mode == RankMode::automatic)
      own.mode = runnables[0].as_threads ? RankMode::thread : RankMode::process;
    Plan part = make_spawned_plan(own, runnables[0], {first, world, static_cast<int>(i)}, job,
                                  debug_directory);
    std::move(part.processes.begin(), part.processes.end(), std::back_inserter(out.processes));
    first += commands[i].ranks;
  }
  return out;
}

}  // namespace weft::launch
