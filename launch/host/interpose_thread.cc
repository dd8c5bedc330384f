// SPDX-License-Identifier: Apache-2.0
//
// Threads that a rank makes belong to it: they get the program's thread-local data, the rank's
// identity in libmpi_abi, and its view of everything that is interposed.
#include <pthread.h>
#include <threads.h>

#include <new>

#include "host.h"
#include "next.h"

using namespace weft::host;

namespace {

template <class Result>
struct Start {
  Rank* rank;
  Result (*function)(void*);
  void* argument;
};

template <class Result>
Result begin(void* p) {
  auto* start = static_cast<Start<Result>*>(p);
  const Start<Result> s = *start;
  delete start;
  adopt_thread(*s.rank);
  return s.function(s.argument);
}

using Create = int(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
constinit Next<Create> real_create{"pthread_create"};

/// The calling thread's rank if `thread` is that rank's main thread.
Rank* main_thread_of_rank(pthread_t thread) {
  Rank* rank = current();
  return rank && in_host_process() && pthread_equal(thread, rank->thread) ? rank : nullptr;
}

// Set while a sanitizer's pthread_create makes the thread that a rank wants: it calls ours again.
thread_local bool is_creating = false;

/// A library of the host made the thread: it called the sanitizer's pthread_create, which comes
/// here with a function of its own.
bool is_of_sanitizer(Create* first, void* (*function)(void*)) {
  Dl_info creates, starts;
  return first != pthread_create_of_rank && dladdr(reinterpret_cast<void*>(first), &creates) != 0 &&
         dladdr(reinterpret_cast<void*>(function), &starts) != 0 &&
         creates.dli_fbase == starts.dli_fbase;
}

}  // namespace

extern "C" {

int pthread_create_of_rank(pthread_t* thread, const pthread_attr_t* attributes,
                           void* (*function)(void*), void* argument) noexcept {
  static auto* first = reinterpret_cast<Create*>(dlsym(RTLD_DEFAULT, "pthread_create"));
  Rank* rank = current();
  if (!rank || is_creating || is_of_sanitizer(first, function))
    return real_create(thread, attributes, function, argument);
  auto* start = new (std::nothrow) Start<void*>{rank, function, argument};
  if (!start) return EAGAIN;
  rank->members.expect();
  is_creating = true;
  const int e = first == pthread_create_of_rank
                    ? real_create(thread, attributes, begin<void*>, start)
                    : first(thread, attributes, begin<void*>, start);
  is_creating = false;
  if (e == 0) return 0;
  rank->members.cancel();
  delete start;
  return e;
}

#pragma GCC visibility push(default)

[[gnu::alias("pthread_create_of_rank")]] int pthread_create(pthread_t*, const pthread_attr_t*,
                                                            void* (*)(void*), void*) noexcept;

int thrd_create(thrd_t* thread, thrd_start_t function, void* argument) {
  static constinit Next<int(thrd_t*, thrd_start_t, void*)> real{"thrd_create"};
  Rank* rank = current();
  if (!rank) return real(thread, function, argument);
  auto* start = new (std::nothrow) Start<int>{rank, function, argument};
  if (!start) return thrd_nomem;
  rank->members.expect();
  const int e = real(thread, begin<int>, start);
  if (e == thrd_success) return e;
  rank->members.cancel();
  delete start;
  return e;
}

[[noreturn]] void pthread_exit(void* result) {
  static constinit Next<void(void*)> real{"pthread_exit"};
  if (Rank* rank = main_thread_of_rank(pthread_self())) rank->main_result = result;
  real(result);
  __builtin_unreachable();
}

// A rank's main thread that has left by pthread_exit is still there: it waits for the others.
int pthread_join(pthread_t thread, void** result) {
  static constinit Next<int(pthread_t, void**)> real{"pthread_join"};
  Rank* rank = main_thread_of_rank(thread);
  if (!rank || pthread_equal(thread, pthread_self())) return real(thread, result);
  rank->members.wait_until_main_left();
  if (result) *result = rank->main_result;
  return 0;
}

#pragma GCC visibility pop
}
