/* SPDX-License-Identifier: Apache-2.0 */
/* What a progress thread's copies cost a core that computes: the experiment of Denis, Jaeger,
   Taboada (COLOC 2018, section 5). The matrix product of product.h on the first CPU, alone and
   beside a thread that copies a block of 4 KiB, 128 KiB, 2 MiB again and again: on the `same core`
   (of a core's time each gets half, so the product's own CPU time is what counts), on `another
   core`, and on a `sibling`, another hardware thread of that core, where there is one. No MPI.

   Prints rows as rows.h does. `bytes` is the block's length, 0: alone. `us` is that of one product:
   the CPU time of its thread, or in rows that end with `wall` from begin to end. Counts: bytes that
   were copied meanwhile, for each us; and cache misses of one product, where the kernel counts
   them.

     caches [-b samples] */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* sched_setaffinity */
#endif
#include <linux/perf_event.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "product.h"

enum { blocks = 3, counters = 2, max_samples = 101, sample_us = 20000, longest = 2 << 20 };
static const long block_bytes[blocks] = {4 << 10, 128 << 10, longest};
static const char* const counter_names[counters] = {"L1D misses", "LLC misses"};

/* What copies beside the product. */
struct copier {
  int cpu;
  long bytes;
  char *from, *to;
  atomic_long copied; /* blocks */
  atomic_int stop;
};

struct place {
  const char* name;
  int cpu; /* of the copies; -1: nobody copies, or there is no such CPU */
  int is_there;
};

/* Of one place and block. */
struct result {
  double cpu_us[max_samples], wall_us[max_samples]; /* of a product */
  double copied, all_us, missed[counters];          /* sums */
};

static double us_of(clockid_t clock) {
  struct timespec now;
  clock_gettime(clock, &now);
  return (double)now.tv_sec * 1e6 + (double)now.tv_nsec * 1e-3;
}

static void go_to(int cpu) {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(cpu, &one);
  if (sched_setaffinity(0, sizeof one, &one) != 0) {
    fprintf(stderr, "caches: cannot run on CPU %d\n", cpu);
    exit(1);
  }
}

/* Is `cpu` a hardware thread of the same core? As the kernel says: "0,32" or "0-1". */
static int is_sibling(int of, int cpu) {
  char path[96];
  snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list", of);
  FILE* file = fopen(path, "r");
  int first, last, found = 0;
  while (file != NULL && fscanf(file, "%d", &first) == 1) {
    last = first;
    int next = fgetc(file);
    if (next == '-' && fscanf(file, "%d", &last) == 1) next = fgetc(file);
    if (first <= cpu && cpu <= last) found = 1;
  }
  if (file != NULL) fclose(file);
  return found;
}

/* This thread's misses in user mode; -1: not counted here. */
static int open_counter(int which) {
  static const uint64_t caches[counters] = {PERF_COUNT_HW_CACHE_L1D, PERF_COUNT_HW_CACHE_LL};
  struct perf_event_attr attr = {.type = PERF_TYPE_HW_CACHE, .size = sizeof attr};
  attr.config = caches[which] | (uint64_t)PERF_COUNT_HW_CACHE_OP_READ << 8 |
                (uint64_t)PERF_COUNT_HW_CACHE_RESULT_MISS << 16;
  attr.exclude_kernel = attr.exclude_hv = 1;
  return (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);
}

static double count_of(int counter) {
  uint64_t value = 0;
  if (counter < 0 || read(counter, &value, sizeof value) != sizeof value) return 0;
  return (double)value;
}

static void* copy_again_and_again(void* arg) {
  struct copier* c = arg;
  go_to(c->cpu);
  while (!atomic_load_explicit(&c->stop, memory_order_relaxed)) {
    memcpy(c->to, c->from, (size_t)c->bytes);
    atomic_fetch_add_explicit(&c->copied, 1, memory_order_relaxed);
  }
  return NULL;
}

/* One sample: `times` products, the copies going on. */
static void measure(struct result* r, int sample, long times, struct copier* c,
                    const int* counter) {
  double missed[counters];
  multiply(1 + times / 10); /* not counted: caches are as they will be */
  for (int i = 0; i < counters; ++i) missed[i] = count_of(counter[i]);
  const long copied = atomic_load(&c->copied);
  const double wall = us_of(CLOCK_MONOTONIC), cpu = us_of(CLOCK_THREAD_CPUTIME_ID);
  multiply(times);
  r->cpu_us[sample] = (us_of(CLOCK_THREAD_CPUTIME_ID) - cpu) / (double)times;
  const double all_us = us_of(CLOCK_MONOTONIC) - wall;
  r->wall_us[sample] = all_us / (double)times;
  r->all_us += all_us;
  r->copied += (double)(atomic_load(&c->copied) - copied) * (double)c->bytes;
  for (int i = 0; i < counters; ++i)
    r->missed[i] += (count_of(counter[i]) - missed[i]) / (double)times;
}

