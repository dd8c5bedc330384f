// SPDX-License-Identifier: Apache-2.0
// Ways for rank 1 to end, from deep in a call; the others return from main.
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "standin.h"

static void first(void) {
  fprintf(stderr, "first handler of rank %d\n", t_rank());
}
static void second(void) {
  fprintf(stderr, "second handler of rank %d\n", t_rank());
}
static void again(void) {
  exit(6);
}
static void* exit_on_thread(void* p) {
  exit(8);
}
static void* end_late(void* p) {
  usleep(100000);
  printf(" thread of rank %d returns\n", t_rank());
  return p;
}
static void quick(void) {
  fprintf(stderr, "quick handler of rank %d\n", t_rank());
}
__attribute__((destructor)) static void end(void) {
  fprintf(stderr, "destructor of rank %d\n", t_rank());
}

static __attribute__((noinline)) int overflow(int n) {
  volatile char page[4096];
  page[0] = (char)n;
  return overflow(n + 1) + page[0];
}

static __attribute__((noinline)) void deep(int n, const char* how) {
  volatile char room[100];
  room[0] = (char)n;
  if (n > 0) {
    deep(n - 1, how);
    room[1] = 0;
    return;
  }
  if (!strcmp(how, "exit")) exit(3);
  if (!strcmp(how, "_exit")) _exit(4);
  if (!strcmp(how, "pthread_exit")) {
    pthread_t t;
    pthread_create(&t, 0, end_late, 0);
    pthread_exit(0);
  }
  if (!strcmp(how, "quick_exit")) {
    at_quick_exit(quick);
    quick_exit(9);
  }
  if (!strcmp(how, "again")) {
    atexit(again);
    exit(5);
  }
  if (!strcmp(how, "abort")) abort();
  if (!strcmp(how, "segv")) *(volatile int*)0 = 1;
  if (!strcmp(how, "overflow")) overflow(1);
  if (!strcmp(how, "term")) raise(SIGKILL);
  if (!strcmp(how, "thread")) {
    pthread_t t;
    pthread_create(&t, 0, exit_on_thread, 0);
    pause();
  }
}

int main(int argc, char** argv) {
  const int r = t_rank();
  atexit(first);
  atexit(second);
  printf("rank %d begins without newline;", r);
  if (r == 1) deep(10, argv[1]);
  usleep(30000);
  printf(" rank %d returns\n", r);
  return 0;
}
