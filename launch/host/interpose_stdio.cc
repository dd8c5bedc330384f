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

int __vwprintf_chk(int, const wchar_t* format, va_list list) {
  return vfwprintf(out(), format, list);
}

wint_t putwchar(wchar_t c) {
  return fputwc(c, out());
}
wint_t putwchar_unlocked(wchar_t c) {
  return fputwc_unlocked(c, out());
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
wint_t getwchar_unlocked() {
  return fgetwc_unlocked(in());
}

// Dangerous with any implementation; old programs have it.
char* gets_of_rank(char* out) __asm__("gets");
char* gets_of_rank(char* out) {
  char* p = out;
  FILE* f = in();
  int c;
  while ((c = fgetc(f)) != '\n' && c != EOF) *p++ = static_cast<char>(c);
  if (c == EOF && (p == out || ferror(f))) return nullptr;
  *p = '\0';
  return out;
}

char* __gets_chk(char* out, std::size_t) {
  return gets_of_rank(out);
}

// By language standard the headers rename scanf and its kin; a program may ask for any of them.

int weft_vscanf(const char* format, va_list list) {
  return vfscanf(in(), format, list);
}
int vscanf_plain(const char*, va_list) __asm__("vscanf") __attribute__((alias("weft_vscanf")));
int vscanf_99(const char*, va_list) __asm__("__isoc99_vscanf")
    __attribute__((alias("weft_vscanf")));
int vscanf_23(const char*, va_list) __asm__("__isoc23_vscanf")
    __attribute__((alias("weft_vscanf")));

int weft_scanf(const char* format, ...) {
  va_list list;
  va_start(list, format);
  const int n = vfscanf(in(), format, list);
  va_end(list);
  return n;
}
int scanf_plain(const char*, ...) __asm__("scanf") __attribute__((alias("weft_scanf")));
int scanf_99(const char*, ...) __asm__("__isoc99_scanf") __attribute__((alias("weft_scanf")));
int scanf_23(const char*, ...) __asm__("__isoc23_scanf") __attribute__((alias("weft_scanf")));

int weft_vwscanf(const wchar_t* format, va_list list) {
  return vfwscanf(in(), format, list);
}
int vwscanf_plain(const wchar_t*, va_list) __asm__("vwscanf")
    __attribute__((alias("weft_vwscanf")));
int vwscanf_99(const wchar_t*, va_list) __asm__("__isoc99_vwscanf")
    __attribute__((alias("weft_vwscanf")));
int vwscanf_23(const wchar_t*, va_list) __asm__("__isoc23_vwscanf")
    __attribute__((alias("weft_vwscanf")));

int weft_wscanf(const wchar_t* format, ...) {
  va_list list;
  va_start(list, format);
  const int n = vfwscanf(in(), format, list);
  va_end(list);
  return n;
}
int wscanf_plain(const wchar_t*, ...) __asm__("wscanf") __attribute__((alias("weft_wscanf")));
int wscanf_99(const wchar_t*, ...) __asm__("__isoc99_wscanf") __attribute__((alias("weft_wscanf")));
int wscanf_23(const wchar_t*, ...) __asm__("__isoc23_wscanf") __attribute__((alias("weft_wscanf")));

#pragma GCC visibility pop
}
