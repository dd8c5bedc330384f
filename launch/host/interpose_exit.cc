// SPDX-License-Identifier: Apache-2.0
//
// exit, _exit and the lists of handlers, per rank. On a rank's main thread exit runs the rank's
// handlers and leaves the thread; the process goes on with the other ranks. On another thread of a
// rank it ends the job: no one can stop the rank's main thread from outside without harm. Unless
// that one has left by pthread_exit.
#include <sys/syscall.h>
#include <unistd.h>
#include <weft/host.h>

#include <algorithm>
#include <cstdio>

#include "host.h"
#include "next.h"

#pragma weak weft_host_abort

using namespace weft::host;

namespace {

[[noreturn]] void end_process(int status) {
  syscall(SYS_exit_group, status);
  __builtin_unreachable();
}

[[noreturn]] void leave(Rank& rank, int status, int how) {
  if (!in_host_process()) end_process(status);  // a child that the rank forked
  rank.status = status & 0xff;
  rank.how = how;
  if (pthread_equal(pthread_self(), rank.thread)) longjmp(rank.end, 1);
  if (rank.members.end_for_main())  // that one waits to be told how the rank ends
    for (;;) pause();

  char text[160];
  snprintf(text, sizeof text,
           "weft: rank %d: exit(%d) on a thread that is not the rank's main one ends the job\n",
           rank.world, status);
  complain(text);
  if (weft_host_abort) weft_host_abort(rank.world, rank.status, 0);
  end_process(status);
}

bool belongs_to(Rank* rank, const void* dso, const void* function) {
  return rank && (rank->owner(dso) || rank->owner(function));
}

struct QuickHandlers {
  std::vector<void (*)(void*)> all;
};

int remember(Rank& rank, const ExitHandler& handler) {
  std::scoped_lock guard(rank.lock);
  rank.exit_handlers.push_back(handler);
  return 0;
}

}  // namespace

extern "C" {
#pragma GCC visibility push(default)

void exit(int status) {
  static constinit Next<void(int)> real{"exit"};
  if (Rank* rank = current()) {
    rank->status = status & 0xff;  // on_exit handlers see it
    run_exit_handlers(*rank);
    leave(*rank, status, WEFT_HOST_EXIT);
  }
  real(status);
  __builtin_unreachable();
}

void _exit(int status) {
  Rank* rank = current();
  if (rank && in_host_process()) leave(*rank, status, WEFT_HOST_QUIT);
  end_process(status);
}

void _Exit(int status) {
  _exit(status);
}

void quick_exit(int status) {
  static constinit Next<void(int)> real{"quick_exit"};
  Rank* rank = current();
  if (!rank) real(status);
  auto& handlers = rank->only<QuickHandlers>().all;
  while (!handlers.empty()) {
    auto* handler = handlers.back();
    handlers.pop_back();
    handler(nullptr);
  }
  _exit(status);
}

int __cxa_at_quick_exit(void (*function)(void*), void* dso) {
  static constinit Next<int(void (*)(void*), void*)> real{"__cxa_at_quick_exit"};
  Rank* rank = current();
  if (!belongs_to(rank, dso, reinterpret_cast<void*>(function))) return real(function, dso);
  std::scoped_lock guard(rank->lock);
  rank->only<QuickHandlers>().all.push_back(function);
  return 0;
}

int __cxa_atexit(void (*function)(void*), void* argument, void* dso) {
  static constinit Next<int(void (*)(void*), void*, void*)> real{"__cxa_atexit"};
  Rank* rank = current();
  if (!belongs_to(rank, dso, reinterpret_cast<void*>(function)))
    return real(function, argument, dso);
  return remember(*rank, {nullptr, function, argument, dso});
}

int on_exit(void (*function)(int, void*), void* argument) {
  static constinit Next<int(void (*)(int, void*), void*)> real{"on_exit"};
  Rank* rank = current();
  if (!belongs_to(rank, nullptr, reinterpret_cast<void*>(function)))
    return real(function, argument);
  return remember(*rank, {function, nullptr, argument, nullptr});
}

// Called by every image's destructors for itself: when a plugin is closed, and at exit, when all
// handlers have run.
void __cxa_finalize(void* dso) {
  static constinit Next<void(void*)> real{"__cxa_finalize"};
  Rank* rank = current();
  const Loaded* owner = rank ? rank->owner(dso) : nullptr;
  if (!owner) return real(dso);
  for (;;) {
    std::unique_lock guard(rank->lock);
    auto& all = rank->exit_handlers;
    const auto last = std::find_if(all.rbegin(), all.rend(), [&](const ExitHandler& h) {
      return h.dso && rank->owner(h.dso) == owner;
    });
    if (last == all.rend()) return;
    const ExitHandler h = *last;
    all.erase(std::next(last).base());
    guard.unlock();
    if (h.plain) h.plain(h.argument);
  }
}

// ld.so does not unload what still has a thread's objects to destroy.
int __cxa_thread_atexit_impl(void (*function)(void*), void* object, void* dso) {
  static constinit Next<int(void (*)(void*), void*, void*)> real{"__cxa_thread_atexit_impl"};
  if (Rank* rank = current())
    if (const Loaded* owner = rank->owner(dso)) const_cast<Loaded*>(owner)->stays = true;
  return real(function, object, dso);
}

#pragma GCC visibility pop
}
