// SPDX-License-Identifier: Apache-2.0
//
// Which files of stdio belong to which rank. libc keeps one list of all of them and walks it for
// fflush(NULL) and at exit; but a file's descriptor means something only in its rank's table. So
// each rank has a list too, and what walks libc's walks the rank's instead.
#include <errno.h>
#include <mntent.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <unistd.h>
#include <wchar.h>

#include <algorithm>

#include "host.h"
#include "next.h"
#include "paths.h"

namespace weft::host {

// As libc's exit: a thread that is left behind while it holds a file's lock must not stop the end.
void flush_at_exit(Rank& rank) {
  std::scoped_lock guard(rank.lock);
  for (FILE* f : rank.files) {
    const bool locked = ftrylockfile(f) == 0;
    if (locked || !__freading(f)) fflush_unlocked(f);
    if (locked) funlockfile(f);
  }
}

void drop_files(Rank& rank) {
  std::scoped_lock guard(rank.lock);
  for (FILE* f : rank.files)
    if (f->_fileno >= 0) f->_fileno = -1;  // a thread that the rank left behind may hold its lock
  rank.files.clear();
}

}  // namespace weft::host

using namespace weft::host;

namespace {

FILE* remember(FILE* f) {
  Rank* rank = current();
  if (!rank || !f) return f;
  std::scoped_lock guard(rank->lock);
  rank->files.insert(f);
  return f;
}

void forget(FILE* f) {
  Rank* rank = current();
  if (!rank) return;
  std::scoped_lock guard(rank->lock);
  rank->files.erase(f);
}

int flush_files(Rank& rank) {
  std::scoped_lock guard(rank.lock);
  int result = 0;
  for (FILE* f : rank.files)
    if (fflush(f) != 0) result = EOF;
  return result;
}

bool is_standard(FILE* f) {
  const Rank* rank = current();
  return rank && std::ranges::find(rank->streams, f) != std::end(rank->streams);
}

// libc's standard streams survive fclose as objects, and programs rely on it.
int close_standard(FILE* f) {
  const int result = fflush(f);
  if (f->_fileno >= 0 && close(f->_fileno) != 0) return EOF;
  f->_fileno = -1;
  return result;
}

}  // namespace

extern "C" {
#pragma GCC visibility push(default)

FILE* fopen(const char* path, const char* mode) {
  static constinit Next<FILE*(const char*, const char*)> real{"fopen"};
  return remember(real(Path(path), mode));
}

[[gnu::alias("fopen")]] FILE* fopen64(const char*, const char*);

FILE* fdopen(int fd, const char* mode) noexcept {
  static constinit Next<FILE*(int, const char*)> real{"fdopen"};
  return remember(real(fd, mode));
}

FILE* freopen(const char* path, const char* mode, FILE* f) {
  static constinit Next<FILE*(const char*, const char*, FILE*)> real{"freopen"};
  // Without a path libc takes the descriptor's file by way of /proc/self.
  const Rank* rank = current();
  const std::string own = !path && rank ? path_of_descriptor(*rank, fileno(f)) : "";
  FILE* result = real(own.empty() ? Path(path) : own.c_str(), mode, f);
  if (!result && !is_standard(f)) forget(f);
  return result;
}

[[gnu::alias("freopen")]] FILE* freopen64(const char*, const char*, FILE*);

FILE* tmpfile() {
  static constinit Next<FILE*()> real{"tmpfile"};
  return remember(real());
}

[[gnu::alias("tmpfile")]] FILE* tmpfile64();

FILE* fmemopen(void* data, std::size_t bytes, const char* mode) noexcept {
  static constinit Next<FILE*(void*, std::size_t, const char*)> real{"fmemopen"};
  return remember(real(data, bytes, mode));
}

FILE* open_memstream(char** data, std::size_t* bytes) noexcept {
  static constinit Next<FILE*(char**, std::size_t*)> real{"open_memstream"};
  return remember(real(data, bytes));
}

FILE* open_wmemstream(wchar_t** data, std::size_t* letters) noexcept {
  static constinit Next<FILE*(wchar_t**, std::size_t*)> real{"open_wmemstream"};
  return remember(real(data, letters));
}

FILE* fopencookie(void* cookie, const char* mode, cookie_io_functions_t functions) noexcept {
  static constinit Next<FILE*(void*, const char*, cookie_io_functions_t)> real{"fopencookie"};
  return remember(real(cookie, mode, functions));
}

FILE* setmntent(const char* path, const char* mode) noexcept {
  static constinit Next<FILE*(const char*, const char*)> real{"setmntent"};
  return remember(real(path, mode));
}

int endmntent(FILE* f) noexcept {
  if (f) fclose(f);
  return 1;
}

int fclose(FILE* f) {
  static constinit Next<int(FILE*)> real{"fclose"};
  if (is_standard(f)) return close_standard(f);
  forget(f);  // before it is free for another
  return real(f);
}

int fcloseall() noexcept {
  static constinit Next<int()> real{"fcloseall"};
  Rank* rank = current();
  return rank ? flush_files(*rank) : real();  // libc, too, writes them out and leaves them open
}

int fflush(FILE* f) {
  static constinit Next<int(FILE*)> real{"fflush"};
  Rank* rank = current();
  return f || !rank ? real(f) : flush_files(*rank);
}

int fflush_unlocked(FILE* f) {
  static constinit Next<int(FILE*)> real{"fflush_unlocked"};
  return f || !current() ? real(f) : fflush(nullptr);
}

void _flushlbf() {
  static constinit Next<void()> real{"_flushlbf"};
  Rank* rank = current();
  if (!rank) return real();
  std::scoped_lock guard(rank->lock);
  for (FILE* file : rank->files)
    if (__flbf(file)) fflush(file);
}

#pragma GCC visibility pop
}
