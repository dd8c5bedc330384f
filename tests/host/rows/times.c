// SPDX-License-Identifier: Apache-2.0
// Time zones, timers, processor time.
#define _GNU_SOURCE
#include <errno.h>
#include <locale.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/times.h>
#include <time.h>
#include <unistd.h>
#include <wchar.h>

#include "rows.h"

static int time_zone(int r) {
  const time_t noon = 1700000000;
  const char* zones[] = {"UTC0", "AAA-3", "BBB5CCC", "DDD-9:30"};
  const long offsets[] = {0, -3 * 3600, 5 * 3600, -34200};
  const int z = r % 4;
  struct tm t;
  char text[64];
  setenv("TZ", zones[z], 1);
  t_barrier();
  tzset();
  t_barrier();
  CHECK(timezone == offsets[z] && daylight == (z == 2));
  CHECK(strncmp(tzname[0], zones[z], 3) == 0);
  localtime_r(&noon, &t);
  CHECK(t.tm_gmtoff == -offsets[z] && strcmp(t.tm_zone, tzname[0]) == 0);
  t_barrier();
  CHECK(mktime(&t) == noon && timelocal(&t) == noon);
  CHECK(strftime(text, sizeof text, "%Z", localtime(&noon)) == 3 && strcmp(text, tzname[0]) == 0);
  wchar_t wide[64];
  CHECK(wcsftime(wide, 64, L"%s", &t) == 10 && wcstol(wide, 0, 10) == noon);
  ctime_r(&noon, text);
  t_barrier();
  CHECK(strcmp(text, ctime(&noon)) == 0 && strcmp(text, asctime(localtime(&noon))) == 0);

  /* until it looks again, localtime_r goes by what it knows */
  setenv("TZ", "EEE-1", 1);
  localtime_r(&noon, &t);
  CHECK(t.tm_gmtoff == -offsets[z]);
  t_barrier();
  CHECK(localtime(&noon)->tm_gmtoff == 3600 && timezone == -3600);
  unsetenv("TZ");
  if (r % 2) setenv("TZ", zones[z], 1);
  tzset();
  t_barrier();
  CHECK(timezone == (r % 2 ? offsets[z] : 0) || !(r % 2));
  t_barrier();
  return 1;
}

static int static_times(int r) {
  const time_t mine = 86400 * (1 + r);
  struct tm* t = gmtime(&mine);
  char* text = asctime(t);
  t_barrier();
  CHECK(t->tm_mday == 2 + r && atoi(text + 8) == 2 + r);

  FILE* f = fopen(own_name("patterns", r), "w");
  fprintf(f, r % 2 ? "%%Y-%%m-%%d\n" : "%%d.%%m.%%Y\n");
  fclose(f);
  setenv("DATEMSK", own_name("patterns", r), 1);
  t_barrier();
  t = getdate(r % 2 ? "2020-03-04" : "04.03.2020");
  CHECK(t && t->tm_mday == 4 && t->tm_mon == 2);
  t_barrier();
  if (r == 0) CHECK(!getdate("no date") && getdate_err == 7);
  t_barrier();
  CHECK(getdate_err == (r == 0 ? 7 : 0) && (r == 0 || t->tm_year == 120));
  return 1;
}

static volatile sig_atomic_t rings, value;
static void ring(int s, siginfo_t* info, void* context) {
  rings++;
  value = info->si_value.sival_int;
}
static volatile int calls;
static int rank_of_call = -1;
static void called(union sigval v) {
  rank_of_call = t_rank();
  calls += v.sival_int;
}

static int wait_for(volatile sig_atomic_t* count, int wanted) {
  for (int i = 0; i < 500 && *count < wanted; i++) usleep(10000);
  return *count >= wanted;
}

