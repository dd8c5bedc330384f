// SPDX-License-Identifier: Apache-2.0
//
// Who a rank is as a process, and the processes it makes. Its process id is the id of its main
// thread, which the kernel takes wherever it takes a process id. Its children get the rank's
// environment; a rank cannot become another program, because it is not alone.
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <new>

#include "host.h"
#include "libc_environment.h"
#include "next.h"
#include "paths.h"

using namespace weft::host;

namespace {

/// system's and popen's child: signals as in a process that ignores nothing for its own ends.
struct ShellAttributes {
  posix_spawnattr_t value;
  explicit ShellAttributes(const sigset_t& mask) {
    posix_spawnattr_init(&value);
    sigset_t interrupts;
    sigemptyset(&interrupts);
    sigaddset(&interrupts, SIGINT);
    sigaddset(&interrupts, SIGQUIT);
    posix_spawnattr_setsigdefault(&value, &interrupts);
    posix_spawnattr_setsigmask(&value, &mask);
    posix_spawnattr_setflags(&value, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
  }
  ~ShellAttributes() { posix_spawnattr_destroy(&value); }
};

/// Run `command` by the shell with the rank's environment and the signal mask `mask`; descriptor
/// `target` of the child (or none, -1) becomes `end`. Returns 0 or an error number.
int spawn_shell(Rank& rank, const char* command, const sigset_t& mask, int target, int end,
                pid_t& child) {
  const ShellAttributes attributes(mask);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  if (target >= 0) posix_spawn_file_actions_adddup2(&actions, end, target);
  const char* arguments[] = {"sh", "-c", command, nullptr};
  const int e = posix_spawn(&child, "/bin/sh", &actions, &attributes.value,
                            const_cast<char**>(arguments), rank.environ_array());
  posix_spawn_file_actions_destroy(&actions);
  return e;
}

int wait_for(pid_t child) {
  int status = 0;
  while (waitpid(child, &status, 0) < 0)
    if (errno != EINTR) return -1;
  return status;
}

/// Nothing but a rank alone may do this. In a child that it forked it is.
bool may_not(const char* what, const char* instead) {
  const Rank* rank = current();
  if (!rank || !in_host_process()) return false;
  char text[256];
  snprintf(
      text, sizeof text,
      "weft: rank %d: %s would end all ranks, which are threads of one process; %s or run with "
      "--ranks=process\n",
      rank->world, what, instead);
  complain(text);
  errno = ENOTSUP;
  return true;
}

bool may_not_exec() {
  return may_not("exec", "fork first");
}

/// The arguments of execl and its kin as an array; ends with what follows the null pointer.
struct Arguments {
  static constexpr std::size_t most = 4096;
  char* list[most];
  char** environment = nullptr;
  bool fits = true;
  Arguments(const char* first, va_list more, bool has_environment) {
    std::size_t n = 0;
    for (const char* a = first; fits; a = va_arg(more, const char*)) {
      list[n] = const_cast<char*>(a);
      if (!a) break;
      fits = ++n < most;
    }
    if (has_environment && fits) environment = va_arg(more, char**);
  }
};

template <class Exec>
int exec_list(const Arguments& arguments, Exec exec) {
  if (arguments.fits) return exec();
  errno = E2BIG;
  return -1;
}

/// A rank that forks locks what other threads may hold: its child has none of them.
void lock_all(Rank* rank) {
  if (rank) rank->lock.lock();
  the_host->plugin_lock.lock();
  the_host->libc_lock.lock();
}
void unlock_all(Rank* rank) {
  the_host->libc_lock.unlock();
  the_host->plugin_lock.unlock();
  if (rank) rank->lock.unlock();
}
/// In the child this thread has another number, and a recursive lock's owner is known by that.
void unlock_all_in_child(Rank* rank) {
  new (&the_host->libc_lock) std::recursive_mutex;
  the_host->plugin_lock.unlock();
  if (rank) new (&rank->lock) std::recursive_mutex;
}

void before_fork() {
  if (Rank* rank = current())
    for (auto h = rank->fork_handlers.rbegin(); h != rank->fork_handlers.rend(); ++h)
      if (h->before) h->before();
  lock_all(current());
}
void in_parent() {
  unlock_all(current());
  if (Rank* rank = current())
    for (const ForkHandler& h : rank->fork_handlers)
      if (h.in_parent) h.in_parent();
}
// The child is the rank, alone. What follows libc's `environ` (exec, above all) must see the
// rank's.
void in_child() {
  Rank* rank = current();
  unlock_all_in_child(rank);
  if (!rank) return;
  environ = rank->environ_array();
  rank->children_usage = {};
  for (int signal = 1; signal < NSIG; signal++) keep_ignored_in_child(*rank, signal);
  for (const ForkHandler& h : rank->fork_handlers)
    if (h.in_child) h.in_child();
}

}  // namespace

namespace weft::host {

void handle_forks() {
  pthread_atfork(before_fork, in_parent, in_child);
}

}  // namespace weft::host

extern "C" {
#pragma GCC visibility push(default)

pid_t fork() noexcept {
  static constinit Next<pid_t()> real{"fork"};
  Rank* rank = current();
  const pid_t child = real();
  if (child > 0 && rank && in_host_process()) the_host->children.add(*rank, child);
  return child;
}

int __register_atfork(void (*before)(), void (*parent)(), void (*child)(), void* dso) noexcept {
  static constinit Next<int(void (*)(), void (*)(), void (*)(), void*)> real{"__register_atfork"};
  Rank* rank = current();
  if (!rank || !rank->owner(dso)) return real(before, parent, child, dso);
  std::scoped_lock guard(rank->lock);
  rank->fork_handlers.push_back({before, parent, child, dso});
  return 0;
}

pid_t getppid() noexcept {
  static constinit Next<pid_t()> real{"getppid"};
  const Rank* rank = current();
  const pid_t parent = real();
  return rank && parent == the_host->pid ? rank->thread_id : parent;
}

// The kernel moves processes only.
int setpgid(pid_t pid, pid_t group) noexcept {
  static constinit Next<int(pid_t, pid_t)> real{"setpgid"};
  const Rank* rank = current();
  auto as_process = [&](pid_t p) { return rank && p == rank->thread_id ? the_host->pid : p; };
  return real(as_process(pid), as_process(group));
}

int posix_spawn(pid_t* child, const char* path, const posix_spawn_file_actions_t* actions,
                const posix_spawnattr_t* attributes, char* const* arguments,
                char* const* environment) {
  static constinit Next<int(pid_t*, const char*, const posix_spawn_file_actions_t*,
                            const posix_spawnattr_t*, char* const*, char* const*)>
      real{"posix_spawn"};
  Rank* rank = current();
  pid_t own = 0;
  const int e = real(&own, Path(path), actions, attributes, arguments, environment);
  if (e == 0 && rank && in_host_process()) the_host->children.add(*rank, own);
  if (e == 0 && child) *child = own;
  return e;
}

int posix_spawnp(pid_t* child, const char* name, const posix_spawn_file_actions_t* actions,
                 const posix_spawnattr_t* attributes, char* const* arguments,
                 char* const* environment) {
  static constinit Next<int(pid_t*, const char*, const posix_spawn_file_actions_t*,
                            const posix_spawnattr_t*, char* const*, char* const*)>
      real{"posix_spawnp"};
  Rank* rank = current();
  if (!rank) return real(child, name, actions, attributes, arguments, environment);
  const LibcEnvironment as_rank(*rank);  // PATH
  pid_t own = 0;
  const int e = real(&own, Path(name), actions, attributes, arguments, environment);
  if (e == 0 && in_host_process()) the_host->children.add(*rank, own);
  if (e == 0 && child) *child = own;
  return e;
}

int system(const char* command) {
  static constinit Next<int(const char*)> real{"system"};
  Rank* rank = current();
  if (!rank || !command) return real(command);
  sigset_t child_ended, before;
  sigemptyset(&child_ended);
  sigaddset(&child_ended, SIGCHLD);
  pthread_sigmask(SIG_BLOCK, &child_ended, &before);  // a handler must not take this one's end away
  pid_t child = 0;
  const int e = spawn_shell(*rank, command, before, -1, -1, child);
  const int status = e == 0 ? wait_for(child) : -1;
  const int why = e == 0 ? errno : e;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  errno = why;
  return status;
}

FILE* popen(const char* command, const char* mode) {
  static constinit Next<FILE*(const char*, const char*)> real{"popen"};
  Rank* rank = current();
  if (!rank) return real(command, mode);
  const bool reads = mode[0] == 'r';
  int ends[2];
  if ((!reads && mode[0] != 'w') || pipe2(ends, O_CLOEXEC) != 0) return nullptr;
  const int ours = reads ? ends[0] : ends[1], theirs = reads ? ends[1] : ends[0];
  pid_t child = 0;
  sigset_t mask;
  pthread_sigmask(SIG_BLOCK, nullptr, &mask);
  const int e = spawn_shell(*rank, command, mask, reads ? 1 : 0, theirs, child);
  close(theirs);
  FILE* f = e == 0 ? fdopen(ours, reads ? "r" : "w") : nullptr;
  if (!f) {
    close(ours);
    errno = e;
    return nullptr;
  }
  std::scoped_lock guard(rank->lock);
  rank->pipes.emplace_back(f, child);
  return f;
}

int pclose(FILE* f) {
  static constinit Next<int(FILE*)> real{"pclose"};
  Rank* rank = current();
  if (!rank) return real(f);
  std::unique_lock guard(rank->lock);
  auto it = std::ranges::find(rank->pipes, f, &std::pair<FILE*, pid_t>::first);
  if (it == rank->pipes.end()) return real(f);
  const pid_t child = it->second;
  rank->pipes.erase(it);
  guard.unlock();
  fclose(f);
  return wait_for(child);
}

int daemon(int keeps_directory, int keeps_streams) noexcept {
  static constinit Next<int(int, int)> real{"daemon"};
  return may_not("daemon", "leave it out") ? -1 : real(keeps_directory, keeps_streams);
}

int execve(const char* path, char* const* arguments, char* const* environment) noexcept {
  static constinit Next<int(const char*, char* const*, char* const*)> real{"execve"};
  return may_not_exec() ? -1 : real(Path(path), arguments, environment);
}

int execv(const char* path, char* const* arguments) noexcept {
  static constinit Next<int(const char*, char* const*)> real{"execv"};
  return may_not_exec() ? -1 : real(Path(path), arguments);
}

int execvp(const char* name, char* const* arguments) noexcept {
  static constinit Next<int(const char*, char* const*)> real{"execvp"};
  return may_not_exec() ? -1 : real(Path(name), arguments);
}

int execvpe(const char* name, char* const* arguments, char* const* environment) noexcept {
  static constinit Next<int(const char*, char* const*, char* const*)> real{"execvpe"};
  return may_not_exec() ? -1 : real(Path(name), arguments, environment);
}

int fexecve(int fd, char* const* arguments, char* const* environment) noexcept {
  static constinit Next<int(int, char* const*, char* const*)> real{"fexecve"};
  return may_not_exec() ? -1 : real(fd, arguments, environment);
}

int execveat(int directory, const char* path, char* const* arguments, char* const* environment,
             int flags) noexcept {
  static constinit Next<int(int, const char*, char* const*, char* const*, int)> real{"execveat"};
  return may_not_exec() ? -1 : real(directory, Path(path), arguments, environment, flags);
}

int execl(const char* path, const char* first, ...) noexcept {
  va_list more;
  va_start(more, first);
  Arguments arguments(first, more, false);
  va_end(more);
  return exec_list(arguments, [&] { return execv(path, arguments.list); });
}

int execlp(const char* name, const char* first, ...) noexcept {
  va_list more;
  va_start(more, first);
  Arguments arguments(first, more, false);
  va_end(more);
  return exec_list(arguments, [&] { return execvp(name, arguments.list); });
}

int execle(const char* path, const char* first, ...) noexcept {
  va_list more;
  va_start(more, first);
  Arguments arguments(first, more, true);
  va_end(more);
  return exec_list(arguments, [&] { return execve(path, arguments.list, arguments.environment); });
}

#pragma GCC visibility pop
}
