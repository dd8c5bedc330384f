// SPDX-License-Identifier: Apache-2.0
//
// The mpiexec that a job starts ends when all ranks of the job have.
#include "world/attendant.h"

#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <string>

#include "world/apart.h"
#include "world/connected.h"
#include "world/rank.h"

namespace weft::world {
namespace {

constexpr std::int32_t being_started = -1;

bool has_ended(pid_t process) {
  const int end = static_cast<int>(syscall(SYS_pidfd_open, process, 0));
  if (end < 0) return errno == ESRCH;
  pollfd waits{end, POLLIN, 0};
  const bool out = poll(&waits, 1, 0) > 0;
  close(end);
  return out;
}

/// The claim to start it is this rank's.
Err start_attendant(memory::Job& job) {
  job.header().takes_orders.store(0, std::memory_order_relaxed);  // not any more, if one has ended
  const std::string path = own_mpiexec(), number = std::to_string(job.fd());
  const pid_t process = path.empty() ? 0
                                     : start_apart({.words = {path, "--attend", number},
                                                    .in = STDIN_FILENO,
                                                    .out = STDOUT_FILENO,
                                                    .err = STDERR_FILENO,
                                                    .inherited = job.fd()});
  const int error = errno;
  job.header().attendant.store(process, std::memory_order_release);  // pairs with call_launcher()
  if (path.empty())
    return fail(MPI_ERR_SPAWN,
                "weft's mpiexec, which would start ranks for this job, is not beside weft's "
                "library; start the job by weft's mpiexec");
  if (process == 0)
    return fail(MPI_ERR_SPAWN, "cannot start %s, which would start ranks for this job: %s",
                path.c_str(), std::strerror(error));
  return ok;
}

}  // namespace

bool launcher_has_ended(memory::Job& job) {
  // acquire: pairs with start_attendant()
  const std::int32_t process = job.header().attendant.load(std::memory_order_acquire);
  return process > 0 && has_ended(process);
}

Err call_launcher(Rank& rank) {
  Process& process = *rank.process;
  memory::Job& job = *process.job;
  if (job.places() == job.size())
    return fail(MPI_ERR_SPAWN,
                "this job has no places for more ranks; set WEFT_SPAWN_PLACES=NUMBER, or a larger "
                "limit of address space, where it is started");
  // acquire: pairs with the launcher, which is ready then
  const auto is_ready = [&job] {
    return job.header().takes_orders.load(std::memory_order_acquire) != 0;
  };
  if (process.under_mpiexec) {
    look_until(rank.engine, is_ready);  // it has started this rank, and is about to be
    return ok;
  }
  std::atomic<std::int32_t>& attendant = job.header().attendant;
  std::int32_t known = attendant.load(std::memory_order_acquire);
  if (known == 0 || launcher_has_ended(job)) {
    // relaxed: a claim; what comes of it is acquired
    if (attendant.compare_exchange_strong(known, being_started, std::memory_order_relaxed))
      WEFT_TRY(start_attendant(job));
  }
  look_until(rank.engine, [&] {
    known = attendant.load(std::memory_order_acquire);  // pairs with start_attendant()
    return known != being_started && (known == 0 || is_ready() || launcher_has_ended(job));
  });
  if (is_ready() && !launcher_has_ended(job)) return ok;
  return fail(MPI_ERR_SPAWN, "the mpiexec that was to start ranks for this job %s",
              known == 0 ? "could not be started by another rank" : "has ended");
}

}  // namespace weft::world