static void measure_beside(struct result* r, int sample, long times, struct copier* c,
                           const int* counter) {
  pthread_t thread;
  atomic_store(&c->copied, 0);
  atomic_store(&c->stop, 0);
  if (c->cpu < 0) {
    measure(r, sample, times, c, counter);
    return;
  }
  if (pthread_create(&thread, NULL, copy_again_and_again, c) != 0) {
    fprintf(stderr, "caches: cannot start a thread\n");
    exit(1);
  }
  while (atomic_load(&c->copied) < 2) sched_yield();
  measure(r, sample, times, c, counter);
  atomic_store(&c->stop, 1);
  pthread_join(thread, NULL);
}

static void print_row(const char* name, const char* end, long bytes, const double* us,
                      int samples) {
  printf("{\"row\": \"caches %s%s\", \"ranks\": 1, \"bytes\": %ld, \"errors\": 0, \"us\": ", name,
         end, bytes);
  for (int i = 0; i < samples; ++i) printf("%s%.5g", i ? ", " : "[", us[i]);
  printf("]");
}

static void print_result(const char* name, long bytes, const struct result* r, int samples,
                         const int* counter) {
  print_row(name, "", bytes, r->cpu_us, samples);
  printf(", \"counts\": {\"copied\": %.5g", r->copied / r->all_us);
  for (int i = 0; i < counters; ++i)
    if (counter[i] >= 0) printf(", \"%s\": %.5g", counter_names[i], r->missed[i] / (double)samples);
  printf("}}\n");
  print_row(name, " wall", bytes, r->wall_us, samples);
  printf("}\n");
}

/* Products that take a sample's time. */
static long times_for(void) {
  double least = 1e9;
  for (int i = 0; i < 20; ++i) {
    const double start = us_of(CLOCK_MONOTONIC);
    multiply(8);
    const double us = (us_of(CLOCK_MONOTONIC) - start) / 8;
    if (us < least) least = us;
  }
  return (long)(sample_us / least) + 1;
}

static char* block(int value) {
  char* memory = aligned_alloc(4096, longest);
  if (memory == NULL) exit(1);
  return memset(memory, value, longest);
}

/* The first CPU that we have computes; the copies' CPUs. */
static int find_places(struct place* same, struct place* another, struct place* sibling) {
  cpu_set_t ours;
  int first = -1;
  sched_getaffinity(0, sizeof ours, &ours);
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &ours)) continue;
    if (first < 0)
      *same = (struct place){"same core", first = cpu, 1};
    else if (!is_sibling(first, cpu))
      *another = (struct place){"another core", cpu, 1}; /* the last: often of another package */
    else if (!sibling->is_there)
      *sibling = (struct place){"sibling", cpu, 1};
  }
  return first;
}

int main(int argc, char** argv) {
  enum { places = 4 };
  static struct result results[places][blocks];
  struct place place[places] = {{"alone", -1, 1}};
  int samples = 11, counter[counters], option;
  while ((option = getopt(argc, argv, "b:")) != -1)
    if (option == 'b') samples = atoi(optarg);
  if (samples < 1 || samples > max_samples) {
    fprintf(stderr, "caches: expected 1 to %d samples\n", max_samples);
    return 1;
  }
  go_to(find_places(&place[1], &place[2], &place[3]));
  for (int i = 0; i < counters; ++i) counter[i] = open_counter(i);
  struct copier copier = {.from = block(1), .to = block(2)};
  fill_matrices();
  const long times = times_for();
  for (int i = 0; i < samples; ++i)
    for (int p = 0; p < places; ++p)
      for (int s = 0; s < (p == 0 ? 1 : blocks) && place[p].is_there; ++s) {
        copier.cpu = place[p].cpu;
        copier.bytes = p == 0 ? 0 : block_bytes[s];
        measure_beside(&results[p][s], i, times, &copier, counter);
      }
  for (int p = 0; p < places; ++p)
    for (int s = 0; s < (p == 0 ? 1 : blocks) && place[p].is_there; ++s)
      print_result(place[p].name, p == 0 ? 0 : block_bytes[s], &results[p][s], samples, counter);
  if (c[0] < 0) printf("never\n"); /* the product is needed */
  return 0;
}
