// SPDX-License-Identifier: Apache-2.0
//
// Waiting for children: a rank sees its own only. See children.h.
#include <errno.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "children.h"
#include "host.h"
#include "next.h"

// In ThreadSanitizer's runtime, which sees what a container does but not that it is locked.
extern "C" {
[[gnu::weak]] void __tsan_acquire(void*);
[[gnu::weak]] void __tsan_release(void*);
}

namespace weft::host {
namespace {

pid_t this_thread() {
  return static_cast<pid_t>(syscall(SYS_gettid));
}

}  // namespace

/// No signal may come while it is held: a handler may wait for children.
class Children::Lock {
 public:
  explicit Lock(Children& children) : taken_(children.taken_) {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &mask_);
    while (taken_.test_and_set(std::memory_order_acquire)) {  // pairs with clear
    }
    if (__tsan_acquire) __tsan_acquire(&taken_);
  }
  ~Lock() {
    if (__tsan_release) __tsan_release(&taken_);
    taken_.clear(std::memory_order_release);  // pairs with test_and_set
    pthread_sigmask(SIG_SETMASK, &mask_, nullptr);
  }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

 private:
  std::atomic_flag& taken_;
  sigset_t mask_;
};

void Children::add(Rank& rank, pid_t child) {
  const Lock lock(*this);
  std::erase_if(all_, [&](const Child& c) { return c.pid == child; });  // long gone
  all_.push_back({child, this_thread(), &rank});
}

void Children::remove(pid_t child) {
  std::erase_if(all_, [&](const Child& c) {
    if (c.pid != child) return false;
    ended_[ended_count_++ % ended_.size()] = c;
    return true;
  });
}

void Children::forget(pid_t child) {
  const Lock lock(*this);
  remove(child);
}

void Children::ended(Rank& rank, pid_t child, const struct rusage& used) {
  const Lock lock(*this);
  remove(child);
  add_usage(rank.children_usage, used);
}

Rank* Children::parent_of(pid_t child) {
  const Lock lock(*this);
  for (const Child& c : all_)
    if (c.pid == child) return c.rank;
  return nullptr;
}

Rank* Children::last_parent_of(pid_t child) {
  if (Rank* parent = parent_of(child)) return parent;
  const Lock lock(*this);
  for (const Child& c : ended_)
    if (c.pid == child) return c.rank;
  return nullptr;
}

pid_t Children::next(const Rank& rank, pid_t previous, pid_t maker) {
  const Lock lock(*this);
  pid_t next = 0;
  for (const Child& c : all_)
    if (c.rank == &rank && c.maker != maker && c.pid > previous && (next == 0 || c.pid < next))
      next = c.pid;
  return next;
}

bool find_waitable_child(const Rank& rank, siginfo_t& info) {
  for (pid_t child = 0; (child = the_host->children.next(rank, child)) != 0;) {
    info.si_pid = 0;
    constexpr int look = WEXITED | WSTOPPED | WCONTINUED | WNOHANG | WNOWAIT;
    if (syscall(SYS_waitid, P_PID, child, &info, look, nullptr) == 0 && info.si_pid == child)
      return true;
  }
  return false;
}

bool ignores_children(const Rank& rank) {
  const struct sigaction& action = rank.actions[SIGCHLD];
  return (action.sa_flags & SA_NOCLDWAIT) ||
         (!(action.sa_flags & SA_SIGINFO) && action.sa_handler == SIG_IGN);
}

void reap_children(const Rank& rank) {
  for (pid_t child = 0; (child = the_host->children.next(rank, child)) != 0;)
    if (syscall(SYS_wait4, child, nullptr, WNOHANG, nullptr) == child)
      the_host->children.forget(child);
}

}  // namespace weft::host

using namespace weft::host;

