// SPDX-License-Identifier: Apache-2.0
//
// A directory that lives as long as the job (--debug), whoever is killed. A process of its own
// makes it, waits for the end of mpiexec's processes, which hold a pipe to it, and removes it. It
// has a session of its own, so that what kills mpiexec's process group does not reach it.
#pragma once

#include <string>

namespace weft::launch {

class DebugDirectory {
 public:
  /// Throws Failure where it cannot be made. Not wanted: no directory, path() is "".
  explicit DebugDirectory(bool wanted);
  ~DebugDirectory();
  DebugDirectory(const DebugDirectory&) = delete;
  DebugDirectory& operator=(const DebugDirectory&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  int alive_ = -1;  // open while mpiexec is
};

}  // namespace weft::launch
