// SPDX-License-Identifier: Apache-2.0
//
// Relocation by analogy. ld.so relocates the first rank's copies, looking up thousands of symbols
// in libstdc++ alone (1.5 ms); every other rank's result differs only in where its copies lie. So
// the result is noted as "base of image i plus v" once, and other ranks' copies are filled in from
// the notes while ld.so is told that they have no relocations.
#pragma once

#include <vector>

#include "plan.h"
#include "rank.h"

namespace weft::host {

class Rebase {
 public:
  /// Note the relocations of image `index` of the plan, as ld.so made them for `first`, all of
  /// whose copies are loaded and have not run.
  Rebase(const Plan& plan, int index, const Rank& first);

  /// False: the image has relocations that only ld.so can do (static thread-local data, resolvers).
  bool is_usable() const { return usable_; }

  /// Fill in the copy of the same image that `rank` has.
  void apply(const Rank& rank, const Loaded& loaded) const;

 private:
  struct Slot {
    ElfW(Addr) at;
    ElfW(Addr) value;
    int image;  // whose base is added; -1: none
  };
  struct Module {
    ElfW(Addr) at;
    int image;  // whose thread-local module is meant
  };
  void note(const ElfW(Rela) & r, const Rank& first);

  const Image& image_;
  int index_;
  bool usable_ = true;
  std::vector<Slot> slots_;
  std::vector<Module> modules_;
};

}  // namespace weft::host
