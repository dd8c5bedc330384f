// SPDX-License-Identifier: Apache-2.0
//
// See refuse.h. The tables are knowledge about other people's software; the reasons are in
// docs/ranks-as-threads.md.
#include "refuse.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "isolate.h"
#include "machine.h"

namespace weft::host {
namespace {

constexpr const char* use_processes = "; run its ranks as processes";

// libc itself calls these by internal paths, so a rank would mix two allocators.
constexpr std::array replaced = {
    "malloc", "free",   "calloc",   "realloc",     "posix_memalign", "_Znwm",        "_Znam",
    "_ZdlPv", "_ZdaPv", "memalign", "__cxa_throw", "pthread_create", "aligned_alloc"};

struct Interpreter {
  const char* symbol;
  const char* language;
};
constexpr std::array interpreters = {Interpreter{"Py_BytesMain", "Python"},
                                     Interpreter{"Py_Main", "Python"},
                                     Interpreter{"Py_InitializeEx", "Python"},
                                     Interpreter{"Py_Initialize", "Python"},
                                     Interpreter{"Py_InitializeFromConfig", "Python"},
                                     Interpreter{"perl_run", "Perl"},
                                     Interpreter{"ruby_init", "Ruby"},
                                     Interpreter{"luaL_newstate", "Lua"},
                                     Interpreter{"Rf_initialize_R", "R"},
                                     Interpreter{"jl_init", "Julia"},
                                     Interpreter{"Tcl_Main", "Tcl"},
                                     Interpreter{"Tcl_MainEx", "Tcl"},
                                     Interpreter{"rl_readline_version", "shell or other readline"},
                                     Interpreter{"JNI_CreateJavaVM", "Java"}};

std::string linked_wrongly(const Image& p) {
  const bool has_interpreter = p.segment(PT_INTERP) != nullptr;
  if (p.header().e_type == ET_EXEC)
    return p.path() + (has_interpreter
                           ? " is linked with -no-pie, so only one copy fits in a process; link it "
                             "with -pie or run its ranks as processes"
                           : " is statically linked; link it without -static or run its ranks as "
                             "processes");
  if (p.header().e_type != ET_DYN) return p.path() + " is not a program";
  if (!has_interpreter)
    return p.path() + (p.value(DT_FLAGS_1) & DF_1_PIE
                           ? " is linked with -static-pie; link it with -pie or run its ranks as "
                             "processes"
                           : " is a library, not a program");
  std::string_view ld = p.interpreter();
  ld.remove_prefix(ld.rfind('/') + 1);
  if (ld != machine::dynamic_linker)
    return p.path() + " is made for another C library (" + std::string(p.interpreter()) + ")" +
           use_processes;
  if (p.dynamic().empty()) return p.path() + " has no dynamic section" + use_processes;
  return {};
}

std::string thread_local_data(const Image& p) {
  const ElfW(Phdr)* tls = p.segment(PT_TLS);
  if (!tls) return {};
  if (machine::tls_distance(tls->p_memsz, tls->p_align) > tls_reserve_bytes ||
      tls->p_align > tls_reserve_align)
    return "thread-local data of " + p.path() + " is " + std::to_string(tls->p_memsz) +
           " bytes (alignment " + std::to_string(tls->p_align) + "), at most " +
           std::to_string(tls_reserve_bytes) + " (" + std::to_string(tls_reserve_align) +
           ") can be given to a rank that is a thread; make it smaller or run its ranks as "
           "processes";
  return {};
}

std::string replaced_functions(const Image& p) {
  for (const auto& s : p.symbols().subspan(1)) {
    if (s.st_shndx == SHN_UNDEF || ELF64_ST_TYPE(s.st_info) != STT_FUNC) continue;
    auto it = std::ranges::find(replaced, p.name(s));
    if (it != replaced.end())
      return p.path() + " replaces the library function " +
             (std::strncmp(*it, "_Z", 2) == 0 ? "operator new or delete" : *it) + use_processes;
  }
  return {};
}

// clang's way, unless told otherwise. The runtime replaces much of libc for the whole process.
std::string sanitizer_inside(const Image& p) {
  for (const char* name : {"__asan_init", "__tsan_init", "__msan_init"})
    if (p.definition(name))
      return p.path() +
             " contains a sanitizer's runtime; link it with -shared-libsan or run its "
             "ranks as processes";
  return {};
}

bool is_go(const Image& p) {
  for (const auto& s : p.segments()) {
    if (s.p_type != PT_NOTE || s.p_offset > p.bytes().size()) continue;
    auto rest = p.bytes().subspan(s.p_offset);
    if (rest.size() >= 16 && std::memcmp(rest.data() + 12, "Go\0", 4) == 0) return true;
  }
  return false;
}

}  // namespace

std::string refuse_program(const Image& p) {
  std::string reason = linked_wrongly(p);
  if (reason.empty()) reason = sanitizer_inside(p);
  if (reason.empty()) reason = thread_local_data(p);
  if (reason.empty()) reason = replaced_functions(p);
  if (reason.empty() && is_go(p))
    reason = p.path() + " is a Go program; its runtime must be alone in a process" + use_processes;
  return reason;
}

std::string refuse_closure(const Plan& plan) {
  for (const Private& p : plan.images) {
    const Image& image = *p.image;
    for (const std::string& name : image.needed())
      if (name.starts_with("libmpi.so") || name.starts_with("libmpich.so"))
        return image.path() + " is linked with " + name +
               ", another MPI's own interface; build it with weft's mpicc or with that MPI's "
               "standard-ABI compiler (mpicc_abi)";
    for (const Interpreter& i : interpreters)
      if (image.definition(i.symbol) || image.imports(i.symbol))
        return plan.program().path() + " is or contains a " + i.language +
               " interpreter: modules it loads would be shared by all ranks" + use_processes;
  }
  const Image& program = plan.program();
  if (!plan.uses_mpi && (program.imports("dlopen") || program.imports("dlmopen")))
    return program.path() +
           " does not use MPI itself but loads plugins that may: they would be shared by all "
           "ranks" +
           use_processes;
  return why_not_isolated();
}

}  // namespace weft::host
