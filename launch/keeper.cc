// SPDX-License-Identifier: Apache-2.0
//
// The keeper's loop. All signals it cares about are blocked in both processes from the start; the
// keeper waits for them, so that none is lost. Terminal signals reach both processes, but only the
// keeper's copy counts.
#include "keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/limits.h"
#include "child.h"
#include "options.h"

namespace weft::launch {
namespace {

constexpr int passed_on[] = {SIGINT,  SIGTERM, SIGHUP,  SIGQUIT, SIGUSR1,
                             SIGUSR2, SIGTSTP, SIGCONT, SIGWINCH};

sigset_t watched_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (int s : passed_on) sigaddset(&set, s);
  for (int s : {SIGCHLD, SIGTTIN, SIGTTOU, SIGPIPE}) sigaddset(&set, s);
  return set;
}

// The worker has ended; whatever it could not end itself is ours now.
int finish(int status) {
  kill_descendants();
  if (WIFEXITED(status)) return WEXITSTATUS(status);
  fprintf(stderr,
          "weft: mpiexec's worker process was killed by signal %d (%s); the job was ended\n",
          WTERMSIG(status), strsignal(WTERMSIG(status)));
  return 128 + WTERMSIG(status);
}

int watch(pid_t worker, int orders, const sigset_t& signals) {
  for (;;) {
    siginfo_t info;
    const int got = sigwaitinfo(&signals, &info);
    if (got == SIGCHLD) {
      int status = 0;
      pid_t ended = 0;
      while ((ended = waitpid(-1, &status, WNOHANG)) > 0)
        if (ended == worker) return finish(status);
      continue;
    }
    for (int s : passed_on) {
      if (s != got) continue;
      const char order = static_cast<char>(got);
      if (write(orders, &order, 1) < 0) break;  // the worker is ending
      if (got == SIGTSTP) kill(getpid(), SIGSTOP);
    }
  }
}

}  // namespace

int keep(Work work, void* context) {
  const sigset_t signals = watched_signals();
  sigset_t mask;
  sigprocmask(SIG_BLOCK, &signals, &mask);
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  int orders[2];
  if (pipe2(orders, O_CLOEXEC) != 0)
    throw Failure{
        1, std::string("weft: cannot make a pipe: ") + strerror(errno) + limit_behind(errno)};
  const pid_t worker = fork();
  if (worker < 0)
    throw Failure{
        1, std::string("weft: cannot start a process: ") + strerror(errno) + limit_behind(errno)};
  if (worker == 0) {
    close(orders[1]);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    _exit(work(context, orders[0], mask));
  }
  close(orders[0]);
  fcntl(orders[1], F_SETFL, O_NONBLOCK);
  return watch(worker, orders[1], signals);
}

}  // namespace weft::launch
