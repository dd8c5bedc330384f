// SPDX-License-Identifier: Apache-2.0
//
// Changing a loaded copy where ld.so has made it read-only after relocation (PT_GNU_RELRO).
#pragma once

#include <sys/mman.h>

#include "image.h"

namespace weft::host {

/// Makes that part of an image, loaded at `base`, writable for its lifetime.
class Writable {
 public:
  Writable(const Image& image, ElfW(Addr) base) {
    const ElfW(Phdr)* relro = image.segment(PT_GNU_RELRO);
    if (!relro) return;
    // As ld.so protects it: whole pages only.
    constexpr ElfW(Addr) page_mask = ~ElfW(Addr){4095};
    at_ = (base + relro->p_vaddr) & page_mask;
    size_ = ((base + relro->p_vaddr + relro->p_memsz) & page_mask) - at_;
    if (size_ > 0) mprotect(reinterpret_cast<void*>(at_), size_, PROT_READ | PROT_WRITE);
  }
  Writable(const Writable&) = delete;
  Writable& operator=(const Writable&) = delete;
  ~Writable() {
    if (size_ > 0) mprotect(reinterpret_cast<void*>(at_), size_, PROT_READ);
  }

 private:
  ElfW(Addr) at_ = 0;
  std::size_t size_ = 0;
};

}  // namespace weft::host
