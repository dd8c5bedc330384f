// SPDX-License-Identifier: Apache-2.0
//
// Paths that mean the process that uses them: /proc/self and what it links to. The kernel would
// show the rank host's main thread; a rank gets its own thread's, which show its directory and its
// descriptors, and its program as /proc/self/exe.
#pragma once

#include <climits>
#include <string>

#include "rank.h"

namespace weft::host {

class Path {
 public:
  explicit Path(const char* path);
  operator const char*() const { return path_; }
  /// It is a link to the running program.
  bool is_program() const { return is_program_; }

 private:
  void set(const char* format, int id, const char* first, const char* second);

  const char* path_;
  bool is_program_ = false;
  char buffer_[PATH_MAX];
};

/// The file behind a descriptor of `rank`, as the kernel names it for every thread.
std::string path_of_descriptor(const Rank& rank, int fd);

}  // namespace weft::host
