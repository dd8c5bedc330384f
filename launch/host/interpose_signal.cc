// SPDX-License-Identifier: Apache-2.0
//
// The functions that say what a signal does and that send one: libc's families of them, of which
// each goes its own way inside libc.
#include <errno.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "host.h"
#include "next.h"
#include "signals.h"

using namespace weft::host;

namespace {

bool is_settable(int signal) {
  if (signal >= 1 && signal < NSIG && signal != SIGKILL && signal != SIGSTOP) return true;
  errno = EINVAL;
  return false;
}

struct sigaction make_action(sighandler_t handler, int flags) {
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = flags;
  sigemptyset(&action.sa_mask);
  return action;
}

sighandler_t set_handler(Rank& rank, int signal, const struct sigaction& wanted) {
  struct sigaction old {};
  if (!is_settable(signal) || set_action(rank, signal, &wanted, &old) != 0) return SIG_ERR;
  return old.sa_handler;
}

}  // namespace

extern "C" {
#pragma GCC visibility push(default)

int sigaction(int signal, const struct sigaction* wanted, struct sigaction* old) noexcept {
  static constinit Next<int(int, const struct sigaction*, struct sigaction*)> real{"sigaction"};
  Rank* rank = current();
  if (!rank || signal < 1 || signal >= NSIG || signal == SIGKILL || signal == SIGSTOP)
    return real(signal, wanted, old);
  return set_action(*rank, signal, wanted, old);
}
[[gnu::alias("sigaction")]] int __sigaction(int, const struct sigaction*,
                                            struct sigaction*) noexcept;

sighandler_t signal(int signal, sighandler_t handler) noexcept {
  static constinit Next<sighandler_t(int, sighandler_t)> real{"signal"};
  Rank* rank = current();
  if (!rank) return real(signal, handler);
  const bool interrupts = is_settable(signal) && sigismember(&rank->interrupting, signal) == 1;
  struct sigaction wanted = make_action(handler, interrupts ? 0 : SA_RESTART);
  sigaddset(&wanted.sa_mask, signal);
  return set_handler(*rank, signal, wanted);
}
[[gnu::alias("signal")]] sighandler_t bsd_signal(int, sighandler_t) noexcept;
[[gnu::alias("signal")]] sighandler_t ssignal(int, sighandler_t) noexcept;

// What `signal` is to a program that asks for nothing but ISO C or X/Open.
sighandler_t __sysv_signal(int signal, sighandler_t handler) noexcept {
  static constinit Next<sighandler_t(int, sighandler_t)> real{"__sysv_signal"};
  Rank* rank = current();
  if (!rank) return real(signal, handler);
  return set_handler(*rank, signal,
                     make_action(handler, static_cast<int>(SA_RESETHAND | SA_NODEFER)));
}
[[gnu::alias("__sysv_signal")]] sighandler_t sysv_signal(int, sighandler_t) noexcept;

sighandler_t sigset(int signal, sighandler_t handler) noexcept {
  static constinit Next<sighandler_t(int, sighandler_t)> real{"sigset"};
  Rank* rank = current();
  if (!rank) return real(signal, handler);
  if (!is_settable(signal)) return SIG_ERR;
  sigset_t one, before;
  sigemptyset(&one);
  sigaddset(&one, signal);
  const bool holds = handler == SIG_HOLD;
  sighandler_t old = rank->actions[signal].sa_handler;
  if (!holds) old = set_handler(*rank, signal, make_action(handler, 0));
  pthread_sigmask(holds ? SIG_BLOCK : SIG_UNBLOCK, &one, &before);
  return sigismember(&before, signal) ? SIG_HOLD : old;
}

int sigignore(int signal) noexcept {
  static constinit Next<int(int)> real{"sigignore"};
  Rank* rank = current();
  if (!rank) return real(signal);
  return set_handler(*rank, signal, make_action(SIG_IGN, 0)) == SIG_ERR ? -1 : 0;
}

int siginterrupt(int signal, int interrupts) noexcept {
  static constinit Next<int(int, int)> real{"siginterrupt"};
  Rank* rank = current();
  if (!rank) return real(signal, interrupts);
  if (!is_settable(signal)) return -1;
  struct sigaction action = rank->actions[signal];
  if (interrupts) {
    sigaddset(&rank->interrupting, signal);
    action.sa_flags &= ~SA_RESTART;
  } else {
    sigdelset(&rank->interrupting, signal);
    action.sa_flags |= SA_RESTART;
  }
  return set_action(*rank, signal, &action, nullptr);
}

// A signal to a rank's process id means that rank alone. One that kills is named here: for some
// there is no handler that could (SIGKILL), for others only the process would be known.
int kill(pid_t pid, int signal) noexcept {
  static constinit Next<int(pid_t, int)> real{"kill"};
  Rank* rank = rank_of_process(pid);
  if (!rank) return real(pid, signal);
  prepare_to_send(*rank, signal);
  return static_cast<int>(syscall(SYS_tgkill, the_host->pid, rank->thread_id, signal));
}

int sigqueue(pid_t pid, int signal, const union sigval value) noexcept {
  static constinit Next<int(pid_t, int, union sigval)> real{"sigqueue"};
  Rank* rank = rank_of_process(pid);
  if (!rank) return real(pid, signal, value);
  prepare_to_send(*rank, signal);
  siginfo_t info{};
  info.si_code = SI_QUEUE;
  info.si_pid = in_host_process() ? current()->thread_id : getpid();
  info.si_uid = getuid();
  info.si_value = value;
  return static_cast<int>(
      syscall(SYS_rt_tgsigqueueinfo, the_host->pid, rank->thread_id, signal, &info));
}

int tgkill(pid_t process, pid_t thread, int signal) noexcept {
  static constinit Next<int(pid_t, pid_t, int)> real{"tgkill"};
  return real(rank_of_process(process) ? the_host->pid : process, thread, signal);
}

int raise(int signal) noexcept {
  static constinit Next<int(int)> real{"raise"};
  Rank* rank = current();
  if (rank && in_host_process() && would_kill(*rank, signal)) die(rank, signal);
  return real(signal);
}
[[gnu::alias("raise")]] int gsignal(int) noexcept;

#pragma GCC visibility pop
}
