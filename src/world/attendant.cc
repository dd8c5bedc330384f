// SPDX-License-Identifier: Apache-2.0
//
// The mpiexec that a job starts is no child of any rank, so that a program's own waiting for
// children does not meet it, and ends when all ranks of the job have.
#include "world/attendant.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/close_range.h>
#include <poll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "world/connected.h"
#include "world/rank.h"

namespace weft::world {
namespace {

/// Beside this library, as in the build tree and in an installed one; "": not there.
std::string own_mpiexec() {
  Dl_info own{};
  char real[PATH_MAX];
  if (dladdr(reinterpret_cast<void*>(&call_launcher), &own) == 0 || own.dli_fname == nullptr ||
      realpath(own.dli_fname, real) == nullptr)
    return "";
  std::string folder = real;
  for (int up = 0; up < 4; ++up) {  // lib, lib64, lib/x86_64-linux-gnu
    const std::size_t slash = folder.rfind('/');
    if (slash == std::string::npos) break;
    folder.resize(slash);
    std::string path = folder + "/bin/mpiexec";
    if (access(path.c_str(), X_OK) == 0) return path;
  }
  return "";
}

constexpr std::int32_t being_started = -1;

bool has_ended(pid_t process) {
  const int end = static_cast<int>(syscall(SYS_pidfd_open, process, 0));
  if (end < 0) return errno == ESRCH;
  pollfd waits{end, POLLIN, 0};
  const bool out = poll(&waits, 1, 0) > 0;
  close(end);
  return out;
}

/// In the new process, which has the memory of a process with several threads: system calls only.
/// Of this process's files mpiexec has the job, and what it may write to.
[[noreturn]] void become_launcher(const char* path, char* const* argv, int job, int news) {
  if (setsid() >= 0 && fork() != 0) _exit(0);
  const pid_t own = getpid();
  bool is_told = write(news, &own, sizeof own) == sizeof own;
  syscall(SYS_close_range, STDERR_FILENO + 1, ~0U, CLOSE_RANGE_CLOEXEC);
  fcntl(job, F_SETFD, 0);
  if (is_told) execv(path, argv);
  const int error = errno;
  is_told = write(news, &error, sizeof error) == sizeof error;
  _exit(is_told ? 127 : 1);
}

/// Start `path` for this job. Its process, or 0 and errno.
pid_t start(const std::string& path, int job) {
  int news[2];
  if (pipe2(news, O_CLOEXEC) != 0) return 0;
  std::string program = path, option = "--attend", number = std::to_string(job);
  char* argv[] = {program.data(), option.data(), number.data(), nullptr};
  const pid_t child = fork();
  if (child == 0) become_launcher(path.c_str(), argv, job, news[1]);
  int error = child < 0 ? errno : 0;
  close(news[1]);
  while (child > 0 && waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
  }
  pid_t process = 0;
  if (error == 0 && read(news[0], &process, sizeof process) != sizeof process) error = EAGAIN;
  int refused = 0;
  if (error == 0 && read(news[0], &refused, sizeof refused) == sizeof refused) error = refused;
  close(news[0]);
  errno = error;
  return error == 0 ? process : 0;
}

/// The claim to start it is this rank's.
Err start_attendant(memory::Job& job) {
  job.header().takes_orders.store(0, std::memory_order_relaxed);  // not any more, if one has ended
  const std::string path = own_mpiexec();
  const pid_t process = path.empty() ? 0 : start(path, job.fd());
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
