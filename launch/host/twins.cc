// SPDX-License-Identifier: Apache-2.0
//
// See twins.h.
#include "twins.h"

#include <dlfcn.h>
#include <sys/stat.h>

#include <cstring>

#include "machine.h"

namespace weft::host {
namespace {

bool is_same_file(const char* a, const char* b) {
  struct stat x, y;
  return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

}  // namespace

void Twins::find(const Plan& plan) {
  for (; seen_ < plan.images.size(); seen_++) {
    const Image& image = *plan.images[seen_].image;
    const std::string name(image.soname());
    void* handle = name.empty() ? nullptr : dlopen(name.c_str(), RTLD_LAZY | RTLD_NOLOAD);
    link_map* map = nullptr;
    if (!handle || dlinfo(handle, RTLD_DI_LINKMAP, &map) != 0) continue;
    if (!is_same_file(map->l_name, image.path().c_str())) continue;
    twins_.push_back({static_cast<int>(seen_), map->l_addr, map->l_addr + image.memory_begin(),
                      map->l_addr + image.memory_end()});
  }
}

Twins::Place Twins::place_of(ElfW(Addr) address) const {
  for (const Twin& t : twins_)
    if (address >= t.low && address < t.high) return {t.image, address - t.base};
  return {-1, 0};
}

void Twins::redirect(const Plan& plan, const Rank& rank, const Loaded& loaded) const {
  if (twins_.empty()) return;
  const Image& image = *plan.images[loaded.image].image;
  for (auto relocations : {image.relocations(), image.plt_relocations()})
    for (const auto& r : relocations) {
      const std::size_t number = ELF64_R_SYM(r.r_info);
      if (number == 0 || machine::classify(ELF64_R_TYPE(r.r_info)) != machine::Reloc::address)
        continue;
      auto* slot = reinterpret_cast<void*>(loaded.base + r.r_offset);
      ElfW(Addr) value;
      std::memcpy(&value, slot, sizeof value);
      const Place p = place_of(value);
      if (p.image < 0) continue;
      value = rank.copy_of(p.image).base + p.offset;
      // An image before it may define the same: the program has its library's variables.
      for (int i = 0; i < p.image; i++)
        if (const auto* s = plan.images[i].image->definition(image.name(image.symbols()[number]))) {
          value = rank.copy_of(i).base + s->st_value + static_cast<ElfW(Addr)>(r.r_addend);
          break;
        }
      std::memcpy(slot, &value, sizeof value);
    }
}

}  // namespace weft::host
