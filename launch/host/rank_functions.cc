// SPDX-License-Identifier: Apache-2.0
//
// See rank_functions.h.
#include "rank_functions.h"

#include <dlfcn.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>

#include "host.h"
#include "machine.h"

namespace weft::host {
namespace {

pid_t process_id() {
  const Rank* rank = current();
  return rank && in_host_process() ? rank->thread_id : getpid();
}

int read_clock(clockid_t clock, timespec* time) {
  Rank* rank = current();
  if (clock != CLOCK_PROCESS_CPUTIME_ID || !rank || !in_host_process())
    return clock_gettime(clock, time);
  *time = rank->members.cpu_time();
  return 0;
}

/// libm's function `name`, which takes the place of the sign as well.
template <class Number>
Number log_gamma(Number x, const char* name) {
  using Function = Number(Number, int*);
  static auto* real =
      reinterpret_cast<Function*>(dlsym(dlopen("libm.so.6", RTLD_LAZY | RTLD_NOLOAD), name));
  Rank* rank = current();
  int sign = 0;
  const Number result = real(x, &sign);
  if (rank) rank->variable<int>(var_signgam) = sign;
  return result;
}
double log_gamma_double(double x) {
  return log_gamma(x, "lgamma_r");
}
float log_gamma_float(float x) {
  return log_gamma(x, "lgammaf_r");
}
long double log_gamma_long(long double x) {
  return log_gamma(x, "lgammal_r");
}

/// A thread-local variable of the program for the calling thread: ld.so knows no place for it.
void* find_thread_local(void* handle, const char* name) {
  const Rank* rank = current();
  if (!rank || rank->tls_bytes == 0 || handle == RTLD_NEXT) return nullptr;
  if (handle != RTLD_DEFAULT && std::ranges::none_of(rank->plugins, [&](const Plugin& p) {
        return p.image == 0 && p.handle == handle;
      }))
    return nullptr;
  const ElfW(Sym)* s = the_host->plan.program().definition(name);
  if (!s || ELF64_ST_TYPE(s->st_info) != STT_TLS) return nullptr;
  return machine::thread_pointer() - machine::tls_distance(rank->tls_bytes, rank->tls_align) +
         s->st_value;
}

template <class Function>
ElfW(Addr) address(Function* f) {
  return reinterpret_cast<ElfW(Addr)>(f);
}

// A sanitizer's runtime comes before libweft_host, so a rank's calls reach it first. That is right
// for all interposers but this: a new thread must be the sanitizer's before it is made the rank's.
ElfW(Addr) thread_maker() {
  static const auto ours = address(&::pthread_create_of_rank);
  static const auto first = reinterpret_cast<ElfW(Addr)>(dlsym(RTLD_DEFAULT, "pthread_create"));
  return first == ours ? 0 : ours;
}

}  // namespace

ElfW(Addr) function_of_ranks(std::string_view name) {
  struct Row {
    std::string_view name;
    ElfW(Addr) function;
  };
  static const Row rows[] = {
      {"dlsym", address(machine::first_then(find_thread_local, dlsym))},
      {"getpid", address(process_id)},
      {"__getpid", address(process_id)},
      {"clock_gettime", address(read_clock)},
      {"pthread_create", thread_maker()},
      {"pthread_key_create", address(key_create)},
      {"__pthread_key_create", address(key_create)},
      {"pthread_key_delete", address(key_delete)},
      {"pthread_getspecific", address(get_specific)},
      {"__pthread_getspecific", address(get_specific)},
      {"pthread_setspecific", address(set_specific)},
      {"__pthread_setspecific", address(set_specific)},
      {"tss_create", address(tss_create_key)},
      {"tss_delete", address(tss_delete_key)},
      {"tss_get", address(get_specific)},
      {"tss_set", address(tss_set_value)},
      {"lgamma", address(log_gamma_double)},
      {"gamma", address(log_gamma_double)},
      {"lgammaf64", address(log_gamma_double)},
      {"lgammaf32x", address(log_gamma_double)},
      {"lgammaf", address(log_gamma_float)},
      {"gammaf", address(log_gamma_float)},
      {"lgammaf32", address(log_gamma_float)},
      {"lgammal", address(log_gamma_long)},
      {"lgammaf64x", address(log_gamma_long)},
      {"gammal", address(log_gamma_long)},
  };
  for (const Row& r : rows)
    if (r.name == name) return r.function;
  return 0;
}

}  // namespace weft::host
