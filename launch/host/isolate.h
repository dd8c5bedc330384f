// SPDX-License-Identifier: Apache-2.0
//
// What Linux lets a thread have of its own. The kernel keeps descriptors, and with them record
// locks, the working directory and the umask, and the adjustments of System V semaphores in objects
// that the threads of a process share unless one leaves them. A rank's main thread does, as a new
// process would have its own, and threads that it makes share with it alone. So nothing of all that
// has to be imitated.
#pragma once

#include <string>
#include <vector>

namespace weft::host {

/// "" or why threads cannot have descriptors of their own here.
std::string why_not_isolated();

/// The descriptors that ranks' standard streams come from: in the host's table, in no rank's.
class Descriptors {
 public:
  void add(int fd) { own_.push_back(fd); }
  /// All were added, and whatever else all ranks have is open.
  void seal();
  /// Give the calling thread what a process has of its own; copies of `standard` are its
  /// descriptors 0, 1 and 2, and everything but our own is as in the host. The host's table must
  /// stay as it is until all ranks were here.
  void isolate(const int (&standard)[3]) const;
  void close_all() const;

 private:
  bool find_cut();

  std::vector<int> own_;  // ascending
  unsigned cut_ = 0;      // from here on there are none but our own
  bool can_fetch_ = false;
};

}  // namespace weft::host
