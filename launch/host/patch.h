// SPDX-License-Identifier: Apache-2.0
//
// One rank's copy of an image: the original file with a few words changed and a tail appended. The
// tail is a further loadable segment that holds new names, so that they may have any length; the
// program headers, now one more, lie behind them. The dynamic section is rewritten where it is:
// debuggers compare its address with the original file's.
//
// What differs from the original, and why:
//   DF_1_PIE, _NOOPEN  cleared: ld.so refuses to dlopen a program, and what was linked to forbid it
//   PT_TLS (program)   removed: its thread-local data lies where a program's lies, at the thread
//                      pointer (rank_thread.cc); ld.so would put it elsewhere
//   PT_GNU_RELRO       removed: what it protects is not ready when ld.so is (writable.h)
//   DT_INIT, DT_FINI…  removed: constructors must run on the rank's thread, after COPY relocations
//   DT_NEEDED, versions private libraries are named by the path of the same rank's copy
//   DT_SONAME          removed: no rank's copy may answer to the common name
//   relocations        that ask for the program's thread-local variables made void (shared_tls.h)
//   STB_GNU_UNIQUE     made STB_GLOBAL: unique means once per process, ranks want once per rank
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "image.h"
#include "plan.h"

namespace weft::host {

class Patch {
 public:
  /// `share_text`: leave holes where read_only segments will be mapped from the original.
  Patch(const Plan& plan, int index, bool share_text);

  using Rename = std::pair<std::string, std::string>;  // DT_NEEDED name, path of the rank's copy
  struct Changes {
    std::vector<Rename> renames;
    std::vector<std::string> first;    // libraries before all others, by path
    std::vector<std::string> extra;    // and after
    bool without_relocations = false;  // they will be made by others (rebase.h)
  };
  /// Write one copy to the empty file `fd`. "" or an error text.
  std::string write(int fd, const Changes& changes) const;

  /// This segment's pages come from the original file: its mapping in a loaded copy is replaced.
  bool is_shared(const ElfW(Phdr) & segment) const;

 private:
  struct Range {
    std::size_t begin, end;
  };
  struct Content {  // of one rank's copy, beyond what all ranks have in common
    std::vector<ElfW(Dyn)> dynamic;
    std::string names;
    std::vector<std::pair<std::size_t, ElfW(Word)>> versions;  // file offset, new value
  };
  bool tables_lie_in_shared_segment() const;
  void drop_program_tls(const Plan& plan, int index);
  void hide_versions_from_debuggers();
  void find_ranges();
  void find_version_names();
  Content make_content(const Changes& changes) const;
  std::vector<ElfW(Phdr)> make_headers(std::size_t names_bytes) const;

  const Image& image_;
  bool is_program_;
  bool share_text_;
  std::vector<std::byte> bytes_;  // the original with the changes that all ranks have in common
  std::vector<Range> ranges_;     // what is written of it
  std::vector<std::size_t> version_names_;  // offsets of the file names in the version needs
  std::size_t tail_offset_;                 // in the file
  ElfW(Addr) tail_address_;
};

}  // namespace weft::host
