// SPDX-License-Identifier: Apache-2.0
//
// A program or shared library as a file: the parts of ELF that decide whether it can be loaded once
// per rank and that the copy changes. Read-only; every offset is checked against the file's size,
// because mpiexec looks at whatever the user names.
#pragma once

#include <link.h>
#include <sys/stat.h>

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weft::host {

class Image {
 public:
  /// Map and parse `path`; on failure nullptr and a sentence in `reason`.
  static std::unique_ptr<Image> open(const std::string& path, std::string& reason);
  ~Image();
  Image(const Image&) = delete;
  Image& operator=(const Image&) = delete;

  const std::string& path() const { return path_; }
  std::string_view base_name() const;
  std::span<const std::byte> bytes() const { return {base_, size_}; }
  bool same_file(const Image& o) const { return is_file(o.stat_); }
  /// Whether the file that `s` is about is this image, unchanged.
  bool is_file(const struct stat& s) const;

  const ElfW(Ehdr) & header() const { return *reinterpret_cast<const ElfW(Ehdr)*>(base_); }
  std::span<const ElfW(Phdr)> segments() const { return segments_; }
  /// The first segment of type `type`, or nullptr.
  const ElfW(Phdr) * segment(ElfW(Word) type) const;
  ElfW(Addr) memory_begin() const;
  /// One past the highest address of the image in memory.
  ElfW(Addr) memory_end() const;

  std::span<const ElfW(Dyn)> dynamic() const { return dynamic_; }
  const ElfW(Dyn) * tag(ElfW(Sxword) tag) const;
  /// Value of `tag`, 0 when it is not there.
  ElfW(Xword) value(ElfW(Sxword) tag) const;

  std::span<const ElfW(Sym)> symbols() const { return symbols_; }
  std::string_view name(const ElfW(Sym) & s) const { return string(s.st_name); }
  /// The exported definition of `name` in this image, or nullptr.
  const ElfW(Sym) * definition(std::string_view name) const;
  bool imports(std::string_view name) const;
  /// Which version of `symbols()[number]` this image asks for, and of which library; empty if it
  /// does not say.
  struct Version {
    std::string_view library, name;
  };
  Version version_needed(std::size_t number) const;
  /// Exports a symbol whose name begins with `prefix`.
  bool exports_any(std::string_view prefix) const;
  std::string_view string(std::size_t offset) const;

  /// Data and PLT relocations.
  std::span<const ElfW(Rela)> relocations() const { return rela_; }
  std::span<const ElfW(Rela)> plt_relocations() const { return plt_; }

  const std::vector<std::string>& needed() const { return needed_; }
  std::string_view soname() const { return string_tag(DT_SONAME); }
  std::string_view rpath() const { return string_tag(DT_RPATH); }
  std::string_view runpath() const { return string_tag(DT_RUNPATH); }
  std::string_view interpreter() const;

  /// Code of this image runs while ld.so relocates it (ifunc resolvers).
  bool runs_resolvers() const { return resolvers_; }
  bool writes_text() const { return tag(DT_TEXTREL) || (value(DT_FLAGS) & DF_TEXTREL); }
  bool needs_static_tls() const { return value(DT_FLAGS) & DF_STATIC_TLS; }
  /// Stays loaded when it is closed, as ld.so has it: it says so, or has objects that must be
  /// unique in a process.
  bool is_never_unloaded() const { return stays_; }

  /// Position in the file of what lies at `vaddr`, or npos. `length` bytes must be in the file.
  std::size_t offset_of(ElfW(Addr) vaddr, std::size_t length) const;
  static constexpr std::size_t npos = static_cast<std::size_t>(-1);

 private:
  Image() = default;
  bool parse_dynamic(std::string& reason);
  std::size_t count_symbols() const;
  std::string_view string_tag(ElfW(Sxword) t) const;
  template <class T>
  std::span<const T> table(ElfW(Addr) vaddr, std::size_t count) const;

  std::string path_;
  const std::byte* base_ = nullptr;
  std::size_t size_ = 0;
  struct stat stat_ {};
  std::span<const ElfW(Phdr)> segments_;
  std::span<const ElfW(Dyn)> dynamic_;
  std::span<const char> strings_;
  std::span<const ElfW(Sym)> symbols_;
  std::span<const ElfW(Rela)> rela_, plt_;
  std::vector<std::string> needed_;
  bool resolvers_ = false, stays_ = false;
};

}  // namespace weft::host
