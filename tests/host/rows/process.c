// SPDX-License-Identifier: Apache-2.0
// Who a process is, its signals, its children.
#define _GNU_SOURCE
#include <errno.h>
#include <getopt.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rows.h"

extern char** environ;

static int process_id(int r) {
  const pid_t pid = getpid();
  for (int i = 0; i < t_size(); i++) CHECK((t_value(pid, i) == pid) == (i == r));
  CHECK(pid == (pid_t)syscall(SYS_gettid) && kill(pid, 0) == 0);
  CHECK(getpgid(pid) == getpgrp() && getsid(pid) == getsid(0));
  cpu_set_t set;
  CHECK(sched_getaffinity(pid, sizeof set, &set) == 0);
  const int cpu = r % CPU_COUNT(&set);
  int n = -1, at = 0;
  for (; at < CPU_SETSIZE; at++)
    if (CPU_ISSET(at, &set) && ++n == cpu) break;
  CPU_ZERO(&set);
  CPU_SET(at, &set);
  CHECK(sched_setaffinity(pid, sizeof set, &set) == 0);
  t_barrier();
  CHECK(sched_getcpu() == at);
  CHECK(setpriority(PRIO_PROCESS, (id_t)pid, r % 3) == 0);
  t_barrier();
  CHECK(getpriority(PRIO_PROCESS, 0) == r % 3);
  const pid_t child = fork();
  if (child == 0) _exit(getppid() == pid && getpid() != pid ? 7 : 8);
  int status = 0;
  CHECK(waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 7);
  t_barrier();
  return 1;
}

static volatile sig_atomic_t got, from_queue;
static void count(int s, siginfo_t* info, void* context) {
  got++;
  if (info->si_code == SI_QUEUE) from_queue = info->si_value.sival_int;
}

static int handle(int signal) {
  struct sigaction action = {.sa_sigaction = count, .sa_flags = SA_SIGINFO};
  return sigaction(signal, &action, 0);
}

static int wait_for_signals(int wanted) {
  for (int i = 0; i < 500 && got < wanted; i++) usleep(10000);
  return got == wanted;
}

static int signals(int r) {
  const pid_t next = (pid_t)t_value(getpid(), (r + 1) % t_size());
  if (r % 2)
    signal(SIGUSR2, SIG_IGN);
  else
    handle(SIGUSR2);
  handle(SIGUSR1);
  t_barrier();
  raise(SIGUSR2);
  CHECK(got == (r % 2 ? 0 : 1));
  got = 0;
  t_barrier();
  CHECK(kill(next, SIGUSR1) == 0);
  CHECK(wait_for_signals(1));
  t_barrier();
  union sigval value = {.sival_int = 100 + r};
  CHECK(sigqueue(next, SIGUSR1, value) == 0);
  CHECK(wait_for_signals(2) && from_queue == 100 + (r + t_size() - 1) % t_size());
  t_barrier();

  /* a child signals its parent */
  const pid_t child = fork();
  if (child == 0) {
    kill(getppid(), SIGUSR1);
    _exit(0);
  }
  CHECK(wait_for_signals(3));
  waitpid(child, 0, 0);
  t_barrier();
  usleep(50000);
  CHECK(got == 3);

  sigset_t mask, old;
  sigemptyset(&mask);
  if (r % 2) sigaddset(&mask, SIGUSR1);
  sigprocmask(SIG_SETMASK, &mask, 0);
  t_barrier();
  sigprocmask(SIG_BLOCK, 0, &old);
  CHECK(sigismember(&old, SIGUSR1) == r % 2);
  t_barrier();
  return 1;
}

static pid_t make_child(int code) {
  const pid_t child = fork();
  if (child == 0) {
    usleep(20000);
    _exit(code);
  }
  return child;
}

static void* wait_on_thread(void* status) {
  return (void*)(long)wait(status);
}
static void* make_on_thread(void* code) {
  return (void*)(long)make_child((int)(long)code);
}
/* A signal may be about a child that the handler has reaped before, also of an earlier round. */
static int reaped, strange;
static pid_t made[30];
static void reap(int s, siginfo_t* info, void* context) {
  int status;
  int known = 0;
  for (int i = 0; i < 30; i++) known += info->si_pid == made[i];
  strange += info->si_code != CLD_EXITED || known != 1;
  while (waitpid(-1, &status, WNOHANG) > 0) reaped++;
}

