// SPDX-License-Identifier: Apache-2.0
//
// See members.h.
#include "members.h"

#include <pthread.h>
#include <sys/time.h>

#include <algorithm>

namespace weft::host {
namespace {

clockid_t own_clock() {
  clockid_t clock = CLOCK_THREAD_CPUTIME_ID;
  pthread_getcpuclockid(pthread_self(), &clock);
  return clock;
}

timespec operator+(timespec a, timespec b) {
  constexpr long second = 1000000000;
  const long ns = a.tv_nsec + b.tv_nsec;
  return {a.tv_sec + b.tv_sec + ns / second, ns % second};
}

timespec time_of(const struct rusage& used) {
  timeval sum;
  timeradd(&used.ru_utime, &used.ru_stime, &sum);
  return {sum.tv_sec, sum.tv_usec * 1000};
}

timespec read(clockid_t clock) {
  timespec t{};
  clock_gettime(clock, &t);  // nothing of a thread that has just ended
  return t;
}

}  // namespace

void add_usage(struct rusage& sum, const struct rusage& one) {
  timeradd(&sum.ru_utime, &one.ru_utime, &sum.ru_utime);
  timeradd(&sum.ru_stime, &one.ru_stime, &sum.ru_stime);
  sum.ru_maxrss = std::max(sum.ru_maxrss, one.ru_maxrss);
  sum.ru_minflt += one.ru_minflt;
  sum.ru_majflt += one.ru_majflt;
  sum.ru_inblock += one.ru_inblock;
  sum.ru_oublock += one.ru_oublock;
  sum.ru_nvcsw += one.ru_nvcsw;
  sum.ru_nivcsw += one.ru_nivcsw;
}

void Members::expect() {
  std::scoped_lock guard(lock_);
  count_++;
}

void Members::cancel() {
  std::scoped_lock guard(lock_);
  count_--;
  changed_.notify_all();
}

void Members::enter() {
  std::scoped_lock guard(lock_);
  clocks_.push_back(own_clock());
}

void Members::leave() {
  struct rusage used {};
  getrusage(RUSAGE_THREAD, &used);
  std::scoped_lock guard(lock_);
  add_usage(ended_, used);
  std::erase(clocks_, own_clock());
  count_--;
  changed_.notify_all();
}

bool Members::main_leaves() {
  std::unique_lock guard(lock_);
  main_has_left_ = true;
  changed_.notify_all();
  changed_.wait(guard, [&] { return count_ == 1 || ended_for_main_; });
  return !ended_for_main_;
}

bool Members::end_for_main() {
  std::scoped_lock guard(lock_);
  ended_for_main_ = main_has_left_;
  changed_.notify_all();
  return ended_for_main_;
}

void Members::wait_until_main_left() {
  std::unique_lock guard(lock_);
  changed_.wait(guard, [&] { return main_has_left_; });
}

timespec Members::cpu_time() {
  std::scoped_lock guard(lock_);
  timespec sum = time_of(ended_);
  for (clockid_t clock : clocks_) sum = sum + read(clock);
  return sum;
}

struct rusage Members::usage() {
  struct rusage sum {};
  getrusage(RUSAGE_THREAD, &sum);
  const clockid_t own = own_clock();
  std::scoped_lock guard(lock_);
  add_usage(sum, ended_);
  for (clockid_t clock : clocks_) {
    if (clock == own) continue;
    const timespec t = read(clock);
    const timeval user{t.tv_sec, t.tv_nsec / 1000};
    timeradd(&sum.ru_utime, &user, &sum.ru_utime);
  }
  return sum;
}

}  // namespace weft::host
