// SPDX-License-Identifier: Apache-2.0
//
// From a plan to images in memory, once per rank: write the copies, let ld.so load and relocate
// them, then do what ld.so cannot know.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "fixups.h"
#include "patch.h"
#include "plan.h"
#include "rank.h"
#include "rebase.h"
#include "twins.h"

namespace weft::host {

/// Where the copies live: memory files, or for debuggers files in a directory.
class Store {
 public:
  /// An empty directory name means memory files.
  explicit Store(std::string directory) : directory_(std::move(directory)) {}
  bool for_debugger() const { return !directory_.empty(); }

  /// A new empty file for a copy of `image`; its descriptor, or -1 with errno set. `path` is a name
  /// for ld.so that no other copy in this process ever had.
  int create(const Image& image, int world_rank, std::string& path);

 private:
  std::string directory_;
  unsigned serial_ = 0;
};

class Loader {
 public:
  Loader(Plan& plan, Store& store) : plan_(plan), store_(store) {}

  /// Give `rank` copies of image `top` of the plan and of what it needs, as far as the rank has
  /// none yet; its Loaded entries are appended. Image 0, the program, comes first. Returns ld.so's
  /// handle of `top`, or nullptr with a sentence in `error`.
  void* load(Rank& rank, int top, std::string& error);

 private:
  std::vector<int> missing(const Rank& rank, int top) const;
  std::string copy(Rank& rank, int index, int fd);
  void relocate(Rank& rank);
  const Rebase* rebase(int index) const;
  const Patch& patch(int index);
  const Fixups& fixups(int index);

  Plan& plan_;
  Store& store_;
  Twins twins_;
  std::vector<std::unique_ptr<Patch>> patches_;
  std::vector<std::unique_ptr<Fixups>> fixups_;
  std::vector<std::unique_ptr<Rebase>> rebases_;  // of the images that all ranks load at start
};

}  // namespace weft::host
