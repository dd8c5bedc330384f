// SPDX-License-Identifier: Apache-2.0
//
// See fixups.h.
#include "fixups.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/limits.h"
#include "host.h"
#include "machine.h"
#include "rank_functions.h"

namespace weft::host {
namespace {

constexpr std::size_t page = 4096;
constexpr std::size_t round_up(std::size_t n) {
  return (n + page - 1) / page * page;
}
constexpr std::size_t round_down(std::size_t n) {
  return n / page * page;
}

/// References to these are the rank's, whatever the process has. AddressSanitizer has a __cxa_throw
/// too, which works only with a C++ library that was there when it started.
bool may_be_wrapped(std::string_view name) {
  return name.starts_with(mpi_prefix) || name == "__cxa_throw" ||
         name == "__cxa_rethrow_primary_exception";
}

template <class Function>
std::vector<Function> function_table(const Image& image, ElfW(Addr) base, ElfW(Sxword) at,
                                     ElfW(Sxword) bytes) {
  if (!image.tag(at)) return {};
  auto* first = reinterpret_cast<Function*>(base + image.value(at));
  return {first, first + image.value(bytes) / sizeof(Function)};
}

}  // namespace

Fixups::Fixups(const Plan& plan, const Twins& twins, int index)
    : plan_(plan),
      twins_(twins),
      image_(*plan.images[index].image),
      is_program_(index == 0),
      program_tls_(program_tls_of(plan, index)) {
  if (is_program_) find_definitions();
  for (auto relocations : {image_.relocations(), image_.plt_relocations()})
    for (const auto& r : relocations) {
      const std::size_t number = ELF64_R_SYM(r.r_info);
      const auto kind = machine::classify(ELF64_R_TYPE(r.r_info));
      if (number == 0) continue;
      const ElfW(Sym)& symbol = image_.symbols()[number];
      const std::string_view name = image_.name(symbol);
      const Variable v = find_variable(name);
      if (kind == machine::Reloc::copy) {
        if (v == variable_count)
          find_copy(r);
        else
          own_variables_[v] = {r.r_offset, false};
      } else if (kind == machine::Reloc::address && may_be_wrapped(name)) {
        if (const int i = plan.wrapper(name); i >= 0)
          wrapped_.push_back({r.r_offset, i,
                              plan.images[i].image->definition(name)->st_value +
                                  static_cast<ElfW(Addr)>(r.r_addend)});
      } else if (kind == machine::Reloc::address && symbol.st_shndx == SHN_UNDEF) {
        if (v != variable_count)
          references_.push_back(
              {r.r_offset, v, address_in_process(name), static_cast<ElfW(Addr)>(r.r_addend)});
        if (const ElfW(Addr) f = function_of_ranks(name)) functions_.push_back({r.r_offset, f});
      }
    }
}

// libc would find these in the program, which comes first; it finds its own.
void Fixups::find_definitions() {
  for (int i = 0; i < variable_count; i++)
    for (const auto& s : image_.symbols().subspan(1)) {
      const auto v = static_cast<Variable>(i);
      if (s.st_shndx != SHN_UNDEF && ELF64_ST_TYPE(s.st_info) == STT_OBJECT &&
          find_variable(image_.name(s)) == v && may_be_defined_by_program(v))
        own_variables_[v] = {s.st_value, true};
    }
}

namespace {

ElfW(Addr) find_in(void* library, const std::string& name, const std::string& version) {
  void* found = version.empty() ? nullptr : dlvsym(library, name.c_str(), version.c_str());
  if (!found) found = dlsym(library, name.c_str());
  return reinterpret_cast<ElfW(Addr)>(found);
}

/// Address of a variable of a library that all ranks share; 0 if that has none of this name.
ElfW(Addr) find_shared(const std::string& name, const Image::Version& version) {
  const std::string wanted(version.name);
  if (!version.library.empty())
    if (void* library = dlopen(std::string(version.library).c_str(), RTLD_LAZY | RTLD_NOLOAD))
      if (const ElfW(Addr) found = find_in(library, name, wanted)) return found;
  return find_in(RTLD_DEFAULT, name, wanted);
}

}  // namespace

// In the order in which ld.so would search: what the process shares, then the rank's own libraries.
void Fixups::find_copy(const ElfW(Rela) & r) {
  const std::size_t number = ELF64_R_SYM(r.r_info);
  const ElfW(Sym)& symbol = image_.symbols()[number];
  const std::string name(image_.name(symbol));
  if (const ElfW(Addr) address = find_shared(name, image_.version_needed(number))) {
    if (const auto [image, offset] = twins_.place_of(address); image >= 0)
      copies_.push_back({r.r_offset, symbol.st_size, image, offset});
    else
      copies_.push_back({r.r_offset, symbol.st_size, -1, address});
    return;
  }
  for (std::size_t i = 1; i < plan_.images.size(); i++) {
    const ElfW(Sym)* definition = plan_.images[i].image->definition(name);
    if (!definition) continue;
    const std::size_t bytes = std::min(symbol.st_size, definition->st_size);
    copies_.push_back({r.r_offset, bytes, static_cast<int>(i), definition->st_value});
    return;
  }
  error_ = "variable " + name + " of " + image_.path() + " is in no library that it needs";
}

void Fixups::place_variables(Rank& rank, const Loaded& loaded) const {
  for (int i = 0; i < variable_count; i++) {
    if (own_variables_[i].at == 0) continue;
    rank.variables[i] = reinterpret_cast<void*>(loaded.base + own_variables_[i].at);
    if (!own_variables_[i].initialised)
      std::memcpy(rank.variables[i], &rank.own_variables[i], bytes_of(static_cast<Variable>(i)));
  }
}

std::string Fixups::map_text(const Loaded& loaded, const Patch& patch) const {
  if (std::ranges::none_of(image_.segments(), [&](auto& s) { return patch.is_shared(s); }))
    return {};
  const int fd = open(image_.path().c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return image_.path() + ": " + std::strerror(errno) + limit_behind(errno);
  std::string error;
  for (const auto& s : image_.segments()) {
    if (!patch.is_shared(s)) continue;
    const std::size_t offset = round_down(s.p_offset);
    const std::size_t bytes = round_up(s.p_offset + s.p_filesz) - offset;
    void* at = reinterpret_cast<void*>(loaded.base + round_down(s.p_vaddr));
    const int protection = PROT_READ | (s.p_flags & PF_X ? PROT_EXEC : 0);
    if (mmap(at, bytes, protection, MAP_PRIVATE | MAP_FIXED, fd, static_cast<off_t>(offset)) ==
        MAP_FAILED)
      error = "mapping " + image_.path() + " failed: " + std::strerror(errno);
  }
  close(fd);
  return error;
}

void Fixups::find_functions(Loaded& l) const {
  if (image_.tag(DT_INIT))
    l.init = reinterpret_cast<Loaded::Function>(l.base + image_.value(DT_INIT));
  if (image_.tag(DT_FINI))
    l.fini = reinterpret_cast<Loaded::Function>(l.base + image_.value(DT_FINI));
  l.constructors =
      function_table<Loaded::Constructor>(image_, l.base, DT_INIT_ARRAY, DT_INIT_ARRAYSZ);
  l.destructors = function_table<Loaded::Function>(image_, l.base, DT_FINI_ARRAY, DT_FINI_ARRAYSZ);
  if (is_program_)
    l.preinit =
        function_table<Loaded::Constructor>(image_, l.base, DT_PREINIT_ARRAY, DT_PREINIT_ARRAYSZ);
}

std::string Fixups::apply(Rank& rank, Loaded& loaded, const Patch& patch) const {
  if (!error_.empty()) return error_;
  find_functions(loaded);
  if (auto e = map_text(loaded, patch); !e.empty()) return e;

  twins_.redirect(plan_, rank, loaded);
  for (const Copy& c : copies_) {
    ElfW(Addr) from = c.from;
    if (c.image >= 0) from += rank.copy_of(c.image).base;
    std::memcpy(reinterpret_cast<void*>(loaded.base + c.to), reinterpret_cast<void*>(from),
                c.bytes);
  }
  for (const Reference& r : references_) {
    auto* slot = reinterpret_cast<void*>(loaded.base + r.at);
    ElfW(Addr) value;
    std::memcpy(&value, slot, sizeof value);
    if (value != r.libcs + r.addend) continue;  // another library's variable of the same name
    value = reinterpret_cast<ElfW(Addr)>(rank.variables[r.variable]) + r.addend;
    std::memcpy(slot, &value, sizeof value);
  }
  for (const ProgramTls& t : program_tls_) answer(t, plan_.program(), loaded.base);
  for (const Wrapped& w : wrapped_) {
    const ElfW(Addr) value = rank.copy_of(w.image).base + w.value;
    std::memcpy(reinterpret_cast<void*>(loaded.base + w.at), &value, sizeof value);
  }
  for (const Function& f : functions_)
    std::memcpy(reinterpret_cast<void*>(loaded.base + f.at), &f.value, sizeof f.value);
  return {};
}

}  // namespace weft::host
