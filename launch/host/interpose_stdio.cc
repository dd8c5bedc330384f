// SPDX-License-Identifier: Apache-2.0
//
// Standard streams per rank. `stdout` and its kin are turned to the rank's streams by fixups.cc;
// here are the functions that use them without naming them.
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <wchar.h>

#include "host.h"

using namespace weft::host;

namespace {

FILE* out() {
  Rank* rank = current();
  return rank ? rank->stream(var_stdout) : stdout;
}

FILE* err() {
  Rank* rank = current();
  return rank ? rank->stream(var_stderr) : stderr;
}

FILE* in() {
  Rank* rank = current();
  return rank ? rank->stream(var_stdin) : stdin;
}

}  // namespace

extern "C" {
#pragma GCC visibility push(default)

// --- output to stdout ---

int vprintf(const char* format, va_list list) {
  return vfprintf(out(), format, list);
}
int __vprintf_chk(int, const char* format, va_list list) {
  return vfprintf(out(), format, list);
}

int printf(const char* format, ...) {
  va_list list;
  va_start(list, format);
  const int n = vfprintf(out(), format, list);
  va_end(list);
  return n;
}

int __printf_chk(int, const char* format, ...) {
  va_list list;
  va_start(list, format);
  const int n = vfprintf(out(), format, list);
  va_end(list);
  return n;
}

int puts(const char* text) {
  FILE* f = out();
  flockfile(f);
  const int n = fputs_unlocked(text, f) >= 0 && fputc_unlocked('\n', f) != EOF ? 1 : EOF;
  funlockfile(f);
  return n;
}

int putchar(int c) {
  return fputc(c, out());
}
int putchar_unlocked(int c) {
  return fputc_unlocked(c, out());
}

int vwprintf(const wchar_t* format, va_list list) {
  return vfwprintf(out(), format, list);
}

int wprintf(const wchar_t* format, ...) {
  va_list list;
  va_start(list, format);
  const int n = vfwprintf(out(), format, list);
  va_end(list);
  return n;
}

int __wprintf_chk(int, const wchar_t* format, ...) {
  va_list list;
  va_start(list, format);
  const int n = vfwprintf(out(), format, list);
  va_end(list);
  return n;
}

wint_t putwchar(wchar_t c) {
  return fputwc(c, out());
}

// --- output to stderr ---

void perror(const char* text) {
  const int e = errno;
  if (text && *text)
    fprintf(err(), "%s: %s\n", text, strerror(e));
  else
    fprintf(err(), "%s\n", strerror(e));
}

[[noreturn]] void __assert_fail(const char* assertion, const char* file, unsigned line,
                                const char* function) noexcept {
  Rank* rank = current();
  const char* name =
      rank ? rank->variable<char*>(var_invocation_short_name) : program_invocation_short_name;
  fprintf(err(), "%s: %s:%u: %s%sAssertion `%s' failed.\n", name, file, line,
          function ? function : "", function ? ": " : "", assertion);
  fflush(err());
  abort();
}

// --- input from stdin ---

int getchar() {
  return fgetc(in());
}
int getchar_unlocked() {
  return fgetc_unlocked(in());
}
wint_t getwchar() {
  return fgetwc(in());
}

// The header renames scanf to __isoc99_scanf; programs in GNU dialects or older ones ask for
// others.
int vscanf(const char* format, va_list list) {
  return vfscanf(in(), format, list);
}
int plain_vscanf(const char* format, va_list list) __asm__("vscanf");
int plain_vscanf(const char* format, va_list list) {
  return vfscanf(in(), format, list);
}

int scanf(const char* format, ...) {
  va_list list;
  va_start(list, format);
  const int n = vfscanf(in(), format, list);
  va_end(list);
  return n;
}

int plain_scanf(const char* format, ...) __asm__("scanf");
int plain_scanf(const char* format, ...) {
  va_list list;
  va_start(list, format);
  const int n = vfscanf(in(), format, list);
  va_end(list);
  return n;
}

int __isoc23_scanf(const char* format, ...) {
  va_list list;
  va_start(list, format);
  const int n = vfscanf(in(), format, list);
  va_end(list);
  return n;
}

#pragma GCC visibility pop
}
