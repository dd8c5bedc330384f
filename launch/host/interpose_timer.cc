// SPDX-License-Identifier: Apache-2.0
//
// Timers of a process signal the process; a rank's must signal the rank. The kernel's timers can
// signal a thread, so all are made of these: alarm and the interval timers with SIGALRM,
// SIGVTALRM, SIGPROF to the rank's main thread, and timer_create's. The two that count processor
// time count the main thread's.
#include <errno.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include <map>
#include <new>
#include <semaphore>

#include "host.h"
#include "next.h"
#include "signals.h"

using namespace weft::host;

namespace {

using Create = int(clockid_t, struct sigevent*, timer_t*);
constinit Next<Create> real_create{"timer_create"};
constinit Next<int(timer_t)> real_delete{"timer_delete"};

constexpr int service_signal = 64;  // blocked in the only thread that it is sent to

/// What SIGEV_THREAD asks for is done by a thread of the rank: libc's own would be no rank's.
struct Service {
  struct sigevent event;
  pid_t thread = 0;
  std::binary_semaphore started{0};
};

struct Timers {
  static constexpr int intervals = 3;
  timer_t interval[intervals] = {};  // ITIMER_REAL, _VIRTUAL, _PROF
  bool made[intervals] = {};
  std::map<timer_t, pid_t> services;
};

struct Call {
  void (*function)(union sigval);
  union sigval value;
};

void* call(void* p) {
  const Call c = *static_cast<Call*>(p);
  delete static_cast<Call*>(p);
  sigset_t none;
  sigemptyset(&none);
  pthread_sigmask(SIG_SETMASK, &none, nullptr);
  c.function(c.value);
  return nullptr;
}

void notify(const struct sigevent& event) {
  auto* c = new (std::nothrow) Call{event.sigev_notify_function, event.sigev_value};
  pthread_attr_t detached;
  pthread_attr_init(&detached);
  pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
  const auto* wanted = static_cast<const pthread_attr_t*>(event.sigev_notify_attributes);
  pthread_t thread;
  if (c && pthread_create_of_rank(&thread, wanted ? wanted : &detached, call, c) != 0) delete c;
  pthread_attr_destroy(&detached);
}

void* serve(void* p) {
  auto& service = *static_cast<Service*>(p);
  const struct sigevent event = service.event;
  service.thread = static_cast<pid_t>(syscall(SYS_gettid));
  service.started.release();
  sigset_t wanted;
  sigemptyset(&wanted);
  sigaddset(&wanted, service_signal);
  for (;;) {
    siginfo_t info{};
    if (sigwaitinfo(&wanted, &info) < 0) continue;
    if (info.si_code != SI_TIMER) return nullptr;  // timer_delete
    notify(event);
  }
}

int start_service(Service& service) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_attr_t detached;
  pthread_attr_init(&detached);
  pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_t thread;
  const int e = pthread_create_of_rank(&thread, &detached, serve, &service);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  pthread_attr_destroy(&detached);
  if (e == 0) service.started.acquire();
  return e;
}

struct sigevent event_for(pid_t thread, int signal) {
  struct sigevent event {};
  event.sigev_notify = SIGEV_THREAD_ID;
  event.sigev_signo = signal;
  event._sigev_un._tid = thread;
  return event;
}

clockid_t clock_of_main(const Rank& rank) {
  clockid_t clock = CLOCK_THREAD_CPUTIME_ID;
  pthread_getcpuclockid(rank.thread, &clock);
  return clock;
}

bool make_interval(Rank& rank, int which, timer_t& timer) {
  constexpr int signals[] = {SIGALRM, SIGVTALRM, SIGPROF};
  std::scoped_lock guard(rank.lock);
  Timers& timers = rank.only<Timers>();
  if (!timers.made[which]) {
    struct sigevent event = event_for(rank.thread_id, signals[which]);
    const clockid_t clock = which == ITIMER_REAL ? CLOCK_MONOTONIC : clock_of_main(rank);
    if (real_create(clock, &event, &timers.interval[which]) != 0) return false;
    timers.made[which] = true;
    watch(rank, signals[which]);
  }
  timer = timers.interval[which];
  return true;
}

timespec fine(const timeval& t) {
  return {t.tv_sec, t.tv_usec * 1000};
}
timeval coarse(const timespec& t) {
  constexpr long ns_per_us = 1000;
  // what is left of a timer that runs is never nothing
  return {t.tv_sec, t.tv_nsec > 0 && t.tv_nsec < ns_per_us ? 1 : t.tv_nsec / ns_per_us};
}
itimerval coarse(const itimerspec& t) {
  return {coarse(t.it_interval), coarse(t.it_value)};
}

