// SPDX-License-Identifier: Apache-2.0
//
// The C library and the kernel as a simulated thread finds them: the clock is the fiber's, it runs
// alone on its core, and sleeps on futexes of the simulation. The linker puts these functions in
// place of the C library's (--wrap); outside of fibers, and for all else, the real ones run.
#include <errno.h>
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <time.h>

#include <cstring>

#include "replaced.h"
#include "simulation.h"

namespace {

using weft::simulator::Simulation;

// Before this time no thread has begun.
constexpr std::int64_t epoch_ns = 1'000'000'000;

int wait_on(Simulation& s, const std::uint32_t* word, std::uint32_t expected,
            const timespec* limit) {
  // The kernel looks at the word about halfway.
  s.spend(s.costs().system_call_ns / 2);
  s.read(word, sizeof *word);
  if (*word != expected) {
    s.spend(s.costs().system_call_ns / 2);
    errno = EAGAIN;
    return -1;
  }
  const double limit_ns = limit == nullptr ? 0
                                           : static_cast<double>(limit->tv_sec) * 1e9 +
                                                 static_cast<double>(limit->tv_nsec);
  if (s.fibers().sleep(word, limit_ns)) return 0;
  errno = ETIMEDOUT;
  return -1;
}

int wake(Simulation& s, const std::uint32_t* word, int most) {
  s.fibers().settle();
  const double now = s.fibers().current().now_ns;
  const int woken = s.fibers().wake(word, most, now + s.costs().wake_ns);
  s.spend(s.costs().system_call_ns);
  return woken;
}

}  // namespace

extern "C" {

void weft_simulator_pause() {
  if (Simulation* s = Simulation::now()) s->spend(s->costs().pause_ns);
}
/// Each fiber has its own; far apart, as threads' stacks are.
void* weft_simulator_thread() {
  Simulation* s = Simulation::now();
  const int number = s != nullptr ? s->fibers().current().number + 1 : 0;
  return reinterpret_cast<void*>(std::uintptr_t{1} << 40 | static_cast<std::uintptr_t>(number)
                                                               << 21);
}

pthread_t __wrap_pthread_self() {
  return reinterpret_cast<pthread_t>(weft_simulator_thread());
}

int __real_clock_gettime(clockid_t clock, timespec* out);
int __wrap_clock_gettime(clockid_t clock, timespec* out) {
  Simulation* s = Simulation::declared();
  if (s == nullptr) return __real_clock_gettime(clock, out);
  if (s->fibers().inside()) s->spend(s->costs().clock_ns);
  const auto ns = static_cast<std::int64_t>(s->fibers().now_ns()) + epoch_ns;
  out->tv_sec = ns / 1'000'000'000;
  out->tv_nsec = ns % 1'000'000'000;
  return 0;
}

int __wrap_sched_yield() {
  if (Simulation* s = Simulation::now()) s->spend(s->costs().yield_ns);
  return 0;
}
int __wrap_sched_getcpu() {
  Simulation* s = Simulation::now();
  return s != nullptr ? s->fibers().current().core : 0;
}
int __wrap_getcpu(unsigned* cpu, unsigned* node) {
  Simulation* s = Simulation::now();
  const int core = s != nullptr ? s->fibers().current().core : 0;
  *cpu = static_cast<unsigned>(core);
  *node = s != nullptr ? static_cast<unsigned>(s->machine().domain(core)) : 0;
  return 0;
}

long __real_syscall(long number, ...);
long __wrap_syscall(long number, ...) {
  va_list list;
  va_start(list, number);
  long a[6];
  for (long& argument : a) argument = va_arg(list, long);
  va_end(list);
  Simulation* s = Simulation::now();
  if (s == nullptr) return __real_syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
  const auto* word = reinterpret_cast<const std::uint32_t*>(a[0]);
  if (number == SYS_futex && (a[1] & FUTEX_CMD_MASK) == FUTEX_WAIT)
    return wait_on(*s, word, static_cast<std::uint32_t>(a[2]),
                   reinterpret_cast<const timespec*>(a[3]));
  if (number == SYS_futex && (a[1] & FUTEX_CMD_MASK) == FUTEX_WAKE)
    return wake(*s, word, static_cast<int>(a[2]));
  s->spend(s->costs().system_call_ns);
  if (number == SYS_membarrier) return 0;  // every access here is in order
  return __real_syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

// The mutex of the C library, which is not compiled with the library: its algorithm (0: free, 1:
// held, 2: held, and somebody may sleep), charged by hand.
static std::uint32_t* word_of(pthread_mutex_t* mutex) {
  return reinterpret_cast<std::uint32_t*>(mutex);
}
int __wrap_pthread_mutex_trylock(pthread_mutex_t* mutex) {
  std::uint32_t* word = word_of(mutex);
  if (Simulation* s = Simulation::now()) s->modify(word, sizeof *word);
  if (*word != 0) return EBUSY;
  *word = 1;
  return 0;
}
int __wrap_pthread_mutex_lock(pthread_mutex_t* mutex) {
  if (__wrap_pthread_mutex_trylock(mutex) == 0) return 0;
  Simulation* s = Simulation::now();
  if (s == nullptr) return EDEADLK;  // outside of fibers there is one thread
  std::uint32_t* word = word_of(mutex);
  for (;;) {
    s->modify(word, sizeof *word);
    const std::uint32_t before = *word;
    *word = 2;
    if (before == 0) return 0;
    wait_on(*s, word, 2, nullptr);
  }
}
int __wrap_pthread_mutex_unlock(pthread_mutex_t* mutex) {
  std::uint32_t* word = word_of(mutex);
  Simulation* s = Simulation::now();
  if (s != nullptr) s->modify(word, sizeof *word);
  const std::uint32_t before = *word;
  *word = 0;
  if (before == 2 && s != nullptr) wake(*s, word, 1);
  return 0;
}

void* __real_memcpy(void* to, const void* from, std::size_t bytes);
void* __wrap_memcpy(void* to, const void* from, std::size_t bytes) {
  if (Simulation* s = Simulation::now()) s->copy(to, from, bytes);
  return __real_memcpy(to, from, bytes);
}

/// How many memory domains there are (sync::domain_count).
FILE* __real_fopen(const char* path, const char* mode);
FILE* __wrap_fopen(const char* path, const char* mode) {
  const Simulation* s = Simulation::declared();
  if (s == nullptr || std::strncmp(path, "/sys/devices/system/node/", 25) != 0)
    return __real_fopen(path, mode);
  static char text[16];
  const int n = std::snprintf(text, sizeof text, "0-%d\n", s->machine().domains() - 1);
  return fmemopen(text, static_cast<std::size_t>(n), "r");
}

}  // extern "C"