namespace {

struct Wanted {
  pid_t which;  // as wait4 names a child or a kind of children
  int options;
};

/// `look(which, options)` waits as wait4 does.
template <class Look>
pid_t wait_for_any(Rank& rank, Wanted wanted, Look look) {
  const pid_t which = wanted.which;
  Children& children = the_host->children;
  for (;;) {
    const pid_t self = this_thread();
    const bool others = children.next(rank, 0, self) != 0;  // made by the rank's other threads
    pid_t found = look(which, __WNOTHREAD | (others ? WNOHANG : 0));
    if (!others || found > 0 || (found < 0 && errno != ECHILD)) return found;
    bool left = found == 0;
    const pid_t group = which == 0 ? getpgrp() : -which;
    for (pid_t child = 0; (child = children.next(rank, child, self)) != 0;) {
      if (which != -1 && getpgid(child) != group) continue;
      found = look(child, WNOHANG);
      if (found > 0) return found;
      if (found < 0) children.forget(child);
      left = left || found == 0;
    }
    if (!left) {
      errno = ECHILD;
      return -1;
    }
    if (wanted.options & WNOHANG) return 0;
    // The kernel can wait for a child or for a thread's children, not for two threads'.
    const timespec moment{0, 1000000};
    if (nanosleep(&moment, nullptr) != 0) return -1;
  }
}

template <class Look>
pid_t wait_for(Rank& rank, Wanted wanted, Look look) {
  const pid_t which = wanted.which;
  for (;;) {
    const Rank* parent = which > 0 ? the_host->children.parent_of(which) : nullptr;
    if (parent && parent != &rank) {
      errno = ECHILD;
      return -1;
    }
    const unsigned handled = rank.handled.load(std::memory_order_relaxed);
    const pid_t found = which > 0 ? look(which, 0) : wait_for_any(rank, wanted, look);
    // By another rank's signal, which the kernel gave to this thread, whose own handlers count.
    if (found < 0 && errno == EINTR && rank.handled.load(std::memory_order_relaxed) == handled)
      continue;
    if (found <= 0 || (wanted.options & WNOWAIT) || !ignores_children(rank)) return found;
    // The kernel would have kept it from us: there is none left, or we wait for the next.
  }
}

}  // namespace

extern "C" {
#pragma GCC visibility push(default)

pid_t wait4(pid_t which, int* status, int options, struct rusage* usage) {
  static constinit Next<pid_t(pid_t, int*, int, struct rusage*)> real{"wait4"};
  Rank* rank = current();
  if (!rank || !in_host_process()) return real(which, status, options, usage);
  int how = 0;
  struct rusage used {};
  const pid_t found = wait_for(*rank, {which, options}, [&](pid_t one, int more) {
    const pid_t child = real(one, &how, options | more, &used);
    if (child > 0 && !WIFSTOPPED(how) && !WIFCONTINUED(how))
      the_host->children.ended(*rank, child, used);
    return child;
  });
  if (found > 0 && status) *status = how;
  if (found > 0 && usage) *usage = used;
  return found;
}

pid_t waitpid(pid_t which, int* status, int options) {
  return wait4(which, status, options, nullptr);
}

pid_t wait(int* status) {
  return wait4(-1, status, 0, nullptr);
}

pid_t wait3(int* status, int options, struct rusage* usage) {
  return wait4(-1, status, options, usage);
}

int waitid(idtype_t kind, id_t id, siginfo_t* info, int options) {
  static constinit Next<int(idtype_t, id_t, siginfo_t*, int)> real{"waitid"};
  Rank* rank = current();
  if (!rank || !in_host_process() || (kind != P_ALL && kind != P_PID && kind != P_PGID))
    return real(kind, id, info, options);
  siginfo_t own{};
  const auto pid = static_cast<pid_t>(id);
  const pid_t which = kind == P_ALL ? -1 : kind == P_PID ? pid : -pid;
  const pid_t found = wait_for(*rank, {which, options}, [&](pid_t one, int more) {
    own.si_pid = 0;
    const bool same = one == which;
    if (real(same ? kind : P_PID, same ? id : static_cast<id_t>(one), &own, options | more) != 0)
      return -1;
    const bool ended = own.si_code != CLD_STOPPED && own.si_code != CLD_CONTINUED;
    if (own.si_pid > 0 && ended && !(options & WNOWAIT)) the_host->children.forget(own.si_pid);
    return own.si_pid;
  });
  if (found < 0) return -1;
  if (info) *info = own;
  return 0;
}

#pragma GCC visibility pop
}
