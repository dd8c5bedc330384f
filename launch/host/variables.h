// SPDX-License-Identifier: Apache-2.0
//
// libc's variables that a program may refer to by name. Every rank has its own of each: in the
// program, if that has a copy by a COPY relocation or defines it itself, else in the rank
// (Rank::variable). References to libc's are turned there (fixups.cc), and the interposers that do
// libc's work use the rank's.
#pragma once

#include <link.h>

#include <cstddef>
#include <string_view>

namespace weft::host {

enum Variable {
  var_optind,
  var_opterr,
  var_optopt,
  var_optarg,
  var_stdin,
  var_stdout,
  var_stderr,
  var_environ,
  var_timezone,
  var_daylight,
  var_tzname,
  var_signgam,
  var_getdate_err,
  var_invocation_name,
  var_invocation_short_name,
  var_error_message_count,
  var_error_one_per_line,
  var_error_print_progname,
  var_re_syntax_options,
  var_stack_end,
  var_single_threaded,
  var_obstack_failed,
  var_obstack_status,
  variable_count
};

inline constexpr std::size_t largest_variable = 2 * sizeof(void*);

/// The variable that libc calls `name`, or variable_count.
Variable find_variable(std::string_view name);
std::size_t bytes_of(Variable v);
/// Where libc or libm itself has the variable `name`; 0 if the process does not have that library.
ElfW(Addr) address_in_process(std::string_view name);
ElfW(Addr) address_in_process(Variable v);
/// Whether a program that defines a variable of this name means libc's: libc finds it there.
bool may_be_defined_by_program(Variable v);

}  // namespace weft::host