static int timers(int r) {
  struct sigaction action = {.sa_sigaction = ring, .sa_flags = SA_SIGINFO};
  sigaction(SIGALRM, &action, 0);
  sigaction(SIGPROF, &action, 0);
  CHECK(alarm(100 + (unsigned)r) == 0);
  t_barrier();
  struct itimerval left, set = {{0, 0}, {0, 20000}};
  CHECK(getitimer(ITIMER_REAL, &left) == 0 && left.it_value.tv_sec >= 98 + r);
  t_barrier();
  CHECK(alarm(0) == 100 + (unsigned)r);
  if (r % 2) CHECK(setitimer(ITIMER_REAL, &set, 0) == 0);
  if (r % 2) CHECK(wait_for(&rings, 1));
  t_barrier();
  usleep(50000);
  CHECK(rings == r % 2);
  t_barrier();

  rings = 0;
  if (r == 0) CHECK(setitimer(ITIMER_PROF, &set, 0) == 0);
  for (int i = 0; r == 0 && i < 2000000000 && rings == 0; i++) clock();
  t_barrier();
  CHECK(rings == (r == 0));
  t_barrier();

  rings = 0;
  timer_t timer;
  struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGALRM};
  event.sigev_value.sival_int = 40 + r;
  CHECK(timer_create(CLOCK_MONOTONIC, &event, &timer) == 0);
  struct itimerspec once = {{0, 0}, {0, 10000000}};
  if (r % 2 == 0)
    CHECK(timer_settime(timer, 0, &once, 0) == 0 && wait_for(&rings, 1) && value == 40 + r);
  t_barrier();
  CHECK(rings == (r % 2 == 0) && timer_delete(timer) == 0);
  rings = 0;
  CHECK(timer_create(CLOCK_REALTIME, 0, &timer) == 0 && timer_settime(timer, 0, &once, 0) == 0);
  CHECK(wait_for(&rings, 1) && timer_delete(timer) == 0);
  t_barrier();

  event.sigev_notify = SIGEV_THREAD;
  event.sigev_notify_function = called;
  event.sigev_value.sival_int = 1 + r;
  CHECK(timer_create(CLOCK_MONOTONIC, &event, &timer) == 0);
  CHECK(timer_settime(timer, 0, &once, 0) == 0);
  for (int i = 0; i < 500 && calls == 0; i++) usleep(10000);
  CHECK(calls == 1 + r && rank_of_call == r && timer_delete(timer) == 0);
  t_barrier();
  return 1;
}

static double seconds(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}
static double used(void) {
  struct rusage u;
  getrusage(RUSAGE_SELF, &u);
  return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
         1e-6 * (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}
static double ticked(void) {
  struct tms t;
  times(&t);
  return (double)(t.tms_utime + t.tms_stime) / (double)sysconf(_SC_CLK_TCK);
}
static void* work(void* p) {
  const double end = seconds(CLOCK_THREAD_CPUTIME_ID) + *(double*)p;
  while (seconds(CLOCK_THREAD_CPUTIME_ID) < end) {
  }
  return 0;
}

/* A machine that stands still for a while may count that as anybody's work: bounds follow from what
   the kernel counts, not from how much work there is. */
static int processor_time(int r) {
  const double start = (double)clock() / CLOCKS_PER_SEC, begun = seconds(CLOCK_MONOTONIC);
  double part = 0.15;
  if (r == 0) {
    pthread_t t;
    pthread_create(&t, 0, work, &part);
    work(&part);
    pthread_join(t, 0);
  }
  t_barrier();
  const double by_clock = (double)clock() / CLOCKS_PER_SEC - start;
  const double by_others[] = {seconds(CLOCK_PROCESS_CPUTIME_ID), used(), ticked()};
  const double own = seconds(CLOCK_THREAD_CPUTIME_ID); /* all of a rank with one thread */
  if (r == 0) CHECK(by_clock > 0.27 && by_clock < 2 * (seconds(CLOCK_MONOTONIC) - begun) + 0.03);
  if (r != 0) CHECK(by_clock < own + 0.03);
  for (int i = 0; i < 3; i++)
    CHECK(by_others[i] > by_clock - 0.03 && (r == 0 || by_others[i] < own + 0.05));
  t_barrier();
  return 1;
}

const struct row time_rows[] = {{"time zone", time_zone},
                                {"dates", static_times},
                                {"timers", timers},
                                {"processor time", processor_time},
                                {0, 0}};
