// SPDX-License-Identifier: Apache-2.0
//
// See paths.h: the functions that take a path and that programs use to look at /proc. Of stdio's,
// those are in interpose_streams.cc, and exec's in interpose_process.cc.
#include "paths.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>

#include "host.h"
#include "next.h"

namespace weft::host {

namespace {

constexpr std::string_view proc = "/proc/";

/// What the links /dev/stdin and so on lead to below /proc/self, or nullptr.
const char* below_self(const char* path, const char*& rest) {
  struct Link {
    std::string_view name;
    const char* target;
  };
  constexpr Link links[] = {{"/dev/stdin", "/fd/0"},
                            {"/dev/stdout", "/fd/1"},
                            {"/dev/stderr", "/fd/2"},
                            {"/dev/fd", "/fd"}};
  for (const Link& l : links) {
    if (strncmp(path, l.name.data(), l.name.size()) != 0) continue;
    rest = path + l.name.size();
    if (*rest == '\0' || *rest == '/') return l.target;
  }
  return nullptr;
}

}  // namespace

Path::Path(const char* path) : path_(path) {
  const Rank* rank = current();
  if (!rank || !path) return;
  const char* rest = nullptr;
  if (const char* target = below_self(path, rest); target && in_host_process()) {
    set("/proc/%d%s%s", rank->thread_id, target, rest);
    return;
  }
  if (strncmp(path, proc.data(), proc.size()) != 0) return;
  const char* who = path + proc.size();
  rest = who + strcspn(who, "/");
  const std::string_view name(who, static_cast<std::size_t>(rest - who));
  int number = 0;
  std::from_chars(name.data(), name.data() + name.size(), number);
  if (name != "self" && name != "thread-self" && number != rank->thread_id) return;
  if (strcmp(rest, "/exe") == 0) {
    path_ = the_host->plan.program().path().c_str();
    is_program_ = true;
  } else if (name == "self" && in_host_process()) {
    set("/proc/%d%s%s", rank->thread_id, "", rest);
  }
}

void Path::set(const char* format, int id, const char* first, const char* second) {
  const int n = snprintf(buffer_, sizeof buffer_, format, id, first, second);
  if (n > 0 && static_cast<std::size_t>(n) < sizeof buffer_) path_ = buffer_;
}

std::string path_of_descriptor(const Rank& rank, int fd) {
  return std::string(proc) + std::to_string(rank.thread_id) + "/fd/" + std::to_string(fd);
}

}  // namespace weft::host

using namespace weft::host;

namespace {

ssize_t copy_path(const Path& path, char* buffer, std::size_t size) {
  const std::size_t n = std::min(size, strlen(path));
  memcpy(buffer, path, n);
  return static_cast<ssize_t>(n);
}

mode_t mode_argument(int flags, va_list list) {
  return flags & (O_CREAT | __O_TMPFILE) ? va_arg(list, mode_t) : 0;
}

}  // namespace

