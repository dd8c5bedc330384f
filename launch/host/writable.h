// SPDX-License-Identifier: Apache-2.0
//
// The part of an image that is read-only once it is relocated (PT_GNU_RELRO). ld.so does not see it
// in the copies (patch.h), because they are not ready when it is: the loader protects them.
#pragma once

#include <sys/mman.h>

#include "image.h"

namespace weft::host {

/// Give that part of `image`, loaded at `base`, this protection.
inline void protect_relro(const Image& image, ElfW(Addr) base, int protection) {
  const ElfW(Phdr)* relro = image.segment(PT_GNU_RELRO);
  if (!relro) return;
  // As ld.so does it: whole pages only.
  constexpr ElfW(Addr) page_mask = ~ElfW(Addr){4095};
  const ElfW(Addr) at = (base + relro->p_vaddr) & page_mask;
  const std::size_t size = ((base + relro->p_vaddr + relro->p_memsz) & page_mask) - at;
  if (size > 0) mprotect(reinterpret_cast<void*>(at), size, protection);
}

/// Makes that part writable for its lifetime.
class Writable {
 public:
  Writable(const Image& image, ElfW(Addr) base) : image_(image), base_(base) {
    protect_relro(image_, base_, PROT_READ | PROT_WRITE);
  }
  Writable(const Writable&) = delete;
  Writable& operator=(const Writable&) = delete;
  ~Writable() { protect_relro(image_, base_, PROT_READ); }

 private:
  const Image& image_;
  ElfW(Addr) base_;
};

}  // namespace weft::host
