// SPDX-License-Identifier: Apache-2.0
//
// Loading one rank's copies: all files first, so that each can name the others; then ld.so maps and
// relocates them in one dlopen; then fixups.
#include "load.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>

#include "base/limits.h"
#include "writable.h"

namespace weft::host {
namespace {

/// Closes the descriptors of a rank's copies: ld.so has its own mappings.
struct Files {
  std::vector<int> fds;
  ~Files() {
    for (int fd : fds)
      if (fd >= 0) close(fd);
  }
};

/// The loaded copies' addresses. ld.so appends what it loads to its list, so they follow `map`.
void find_bases(link_map* map, const Plan& plan, std::list<Loaded>& loaded, bool rename) {
  auto missing = std::ranges::count(loaded, ElfW(Addr){0}, &Loaded::base);
  for (; map && missing > 0; map = map->l_next)
    for (Loaded& l : loaded) {
      if (l.base != 0 || l.path != map->l_name) continue;
      l.base = map->l_addr;
      dlinfo(map, RTLD_DI_TLS_MODID, &l.tls_module);
      l.low = l.base + plan.images[l.image].image->memory_begin();
      l.high = l.base + plan.images[l.image].image->memory_end();
      missing--;
      // dladdr, debuggers and profilers read this name; the copy's own leads them nowhere.
      if (rename) map->l_name = strdup(plan.images[l.image].image->path().c_str());
    }
}

/// Why ld.so refused; out of descriptors it may have no words.
std::string loader_error() {
  const int cause = errno;
  const char* text = dlerror();
  return std::string(text != nullptr ? text : "ld.so could not load a rank's copy") +
         (cause == EMFILE || cause == ENOMEM ? limit_behind(cause) : "");
}

}  // namespace

// A memory file is named by its descriptor, and descriptors are used again when the file is closed;
// ld.so would then take the name for the earlier copy's. So a serial number is written into the
// path as empty and "." components: 5 is ".//./".
int Store::create(const Image& image, int world_rank, std::string& path) {
  const std::string base(image.base_name());
  if (for_debugger()) {
    path = directory_ + '/' + base + ".r" + std::to_string(world_rank);
    return open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0700);
  }
  const int fd = memfd_create(base.substr(0, 200).c_str(), MFD_CLOEXEC);
  path = "/proc/thread-self/fd/";
  for (unsigned n = ++serial_; n > 0; n >>= 1) path += n & 1 ? "./" : "/";
  path += std::to_string(fd);
  return fd;
}

const Patch& Loader::patch(int index) {
  if (patches_.size() < plan_.images.size()) patches_.resize(plan_.images.size());
  auto& p = patches_[index];
  if (!p) p = std::make_unique<Patch>(plan_, index, !store_.for_debugger());
  return *p;
}

const Fixups& Loader::fixups(int index) {
  if (fixups_.size() < plan_.images.size()) fixups_.resize(plan_.images.size());
  auto& f = fixups_[index];
  if (!f) f = std::make_unique<Fixups>(plan_, twins_, index);
  return *f;
}

std::string Loader::copy(Rank& rank, int index, int fd) {
  Patch::Changes changes;
  for (const std::string& needed : plan_.images[index].image->needed())
    if (const int i = plan_.find(needed); i >= 0)
      for (const Loaded& l : rank.loaded)
        if (l.image == i) changes.renames.emplace_back(needed, l.path);
  if (index == 0)
    for (int tool : plan_.tools) changes.first.push_back(rank.copy_of(tool).path);
  // A plugin may use symbols of its program, which ld.so would look for in the process's own.
  if (rank.program) {
    changes.extra.push_back(rank.program->path);
    for (int global : rank.global_plugins) changes.extra.push_back(rank.copy_of(global).path);
  }
  changes.without_relocations = rebase(index) != nullptr;
  return patch(index).write(fd, changes);
}

const Rebase* Loader::rebase(int index) const {
  if (static_cast<std::size_t>(index) >= rebases_.size() || !rebases_[index]->is_usable())
    return nullptr;
  return rebases_[index].get();
}

// The first rank's copies were relocated by ld.so; the others' here. Plugins are ld.so's: when they
// are loaded, the first rank may have changed its data already.
void Loader::relocate(Rank& rank) {
  if (rank.program) return;
  const bool is_first = rebases_.empty();
  if (is_first)
    for (std::size_t i = 0; i < plan_.images.size(); i++)
      rebases_.push_back(std::make_unique<Rebase>(plan_, static_cast<int>(i), rank));
  if (!is_first)
    for (const Loaded& l : rank.loaded)
      if (const Rebase* r = rebase(l.image)) r->apply(rank, l);
}

std::vector<int> Loader::missing(const Rank& rank, int top) const {
  std::vector<char> wanted(plan_.images.size(), 0);
  std::vector<int> open{top};
  while (!open.empty()) {
    const int index = open.back();
    open.pop_back();
    if (wanted[index]) continue;
    wanted[index] = 1;
    open.insert(open.end(), plan_.images[index].needs.begin(), plan_.images[index].needs.end());
  }
  for (const Loaded& l : rank.loaded) wanted[l.image] = 0;
  std::vector<int> out;
  std::ranges::copy_if(plan_.order, std::back_inserter(out), [&](int i) { return wanted[i] != 0; });
  return out;
}

void* Loader::load(Rank& rank, int top, std::string& error) {
  twins_.find(plan_);
  Files files;
  std::string top_path;
  std::vector<Loaded*> added;
  for (int index : missing(rank, top)) {
    Loaded loaded;
    loaded.image = index;
    files.fds.push_back(store_.create(*plan_.images[index].image, rank.world, loaded.path));
    if (files.fds.back() < 0)
      error = "the copy of " + plan_.images[index].image->path() + " for rank " +
              std::to_string(rank.world) + " cannot be made: " + std::strerror(errno) +
              limit_behind(errno);
    if (index == top) top_path = loaded.path;
    loaded.stays = plan_.images[index].image->is_never_unloaded();
    if (rank.program) loaded.also_needs = rank.global_plugins;
    added.push_back(&rank.loaded.emplace_back(std::move(loaded)));
  }
  for (std::size_t i = 0; i < added.size() && error.empty(); i++)
    error = copy(rank, added[i]->image, files.fds[i]);

  void* handle = nullptr;
  if (error.empty() && !(handle = dlopen(top_path.c_str(), RTLD_NOW | RTLD_LOCAL)))
    error = loader_error();
  if (handle) {
    link_map* map = nullptr;
    dlinfo(handle, RTLD_DI_LINKMAP, &map);
    find_bases(map, plan_, rank.loaded, !store_.for_debugger());
  }
  if (error.empty()) relocate(rank);
  if (error.empty() && top == 0) fixups(0).place_variables(rank, rank.copy_of(0));
  for (Loaded* l : added) {
    if (error.empty()) error = fixups(l->image).apply(rank, *l, patch(l->image));
    if (error.empty()) protect_relro(*plan_.images[l->image].image, l->base, PROT_READ);
  }
  if (error.empty()) return handle;
  for (std::size_t i = added.size(); i > 0; i--) rank.loaded.pop_back();
  return nullptr;
}

}  // namespace weft::host
