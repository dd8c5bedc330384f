// SPDX-License-Identifier: Apache-2.0
// What ranks that are threads have in common: these checks hold for processes only.
#define _GNU_SOURCE
#include <errno.h>
#include <libintl.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "rows.h"

static int limits(int r) {
  struct rlimit l;
  getrlimit(RLIMIT_CORE, &l);
  l.rlim_cur = l.rlim_max == RLIM_INFINITY || l.rlim_max > 4 ? (rlim_t)r : l.rlim_max;
  if (setrlimit(RLIMIT_CORE, &l) != 0) return ROW_SKIPPED;
  if (l.rlim_cur != (rlim_t)r) return ROW_SKIPPED;
  t_barrier();
  const int same = getrlimit(RLIMIT_CORE, &l) == 0 && l.rlim_cur == (rlim_t)r;
  t_barrier();
  CHECK(same);
  return 1;
}

static int credentials(int r) {
  if (geteuid() != 0) return ROW_SKIPPED;
  CHECK(setegid(4000 + (gid_t)r) == 0);
  t_barrier();
  const int own = getegid() == 4000 + (gid_t)r;
  t_barrier();
  CHECK(own);
  return 1;
}

static int process_group(int r) {
  setpgid(0, 0);
  t_barrier();
  const int same = getpgrp() == getpid();
  t_barrier();
  CHECK(same);
  return 1;
}

static int attributes(int r) {
  prctl(PR_SET_DUMPABLE, r % 2);
  t_barrier();
  const int same = prctl(PR_GET_DUMPABLE) == r % 2;
  t_barrier();
  CHECK(same);
  return 1;
}

static int heap(int r) {
  char* const before = sbrk(0);
  t_barrier();
  if (r == 0) sbrk(1 << 20);
  t_barrier();
  const int same = r == 0 || sbrk(0) == (void*)before;
  t_barrier();
  CHECK(same);
  return 1;
}

static int count_programs(struct dl_phdr_info* info, size_t size, void* count) {
  const char* name = strrchr(info->dlpi_name, '/');
  *(int*)count += info->dlpi_name[0] == 0 || (name && strcmp(name, "/host_rows") == 0);
  return 0;
}

static int loaded_objects(int r) {
  int programs = 0;
  dl_iterate_phdr(count_programs, &programs);
  t_barrier();
  CHECK(programs == 1);
  return 1;
}

static int thread_defaults(int r) {
  pthread_attr_t a;
  size_t bytes = 0;
  pthread_attr_init(&a);
  pthread_attr_setstacksize(&a, (1 + (size_t)r) << 20);
  CHECK(pthread_setattr_default_np(&a) == 0);
  t_barrier();
  pthread_getattr_default_np(&a);
  pthread_attr_getstacksize(&a, &bytes);
  t_barrier();
  CHECK(bytes == (1 + (size_t)r) << 20);
  return 1;
}

static int text_directories(int r) {
  bindtextdomain("rows", own_name("/of/rank", r));
  t_barrier();
  const int same = strcmp(bindtextdomain("rows", 0), own_name("/of/rank", r)) == 0;
  t_barrier();
  CHECK(same);
  return 1;
}

const struct row common_rows[] = {{"resource limits", limits},
                                  {"credentials", credentials},
                                  {"process group and session", process_group},
                                  {"process attributes", attributes},
                                  {"heap", heap},
                                  {"loaded objects", loaded_objects},
                                  {"thread defaults", thread_defaults},
                                  {"text directories", text_directories},
                                  {0, 0}};
