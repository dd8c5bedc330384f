// SPDX-License-Identifier: Apache-2.0
#include "parallel/openmp/runtime.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace weft::parallel::openmp {
namespace {

constexpr int most_names = 8;    // of one thread's runtimes
constexpr int most_found = 256;  // of the process: with ranks as threads each rank has its own

/// Of all threads. What is found stays: the libraries are never unloaded, because they have
/// threads. Guarded by its lock while it grows.
struct Found {
  pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  Runtime runtime[most_found];
  std::atomic<int> count{0};  // others may ask whether there are any
};
constinit Found found;

/// The calling thread's.
struct Mine {
  const Runtime* runtime[most_names] = {};
  int count = 0;
  unsigned calls = 0;
  unsigned long long objects_loaded = 0;  // when it last looked
};
constinit thread_local Mine mine;

struct Names {
  char name[most_names][512];
  int count = 0;
};

const char* base_of(const char* path) {
  const char* slash = std::strrchr(path, '/');
  return slash != nullptr ? slash + 1 : path;
}

/// By its short name first: so the rank host finds the calling rank's own copy.
void* handle_of(const char* name) {
  void* handle = dlopen(base_of(name), RTLD_NOLOAD | RTLD_LAZY);
  return handle != nullptr ? handle : dlopen(name, RTLD_NOLOAD | RTLD_LAZY);
}

bool is_runtime_name(const char* path) {
  return std::strstr(base_of(path), "omp") != nullptr;
}

/// Copies of one library, one for each rank, have one name.
int collect(dl_phdr_info* info, std::size_t, void* arg) {
  auto& names = *static_cast<Names*>(arg);
  const char* name = info->dlpi_name;
  if (name == nullptr || !is_runtime_name(name) || std::strlen(name) >= sizeof names.name[0])
    return 0;
  for (int i = 0; i < names.count; ++i)
    if (std::strcmp(names.name[i], name) == 0) return 0;
  if (names.count < most_names) std::strcpy(names.name[names.count++], name);
  return 0;
}

template <class F>
bool find(void* handle, const char* name, F& function) {
  function = reinterpret_cast<F>(dlsym(handle, name));
  return function != nullptr;
}

/// Is it a runtime, and not another library that only depends on one?
bool open(const char* name, Runtime& r) {
  void* handle = handle_of(name);
  if (handle == nullptr) return false;
  Dl_info where{};
  r.is_libgomp = dlsym(handle, "__kmpc_fork_call") == nullptr;
  return find(handle, "GOMP_task", r.task) &&
         dladdr(reinterpret_cast<void*>(r.task), &where) != 0 && is_runtime_name(where.dli_fname) &&
         find(handle, "GOMP_parallel", r.parallel) && find(handle, "omp_get_level", r.get_level) &&
         find(handle, "omp_get_num_threads", r.get_num_threads) &&
         find(handle, "omp_get_thread_num", r.get_thread_num) &&
         find(handle, "omp_get_max_threads", r.get_max_threads) &&
         find(handle, "omp_get_num_procs", r.get_num_procs) &&
         find(handle, "omp_in_final", r.in_final);
}

const Runtime* enter(const Runtime& r) {
  const int count = found.count.load(std::memory_order_relaxed);
  for (int i = 0; i < count; ++i)
    if (found.runtime[i].task == r.task) return &found.runtime[i];
  if (count == most_found) return nullptr;
  found.count.store(count + 1, std::memory_order_relaxed);
  return &(found.runtime[count] = r);
}

/// The loader's lock is held while it walks: names first, the rest after that.
void look() {
  Names names;
  dl_iterate_phdr(collect, &names);
  mine.count = 0;
  for (int i = 0; i < names.count; ++i) {
    Runtime r;
    if (!open(names.name[i], r)) continue;
    pthread_mutex_lock(&found.lock);
    const Runtime* entered = enter(r);
    pthread_mutex_unlock(&found.lock);
    bool known = entered == nullptr;
    for (int k = 0; k < mine.count; ++k) known |= mine.runtime[k] == entered;
    if (!known) mine.runtime[mine.count++] = entered;
  }
}

int count_loaded(dl_phdr_info* info, std::size_t, void* arg) {
  *static_cast<unsigned long long*>(arg) = info->dlpi_adds;
  return 1;
}

const Runtime* in_region() {
  for (int i = 0; i < mine.count; ++i)
    if (mine.runtime[i]->get_level() > 0) return mine.runtime[i];
  return nullptr;
}

}  // namespace

const Runtime* current() {
  if (const Runtime* r = in_region()) return r;
  constexpr unsigned calls_per_look = 64;  // who has a runtime seldom gets another one
  if (mine.count > 0 && ++mine.calls % calls_per_look != 0) return mine.runtime[0];
  unsigned long long loaded = 0;
  dl_iterate_phdr(count_loaded, &loaded);
  if (loaded != mine.objects_loaded) {
    mine.objects_loaded = loaded;
    look();
    if (const Runtime* r = in_region()) return r;
  }
  return mine.count > 0 ? mine.runtime[0] : nullptr;
}

bool is_any_known() {
  return found.count.load(std::memory_order_relaxed) > 0;  // relaxed: says when it is worth asking
}

void* behind(const char* name, const char* version) {
  if (void* next = dlvsym(RTLD_NEXT, name, version)) return next;
  if (void* next = dlsym(RTLD_NEXT, name)) return next;
  // Loaded by itself, or one for each rank: not where the program's symbols are searched.
  Names names;
  dl_iterate_phdr(collect, &names);
  for (int i = 0; i < names.count; ++i) {
    void* handle = handle_of(names.name[i]);
    void* next = handle != nullptr ? dlsym(handle, name) : nullptr;
    Dl_info where{};
    if (next != nullptr && dladdr(next, &where) != 0 && is_runtime_name(where.dli_fname))
      return next;
  }
  std::fprintf(stderr, "weft: %s was called, but no OpenMP runtime here has it\n", name);
  std::abort();
}

}  // namespace weft::parallel::openmp
