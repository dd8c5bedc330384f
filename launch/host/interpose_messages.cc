// SPDX-License-Identifier: Apache-2.0
//
// Messages that may end the program, which libc does by an exit of its own, and the system log,
// for which libc keeps a descriptor and a name.
#include <err.h>
#include <errno.h>
#include <error.h>
#include <obstack.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <syslog.h>

#include <string>

#include "host.h"
#include "next.h"

using namespace weft::host;

namespace {

FILE* errors(Rank* rank) {
  return rank ? rank->stream(var_stderr) : stderr;
}

const char* short_name(Rank* rank) {
  return rank ? rank->variable<char*>(var_invocation_short_name) : program_invocation_short_name;
}

void warn_about(const char* format, va_list list, const int* error) {
  Rank* rank = current();
  FILE* f = errors(rank);
  flockfile(f);
  fprintf(f, "%s: ", short_name(rank));
  if (format) vfprintf(f, format, list);
  if (error) fprintf(f, "%s%s", format ? ": " : "", strerror(*error));
  fputc('\n', f);
  funlockfile(f);
}

struct Line {
  std::string file;
  unsigned number = 0;
};

/// error and error_at_line; `file` is nullptr for the former.
void say(int status, int error, const Line* at, const char* format, va_list list) {
  Rank* rank = current();
  fflush(rank ? rank->stream(var_stdout) : stdout);
  FILE* f = errors(rank);
  flockfile(f);
  auto print_name = rank ? rank->variable<void (*)()>(var_error_print_progname) : nullptr;
  if (print_name)
    print_name();
  else
    fprintf(f, "%s:%s", rank ? rank->variable<char*>(var_invocation_name) : program_invocation_name,
            at ? "" : " ");
  if (at) fprintf(f, at->file.empty() ? " " : "%s:%u: ", at->file.c_str(), at->number);
  vfprintf(f, format, list);
  if (rank) rank->variable<unsigned>(var_error_message_count)++;
  if (error) fprintf(f, ": %s", strerror(error));
  fputc('\n', f);
  fflush(f);
  funlockfile(f);
  if (status) exit(status);
}

using Handler = void();
Handler* libcs_handler = nullptr;

// libc's own prints a line and exits, the process.
void obstack_failed() {
  Rank* rank = current();
  Handler* handler = rank ? rank->variable<Handler*>(var_obstack_failed) : libcs_handler;
  if (!rank || handler != libcs_handler) return handler();
  fprintf(errors(rank), "memory exhausted\n");
  exit(rank->variable<int>(var_obstack_status));
}

/// What the rank told the system log about itself.
struct Log {
  const char* name = nullptr;
  int options = 0, facility = LOG_USER, mask = 0xff;
};

}  // namespace

void weft::host::handle_full_obstacks() {
  libcs_handler = std::exchange(obstack_alloc_failed_handler, obstack_failed);
}

extern "C" {
#pragma GCC visibility push(default)

void vwarn(const char* format, va_list list) {
  const int error = errno;
  warn_about(format, list, &error);
}

void vwarnx(const char* format, va_list list) {
  warn_about(format, list, nullptr);
}

void warn(const char* format, ...) {
  va_list list;
  va_start(list, format);
  vwarn(format, list);
  va_end(list);
}

void warnx(const char* format, ...) {
  va_list list;
  va_start(list, format);
  vwarnx(format, list);
  va_end(list);
}

void verr(int status, const char* format, va_list list) {
  vwarn(format, list);
  exit(status);
}

void verrx(int status, const char* format, va_list list) {
  vwarnx(format, list);
  exit(status);
}

void err(int status, const char* format, ...) {
  va_list list;
  va_start(list, format);
  verr(status, format, list);
}

void errx(int status, const char* format, ...) {
  va_list list;
  va_start(list, format);
  verrx(status, format, list);
}

void error(int status, int number, const char* format, ...) {
  va_list list;
  va_start(list, format);
  say(status, number, nullptr, format, list);
  va_end(list);
}

void error_at_line(int status, int number, const char* file, unsigned line, const char* format,
                   ...) {
  const Line at{file ? file : "", line};
  if (Rank* rank = current(); rank && rank->variable<int>(var_error_one_per_line)) {
    Line& last = rank->only<Line>();
    if (last.number == line && last.file == at.file) return;
    last = at;
  }
  va_list list;
  va_start(list, format);
  say(status, number, &at, format, list);
  va_end(list);
}

// --- the system log ---

void openlog(const char* name, int options, int facility) {
  static constinit Next<void(const char*, int, int)> real{"openlog"};
  Rank* rank = current();
  if (!rank) return real(name, options, facility);
  Log& log = rank->only<Log>();
  log.name = name;
  log.options = options;
  if (facility != 0) log.facility = facility;
}

void closelog() {
  static constinit Next<void()> real{"closelog"};
  Rank* rank = current();
  if (!rank) return real();
  rank->only<Log>().name = nullptr;
}

int setlogmask(int mask) noexcept {
  static constinit Next<int(int)> real{"setlogmask"};
  Rank* rank = current();
  if (!rank) return real(mask);
  Log& log = rank->only<Log>();
  const int old = log.mask;
  if (mask != 0) log.mask = mask;
  return old;
}

// libc's connection lasts for one message: its descriptor means something for this rank only.
void vsyslog(int priority, const char* format, va_list list) {
  static constinit Next<void(int, const char*, va_list)> real{"vsyslog"};
  static constinit Next<void(const char*, int, int)> real_open{"openlog"};
  static constinit Next<void()> real_close{"closelog"};
  static constinit Next<int(int)> real_mask{"setlogmask"};
  Rank* rank = current();
  if (!rank) return real(priority, format, list);
  const Log& log = rank->only<Log>();
  std::scoped_lock guard(the_host->libc_lock);
  tzset();  // it says when
  real_open(log.name ? log.name : short_name(rank), log.options & ~LOG_NDELAY, log.facility);
  const int old = real_mask(log.mask);
  real(priority, format, list);
  real_mask(old);
  real_close();
}

void __vsyslog_chk(int priority, int, const char* format, va_list list) {
  vsyslog(priority, format, list);
}

void syslog(int priority, const char* format, ...) {
  va_list list;
  va_start(list, format);
  vsyslog(priority, format, list);
  va_end(list);
}

void __syslog_chk(int priority, int, const char* format, ...) {
  va_list list;
  va_start(list, format);
  vsyslog(priority, format, list);
  va_end(list);
}

#pragma GCC visibility pop
}