extern "C" {
#pragma GCC visibility push(default)

int open(const char* path, int flags, ...) {
  static constinit Next<int(const char*, int, mode_t)> real{"open"};
  va_list list;
  va_start(list, flags);
  const mode_t mode = mode_argument(flags, list);
  va_end(list);
  return real(Path(path), flags, mode);
}
[[gnu::alias("open")]] int open64(const char*, int, ...);

int openat(int directory, const char* path, int flags, ...) {
  static constinit Next<int(int, const char*, int, mode_t)> real{"openat"};
  va_list list;
  va_start(list, flags);
  const mode_t mode = mode_argument(flags, list);
  va_end(list);
  return real(directory, Path(path), flags, mode);
}
[[gnu::alias("openat")]] int openat64(int, const char*, int, ...);

int __open_2(const char* path, int flags) {
  return open(path, flags);
}
[[gnu::alias("__open_2")]] int __open64_2(const char*, int);

int __openat_2(int directory, const char* path, int flags) {
  return openat(directory, path, flags);
}
[[gnu::alias("__openat_2")]] int __openat64_2(int, const char*, int);

DIR* opendir(const char* path) {
  static constinit Next<DIR*(const char*)> real{"opendir"};
  return real(Path(path));
}

ssize_t readlink(const char* name, char* buffer, std::size_t size) noexcept {
  static constinit Next<ssize_t(const char*, char*, std::size_t)> real{"readlink"};
  if (strncmp(name, proc.data(), proc.size()) != 0) return real(name, buffer, size);
  const Path path(name);
  return path.is_program() ? copy_path(path, buffer, size) : real(path, buffer, size);
}

ssize_t __readlink_chk(const char* path, char* buffer, std::size_t size, std::size_t) noexcept {
  return readlink(path, buffer, size);
}

ssize_t readlinkat(int directory, const char* name, char* buffer, std::size_t size) noexcept {
  static constinit Next<ssize_t(int, const char*, char*, std::size_t)> real{"readlinkat"};
  if (strncmp(name, proc.data(), proc.size()) != 0) return real(directory, name, buffer, size);
  const Path path(name);
  return path.is_program() ? copy_path(path, buffer, size) : real(directory, path, buffer, size);
}

ssize_t __readlinkat_chk(int directory, const char* path, char* buffer, std::size_t size,
                         std::size_t) noexcept {
  return readlinkat(directory, path, buffer, size);
}

char* realpath(const char* path, char* result) noexcept {
  static constinit Next<char*(const char*, char*)> real{"realpath"};
  return real(Path(path), result);
}

char* __realpath_chk(const char* path, char* result, std::size_t) noexcept {
  return realpath(path, result);
}

char* canonicalize_file_name(const char* path) noexcept {
  return realpath(path, nullptr);
}

int access(const char* path, int how) noexcept {
  static constinit Next<int(const char*, int)> real{"access"};
  return real(Path(path), how);
}

int stat(const char* path, struct stat* out) noexcept {
  static constinit Next<int(const char*, struct stat*)> real{"stat"};
  return real(Path(path), out);
}
[[gnu::alias("stat")]] int stat64(const char*, struct stat64*) noexcept;

int fstatat(int directory, const char* path, struct stat* out, int flags) noexcept {
  static constinit Next<int(int, const char*, struct stat*, int)> real{"fstatat"};
  if (flags & AT_SYMLINK_NOFOLLOW) return real(directory, path, out, flags);
  return real(directory, Path(path), out, flags);
}
[[gnu::alias("fstatat")]] int fstatat64(int, const char*, struct stat64*, int) noexcept;

int statx(int directory, const char* path, int flags, unsigned mask, struct statx* out) noexcept {
  static constinit Next<int(int, const char*, int, unsigned, struct statx*)> real{"statx"};
  if (flags & AT_SYMLINK_NOFOLLOW) return real(directory, path, flags, mask, out);
  return real(directory, Path(path), flags, mask, out);
}

// libc opens the file and names it by /proc/self/fd.
int fchmodat(int directory, const char* path, mode_t mode, int flags) noexcept {
  static constinit Next<int(int, const char*, mode_t, int)> real{"fchmodat"};
  const Rank* rank = current();
  if (!rank || flags != AT_SYMLINK_NOFOLLOW) return real(directory, path, mode, flags);
  const int fd = openat(directory, path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0) return -1;
  struct stat is;
  int result = fstat(fd, &is);
  if (result == 0 && S_ISLNK(is.st_mode)) {
    errno = EOPNOTSUPP;
    result = -1;
  }
  if (result == 0) result = chmod(path_of_descriptor(*rank, fd).c_str(), mode);
  const int error = errno;
  close(fd);
  errno = error;
  return result;
}

int lchmod(const char* path, mode_t mode) noexcept {
  return fchmodat(AT_FDCWD, path, mode, AT_SYMLINK_NOFOLLOW);
}

// libc takes a lock of its own process for the caller's.
int lockf(int fd, int command, off_t bytes) {
  static constinit Next<int(int, int, off_t)> real{"lockf"};
  if (command != F_TEST || !current()) return real(fd, command, bytes);
  struct flock lock {};
  lock.l_type = F_RDLCK;
  lock.l_whence = SEEK_CUR;
  lock.l_len = bytes;
  if (fcntl(fd, F_GETLK, &lock) != 0) return -1;
  if (lock.l_type == F_UNLCK) return 0;
  errno = EACCES;
  return -1;
}
[[gnu::alias("lockf")]] int lockf64(int, int, off64_t);

#pragma GCC visibility pop
}
