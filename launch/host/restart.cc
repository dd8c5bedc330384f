// SPDX-License-Identifier: Apache-2.0
//
// See restart.h.
#include "restart.h"

#include <dlfcn.h>
#include <limits.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string_view>

namespace weft::host {
namespace {

// glibc keeps this much spare for late libraries (glibc.rtld.optional_static_tls, default 512).
constexpr std::size_t spare_static_tls = 512;

struct Variable {
  const char* name;
  const char* saved;  // "=" and the user's value, or empty if the user had none
};
constexpr Variable tunables{"GLIBC_TUNABLES", "WEFT_HOST_SAVED_TUNABLES"};
constexpr Variable preload{"LD_PRELOAD", "WEFT_HOST_SAVED_PRELOAD"};
// What the user had before mpiexec took the tools out: for what ranks start.
constexpr Variable with_tools{"LD_PRELOAD", "WEFT_HOST_USER_PRELOAD"};

void set(const Variable& v, const std::string& addition) {
  const char* old = getenv(v.name);
  setenv(v.saved, old ? (std::string("=") + old).c_str() : "", 1);
  setenv(v.name, (old && *old ? addition + ":" + old : addition).c_str(), 1);
}

void restore(const Variable& v) {
  const char* saved = getenv(v.saved);
  if (!saved) return;
  if (*saved == '=')
    setenv(v.name, std::string(saved + 1).c_str(), 1);
  else
    unsetenv(v.name);
  unsetenv(v.saved);
}

}  // namespace

std::size_t static_tls_bytes(const Plan& plan, int ranks) {
  return plan.static_tls_bytes * static_cast<std::size_t>(ranks);
}

std::string restart_if_needed(const Plan& plan, int ranks, char** argv) {
  const std::size_t bytes = static_tls_bytes(plan, ranks);
  std::string libraries;
  for (const std::string& name : plan.preload)
    if (!dlopen(name.c_str(), RTLD_NOW | RTLD_NOLOAD))
      libraries += (libraries.empty() ? "" : ":") + name;
  const bool needs_tls = bytes > spare_static_tls && !getenv(tunables.saved);
  const bool needs_preload = !libraries.empty() && !getenv(preload.saved);
  if (!needs_tls && !needs_preload) return {};
  if (needs_tls)
    set(tunables, "glibc.rtld.optional_static_tls=" + std::to_string(bytes + spare_static_tls));
  if (needs_preload) set(preload, libraries);
  char self[PATH_MAX] = {};
  if (readlink("/proc/self/exe", self, sizeof self - 1) > 0) execv(self, argv);
  return std::string("the rank host could not start itself again: ") + std::strerror(errno);
}

void restore_environment() {
  restore(tunables);
  restore(preload);
  restore(with_tools);
  constexpr std::string_view own = "WEFT_HOST_";
  for (char** e = environ; *e;)
    if (std::string_view(*e).starts_with(own))
      unsetenv(std::string(*e, std::strcspn(*e, "=")).c_str());  // moves the rest to here
    else
      e++;
}

}  // namespace weft::host
