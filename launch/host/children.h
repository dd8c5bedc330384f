// SPDX-License-Identifier: Apache-2.0
//
// Whose child a process is. The kernel knows the thread that made it and hides other threads'
// children on demand (__WNOTHREAD); this knows the rank, for children that one of its threads made
// and another waits for, and for signals about children. A child of vfork is not noted here: its
// parent's thread finds it all the same.
#pragma once

#include <signal.h>
#include <sys/resource.h>
#include <sys/types.h>

#include <atomic>
#include <vector>

namespace weft::host {

struct Rank;

/// All ranks' children. Everything but add may be called in a signal handler.
class Children {
 public:
  /// The calling thread, of `rank`, has made `child`.
  void add(Rank& rank, pid_t child);
  void forget(pid_t child);
  /// `child` was waited for.
  void ended(Rank& rank, pid_t child, const struct rusage& used);
  /// The rank that made `child`, as far as it is known, or nullptr.
  Rank* parent_of(pid_t child);
  /// The first child of `rank` after `previous` (0: the first), without those that the thread
  /// `maker` made; or 0.
  pid_t next(const Rank& rank, pid_t previous, pid_t maker = 0);

 private:
  struct Child {
    pid_t pid, maker;
    Rank* rank;
  };
  class Lock;
  std::atomic_flag taken_;
  std::vector<Child> all_;
};

/// Whether a child of `rank` has something to tell by wait.
bool has_waitable_child(const Rank& rank);
/// Whether ended children of `rank` vanish without being waited for.
bool ignores_children(const Rank& rank);
/// Let them.
void reap_children(const Rank& rank);

}  // namespace weft::host
