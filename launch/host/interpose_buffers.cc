// SPDX-License-Identifier: Apache-2.0
//
// Functions that return a buffer of libc's, or that go on where their last call ended. Each rank
// has its own buffer and its own place.
#include <arpa/inet.h>
#include <errno.h>
#include <glob.h>
#include <limits.h>
#include <mntent.h>
#include <pwd.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <wordexp.h>

#include <algorithm>
#include <string>
#include <vector>

#include "host.h"
#include "libc_environment.h"
#include "next.h"
#include "paths.h"

using namespace weft::host;

namespace {

/// A buffer of the rank, which `Tag` tells from others.
template <class Tag>
char* buffer_of(Rank& rank, std::size_t bytes) {
  struct Buffer {
    std::vector<char> bytes;
  };
  std::scoped_lock guard(rank.lock);
  auto& b = rank.only<Buffer>().bytes;
  if (b.size() < bytes) b.resize(bytes);
  return b.data();
}

/// A number as digits: libc's functions with _r want to know how many there may be.
template <class Tag, class Number, class Convert>
char* digits(Rank& rank, Number value, int count, int most, Convert convert) {
  const std::size_t bytes =
      static_cast<std::size_t>(most) + static_cast<std::size_t>(std::max(count, 0)) + 16;
  char* buffer = buffer_of<Tag>(rank, bytes);
  return convert(value, count, buffer, bytes) == 0 ? buffer : nullptr;
}

constexpr int most_of_double = 320, most_of_long_double = 4950;

struct Table {
  struct hsearch_data data {};
  bool made = false;
};

}  // namespace

