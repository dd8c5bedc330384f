// SPDX-License-Identifier: Apache-2.0
//
// Plugins that a rank loads: a private library is copied for the rank as at start, a shared one is
// loaded once. A plugin stays loaded until the rank ends, and its destructors run then.
#include <dlfcn.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "host.h"
#include "next.h"

using namespace weft::host;

namespace {

constinit Next<void*(const char*, int)> real_dlopen{"dlopen"};
thread_local std::string* last_error = nullptr;  // until dlerror takes it

void* fail(const std::string& text) {
  delete last_error;
  last_error = new std::string(text);
  return nullptr;
}

bool is_shared(const std::string& name) {
  const std::size_t slash = name.rfind('/');
  return is_shared_by_name(slash == std::string::npos ? name : name.substr(slash + 1));
}

/// The handle of a copy that this rank has already, or nullptr.
void* find_loaded(const Rank& rank, int image) {
  auto it = std::ranges::find(rank.loaded, image, &Loaded::image);
  return it == rank.loaded.end() ? nullptr : real_dlopen(it->path.c_str(), RTLD_NOW | RTLD_NOLOAD);
}

void* load_plugin(Rank& rank, const std::string& path, int mode) {
  void* handle = nullptr;
  std::string error;
  {
    const AsHost as_host;
    std::scoped_lock guard(the_host->plugin_lock);
    Plan& plan = the_host->plan;
    error = add_library(plan, *the_host->search, path, is_shared);
    if (!error.empty()) return fail(error);
    const int index = plan.find(path);
    handle = find_loaded(rank, index);
    if (!handle) handle = the_host->loader->load(rank, index, error);
    if (!handle) return fail(error);
    if (mode & RTLD_GLOBAL)
      rank.global_plugins.push_back(std::ranges::find(rank.loaded, index, &Loaded::image)->path);
  }
  std::scoped_lock guard(rank.lock);
  run_constructors(rank);
  return handle;
}

}  // namespace

extern "C" {
#pragma GCC visibility push(default)

void* dlopen(const char* file, int mode) noexcept {
  Rank* rank = current();
  if (!rank || !in_host_process()) return real_dlopen(file, mode);
  if (!file || !*file) return find_loaded(*rank, 0);
  std::string path = file;
  if (is_shared(path)) return real_dlopen(file, mode);
  {
    const AsHost as_host;
    std::scoped_lock guard(the_host->plugin_lock);
    if (const int known = the_host->plan.find(path); known >= 0)
      if (void* handle = find_loaded(*rank, known)) return handle;
    if (!the_host->search) the_host->search = std::make_unique<Search>();
    const Image& program = the_host->plan.program();
    if (path.find('/') == std::string::npos) path = the_host->search->find(path, program, program);
  }
  if (path.empty() || (mode & RTLD_NOLOAD)) return real_dlopen(file, mode);
  return load_plugin(*rank, path, mode);
}

int dlclose(void* handle) noexcept {
  static constinit Next<int(void*)> real{"dlclose"};
  Rank* rank = current();
  link_map* map = nullptr;
  if (rank && dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 &&
      std::ranges::find(rank->loaded, map->l_addr, &Loaded::base) != rank->loaded.end())
    return 0;
  return real(handle);
}

char* dlerror() noexcept {
  static constinit Next<char*()> real{"dlerror"};
  static thread_local std::string text;  // valid until the next call
  if (!last_error) return real();
  text = *last_error;
  delete last_error;
  last_error = nullptr;
  return text.data();
}

#pragma GCC visibility pop
}
