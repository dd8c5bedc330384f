// SPDX-License-Identifier: Apache-2.0
//
// See shared_tls.h.
#include "shared_tls.h"

#include <cstring>

namespace weft::host {
namespace {

using machine::Reloc;

constexpr std::size_t module_of_executable = 1;  // ld.so numbers modules from the executable on

bool is_tls(Reloc kind) {
  return kind == Reloc::tls_module || kind == Reloc::tls_distance || kind == Reloc::tls_offset ||
         kind == Reloc::tls_descriptor;
}

void put(ElfW(Addr) at, std::size_t value) {
  std::memcpy(reinterpret_cast<void*>(at), &value, sizeof value);
}

}  // namespace

std::vector<ProgramTls> program_tls_of(const Plan& plan, int index) {
  std::vector<ProgramTls> out;
  const Image& image = *plan.images[index].image;
  const Image& program = plan.program();
  if (!program.segment(PT_TLS)) return out;
  for (auto relocations : {image.relocations(), image.plt_relocations()})
    for (const auto& r : relocations) {
      const Reloc kind = machine::classify(ELF64_R_TYPE(r.r_info));
      if (!is_tls(kind)) continue;
      const std::size_t number = ELF64_R_SYM(r.r_info);
      const auto addend = static_cast<ElfW(Addr)>(r.r_addend);
      if (number == 0) {
        if (index == 0) out.push_back({&r, kind, false, addend});
        continue;
      }
      const ElfW(Sym)* s = program.definition(image.name(image.symbols()[number]));
      if (s && ELF64_ST_TYPE(s->st_info) == STT_TLS)
        out.push_back({&r, kind, true, s->st_value + addend});
    }
  return out;
}

void answer(const ProgramTls& t, const Image& program, ElfW(Addr) base) {
  const ElfW(Phdr)& tls = *program.segment(PT_TLS);
  const std::size_t distance = machine::tls_distance(tls.p_memsz, tls.p_align);
  const std::size_t start = tls_reserve_bytes - distance;  // of the block in the reserve
  const ElfW(Addr) at = base + t.relocation->r_offset;
  std::size_t second;
  switch (t.kind) {
    case Reloc::tls_module:
      put(at, module_of_executable);
      if (t.by_symbol) return;  // the second word has a relocation of its own
      std::memcpy(&second, reinterpret_cast<void*>(at + sizeof second), sizeof second);
      return put(at + sizeof second, second + start);
    case Reloc::tls_distance:
      return put(at, t.offset + start);
    case Reloc::tls_offset:
      return put(at, t.offset - distance);
    default:
      return machine::put_tls_descriptor(at, t.offset - distance);
  }
}

}  // namespace weft::host