extern "C" {
#pragma GCC visibility push(default)

// --- numbers as text ---

char* ecvt(double value, int count, int* point, int* sign) noexcept {
  static constinit Next<char*(double, int, int*, int*)> real{"ecvt"};
  Rank* rank = current();
  if (!rank) return real(value, count, point, sign);
  struct Tag {};
  return digits<Tag>(*rank, value, count, most_of_double, [=](auto v, int n, char* b, auto size) {
    return ecvt_r(v, n, point, sign, b, size);
  });
}

char* fcvt(double value, int count, int* point, int* sign) noexcept {
  static constinit Next<char*(double, int, int*, int*)> real{"fcvt"};
  Rank* rank = current();
  if (!rank) return real(value, count, point, sign);
  struct Tag {};
  return digits<Tag>(*rank, value, count, most_of_double, [=](auto v, int n, char* b, auto size) {
    return fcvt_r(v, n, point, sign, b, size);
  });
}

char* qecvt(long double value, int count, int* point, int* sign) noexcept {
  static constinit Next<char*(long double, int, int*, int*)> real{"qecvt"};
  Rank* rank = current();
  if (!rank) return real(value, count, point, sign);
  struct Tag {};
  return digits<Tag>(
      *rank, value, count, most_of_long_double,
      [=](auto v, int n, char* b, auto size) { return qecvt_r(v, n, point, sign, b, size); });
}

char* qfcvt(long double value, int count, int* point, int* sign) noexcept {
  static constinit Next<char*(long double, int, int*, int*)> real{"qfcvt"};
  Rank* rank = current();
  if (!rank) return real(value, count, point, sign);
  struct Tag {};
  return digits<Tag>(
      *rank, value, count, most_of_long_double,
      [=](auto v, int n, char* b, auto size) { return qfcvt_r(v, n, point, sign, b, size); });
}

char* l64a(long number) noexcept {
  static constinit Next<char*(long)> real{"l64a"};
  Rank* rank = current();
  if (!rank) return real(number);
  constexpr char letters[] = "./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
  struct Tag {};
  char* const text = buffer_of<Tag>(*rank, 8);
  char* p = text;
  for (auto rest = static_cast<std::uint32_t>(number); rest != 0; rest >>= 6)
    *p++ = letters[rest & 63];
  *p = '\0';
  return text;
}

char* inet_nsap_ntoa(int bytes, const unsigned char* address, char* out) noexcept {
  static constinit Next<char*(int, const unsigned char*, char*)> real{"inet_nsap_ntoa"};
  Rank* rank = current();
  struct Tag {};
  return real(bytes, address, out || !rank ? out : buffer_of<Tag>(*rank, 255 * 3));
}

// --- names ---

char* getlogin() {
  static constinit Next<char*()> real{"getlogin"};
  Rank* rank = current();
  if (!rank) return real();
  struct Tag {};
  char* name = buffer_of<Tag>(*rank, LOGIN_NAME_MAX);
  const int e = getlogin_r(name, LOGIN_NAME_MAX);
  if (e != 0) errno = e;
  return e == 0 ? name : nullptr;
}

char* cuserid(char* out) {
  static constinit Next<char*(char*)> real{"cuserid"};
  Rank* rank = current();
  struct Tag {};
  return real(out || !rank ? out : buffer_of<Tag>(*rank, L_cuserid));
}

// libc would look for the descriptor below /proc/self.
int ttyname_r(int fd, char* out, std::size_t size) noexcept {
  static constinit Next<int(int, char*, std::size_t)> real{"ttyname_r"};
  const Rank* rank = current();
  if (!rank || !in_host_process()) return real(fd, out, size);
  if (!isatty(fd)) return errno;
  char path[PATH_MAX];
  const ssize_t n = readlink(path_of_descriptor(*rank, fd).c_str(), path, sizeof path - 1);
  if (n < 0) return errno;
  path[n] = '\0';
  struct stat named, open;
  if (stat(path, &named) != 0 || fstat(fd, &open) != 0 || named.st_rdev != open.st_rdev)
    return ENODEV;
  if (static_cast<std::size_t>(n) >= size) return ERANGE;
  memcpy(out, path, static_cast<std::size_t>(n) + 1);
  return 0;
}

char* ttyname(int fd) noexcept {
  static constinit Next<char*(int)> real{"ttyname"};
  Rank* rank = current();
  if (!rank) return real(fd);
  struct Tag {};
  char* name = buffer_of<Tag>(*rank, PATH_MAX);
  const int e = ttyname_r(fd, name, PATH_MAX);
  if (e != 0) errno = e;
  return e == 0 ? name : nullptr;
}

char* ptsname(int fd) noexcept {
  static constinit Next<char*(int)> real{"ptsname"};
  Rank* rank = current();
  if (!rank) return real(fd);
  struct Tag {};
  char* name = buffer_of<Tag>(*rank, PATH_MAX);
  return ptsname_r(fd, name, PATH_MAX) == 0 ? name : nullptr;
}

char* tmpnam(char* out) noexcept {
  static constinit Next<char*(char*)> real{"tmpnam"};
  Rank* rank = current();
  struct Tag {};
  return real(out || !rank ? out : buffer_of<Tag>(*rank, L_tmpnam));
}

char* tempnam(const char* directory, const char* prefix) noexcept {
  static constinit Next<char*(const char*, const char*)> real{"tempnam"};
  Rank* rank = current();
  if (!rank) return real(directory, prefix);
  const LibcEnvironment as_rank(*rank);  // TMPDIR
  return real(directory, prefix);
}

char* getpass(const char* prompt) {
  static constinit Next<char*(const char*)> real{"getpass"};
  Rank* rank = current();
  if (!rank) return real(prompt);
  struct Tag {};
  constexpr std::size_t most = 8192;
  char* own = buffer_of<Tag>(*rank, most);
  std::scoped_lock guard(the_host->libc_lock);
  char* typed = real(prompt);
  if (!typed) return nullptr;
  const std::size_t bytes = std::min(strlen(typed), most - 1);
  memcpy(own, typed, bytes);
  own[bytes] = '\0';
  explicit_bzero(typed, bytes);
  return own;
}

struct mntent* getmntent(FILE* file) noexcept {
  static constinit Next<struct mntent*(FILE*)> real{"getmntent"};
  Rank* rank = current();
  if (!rank) return real(file);
  struct Tag {};
  constexpr int bytes = 16 * 1024;
  char* buffer = buffer_of<Tag>(*rank, bytes);
  return getmntent_r(file, &rank->only<struct mntent>(), buffer, bytes);
}

// --- words, patterns, a table ---

char* strtok(char* text, const char* delimiters) noexcept {
  static constinit Next<char*(char*, const char*)> real{"strtok"};
  Rank* rank = current();
  return rank ? strtok_r(text, delimiters, &rank->token) : real(text, delimiters);
}

int wordexp(const char* words, wordexp_t* out, int flags) {
  static constinit Next<int(const char*, wordexp_t*, int)> real{"wordexp"};
  Rank* rank = current();
  if (!rank) return real(words, out, flags);
  const LibcEnvironment as_rank(*rank);
  return real(words, out, flags);
}

int glob(const char* pattern, int flags, int (*error)(const char*, int), glob_t* out) noexcept {
  static constinit Next<int(const char*, int, int (*)(const char*, int), glob_t*)> real{"glob"};
  Rank* rank = current();
  if (!rank || !(flags & (GLOB_TILDE | GLOB_TILDE_CHECK))) return real(pattern, flags, error, out);
  const LibcEnvironment as_rank(*rank);  // HOME
  return real(pattern, flags, error, out);
}

int glob64(const char* pattern, int flags, int (*error)(const char*, int), glob64_t* out) noexcept {
  return glob(pattern, flags, error, reinterpret_cast<glob_t*>(out));
}

int hcreate(std::size_t size) noexcept {
  static constinit Next<int(std::size_t)> real{"hcreate"};
  Rank* rank = current();
  if (!rank) return real(size);
  Table& table = rank->only<Table>();
  if (table.made) return 0;
  table.made = hcreate_r(size, &table.data) != 0;
  return table.made;
}

ENTRY* hsearch(ENTRY item, ACTION action) noexcept {
  static constinit Next<ENTRY*(ENTRY, ACTION)> real{"hsearch"};
  Rank* rank = current();
  if (!rank) return real(item, action);
  ENTRY* found = nullptr;
  hsearch_r(item, action, &found, &rank->only<Table>().data);
  return found;
}

void hdestroy() noexcept {
  static constinit Next<void()> real{"hdestroy"};
  Rank* rank = current();
  if (!rank) return real();
  Table& table = rank->only<Table>();
  if (table.made) hdestroy_r(&table.data);
  table = {};
}

#pragma GCC visibility pop
}
