// SPDX-License-Identifier: Apache-2.0
#include "world/apart.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/close_range.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

namespace weft::world {

std::string own_mpiexec() {
  Dl_info own{};
  char real[PATH_MAX];
  if (dladdr(reinterpret_cast<void*>(&own_mpiexec), &own) == 0 || own.dli_fname == nullptr ||
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

namespace {

/// In the new process, which has the memory of a process with several threads: system calls only.
[[noreturn]] void become(const Apart& what, char* const* argv, int news) {
  if (setsid() >= 0 && fork() != 0) _exit(0);
  const pid_t own = getpid();
  bool is_told = write(news, &own, sizeof own) == sizeof own;
  const auto move = [](int from, int to) { return from == to || dup2(from, to) >= 0; };
  const bool has_streams =
      move(what.in, STDIN_FILENO) && move(what.out, STDOUT_FILENO) && move(what.err, STDERR_FILENO);
  syscall(SYS_close_range, STDERR_FILENO + 1, ~0U, CLOSE_RANGE_CLOEXEC);
  if (what.inherited >= 0) fcntl(what.inherited, F_SETFD, 0);
  if (is_told && has_streams) execv(argv[0], argv);
  const int error = errno;
  is_told = write(news, &error, sizeof error) == sizeof error;
  _exit(is_told ? 127 : 1);
}

}  // namespace

pid_t start_apart(Apart what) {
  int news[2];
  if (pipe2(news, O_CLOEXEC) != 0) return 0;
  std::vector<char*> argv;
  for (std::string& word : what.words) argv.push_back(word.data());
  argv.push_back(nullptr);
  const pid_t child = fork();
  if (child == 0) become(what, argv.data(), news[1]);
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

}  // namespace weft::world
