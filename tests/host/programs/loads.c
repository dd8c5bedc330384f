// SPDX-License-Identifier: Apache-2.0
// dlopen: the program itself, a plugin (private to the rank), a shared system library, an error.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "standin.h"

int from_program(int x) {
  return x + 1;
}

int main(int argc, char** argv) {
  const int r = t_rank();
  const char* first = dlsym(RTLD_DEFAULT, "no_such_function") ? 0 : dlerror();
  int good = first && strstr(first, "no_such_function");
  void* self = dlopen(0, RTLD_NOW);
  good = good && dlsym(RTLD_DEFAULT, "from_program") == (void*)from_program &&
         dlsym(self, "from_program") == (void*)from_program;
  void* p = dlopen(argv[1], RTLD_NOW);
  if (!p) fprintf(stderr, "%s\n", dlerror());
  int (*plugin)(int) = p ? (int (*)(int))dlsym(p, "plugin") : 0;
  good = good && plugin;
  if (plugin) plugin(r);
  t_barrier();
  good = good && plugin && plugin(0) == 1 + r;
  good = good && dlopen(argv[1], RTLD_NOW) == p && dlclose(p) == 0;
  void* m = dlopen("libm.so.6", RTLD_NOW);
  good = good && m && dlsym(m, "cos") && dlclose(m) == 0;
  good = good && !dlopen("/no/such/library.so", RTLD_NOW);
  const char* error = dlerror();
  good = good && error && strstr(error, "/no/such/library.so") && !dlerror();
  char path[512] = {0};
  good = good && readlink("/proc/self/exe", path, 511) > 0 && strstr(path, "host_loads");
  Dl_info info;
  good = good && dladdr((void*)from_program, &info) && strstr(info.dli_fname, "host_loads");
  return t_report("loads", good);
}
