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
                                     Interpreter{"JNI_CreateJavaVM", "Java"},
                                     Interpreter{"JLI_Launch", "Java"}};

// What libc keeps once per process and cannot be asked to keep per rank: descriptors (which another
// rank would take for its own), threads that belong to no rank, an exit of its own.
struct Function {
  std::string_view name;
  const char* what;
};
constexpr const char* own_threads = "leaves work to threads of the C library, which are no rank's";
constexpr const char* own_file = "keeps a file open in the C library, for all ranks at once";
constexpr const char* own_place = "keeps its place in the C library, for all ranks at once";
constexpr const char* own_exit = "ends the process inside the C library";
constexpr const char* one_table = "changes a table of the C library that all ranks would share";
constexpr const char* profile = "is for profiling one process (-pg)";
constexpr std::array functions = {Function{"aio_read", own_threads},
                                  Function{"aio_read64", own_threads},
                                  Function{"aio_write", own_threads},
                                  Function{"aio_write64", own_threads},
                                  Function{"aio_fsync", own_threads},
                                  Function{"aio_fsync64", own_threads},
                                  Function{"lio_listio", own_threads},
                                  Function{"lio_listio64", own_threads},
                                  Function{"getaddrinfo_a", own_threads},
                                  Function{"mq_notify", own_threads},
                                  Function{"setutent", own_file},
                                  Function{"getutent", own_file},
                                  Function{"getutent_r", own_file},
                                  Function{"getutid", own_file},
                                  Function{"getutid_r", own_file},
                                  Function{"getutline", own_file},
                                  Function{"getutline_r", own_file},
                                  Function{"pututline", own_file},
                                  Function{"setutxent", own_file},
                                  Function{"getutxent", own_file},
                                  Function{"getutxid", own_file},
                                  Function{"getutxline", own_file},
                                  Function{"pututxline", own_file},
                                  Function{"utmpname", own_file},
                                  Function{"utmpxname", own_file},
                                  Function{"getfsent", own_file},
                                  Function{"getfsspec", own_file},
                                  Function{"getfsfile", own_file},
                                  Function{"getttyent", own_file},
                                  Function{"getttynam", own_file},
                                  Function{"getusershell", own_place},
                                  Function{"lckpwdf", own_file},
                                  Function{"getaliasent", own_file},
                                  Function{"getaliasent_r", own_file},
                                  Function{"getaliasbyname", own_file},
                                  Function{"setnetgrent", own_file},
                                  Function{"getnetgrent", own_file},
                                  Function{"getnetgrent_r", own_file},
                                  Function{"rcmd", own_file},
                                  Function{"rcmd_af", own_file},
                                  Function{"rexec", own_file},
                                  Function{"rexec_af", own_file},
                                  Function{"monstartup", profile},
                                  Function{"__monstartup", profile},
                                  Function{"mcount", profile},
                                  Function{"_mcount", profile},
                                  Function{"profil", profile},
                                  Function{"sprofil", profile}};
// Only if the program itself asks for them: a library may do so for good (libquadmath does).
constexpr std::array functions_of_program = {Function{"argp_parse", own_exit},
                                             Function{"register_printf_function", one_table},
                                             Function{"register_printf_specifier", one_table},
                                             Function{"register_printf_modifier", one_table},
                                             Function{"register_printf_type", one_table},
                                             Function{"addseverity", one_table}};

// Inside of libc: a copy of it in the program would be of no use, and wrong.
constexpr std::array insides = {
    "_IO_2_1_stdin_", "_IO_2_1_stdout_",     "_IO_2_1_stderr_", "_IO_list_all",
    "__curbrk",       "_nl_domain_bindings", "_res_hconf",      "_res"};

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

template <class Functions>
std::string asked_for(const Image& p, const Functions& list) {
  for (const Function& f : list)
    if (p.imports(f.name))
      return p.path() + " uses " + std::string(f.name) + ", which " + f.what + use_processes;
  return {};
}

std::string insides_of_libc(const Image& p) {
  for (auto relocations : {p.relocations(), p.plt_relocations()})
    for (const auto& r : relocations) {
      if (machine::classify(ELF64_R_TYPE(r.r_info)) != machine::Reloc::copy) continue;
      const std::string_view name = p.name(p.symbols()[ELF64_R_SYM(r.r_info)]);
      if (std::ranges::find(insides, name) != insides.end())
        return p.path() + " has a copy of " + std::string(name) +
               ", a variable inside the C library" + use_processes;
    }
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
  if (reason.empty()) reason = asked_for(p, functions_of_program);
  if (reason.empty()) reason = insides_of_libc(p);
  if (reason.empty() && is_go(p))
    reason = p.path() + " is a Go program; its runtime must be alone in a process" + use_processes;
  return reason;
}

std::string refuse_image(const Image& image) {
  return asked_for(image, functions);
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
    if (std::string reason = refuse_image(image); !reason.empty()) return reason;
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
