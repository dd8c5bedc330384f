// SPDX-License-Identifier: Apache-2.0
//
// A signal table per rank. The kernel knows one handler per signal and process: a dispatcher that
// looks up the table of the rank on whose thread the signal arrived. A signal sent to the process
// arrives on the host's main thread and is passed on to every rank that has a handler. Signals that
// no rank asked for keep their default.
//
// A signal that kills names its rank before the process dies of it.
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <weft/host.h>

#include <atomic>

#include "children.h"
#include "host.h"
#include "next.h"
#include "signals.h"

#pragma weak weft_host_abort

namespace weft::host {

namespace {

constinit Next<int(int, const struct sigaction*, struct sigaction*)> real_sigaction{"sigaction"};
constexpr int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGSYS, SIGTRAP};

bool is_fault(int signal) {
  for (int f : faults)
    if (f == signal) return true;
  return false;
}

/// Signals whose default is to do nothing or to stop, not to kill.
bool is_harmless_by_default(int signal) {
  switch (signal) {
    case SIGCHLD:
    case SIGURG:
    case SIGWINCH:
    case SIGCONT:
    case SIGSTOP:
    case SIGTSTP:
    case SIGTTIN:
    case SIGTTOU:
      return true;
    default:
      return false;
  }
}

/// Let the default action of `signal` happen to the process, now.
void take_default_action(int signal) {
  struct sigaction action {};
  action.sa_handler = SIG_DFL;
  real_sigaction(signal, &action, nullptr);
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, signal);
  pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
  syscall(SYS_tgkill, getpid(), syscall(SYS_gettid), signal);
}

}  // namespace

void die(Rank* rank, int signal) {
  static std::atomic<bool> dying{false};
  if (in_host_process() && dying.exchange(true)) {  // another rank is faster; its message counts
    for (;;) pause();
  }
  const char* name = sigabbrev_np(signal);
  char text[512];
  if (rank)
    snprintf(text, sizeof text, "weft: rank %d: killed by signal %d (SIG%s) in %s\n", rank->world,
             signal, name ? name : "?", the_host->program.c_str());
  else
    snprintf(text, sizeof text, "weft: the host of ranks %d-%d was killed by signal %d (SIG%s)\n",
             the_host->ranks.front()->world, the_host->ranks.back()->world, signal,
             name ? name : "?");
  if (in_host_process()) {
    if (!the_host->has_launcher || !weft_host_abort) complain(text);
    if (weft_host_abort) weft_host_abort(rank ? rank->world : -1, 128 + signal, signal);
    if (!the_host->own_directory.empty()) remove_directory(the_host->own_directory);
  }
  take_default_action(signal);
}

