// SPDX-License-Identifier: Apache-2.0
//
// Everything that depends on the processor: numbers of relocation types, where the thread pointer
// and the program's thread-local block lie, and how a kernel enters a program. One source file per
// processor implements it (machine_x86_64.cc); nothing else in this folder knows a relocation's
// number. A port adds machine_<name>.cc and a line in CMakeLists.txt.
#pragma once

#include <link.h>

#include <cstddef>
#include <cstdint>

namespace weft::host::machine {

/// What a relocation asks for, as far as the rank host cares.
enum class Reloc {
  relative,        // the image's base plus an addend
  address,         // the address of a symbol plus an addend: what a reference to a variable becomes
  copy,            // copy a library's variable into the program
  indirect,        // call a resolver function in this image to learn the value
  tls_module,      // the number of this image's or a symbol's thread-local module
  tls_distance,    // a symbol's place within its module's thread-local block
  tls_offset,      // distance from the thread pointer, so the block must be static
  tls_descriptor,  // a function that returns that distance, and its argument
  other
};

extern const ElfW(Half) elf_machine;      // e_machine of this processor
extern const char* const name;            // for messages
extern const char* const dynamic_linker;  // base name of the C library's dynamic linker
extern const char* const library_dirs[];  // where ld.so looks last, ends with nullptr
extern const std::int32_t cache_flags;    // flags of this processor's entries in ld.so.cache

Reloc classify(std::uint32_t type);

/// Distance from the start of the program's thread-local block to the thread pointer.
std::size_t tls_distance(std::size_t size, std::size_t align);
char* thread_pointer();
/// Make the two words at `at` a descriptor of what lies `offset` from the thread pointer.
void put_tls_descriptor(ElfW(Addr) at, std::size_t offset);

/// A function with dlsym's arguments that returns `first`'s result, unless that is nullptr: then it
/// becomes `then`, as if the caller had called that. dlsym looks who calls it.
using Lookup = void* (*)(void* handle, const char* name);
Lookup first_then(Lookup first, Lookup then);

/// Words in front of which a kernel-like stack must start: argc, argv, environment, auxiliary
/// vector. Jumps to `entry` with the stack pointer at `words` and no rtld_fini.
[[noreturn]] void enter(ElfW(Addr) entry, void** words);

}  // namespace weft::host::machine