static int children(int r) {
  int status = 0;
  const int code = 20 + r;
  pid_t child = make_child(code), other = (pid_t)t_value(child, (r + 1) % t_size());
  if (t_size() > 1) CHECK(waitpid(other, &status, 0) == -1 && errno == ECHILD);
  t_barrier();
  CHECK(wait(&status) == child && WEXITSTATUS(status) == code);
  CHECK(wait(&status) == -1 && errno == ECHILD);
  t_barrier();

  struct rusage used;
  child = make_child(code);
  while ((other = wait3(&status, WNOHANG, &used)) == 0) usleep(1000);
  CHECK(other == child && WEXITSTATUS(status) == code);
  child = make_child(code);
  siginfo_t info;
  CHECK(waitid(P_ALL, 0, &info, WEXITED | WNOWAIT) == 0 && info.si_pid == child);
  CHECK(waitid(P_ALL, 0, &info, WEXITED) == 0 && info.si_pid == child && info.si_status == code);
  char* arguments[] = {"sh", "-c", "exit $CODE", 0};
  char variable[32];
  snprintf(variable, sizeof variable, "CODE=%d", code);
  char* variables[] = {variable, 0};
  CHECK(posix_spawnp(&child, "sh", 0, 0, arguments, variables) == 0);
  CHECK(wait4(-1, &status, 0, 0) == child && WEXITSTATUS(status) == code);
  t_barrier();

  /* made by one thread, waited for by another */
  pthread_t t;
  void* p;
  child = make_child(code);
  pthread_create(&t, 0, wait_on_thread, &status);
  pthread_join(t, &p);
  CHECK((pid_t)(long)p == child && WEXITSTATUS(status) == code);
  pthread_create(&t, 0, make_on_thread, (void*)(long)code);
  pthread_join(t, &p);
  CHECK(waitpid(-1, &status, 0) == (pid_t)(long)p && WEXITSTATUS(status) == code);
  CHECK(waitpid(-1, &status, WNOHANG) == -1 && errno == ECHILD);
  t_barrier();

  /* by a handler; and one rank ignores its children */
  struct sigaction action = {.sa_sigaction = reap, .sa_flags = SA_SIGINFO};
  if (r == 0)
    signal(SIGCHLD, SIG_IGN);
  else
    sigaction(SIGCHLD, &action, 0);
  t_barrier();
  int may_end[2];
  CHECK(pipe(may_end) == 0);
  for (int round = 1; round <= 10; round++) {
    /* not before all of them are known, however long this thread has no core */
    for (int i = 3 * round - 3; i < 3 * round; i++) {
      made[i] = fork();
      char any;
      if (made[i] == 0) _exit(read(may_end[0], &any, 1) == 1 ? code : 1);
    }
    CHECK(write(may_end[1], "...", 3) == 3);
    /* signals of the others, whose handlers interrupt, are none of this one's */
    if (r == 0) CHECK(wait(&status) == -1 && errno == ECHILD);
    for (int i = 0; r != 0 && i < 500 && reaped < 3 * round; i++) usleep(10000);
    CHECK(reaped == (r == 0 ? 0 : 3 * round));
    CHECK(strange == 0);
    t_barrier();
  }
  close(may_end[0]);
  close(may_end[1]);
  if (r == 0) sigaction(SIGCHLD, &action, 0);
  CHECK(system("exit 3") == 3 << 8);
  t_barrier();
  return 1;
}

static int used_by_children(int r) {
  struct rusage before, after;
  getrusage(RUSAGE_CHILDREN, &before);
  if (r == 0) {
    const pid_t child = fork();
    if (child == 0) {
      struct rusage own;
      do getrusage(RUSAGE_SELF, &own);
      while (own.ru_utime.tv_usec + own.ru_stime.tv_usec < 50000);
      _exit(0);
    }
    waitpid(child, 0, 0);
  }
  t_barrier();
  getrusage(RUSAGE_CHILDREN, &after);
  const long us = (after.ru_utime.tv_sec - before.ru_utime.tv_sec) * 1000000 +
                  after.ru_utime.tv_usec - before.ru_utime.tv_usec + after.ru_stime.tv_usec -
                  before.ru_stime.tv_usec;
  CHECK(r == 0 ? us >= 40000 : us == 0);
  return 1;
}

