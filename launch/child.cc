// SPDX-License-Identifier: Apache-2.0
//
// vfork: the child borrows the launcher's memory until it execs, so starting a rank costs no page
// tables. Between vfork and exec only system calls are made and nothing is allocated.
#include "child.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>

#include "options.h"

namespace weft::launch {
namespace {

struct CpuSet {
  cpu_set_t* set = nullptr;
  std::size_t bytes = 0;

  explicit CpuSet(std::span<const int> cpus) {
    if (cpus.empty()) return;
    int highest = 0;
    for (int cpu : cpus) highest = cpu > highest ? cpu : highest;
    set = CPU_ALLOC(highest + 1);
    bytes = CPU_ALLOC_SIZE(highest + 1);
    CPU_ZERO_S(bytes, set);
    for (int cpu : cpus) CPU_SET_S(cpu, bytes, set);
  }
  ~CpuSet() {
    if (set != nullptr) CPU_FREE(set);
  }
  CpuSet(const CpuSet&) = delete;
  CpuSet& operator=(const CpuSet&) = delete;
};

/// What the child tells its parent through the memory they share.
struct Trouble {
  int error = 0;
  const char* step = "";
};

[[noreturn]] void give_up(volatile Trouble* trouble, const char* step) {
  trouble->error = errno;
  trouble->step = step;
  _exit(127);
}

[[noreturn]] void become(const Start& s, const CpuSet& cpus, pid_t launcher,
                         volatile Trouble* trouble) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != launcher) {  // it died before the line above
    errno = ESRCH;
    give_up(trouble, "getppid");
  }
  if (s.lifeline != nullptr) s.lifeline->hold();
  // A mask that is no longer allowed (CPUs taken away meanwhile) is no reason not to run.
  if (cpus.set != nullptr) sched_setaffinity(0, cpus.bytes, cpus.set);
  if (s.stack_bytes != 0) {
    rlimit stack{};
    getrlimit(RLIMIT_STACK, &stack);
    stack.rlim_cur = s.stack_bytes < stack.rlim_max ? s.stack_bytes : stack.rlim_max;
    setrlimit(RLIMIT_STACK, &stack);
  }
  if (s.open_files != nullptr) setrlimit(RLIMIT_NOFILE, s.open_files);
  if (dup2(s.in, 0) < 0 || dup2(s.out, 1) < 0 || dup2(s.err, 2) < 0) give_up(trouble, "dup2");
  for (int fd : s.inherited)
    if (fcntl(fd, F_SETFD, 0) != 0) give_up(trouble, "fcntl");
  if (s.directory != nullptr && chdir(s.directory) != 0) give_up(trouble, "chdir");
  sigprocmask(SIG_SETMASK, &s.signal_mask, nullptr);
  execve(s.path, s.argv, s.env);
  give_up(trouble, "execve");
}

/// Not one child, asked of the kernel.
bool is_childless() {
  siginfo_t any;
  return waitid(P_ALL, 0, &any, WEXITED | WNOHANG | WNOWAIT) != 0 && errno == ECHILD;
}

// Direct children of this process, by looking at every process there is.
std::vector<pid_t> children() {
  std::vector<pid_t> out;
  if (is_childless()) return out;
  DIR* proc = opendir("/proc");
  if (proc == nullptr) return out;
  while (dirent* entry = readdir(proc)) {
    const pid_t pid = atoi(entry->d_name);
    if (pid <= 0) continue;
    char path[64], text[512];
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) continue;
    const ssize_t n = read(fd, text, sizeof text - 1);
    close(fd);
    if (n <= 0) continue;
    text[n] = 0;
    const char* behind_name = strrchr(text, ')');
    int parent = 0;
    if (behind_name != nullptr && sscanf(behind_name, ") %*c %d", &parent) == 1 &&
        parent == getpid())
      out.push_back(pid);
  }
  closedir(proc);
  return out;
}

}  // namespace

Lifeline::Lifeline() {
  if (pipe2(ends_, O_CLOEXEC) == 0) snprintf(path_, sizeof path_, "/proc/self/fd/%d", ends_[0]);
}

Lifeline::~Lifeline() {
  for (int end : ends_)
    if (end >= 0) close(end);
}

// Each process group needs a description of the pipe of its own: who is to be signalled, and how,
// belongs to the description. Its descriptor stays open over exec. It takes the number that the
// launcher's end has here: a low one, above which a host of ranks finds nothing but their streams.
void Lifeline::hold() const {
  const int opened = open(path_, O_RDONLY | O_NONBLOCK);
  if (opened < 0) return;  // no /proc: PDEATHSIG remains
  const int fd = dup2(opened, ends_[0]);
  close(opened);
  const pid_t pid = getpid();
  fcntl(fd, F_SETOWN, getpgrp() == pid ? -pid : pid);
  fcntl(fd, F_SETSIG, SIGKILL);
  fcntl(fd, F_SETFL, O_ASYNC | O_NONBLOCK);
}

void signal_process(pid_t pid, int signal) {
  // Where the kernel refuses setpgid there is no such group.
  if (kill(-pid, signal) != 0) kill(pid, signal);
}

pid_t start_process(const Start& start, std::string& step) {
  const CpuSet cpus(start.cpus);
  volatile Trouble trouble;
  const pid_t launcher = getpid();
  const pid_t pid = vfork();
  if (pid == 0) become(start, cpus, launcher, &trouble);
  if (pid < 0) {
    step = "vfork";
    return -1;
  }
  if (trouble.error == 0) return pid;
  waitpid(pid, nullptr, 0);
  step = const_cast<const char*>(trouble.step);
  errno = trouble.error;
  return -1;
}

void kill_descendants(std::span<const pid_t> spared) {
  const auto is_spared = [spared](pid_t pid) {
    return std::find(spared.begin(), spared.end(), pid) != spared.end();
  };
  for (int round = 0; round < 1000; ++round) {
    bool some = false;
    for (pid_t pid : children()) {
      if (is_spared(pid)) continue;
      some = true;
      if (waitpid(pid, nullptr, WNOHANG) == 0) kill(pid, SIGKILL);
    }
    if (!some) return;
    const timespec millisecond{0, 1000000};
    nanosleep(&millisecond, nullptr);
  }
}

sigset_t let_children_wake() {
  struct sigaction nothing {};
  nothing.sa_handler = [](int) {};
  if (sigaction(SIGCHLD, &nothing, nullptr) != 0)
    throw Failure{1, std::string("weft: cannot handle signals: ") + strerror(errno)};
  sigset_t wakers;
  sigprocmask(SIG_BLOCK, nullptr, &wakers);
  sigdelset(&wakers, SIGCHLD);
  return wakers;
}

std::optional<rlimit> raise_file_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return {};
  const rlimit before = limit;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
  return before;
}

}  // namespace weft::launch
