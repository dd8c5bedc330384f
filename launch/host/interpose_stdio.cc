// SPDX-License-Identifier: Apache-2.0
//
// Standard streams per rank. `stdout` and its kin are turned to the rank's streams by fixups.cc;
// here are the functions that use them without naming them, and those that use descriptors 0, 1 and
// 2, which stand for the rank's (Rank::descriptors).
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <termios.h>
#include <unistd.h>
#include <wchar.h>

#include <algorithm>

#include "host.h"
#include "next.h"

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

/// The descriptor that `fd` stands for on this thread.
int real_descriptor(int fd) {
  Rank* rank = current();
  return rank && fd >= 0 && fd <= 2 ? rank->descriptors[fd] : fd;
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
  fprintf(err(), "%s: %s:%u: %s%sAssertion `%s' failed.\n", program_invocation_short_name, file,
          line, function ? function : "", function ? ": " : "", assertion);
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

// --- streams and descriptors themselves ---

// libc's standard streams survive fclose, and programs rely on it; the rank's are made to.
int fclose(FILE* f) {
  static constinit Next<int(FILE*)> real{"fclose"};
  Rank* rank = current();
  const bool standard = rank && std::ranges::find(rank->streams, f) != std::end(rank->streams);
  return standard ? fflush(f) : real(f);
}

FILE* fdopen(int fd, const char* mode) {
  static constinit Next<FILE*(int, const char*)> real{"fdopen"};
  return real(real_descriptor(fd), mode);
}

ssize_t write(int fd, const void* data, std::size_t bytes) {
  static constinit Next<ssize_t(int, const void*, std::size_t)> real{"write"};
  return real(real_descriptor(fd), data, bytes);
}

ssize_t writev(int fd, const struct iovec* parts, int count) {
  static constinit Next<ssize_t(int, const struct iovec*, int)> real{"writev"};
  return real(real_descriptor(fd), parts, count);
}

ssize_t read(int fd, void* data, std::size_t bytes) {
  static constinit Next<ssize_t(int, void*, std::size_t)> real{"read"};
  return real(real_descriptor(fd), data, bytes);
}

int vdprintf(int fd, const char* format, va_list list) {
  static constinit Next<int(int, const char*, va_list)> real{"vdprintf"};
  return real(real_descriptor(fd), format, list);
}

int dprintf(int fd, const char* format, ...) {
  va_list list;
  va_start(list, format);
  const int n = vdprintf(fd, format, list);
  va_end(list);
  return n;
}

int isatty(int fd) {
  static constinit Next<int(int)> real{"isatty"};
  return real(real_descriptor(fd));
}

// What else tells a terminal from a pipe, and how large it is.
int ioctl(int fd, unsigned long request, ...) {
  static constinit Next<int(int, unsigned long, void*)> real{"ioctl"};
  va_list list;
  va_start(list, request);
  void* argument = va_arg(list, void*);
  va_end(list);
  return real(real_descriptor(fd), request, argument);
}

int tcgetattr(int fd, struct termios* settings) {
  static constinit Next<int(int, struct termios*)> real{"tcgetattr"};
  return real(real_descriptor(fd), settings);
}

int tcsetattr(int fd, int when, const struct termios* settings) {
  static constinit Next<int(int, int, const struct termios*)> real{"tcsetattr"};
  return real(real_descriptor(fd), when, settings);
}

int ttyname_r(int fd, char* name, std::size_t size) {
  static constinit Next<int(int, char*, std::size_t)> real{"ttyname_r"};
  return real(real_descriptor(fd), name, size);
}

int fstat(int fd, struct stat* status) {
  static constinit Next<int(int, struct stat*)> real{"fstat"};
  return real(real_descriptor(fd), status);
}

int fstat64(int fd, struct stat64* status) {
  static constinit Next<int(int, struct stat64*)> real{"fstat64"};
  return real(real_descriptor(fd), status);
}

int dup(int fd) {
  static constinit Next<int(int)> real{"dup"};
  return real(real_descriptor(fd));
}

// Children between vfork and exec share this memory but have descriptors of their own.
int dup2(int from, int to) {
  static constinit Next<int(int, int)> real{"dup2"};
  if (!in_host_process()) return real(from, to);
  const int target = real_descriptor(to);
  const int result = real(real_descriptor(from), target);
  return result == target ? to : result;
}

// A rank that closes a standard descriptor must not close the process's.
int close(int fd) {
  static constinit Next<int(int)> real{"close"};
  return fd >= 0 && fd <= 2 && current() && in_host_process() ? 0 : real(fd);
}

#pragma GCC visibility pop
}
