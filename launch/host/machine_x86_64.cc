// SPDX-License-Identifier: Apache-2.0
//
// machine.h for x86-64 (System V ABI, TLS variant II: the program's block ends at the thread
// pointer).
#include "machine.h"

namespace weft::host::machine {

const ElfW(Half) elf_machine = EM_X86_64;
const char* const name = "x86-64";
const char* const dynamic_linker = "ld-linux-x86-64.so.2";
const char* const library_dirs[] = {"/lib/x86_64-linux-gnu",
                                    "/usr/lib/x86_64-linux-gnu",
                                    "/lib64",
                                    "/usr/lib64",
                                    "/lib",
                                    "/usr/lib",
                                    nullptr};
const std::int32_t cache_flags = 0x0303;  // FLAG_X8664_LIB64 | FLAG_ELF_LIBC6

Reloc classify(std::uint32_t type) {
  switch (type) {
    case R_X86_64_RELATIVE:
      return Reloc::relative;
    case R_X86_64_GLOB_DAT:
    case R_X86_64_JUMP_SLOT:
    case R_X86_64_64:
      return Reloc::address;
    case R_X86_64_COPY:
      return Reloc::copy;
    case R_X86_64_IRELATIVE:
      return Reloc::indirect;
    case R_X86_64_DTPMOD64:
      return Reloc::tls_module;
    case R_X86_64_DTPOFF64:
      return Reloc::tls_distance;
    case R_X86_64_TPOFF64:
      return Reloc::tls_offset;
    case R_X86_64_TLSDESC:
      return Reloc::tls_descriptor;
    default:
      return Reloc::other;
  }
}

std::size_t tls_distance(std::size_t size, std::size_t align) {
  if (align == 0) align = 1;
  return (size + align - 1) / align * align;
}

char* thread_pointer() {
  char* tp;
  __asm__("mov %%fs:0, %0" : "=r"(tp));
  return tp;
}

// Called with the descriptor's address in rax, returns the offset there and keeps all else.
__asm__(
    ".text\n\t"
    ".type weft_tls_descriptor, @function\n"
    "weft_tls_descriptor:\n\t"
    "mov 8(%rax), %rax\n\t"
    "ret\n\t"
    ".size weft_tls_descriptor, . - weft_tls_descriptor");
extern "C" [[gnu::visibility("hidden")]] void weft_tls_descriptor();

void put_tls_descriptor(ElfW(Addr) at, std::size_t offset) {
  auto* words = reinterpret_cast<std::size_t*>(at);
  words[0] = reinterpret_cast<std::size_t>(&weft_tls_descriptor);
  words[1] = offset;
}

extern "C" {
[[gnu::visibility("hidden")]] Lookup weft_first_lookup = nullptr, weft_then_lookup = nullptr;
[[gnu::visibility("hidden")]] void* weft_look_up(void*, const char*);
}
__asm__(
    ".text\n\t"
    ".type weft_look_up, @function\n"
    "weft_look_up:\n\t"
    "push %rdi\n\t"
    "push %rsi\n\t"
    "sub $8, %rsp\n\t"
    "call *weft_first_lookup(%rip)\n\t"
    "add $8, %rsp\n\t"
    "pop %rsi\n\t"
    "pop %rdi\n\t"
    "test %rax, %rax\n\t"
    "jne 1f\n\t"
    "jmp *weft_then_lookup(%rip)\n"
    "1: ret\n\t"
    ".size weft_look_up, . - weft_look_up");

Lookup first_then(Lookup first, Lookup then) {
  weft_first_lookup = first;
  weft_then_lookup = then;
  return weft_look_up;
}

void enter(ElfW(Addr) entry, void** words) {
  __asm__ volatile(
      "mov %0, %%rsp\n\t"
      "xor %%edx, %%edx\n\t"
      "xor %%ebp, %%ebp\n\t"
      "jmp *%1"
      :
      : "r"(words), "r"(entry)
      : "memory", "rdx");
  __builtin_unreachable();
}

}  // namespace weft::host::machine
