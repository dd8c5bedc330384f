// SPDX-License-Identifier: Apache-2.0
//
// The library search (ld.so(8), "DESCRIPTION") and a reader of ld.so.cache's current format.
#include "search.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "machine.h"

namespace weft::host {
namespace {

// glibc's cache file: this header, then `count` entries, then strings. Offsets count from here.
struct CacheHeader {
  char magic[20];
  std::uint32_t count;
  std::uint32_t string_bytes;
  std::uint32_t unused[5];
};
struct CacheEntry {
  std::int32_t flags;
  std::uint32_t key, value;  // offsets of the library's name and of its path
  std::uint32_t os_version;
  std::uint64_t hwcap;  // not 0: a variant for special processors
};
constexpr char cache_magic[] = "glibc-ld.so.cache1.1";

bool is_library(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  ElfW(Ehdr) h;
  const bool ok = read(fd, &h, sizeof h) == static_cast<ssize_t>(sizeof h) &&
                  std::memcmp(h.e_ident, ELFMAG, SELFMAG) == 0 &&
                  h.e_ident[EI_CLASS] == ELFCLASS64 && h.e_machine == machine::elf_machine;
  close(fd);
  return ok;
}

std::string expand_origin(std::string text, const Image& by) {
  const std::string origin = by.path().substr(0, by.path().rfind('/'));
  for (const char* token : {"${ORIGIN}", "$ORIGIN"})
    for (std::size_t at; (at = text.find(token)) != std::string::npos;)
      text.replace(at, std::strlen(token), origin);
  return text;
}

std::vector<char> read_file(const char* path) {
  std::vector<char> out;
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  struct stat st;
  if (fd < 0) return out;
  if (fstat(fd, &st) == 0 && st.st_size > 0) {
    out.resize(static_cast<std::size_t>(st.st_size));
    if (read(fd, out.data(), out.size()) != st.st_size) out.clear();
  }
  close(fd);
  return out;
}

}  // namespace

Search::Search() : cache_(read_file("/etc/ld.so.cache")) {
  if (const char* path = getenv("LD_LIBRARY_PATH")) library_path_ = path;
}

std::string Search::find(const std::string& name, const Image& by, const Image& program) {
  if (name.find('/') != std::string::npos) {
    std::string path = expand_origin(name, by);
    return is_library(path) ? path : std::string{};
  }
  std::string found;
  if (by.runpath().empty()) {
    found = in_directories(by.rpath(), name, by);
    if (found.empty() && program.runpath().empty())
      found = in_directories(program.rpath(), name, program);
  }
  if (found.empty()) found = in_directories(library_path_, name, by);
  if (found.empty()) found = in_directories(by.runpath(), name, by);
  if (found.empty()) found = in_cache(name);
  for (auto dir = machine::library_dirs; found.empty() && *dir; dir++) {
    std::string path = std::string(*dir) + '/' + name;
    if (is_library(path)) found = path;
  }
  return found;
}

std::string Search::in_directories(std::string_view list, const std::string& name,
                                   const Image& by) const {
  while (!list.empty()) {
    const std::size_t end = list.find_first_of(":;");
    std::string dir = expand_origin(std::string(list.substr(0, end)), by);
    if (dir.empty()) dir = ".";
    std::string path = dir + '/' + name;
    if (is_library(path)) return path;
    if (end == std::string_view::npos) break;
    list.remove_prefix(end + 1);
  }
  return {};
}

std::string Search::in_cache(std::string_view name) const {
  const char* begin = cache_.data();
  std::size_t size = cache_.size();
  if (size < sizeof(CacheHeader)) return {};
  if (std::memcmp(begin, cache_magic, sizeof cache_magic - 1) != 0) {
    // an older header may come first
    const void* at = memmem(begin, size, cache_magic, sizeof cache_magic - 1);
    if (!at) return {};
    size -= static_cast<std::size_t>(static_cast<const char*>(at) - begin);
    begin = static_cast<const char*>(at);
    if (size < sizeof(CacheHeader)) return {};
  }
  CacheHeader h;
  std::memcpy(&h, begin, sizeof h);
  for (std::uint32_t i = 0; i < h.count; i++) {
    const std::size_t at = sizeof h + i * sizeof(CacheEntry);
    CacheEntry e;
    if (at + sizeof e > size) return {};
    std::memcpy(&e, begin + at, sizeof e);
    if (e.hwcap != 0 || e.flags != machine::cache_flags || e.key >= size || e.value >= size)
      continue;
    if (name == std::string_view(begin + e.key, strnlen(begin + e.key, size - e.key)))
      return {begin + e.value, strnlen(begin + e.value, size - e.value)};
  }
  return {};
}

}  // namespace weft::host
