// SPDX-License-Identifier: Apache-2.0
//
// The mpiexec that a job starts ends when all ranks of the job have. On several nodes it starts an
// agent on each, as for a job of its own; should ranks of two nodes start one at the same time, the
// one whose agent is the first on the first node stays (launch/agent.cc).
#include "world/attendant.h"

#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <string>
#include <vector>

#include "base/clock.h"
#include "world/apart.h"
#include "world/connected.h"
#include "world/join.h"
#include "world/network.h"
#include "world/rank.h"

namespace weft::world {
namespace {

constexpr std::int32_t being_started = -1;
constexpr std::int64_t for_another_ns = 10'000'000'000;

bool has_ended(pid_t process) {
  const int end = static_cast<int>(syscall(SYS_pidfd_open, process, 0));
  if (end < 0) return errno == ESRCH;
  pollfd waits{end, POLLIN, 0};
  const bool out = poll(&waits, 1, 0) > 0;
  close(end);
  return out;
}

/// For mpiexec: where the memory of each node is, as HOST=RANKS=PATH, separated by commas; "": all
/// ranks are on this one.
Result<std::string> nodes_of(Process& process) {
  memory::Job& job = *process.job;
  if (job.nodes() == 1) return std::string();
  std::string out;
  for (int node = 0, end = 0; end < job.size(); ++node) {
    const int first = end;
    while (end < job.size() && job.node_of(end) == node) ++end;
    if (end == first)
      return fail(MPI_ERR_UNSUPPORTED_OPERATION,
                  "rank %d is on node %d again: weft can spawn, and open ports, where the process "
                  "manager puts the ranks of a node one behind the other (Slurm: "
                  "--distribution=block), or weft's mpiexec starts them",
                  end, job.node_of(end));
    const std::string host = told_host(process, first);
    if (host.empty())
      return fail(MPI_ERR_SPAWN, "the process manager does not say on which host rank %d is",
                  first);
    const std::lock_guard guard(process.asks_manager);
    const Result<std::string> memory = memory_of(*process.manager, first);
    if (!memory) return memory.err;
    out += (out.empty() ? "" : ",") + host + "=" + std::to_string(end - first) + "=" + memory.value;
  }
  return out;
}

/// The claim to start it is this rank's.
Err start_attendant(Process& process) {
  memory::Job& job = *process.job;
  std::atomic<std::int32_t>& attendant = job.header().attendant;  // release: call_launcher()
  const std::string path = own_mpiexec(), number = std::to_string(job.fd());
  const Result<std::string> nodes = nodes_of(process);
  if (!nodes) return attendant.store(0, std::memory_order_release), nodes.err;
  std::vector<std::string> words{path, "--attend", number};
  if (!nodes.value.empty())
    words.insert(words.end(), {nodes.value, process.params.text(P::spawn_agent)});
  else  // not any more, if one has ended
    job.header().takes_orders.store(0, std::memory_order_relaxed);
  const pid_t started = path.empty() ? 0
                                     : start_apart({.words = std::move(words),
                                                    .in = STDIN_FILENO,
                                                    .out = STDOUT_FILENO,
                                                    .err = STDERR_FILENO,
                                                    .inherited = job.fd()});
  const int error = errno;
  attendant.store(started, std::memory_order_release);
  if (path.empty())
    return fail(MPI_ERR_SPAWN,
                "weft's mpiexec, which would start ranks for this job, is not beside weft's "
                "library; start the job by weft's mpiexec");
  if (started == 0)
    return fail(MPI_ERR_SPAWN, "cannot start %s, which would start ranks for this job: %s",
                path.c_str(), std::strerror(error));
  return ok;
}

}  // namespace

bool launcher_has_ended(memory::Job& job) {
  // acquire: pairs with start_attendant(), and with the agent's claim
  const std::int32_t agent = job.header().agent.load(std::memory_order_acquire);
  const std::int32_t process =
      agent != 0 ? agent : job.header().attendant.load(std::memory_order_acquire);
  return process > 0 && has_ended(process);
}

Err call_launcher(Rank& rank, Meanwhile meanwhile) {
  Process& process = *rank.process;
  memory::Job& job = *process.job;
  // acquire: pairs with the launcher, which is ready then
  const auto is_ready = [&job] {
    return job.header().takes_orders.load(std::memory_order_acquire) != 0;
  };
  const auto wait_until = [&](auto&& done) {
    constexpr useconds_t look_us = 1000;
    if (meanwhile == Meanwhile::progress) return look_until(rank.engine, done);
    while (!done()) usleep(look_us);
  };
  if (process.under_mpiexec) {
    wait_until(is_ready);  // it has started this rank, and is about to be
    return ok;
  }
  const auto serves = [&] { return is_ready() && !launcher_has_ended(job); };
  if (serves()) return ok;
  std::atomic<std::int32_t>& attendant = job.header().attendant;
  std::int32_t known = attendant.load(std::memory_order_acquire);
  const auto is_there = [&known] {
    return known == being_started || (known > 0 && !has_ended(known));
  };
  // relaxed: a claim; what comes of it is acquired
  if (!is_there() &&
      attendant.compare_exchange_strong(known, being_started, std::memory_order_relaxed))
    WEFT_TRY(start_attendant(process));
  // On several nodes another node's may have been the first, and is about to be ready here.
  const std::int64_t patience_ns = job.nodes() > 1 ? for_another_ns : 0;
  std::int64_t ended_ns = 0;
  wait_until([&] {
    known = attendant.load(std::memory_order_acquire);  // pairs with start_attendant()
    if (serves() || known == 0) return true;
    if (is_there()) return ended_ns = 0, false;
    if (ended_ns == 0) ended_ns = now_ns();
    return now_ns() - ended_ns >= patience_ns;
  });
  if (serves()) return ok;
  return fail(MPI_ERR_SPAWN, "the mpiexec that was to start ranks for this job %s",
              known == 0 ? "could not do so" : "has ended");
}

}  // namespace weft::world
