// SPDX-License-Identifier: Apache-2.0
//
// See variables.h.
#include "variables.h"

#include <dlfcn.h>

#include <array>
#include <string>

namespace weft::host {
namespace {

struct Row {
  std::string_view name;
  Variable variable;
  std::size_t bytes;
};
constexpr std::size_t pointer = sizeof(void*);
constexpr Row rows[] = {
    {"optind", var_optind, sizeof(int)},
    {"opterr", var_opterr, sizeof(int)},
    {"optopt", var_optopt, sizeof(int)},
    {"optarg", var_optarg, pointer},
    {"stdin", var_stdin, pointer},
    {"stdout", var_stdout, pointer},
    {"stderr", var_stderr, pointer},
    {"environ", var_environ, pointer},
    {"__environ", var_environ, pointer},
    {"_environ", var_environ, pointer},
    {"timezone", var_timezone, sizeof(long)},
    {"__timezone", var_timezone, sizeof(long)},
    {"daylight", var_daylight, sizeof(int)},
    {"__daylight", var_daylight, sizeof(int)},
    {"tzname", var_tzname, 2 * pointer},
    {"__tzname", var_tzname, 2 * pointer},
    {"signgam", var_signgam, sizeof(int)},
    {"__signgam", var_signgam, sizeof(int)},
    {"getdate_err", var_getdate_err, sizeof(int)},
    {"program_invocation_name", var_invocation_name, pointer},
    {"__progname_full", var_invocation_name, pointer},
    {"program_invocation_short_name", var_invocation_short_name, pointer},
    {"__progname", var_invocation_short_name, pointer},
    {"error_message_count", var_error_message_count, sizeof(unsigned)},
    {"error_one_per_line", var_error_one_per_line, sizeof(int)},
    {"error_print_progname", var_error_print_progname, pointer},
    {"re_syntax_options", var_re_syntax_options, sizeof(unsigned long)},
    {"__libc_stack_end", var_stack_end, pointer},
    {"__libc_single_threaded", var_single_threaded, sizeof(char)},
    {"obstack_alloc_failed_handler", var_obstack_failed, pointer},
    {"obstack_exit_failure", var_obstack_status, sizeof(int)},
};

}  // namespace

Variable find_variable(std::string_view name) {
  for (const Row& r : rows)
    if (r.name == name) return r.variable;
  return variable_count;
}

std::size_t bytes_of(Variable v) {
  for (const Row& r : rows)
    if (r.variable == v) return r.bytes;
  return 0;
}

ElfW(Addr) address_in_process(std::string_view name) {
  const std::string text(name);
  void* address = dlsym(RTLD_DEFAULT, text.c_str());
  if (!address)
    if (void* math = dlopen("libm.so.6", RTLD_LAZY | RTLD_NOLOAD))
      address = dlsym(math, text.c_str());
  return reinterpret_cast<ElfW(Addr)>(address);
}

ElfW(Addr) address_in_process(Variable v) {
  for (const Row& r : rows)
    if (r.variable == v) return address_in_process(r.name);
  return 0;
}

bool may_be_defined_by_program(Variable v) {
  return v != var_environ;  // libc's own name for it is __environ
}

}  // namespace weft::host
