// SPDX-License-Identifier: Apache-2.0
//
// The mpiexec that a program starts is no child of it, so that the program's own waiting for
// children does not meet it, and ends when the program has. A pipe that it holds tells whether it
// lives.
#include "world/attendant.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

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

bool has_ended(int pipe) {
  pollfd waits{pipe, POLLIN, 0};
  return poll(&waits, 1, 0) > 0;  // nobody writes
}

/// In the new process, which has the memory of a process with several threads: system calls only.
[[noreturn]] void become_launcher(const char* path, char* const* argv, int job, int alive,
                                  int trouble) {
  if (setsid() >= 0 && fork() != 0) _exit(0);
  fcntl(job, F_SETFD, 0);
  fcntl(alive, F_SETFD, 0);
  execv(path, argv);
  const int error = errno;
  if (write(trouble, &error, sizeof error) < 0) _exit(1);
  _exit(127);
}

/// Start `path` for this process. 0, or errno. `alive`: ends when it does.
int start(const std::string& path, int job, int* alive) {
  int lives[2], trouble[2];
  if (pipe2(lives, O_CLOEXEC) != 0) return errno;
  if (pipe2(trouble, O_CLOEXEC) != 0) return errno;
  std::string words[] = {path, "--attend", std::to_string(job), std::to_string(getpid()),
                         std::to_string(lives[1])};
  char* argv[] = {words[0].data(), words[1].data(), words[2].data(),
                  words[3].data(), words[4].data(), nullptr};
  const pid_t pid = fork();
  if (pid == 0) become_launcher(path.c_str(), argv, job, lives[1], trouble[1]);
  int error = pid < 0 ? errno : 0;
  close(lives[1]);
  close(trouble[1]);
  while (pid > 0 && waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
  }
  if (error == 0 && read(trouble[0], &error, sizeof error) != sizeof error) error = 0;
  close(trouble[0]);
  *alive = lives[0];
  return error;
}

}  // namespace

bool launcher_has_ended(Process& process) {
  return process.launcher >= 0 && has_ended(process.launcher);
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
  if (is_ready() && !launcher_has_ended(process)) return ok;
  if (process.under_mpiexec) {
    look_until(rank.engine, is_ready);  // it has started this rank, and is about to be
    return ok;
  }
  const std::string path = own_mpiexec();
  if (path.empty())
    return fail(MPI_ERR_SPAWN,
                "this program was started alone, and weft's mpiexec, which would start ranks for "
                "it, is not beside weft's library; start the program by mpiexec -n 1");
  const int error = start(path, job.fd(), &process.launcher);
  if (error != 0)
    return fail(MPI_ERR_SPAWN, "this program was started alone, and cannot start %s: %s",
                path.c_str(), std::strerror(error));
  look_until(rank.engine, [&] { return is_ready() || launcher_has_ended(process); });
  if (is_ready()) return ok;
  return fail(MPI_ERR_SPAWN, "%s, which was to start ranks for this program, has ended",
              path.c_str());
}

}  // namespace weft::world