namespace {

void call_handler(const struct sigaction& action, int signal, siginfo_t* info, void* context) {
  if (action.sa_flags & SA_SIGINFO)
    action.sa_sigaction(signal, info, context);
  else
    action.sa_handler(signal);
}

bool has_handler(const struct sigaction& action) {
  return (action.sa_flags & SA_SIGINFO) ||
         (action.sa_handler != SIG_DFL && action.sa_handler != SIG_IGN);
}

/// A signal about a child, or from one, is its parent's. Several signals may have become one, so
/// others whose children have something to tell get it too.
bool concerns(const Rank& rank, const Rank* parent, int signal, siginfo_t& info) {
  if (signal == SIGCHLD && ignores_children(rank)) reap_children(rank);
  if (info.si_code != SI_USER && signal != SIGCHLD) return true;
  return !parent || parent == &rank || (signal == SIGCHLD && find_waitable_child(rank, info));
}

// A signal that is passed on says so in its code, and what its code was in a field that nobody
// uses.
constexpr int passed_on = -0x5746;

void send_to(const Rank& rank, int signal, siginfo_t info) {
  info.si_errno = info.si_code;
  info.si_code = passed_on;
  syscall(SYS_rt_tgsigqueueinfo, the_host->pid, rank.thread_id, signal, &info);
}

void deliver(Rank& rank, int signal, siginfo_t* info, void* context) {
  struct sigaction& slot = rank.actions[signal];
  const struct sigaction action = slot;
  if (has_handler(action)) {
    if (action.sa_flags & static_cast<int>(SA_RESETHAND)) {
      slot.sa_handler = SIG_DFL;
      slot.sa_flags &= ~SA_SIGINFO;
    }
    rank.handled.fetch_add(1, std::memory_order_relaxed);
    call_handler(action, signal, info, context);
  } else if (action.sa_handler == SIG_DFL && !is_harmless_by_default(signal)) {
    die(&rank, signal);
  } else if (action.sa_handler == SIG_IGN && is_fault(signal) && info->si_code > 0) {
    die(&rank, signal);  // the kernel does not let a real fault be ignored
  }
}

/// Whether a signal that arrived on a thread of a rank is meant for that thread. The kernel gives
/// one for the process to the main thread, or to any other while that one is busy.
bool is_for_thread(int signal, const siginfo_t& info) {
  if (!in_host_process()) return true;
  switch (info.si_code) {
    case SI_TKILL:
    case SI_TIMER:  // timers of ranks signal threads
      return true;
    case SI_QUEUE:
      return rank_of_process(info.si_pid) != nullptr;
    case SI_USER:
      return info.si_pid == the_host->pid;  // the kernel's SIGPIPE
    default:
      return is_fault(signal);
  }
}

// The signal was sent to the process.
void pass_on(int signal, const siginfo_t* info, void* context) {
  const Rank* parent = the_host->children.last_parent_of(info->si_pid);
  bool wanted = false, here = false;
  siginfo_t for_here{};
  for (auto& rank : the_host->ranks) {
    const struct sigaction& action = rank->actions[signal];
    siginfo_t own = *info;
    if (!concerns(*rank, parent, signal, own) || rank->thread_id == 0) continue;
    if (!has_handler(action) && action.sa_handler == SIG_DFL && !is_harmless_by_default(signal)) {
      die(nullptr, signal);  // as it would kill that rank's process
      return;
    }
    wanted = true;
    if (rank.get() == current()) {
      here = true;
      for_here = own;
    } else if (has_handler(action)) {
      send_to(*rank, signal, own);
    }
  }
  if (!wanted && !is_harmless_by_default(signal)) die(nullptr, signal);
  if (here) deliver(*current(), signal, &for_here, context);
}

/// A sentence before what the program's own handler or the launcher says.
void say_if_stack_is_full(const Rank& rank, const siginfo_t& info) {
  const std::uintptr_t at = reinterpret_cast<std::uintptr_t>(info.si_addr);
  if (info.si_code <= 0 || rank.stack_end == 0 || at >= rank.stack_end ||
      at < rank.stack_end - stack_guard_bytes || syscall(SYS_gettid) != rank.thread_id)
    return;
  char text[256];
  snprintf(text, sizeof text,
           "weft: rank %d: its stack of %zu KiB is full: large arrays on it, or a recursion "
           "without end; "
           "`ulimit -s` or mpiexec --stack gives it more\n",
           rank.world, the_host->stack_bytes >> 10);
  complain(text);
}

void dispatch(int signal, siginfo_t* info, void* context) {
  const int saved = errno;
  Rank* rank = current();
  if (rank && signal == SIGSEGV) say_if_stack_is_full(*rank, *info);
  const bool was_passed_on = info->si_code == passed_on;
  if (was_passed_on) {
    info->si_code = info->si_errno;
    info->si_errno = 0;
  }
  if (rank && (was_passed_on || is_for_thread(signal, *info)))
    deliver(*rank, signal, info, context);
  else if (!rank && is_fault(signal))
    die(nullptr, signal);
  else
    pass_on(signal, info, context);
  errno = saved;
}

bool kills_by_default(const Rank& rank, int signal) {
  if (signal == SIGKILL) return true;
  if (signal < 1 || signal > 64 || is_harmless_by_default(signal)) return false;
  const struct sigaction& action = rank.actions[signal];
  return !has_handler(action) && action.sa_handler == SIG_DFL;
}

int install_dispatcher(int signal, const struct sigaction& wanted) {
  struct sigaction action = wanted;
  action.sa_sigaction = dispatch;
  action.sa_flags = (wanted.sa_flags & ~static_cast<int>(SA_RESETHAND)) | SA_SIGINFO | SA_ONSTACK;
  return real_sigaction(signal, &action, nullptr);
}

}  // namespace

bool would_kill(const Rank& rank, int signal) {
  sigset_t blocked;
  pthread_sigmask(SIG_BLOCK, nullptr, &blocked);
  return kills_by_default(rank, signal) && (signal == SIGKILL || !sigismember(&blocked, signal));
}

Rank* rank_of_process(pid_t pid) {
  if (!current()) return nullptr;
  for (auto& rank : the_host->ranks)
    if (rank->thread_id == pid && pid != 0) return rank.get();
  return nullptr;
}

void prepare_to_send(Rank& rank, int signal) {
  if (!in_host_process()) return;
  if (&rank == current() && would_kill(rank, signal)) die(&rank, signal);
  if (signal == SIGKILL) die(&rank, signal);
  watch(rank, signal);
}

void watch(Rank& rank, int signal) {
  if (!kills_by_default(rank, signal) || signal == SIGKILL) return;
  struct sigaction none {};
  sigemptyset(&none.sa_mask);
  install_dispatcher(signal, none);
}

int set_action(Rank& rank, int signal, const struct sigaction* wanted, struct sigaction* old) {
  const struct sigaction before = rank.actions[signal];
  if (wanted) {
    struct sigaction copy = *wanted;
    rank.actions[signal] = copy;
    if (int e = install_dispatcher(signal, copy); e != 0) {
      rank.actions[signal] = before;
      return e;
    }
  }
  if (old) *old = before;
  return 0;
}

void install_fault_handlers() {
  struct sigaction none {};
  sigemptyset(&none.sa_mask);
  for (int signal : faults) {
    struct sigaction old {};
    real_sigaction(signal, nullptr, &old);
    if (!has_handler(old))
      install_dispatcher(signal, none);  // a sanitizer reports better than we do
  }
}

void keep_ignored_in_child(const Rank& rank, int signal) {
  const struct sigaction& action = rank.actions[signal];
  if (!(action.sa_flags & SA_SIGINFO) && action.sa_handler == SIG_IGN)
    real_sigaction(signal, &action, nullptr);
}

void complain(const char* text) {
  syscall(SYS_write, 2, text, strlen(text));
}

}  // namespace weft::host
