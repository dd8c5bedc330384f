// SPDX-License-Identifier: Apache-2.0
//
// Plugins that a rank loads: a private library is copied for the rank as at start, a shared one is
// loaded once. When a rank closes one for the last time its destructors run and its copy goes, with
// the copies of what only it needed; the next dlopen begins with a new one.
#include <dlfcn.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "host.h"
#include "next.h"

using namespace weft::host;

namespace {

constinit Next<void*(const char*, int)> real_dlopen{"dlopen"};
constinit Next<int(void*)> real_dlclose{"dlclose"};
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

Plugin* find_open(Rank& rank, int image) {
  auto it = std::ranges::find(rank.plugins, image, &Plugin::image);
  return it == rank.plugins.end() ? nullptr : &*it;
}

/// What the rank has open under its image's number, or has loaded for other reasons; or nullptr.
Plugin* find_loaded(Rank& rank, int image) {
  if (Plugin* plugin = find_open(rank, image)) return plugin;
  auto it = std::ranges::find(rank.loaded, image, &Loaded::image);
  if (it == rank.loaded.end()) return nullptr;
  void* handle = real_dlopen(it->path.c_str(), RTLD_NOW | RTLD_NOLOAD);
  return handle ? &rank.plugins.emplace_back(Plugin{image, handle, 0}) : nullptr;
}

/// The image that is known as `name`, unless its file is another one now; -1 if there is none.
int find_image(Plan& plan, const std::string& name) {
  const int known = plan.find(name);
  struct stat now;
  if (known < 0 || name.find('/') == std::string::npos || stat(name.c_str(), &now) != 0 ||
      plan.images[known].image->is_file(now))
    return known;
  std::erase(plan.images[known].names, name);
  return -1;
}

void* use(Rank& rank, Plugin& plugin, int mode) {
  plugin.count++;
  for (Loaded& l : rank.loaded)
    if (l.image == plugin.image && (mode & RTLD_NODELETE)) l.stays = true;
  auto& global = rank.global_plugins;
  if ((mode & RTLD_GLOBAL) && plugin.image != 0 &&
      std::ranges::find(global, plugin.image) == global.end())
    global.push_back(plugin.image);
  return plugin.handle;
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
    Plugin* plugin = find_loaded(rank, index);
    if (!plugin) {
      handle = the_host->loader->load(rank, index, error);
      if (!handle) return fail(error);
      plugin = &rank.plugins.emplace_back(Plugin{index, handle, 0});
    }
    handle = use(rank, *plugin, mode);
  }
  run_constructors(rank);
  return handle;
}

/// Images of `rank` that something open needs: the program, open plugins, what says that it stays.
std::vector<char> find_needed(const Rank& rank) {
  const Plan& plan = the_host->plan;
  std::vector<char> needed(plan.images.size(), 0);
  std::vector<int> open{0};
  for (const Plugin& p : rank.plugins)
    if (p.count > 0) open.push_back(p.image);
  for (const Loaded& l : rank.loaded)
    if (l.stays) open.push_back(l.image);
  while (!open.empty()) {
    const int index = open.back();
    open.pop_back();
    if (std::exchange(needed[index], 1)) continue;
    open.insert(open.end(), plan.images[index].needs.begin(), plan.images[index].needs.end());
    for (const Loaded& l : rank.loaded)
      if (l.image == index) open.insert(open.end(), l.also_needs.begin(), l.also_needs.end());
  }
  return needed;
}

/// Run the destructors of copies that nobody needs any more. They may close further plugins.
void run_destructors_of_unneeded(Rank& rank) {
  for (bool any = true; std::exchange(any, false);) {
    const std::vector<char> needed = find_needed(rank);
    for (auto l = rank.loaded.rbegin(); l != rank.loaded.rend() && !any; ++l)
      if (!needed[l->image] && !std::exchange(l->finished, true)) {
        run_destructors(*l);
        any = true;
      }
  }
}

/// Let ld.so take away what nobody needs.
void unload(Rank& rank) {
  if (std::exchange(rank.unloads, true)) return;  // by a destructor: the caller of this goes on
  run_destructors_of_unneeded(rank);
  rank.unloads = false;
  std::scoped_lock guard(the_host->plugin_lock);
  const std::vector<char> needed = find_needed(rank);
  std::erase_if(rank.fork_handlers, [&](const ForkHandler& h) {
    const Loaded* owner = rank.owner(h.dso);
    return owner && !needed[owner->image];
  });
  std::vector<void*> handles;
  for (const Plugin& p : rank.plugins)
    if (!needed[p.image]) handles.push_back(p.handle);
  std::erase_if(rank.plugins, [&](const Plugin& p) { return !needed[p.image]; });
  std::erase_if(rank.global_plugins, [&](int i) { return !needed[i]; });
  std::erase_if(rank.loaded, [&](const Loaded& l) { return !needed[l.image]; });
  const AsHost as_host;
  for (void* handle : handles) real_dlclose(handle);
}

}  // namespace

extern "C" {
#pragma GCC visibility push(default)

void* dlopen(const char* file, int mode) noexcept {
  Rank* rank = current();
  if (!rank || !in_host_process()) return real_dlopen(file, mode);
  std::string path = file ? file : "";
  if (!path.empty() && is_shared(path)) return real_dlopen(file, mode);
  std::scoped_lock one_at_a_time(rank->lock);
  {
    const AsHost as_host;
    std::scoped_lock guard(the_host->plugin_lock);
    const int known = path.empty() ? 0 : find_image(the_host->plan, path);
    if (known >= 0)
      if (Plugin* plugin = find_loaded(*rank, known)) return use(*rank, *plugin, mode);
    if (!the_host->search) the_host->search = std::make_unique<Search>();
    const Image& program = the_host->plan.program();
    if (path.find('/') == std::string::npos) path = the_host->search->find(path, program, program);
  }
  if (path.empty() || (mode & RTLD_NOLOAD)) return real_dlopen(file, mode);
  return load_plugin(*rank, path, mode);
}

int dlclose(void* handle) noexcept {
  Rank* rank = current();
  if (!rank || !in_host_process()) return real_dlclose(handle);
  std::scoped_lock one_at_a_time(rank->lock);
  auto it = std::ranges::find(rank->plugins, handle, &Plugin::handle);
  if (it == rank->plugins.end()) return real_dlclose(handle);
  if (it->count > 0 && --it->count == 0 && it->image != 0) unload(*rank);
  return 0;
}

char* dlerror() noexcept {
  static constinit Next<char*()> real{"dlerror"};
  if (!last_error) return real();
  // Not above: to make it, ld.so is asked for a function, which forgets its error.
  static thread_local std::string text;  // valid until the next call
  text = *last_error;
  delete last_error;
  last_error = nullptr;
  return text.data();
}

#pragma GCC visibility pop
}
