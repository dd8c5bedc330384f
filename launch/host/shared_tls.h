// SPDX-License-Identifier: Apache-2.0
//
// References to the program's thread-local variables that ask the dynamic linker: from libraries,
// when the program exports the variable, or from its own code. The program's block lies in the
// reserve of weft-rankhost, at one distance from the thread pointer on every thread, so all ranks
// and threads get the same answer and each finds its own variable with it. ld.so, which takes the
// program's copy for a library without thread-local data, must not see these relocations.
#pragma once

#include <vector>

#include "machine.h"
#include "plan.h"

namespace weft::host {

struct ProgramTls {
  const ElfW(Rela) * relocation;
  machine::Reloc kind;
  bool by_symbol;     // else by the place in the block alone
  ElfW(Addr) offset;  // from the start of the program's block
};

/// Those of image `index` of the plan.
std::vector<ProgramTls> program_tls_of(const Plan& plan, int index);

/// Answer one, in a copy loaded at `base`, before it is protected.
void answer(const ProgramTls& reference, const Image& program, ElfW(Addr) base);

}  // namespace weft::host
