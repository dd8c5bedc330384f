// SPDX-License-Identifier: Apache-2.0
// Libraries that the program loads.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "rows.h"

static int call(void* plugin, const char* function) {
  int (*f)(void) = (int (*)(void))dlsym(plugin, function);
  return f ? f() : -1;
}

static int copy_file(const char* from, const char* to) {
  char command[600];
  snprintf(command, sizeof command, "cp %s %s.new && mv %s.new %s", from, to, to, to);
  return system(command);
}

static int plugins(int r) {
  int ended = 0;
  void* p = dlopen("libhost_row_plugin1.so", RTLD_NOW);
  CHECK(p && call(p, "version") == 1);
  t_barrier();
  for (int i = 1; i <= 1 + r; i++) CHECK(call(p, "count") == i);
  t_barrier();
  CHECK(dlopen("libhost_row_plugin1.so", RTLD_NOW) == p && dlclose(p) == 0);
  CHECK(call(p, "count") == 2 + r);
  ((void (*)(int*))dlsym(p, "tell_end"))(&ended);
  t_barrier();
  if (r % 2) CHECK(dlclose(p) == 0);
  t_barrier();
  CHECK(ended == (r % 2 ? 11 : 0));
  if (r % 2) p = dlopen("libhost_row_plugin1.so", RTLD_NOW);
  t_barrier();
  CHECK(p && call(p, "count") == (r % 2 ? 1 : 3 + r));
  CHECK(dlclose(p) == 0 && !dlopen("libhost_row_plugin1.so", RTLD_NOW | RTLD_NOLOAD));
  t_barrier();

  /* the file is replaced while it is closed */
  char own[64] = "./", path[512];
  strcat(own, own_name("changing", r));
  Dl_info here;
  CHECK(dladdr((void*)call, &here));
  for (int version = 1; version <= 3; version++) {
    snprintf(path, sizeof path, "%.*s/libhost_row_plugin%d.so",
             (int)(strrchr(here.dli_fname, '/') - here.dli_fname), here.dli_fname, 1 + version % 2);
    CHECK(copy_file(path, own) == 0);
    p = dlopen(own, RTLD_NOW | RTLD_GLOBAL);
    CHECK(p && call(p, "version") == 1 + version % 2 && call(p, "count") == 1);
    CHECK(dlclose(p) == 0);
  }
  t_barrier();
  return 1;
}

const struct row library_rows[] = {{"plugins", plugins}, {0, 0}};