static int prepared, in_parent_ran, in_child_ran;
static void prepare(void) {
  prepared++;
}
static void in_parent(void) {
  in_parent_ran++;
}
static void in_child(void) {
  in_child_ran++;
}

static int fork_handlers(int r) {
  if (r % 2) pthread_atfork(prepare, in_parent, in_child);
  t_barrier();
  const pid_t child = fork();
  if (child == 0) _exit(10 * prepared + in_child_ran);
  int status = 0;
  CHECK(waitpid(child, &status, 0) == child && WEXITSTATUS(status) == (r % 2 ? 11 : 0));
  t_barrier();
  CHECK(prepared == r % 2 && in_parent_ran == r % 2 && in_child_ran == 0);
  return 1;
}

static int environment(int r) {
  setenv("OWN", own_name("rank", r), 1);
  t_barrier();
  CHECK(strcmp(getenv("OWN"), own_name("rank", r)) == 0);
  int seen = 0;
  for (char** e = environ; *e; e++) seen += strcmp(*e, own_name("OWN=rank", r)) == 0;
  CHECK(seen == 1);
  CHECK(WEXITSTATUS(system("exit ${#OWN}")) == (int)strlen(own_name("rank", r)));
  t_barrier();
  if (r == 0) clearenv();
  t_barrier();
  CHECK(!getenv("OWN") == (r == 0));
  return 1;
}

static int handlers_run;
static void at_end(void) {
  handlers_run++;
}
static void say_how_many(void) {
  _exit(50 + handlers_run);
}

static int exit_handlers(int r) {
  atexit(say_how_many);
  for (int i = 0; i < r; i++) atexit(at_end);
  t_barrier();
  const pid_t child = fork();
  if (child == 0) exit(1);
  int status = 0;
  CHECK(waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 50 + r);
  t_barrier();
  _exit(t_report("exit handlers", 1));
}

static int options(int r) {
  char* words[] = {"program", "-ab", "value", "word", "-c", 0};
  char** own = words;
  int step = 0, seen = 0;
  opterr = 0;
  for (int c; (c = getopt(5, own, r % 2 ? "ab:c" : "abc")) != -1; step++) {
    seen = 10 * seen + c - 'a' + 1;
    if (c == 'b' && r % 2) CHECK(strcmp(optarg, "value") == 0);
    if (step < 2) t_barrier();
  }
  CHECK(seen == 123 && optind == (r % 2 ? 4 : 3));
  t_barrier();
  return 1;
}

static pthread_key_t keys[600];
static int destroyed;
static void destroy(void* value) {
  destroyed += (int)(long)value;
}
static void* use_keys(void* r) {
  for (int i = 0; i < 600; i++)
    if (pthread_getspecific(keys[i]) || pthread_setspecific(keys[i], (void*)(1 + (long)r)))
      return r;
  return pthread_getspecific(keys[599]) == (void*)(1 + (long)r) ? 0 : (void*)-1;
}

static int thread_data(int r) {
  for (int i = 0; i < 600; i++) CHECK(pthread_key_create(&keys[i], i ? 0 : destroy) == 0);
  t_barrier();
  CHECK(pthread_setspecific(keys[5], &keys) == 0 && !pthread_getspecific(keys[6]));
  pthread_t t;
  void* result = 0;
  pthread_create(&t, 0, use_keys, (void*)(long)r);
  pthread_join(t, &result);
  CHECK(!result && destroyed == 1 + r && pthread_getspecific(keys[5]) == &keys);
  CHECK(pthread_key_delete(keys[5]) == 0 && pthread_setspecific(keys[5], 0) == EINVAL);
  CHECK(pthread_key_create(&keys[5], 0) == 0 && !pthread_getspecific(keys[5]));
  t_barrier();
  return 1;
}

const struct row process_rows[] = {{"process id", process_id},
                                   {"signals", signals},
                                   {"children", children},
                                   {"children's time", used_by_children},
                                   {"fork handlers", fork_handlers},
                                   {"environment", environment},
                                   {"exit handlers", exit_handlers},
                                   {"options", options},
                                   {"thread-specific data", thread_data},
                                   {0, 0}};
