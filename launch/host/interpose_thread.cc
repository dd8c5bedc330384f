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

}  // namespace

extern "C" {
#pragma GCC visibility push(default)

int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*function)(void*),
                   void* argument) noexcept {
  static constinit Next<int(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*)> real{
      "pthread_create"};
  Rank* rank = current();
  if (!rank) return real(thread, attributes, function, argument);
  auto* start = new (std::nothrow) Start<void*>{rank, function, argument};
  if (!start) return EAGAIN;
  const int e = real(thread, attributes, begin<void*>, start);
  if (e != 0) delete start;
  return e;
}

int thrd_create(thrd_t* thread, thrd_start_t function, void* argument) {
  static constinit Next<int(thrd_t*, thrd_start_t, void*)> real{"thrd_create"};
  Rank* rank = current();
  if (!rank) return real(thread, function, argument);
  auto* start = new (std::nothrow) Start<int>{rank, function, argument};
  if (!start) return thrd_nomem;
  const int e = real(thread, begin<int>, start);
  if (e != thrd_success) delete start;
  return e;
}

#pragma GCC visibility pop
}
