// SPDX-License-Identifier: Apache-2.0
//
// See rebase.h.
#include "rebase.h"

#include <cstring>
#include <set>

#include "machine.h"
#include "shared_tls.h"

namespace weft::host {
namespace {

constexpr ElfW(Sxword) packed_relative_relocations = 36;  // DT_RELR, newer than some elf.h

}  // namespace

Rebase::Rebase(const Plan& plan, int index, const Rank& first)
    : image_(*plan.images[index].image), index_(index) {
  std::set<const ElfW(Rela)*> answered;
  for (const ProgramTls& t : program_tls_of(plan, index)) answered.insert(t.relocation);
  usable_ = !image_.runs_resolvers() && !image_.writes_text() && !image_.needs_static_tls() &&
            !image_.tag(packed_relative_relocations);
  for (auto relocations : {image_.relocations(), image_.plt_relocations()})
    for (const auto& r : relocations)
      if (usable_ && !answered.contains(&r)) note(r, first);
}

void Rebase::note(const ElfW(Rela) & r, const Rank& first) {
  const ElfW(Addr) at = r.r_offset;
  ElfW(Addr) value;
  std::memcpy(&value, reinterpret_cast<void*>(first.copy_of(index_).base + at), sizeof value);
  switch (machine::classify(ELF64_R_TYPE(r.r_info))) {
    case machine::Reloc::relative:
      slots_.push_back({at, static_cast<ElfW(Addr)>(r.r_addend), index_});
      return;
    case machine::Reloc::address: {
      const Loaded* target = first.owner(reinterpret_cast<void*>(value));
      slots_.push_back({at, target ? value - target->base : value, target ? target->image : -1});
      return;
    }
    case machine::Reloc::tls_module:
      for (const Loaded& l : first.loaded)
        if (l.tls_module != 0 && l.tls_module == value) {
          modules_.push_back({at, l.image});
          return;
        }
      slots_.push_back({at, value, -1});  // of a library that all ranks share
      return;
    case machine::Reloc::tls_distance:
      slots_.push_back({at, value, -1});
      return;
    case machine::Reloc::copy:
      return;  // fixups.cc
    default:
      usable_ = false;
  }
}

void Rebase::apply(const Rank& rank, const Loaded& loaded) const {
  std::vector<ElfW(Addr)> bases;
  for (const Loaded& l : rank.loaded) {
    if (bases.size() <= static_cast<std::size_t>(l.image)) bases.resize(l.image + 1);
    bases[l.image] = l.base;
  }
  for (const Slot& s : slots_) {
    const ElfW(Addr) value = s.image < 0 ? s.value : s.value + bases[s.image];
    std::memcpy(reinterpret_cast<void*>(loaded.base + s.at), &value, sizeof value);
  }
  for (const Module& m : modules_) {
    const std::size_t module = rank.copy_of(m.image).tls_module;
    std::memcpy(reinterpret_cast<void*>(loaded.base + m.at), &module, sizeof module);
  }
}

}  // namespace weft::host