bool is_interval(int which) {
  if (which >= 0 && which < Timers::intervals) return true;
  errno = EINVAL;
  return false;
}

}  // namespace

extern "C" {
#pragma GCC visibility push(default)

int setitimer(__itimer_which_t which, const struct itimerval* wanted,
              struct itimerval* old) noexcept {
  static constinit Next<int(__itimer_which_t, const struct itimerval*, struct itimerval*)> real{
      "setitimer"};
  Rank* rank = current();
  if (!rank || !in_host_process()) return real(which, wanted, old);
  timer_t timer;
  if (!is_interval(which) || !make_interval(*rank, which, timer)) return -1;
  itimerspec value{}, before{};
  if (wanted) value = {fine(wanted->it_interval), fine(wanted->it_value)};
  if (timer_settime(timer, 0, &value, &before) != 0) return -1;
  if (old) *old = coarse(before);
  return 0;
}

int getitimer(__itimer_which_t which, struct itimerval* out) noexcept {
  static constinit Next<int(__itimer_which_t, struct itimerval*)> real{"getitimer"};
  Rank* rank = current();
  if (!rank || !in_host_process()) return real(which, out);
  timer_t timer;
  if (!is_interval(which) || !make_interval(*rank, which, timer)) return -1;
  itimerspec value{};
  if (timer_gettime(timer, &value) != 0) return -1;
  *out = coarse(value);
  return 0;
}

unsigned alarm(unsigned seconds) noexcept {
  static constinit Next<unsigned(unsigned)> real{"alarm"};
  if (!current() || !in_host_process()) return real(seconds);
  const itimerval wanted{{0, 0}, {static_cast<time_t>(seconds), 0}};
  itimerval old{};
  setitimer(ITIMER_REAL, &wanted, &old);
  constexpr long half_a_second = 500000;
  const bool up = old.it_value.tv_usec >= half_a_second ||
                  (old.it_value.tv_sec == 0 && old.it_value.tv_usec > 0);
  return static_cast<unsigned>(old.it_value.tv_sec + (up ? 1 : 0));
}

useconds_t ualarm(useconds_t first, useconds_t interval) noexcept {
  static constinit Next<useconds_t(useconds_t, useconds_t)> real{"ualarm"};
  if (!current() || !in_host_process()) return real(first, interval);
  constexpr useconds_t second = 1000000;
  auto time = [](useconds_t us) {
    return timeval{static_cast<time_t>(us / second), static_cast<suseconds_t>(us % second)};
  };
  const itimerval wanted{time(interval), time(first)};
  itimerval old{};
  setitimer(ITIMER_REAL, &wanted, &old);
  return static_cast<useconds_t>(old.it_value.tv_sec) * second +
         static_cast<useconds_t>(old.it_value.tv_usec);
}

int timer_create(clockid_t clock, struct sigevent* wanted, timer_t* out) noexcept {
  Rank* rank = current();
  if (!rank || !in_host_process()) return real_create(clock, wanted, out);
  if (clock == CLOCK_PROCESS_CPUTIME_ID) clock = clock_of_main(*rank);
  if (wanted && wanted->sigev_notify == SIGEV_THREAD) {
    Service service;
    service.event = *wanted;
    if (const int e = start_service(service); e != 0) {
      errno = e;
      return -1;
    }
    struct sigevent event = event_for(service.thread, service_signal);
    if (real_create(clock, &event, out) != 0) {
      syscall(SYS_tgkill, the_host->pid, service.thread, service_signal);
      return -1;
    }
    std::scoped_lock guard(rank->lock);
    rank->only<Timers>().services[*out] = service.thread;
    return 0;
  }
  if (wanted && wanted->sigev_notify != SIGEV_SIGNAL) return real_create(clock, wanted, out);
  const int signal = wanted ? wanted->sigev_signo : SIGALRM;
  struct sigevent event = event_for(rank->thread_id, signal);
  if (wanted) event.sigev_value = wanted->sigev_value;
  watch(*rank, signal);
  return real_create(clock, &event, out);
}

int timer_delete(timer_t timer) noexcept {
  Rank* rank = current();
  const int result = real_delete(timer);
  if (result != 0 || !rank || !in_host_process()) return result;
  std::scoped_lock guard(rank->lock);
  auto& services = rank->only<Timers>().services;
  if (auto it = services.find(timer); it != services.end()) {
    syscall(SYS_tgkill, the_host->pid, it->second, service_signal);
    services.erase(it);
  }
  return 0;
}

#pragma GCC visibility pop
}
