/* SPDX-License-Identifier: Apache-2.0
 *
 * By LD_PRELOAD: counts which threads of the process take which lock of pthreads, and how often
 * they find it taken; says at the end of the process, for each lock that two threads took
 * LOCKS_MANY times or more, how often, and for all, how many such threads there were and what they
 * took. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { most_locks = 1 << 14, most_threads = 128 };
static _Atomic(void*) lock_at[most_locks];
static _Atomic unsigned taken[most_locks][most_threads], found_taken[most_locks];
static _Atomic int threads;
static __thread int me = -1;

static void count(void* lock, int waited) {
  if (me < 0) me = atomic_fetch_add(&threads, 1);
  if (me >= most_threads) abort();
  unsigned at = (unsigned)(((uintptr_t)lock >> 3) * 2654435761u) % most_locks;
  for (;; at = (at + 1) % most_locks) {
    void* there = atomic_load(&lock_at[at]);
    if (there == NULL && atomic_compare_exchange_strong(&lock_at[at], &there, lock)) there = lock;
    if (there == lock) break;
  }
  atomic_fetch_add(&taken[at][me], 1);
  if (waited) atomic_fetch_add(&found_taken[at], 1);
}

/* The C library's own, whatever it is called with. */
#define WRAP(name, try_name, type)                            \
  int name(type* lock) {                                      \
    static int (*next)(type*), (*next_try)(type*);            \
    if (next == NULL) {                                       \
      next_try = (int (*)(type*))dlsym(RTLD_NEXT, #try_name); \
      next = (int (*)(type*))dlsym(RTLD_NEXT, #name);         \
    }                                                         \
    const int waits = next_try(lock) != 0;                    \
    const int result = waits ? next(lock) : 0;                \
    count((void*)lock, waits);                                \
    return result;                                            \
  }
WRAP(pthread_mutex_lock, pthread_mutex_trylock, pthread_mutex_t)
WRAP(pthread_spin_lock, pthread_spin_trylock, pthread_spinlock_t)
WRAP(pthread_rwlock_rdlock, pthread_rwlock_tryrdlock, pthread_rwlock_t)
WRAP(pthread_rwlock_wrlock, pthread_rwlock_trywrlock, pthread_rwlock_t)

__attribute__((destructor)) static void say(void) {
  const char* text = getenv("LOCKS_MANY");
  const unsigned many = text != NULL ? (unsigned)atoi(text) : 100;
  const int all = atomic_load(&threads);
  int busy = 0, common = 0;
  unsigned long most = 0;
  for (int t = 0; t < all; ++t) {
    unsigned long sum = 0;
    for (int i = 0; i < most_locks; ++i) sum += taken[i][t];
    busy += sum >= many;
    if (sum > most) most = sum;
  }
  for (int i = 0; i < most_locks; ++i) {
    unsigned long by_all = 0;
    int takers = 0;
    for (int t = 0; t < all; ++t) {
      by_all += taken[i][t];
      takers += taken[i][t] >= many;
    }
    if (takers < 2) continue;
    ++common;
    Dl_info where;
    const char* in = dladdr(lock_at[i], &where) != 0 ? where.dli_fname : "the heap";
    fprintf(stderr, "common lock: %d threads, taken %lu times, found taken %u times, in %s\n",
            takers, by_all, found_taken[i], in);
  }
  fprintf(stderr, "locks: %d of %d threads took any often, the busiest %lu times; %d common\n",
          busy, all, most, common);
}
