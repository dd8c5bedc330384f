// SPDX-License-Identifier: Apache-2.0
//
// The supervisor's loop. All signals it cares about are blocked in both processes from the start;
// the supervisor waits for them, so that none is lost. Terminal signals reach both processes, but
// only the supervisor's copy counts.
#include "supervisor.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <string>

#include "base/clock.h"
#include "base/limits.h"
#include "child.h"
#include "options.h"
#include "terminal.h"

namespace weft::launch {
namespace {

constexpr int passed_on[] = {SIGINT,  SIGTERM, SIGHUP,  SIGQUIT, SIGUSR1,
                             SIGUSR2, SIGTSTP, SIGCONT, SIGWINCH};

// For the worker to read that the job is to end. Starting thousands of ranks takes it a second.
constexpr std::int64_t patience_ns = 3'000'000'000;

bool is_ignored(int signal) {
  struct sigaction action {};
  return sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

// What the user told mpiexec to ignore (nohup; a shell's background) is not passed on either.
sigset_t watched_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (int s : passed_on)
    if (!is_ignored(s)) sigaddset(&set, s);
  for (int s : {SIGCHLD, SIGTTIN, SIGTTOU, SIGPIPE, SIGXFSZ}) sigaddset(&set, s);
  return set;
}

class Supervisor {
 public:
  Supervisor(pid_t worker, int orders, const sigset_t& signals, const TerminalSettings& terminal)
      : worker_(worker), orders_(orders), signals_(signals), terminal_(terminal) {}

  int watch();

 private:
  int next_signal() const;
  bool has_ended(int* status) const;
  void pass_on(int signal);
  bool is_deaf() const;
  int finish(int status) const;
  int end(int exit_code, const std::string& why) const;

  pid_t worker_;
  int orders_;
  const sigset_t& signals_;
  const TerminalSettings& terminal_;  // as found; the worker changes them for rank 0
  int asked_ = 0;                     // the signal that is to end the job, while its time runs
  std::int64_t deadline_ = 0;         // for the worker to read it
};

/// 0: the time is over; negative: as sigwaitinfo.
int Supervisor::next_signal() const {
  if (asked_ == 0) return sigwaitinfo(&signals_, nullptr);
  const std::int64_t left = std::max<std::int64_t>(deadline_ - now_ns(), 0);
  const timespec limit = timespec_of(left);
  const int got = sigtimedwait(&signals_, nullptr, &limit);
  return got < 0 && errno == EAGAIN ? 0 : got;
}

bool Supervisor::has_ended(int* status) const {
  for (pid_t ended = 0; (ended = waitpid(-1, status, WNOHANG)) != 0;) {
    if (ended == worker_) return true;
    if (ended < 0 && errno != EINTR) {
      *status = -1;
      return true;
    }
  }
  return false;
}

/// It has not read what was written for it.
bool Supervisor::is_deaf() const {
  int bytes = 0;
  return ioctl(orders_, FIONREAD, &bytes) == 0 && bytes > 0;
}

void Supervisor::pass_on(int signal) {
  const char order = static_cast<char>(signal);
  if (write(orders_, &order, 1) < 0) return;  // the worker is ending
  if (ends_jobs(signal) && asked_ == 0) {
    asked_ = signal;
    deadline_ = now_ns() + patience_ns;
  }
  if (signal != SIGTSTP) return;
  terminal_.restore();
  kill(getpid(), SIGSTOP);
}

// The worker has ended; whatever it could not end itself is ours now.
int Supervisor::finish(int status) const {
  if (status == -1)
    return end(1, std::string("weft: cannot wait for processes: ") + strerror(errno));
  kill_descendants();
  if (WIFEXITED(status)) return WEXITSTATUS(status);
  terminal_.restore();
  fprintf(stderr,
          "weft: mpiexec's worker process was killed by signal %d (%s); the job was ended\n",
          WTERMSIG(status), strsignal(WTERMSIG(status)));
  return 128 + WTERMSIG(status);
}

/// End everything at once, the worker too.
int Supervisor::end(int exit_code, const std::string& why) const {
  kill(worker_, SIGKILL);
  kill_descendants();
  terminal_.restore();
  fprintf(stderr, "%s; the job was ended\n", why.c_str());
  return exit_code;
}

int Supervisor::watch() {
  for (;;) {
    const int got = next_signal();
    if (got < 0 && errno != EINTR)
      return end(1, std::string("weft: cannot wait for signals: ") + strerror(errno));
    if (got == SIGCHLD) {
      int status = 0;
      if (has_ended(&status)) return finish(status);
    }
    if (got == 0 && is_deaf())
      return end(128 + asked_,
                 std::string("weft: mpiexec's worker process did not react to signal ") +
                     std::to_string(asked_) + " (" + strsignal(asked_) + ")");
    if (got == 0) asked_ = 0;
    for (int s : passed_on)
      if (s == got) pass_on(got);
  }
}

}  // namespace

bool ends_jobs(int signal) {
  return signal == SIGINT || signal == SIGTERM || signal == SIGHUP || signal == SIGQUIT;
}

sigset_t block_signals() {
  signal(SIGCHLD, SIG_DFL);  // ignored, as some parents leave it, it would hide how children end
  const sigset_t signals = watched_signals();
  if (sigprocmask(SIG_BLOCK, &signals, nullptr) != 0)
    throw Failure{1, std::string("weft: cannot block signals: ") + strerror(errno)};
  return signals;
}

Worker start_worker(Work work, void* context, const sigset_t& mask) {
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
  return {worker, orders[1]};
}

int supervise(Work work, void* context) {
  sigset_t mask;
  sigprocmask(SIG_BLOCK, nullptr, &mask);
  const sigset_t signals = block_signals();
  const TerminalSettings terminal;
  const Worker worker = start_worker(work, context, mask);
  return Supervisor(worker.pid, worker.orders, signals, terminal).watch();
}

}  // namespace weft::launch
