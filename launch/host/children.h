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

#include <array>
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
  /// The same for one that may have been waited for a moment ago.
  Rank* last_parent_of(pid_t child);
  /// The first child of `rank` after `previous` (0: the first), without those that the thread
  /// `maker` made; or 0.
  pid_t next(const Rank& rank, pid_t previous, pid_t maker = 0);

 private:
  struct Child {
    pid_t pid, maker;
    Rank* rank;
  };
  class Lock;
  void remove(pid_t child);

  std::atomic_flag taken_;
  std::vector<Child> all_;
  std::array<Child, 64> ended_{};  // the last ones: a signal about them may be on its way
  std::size_t ended_count_ = 0;
};

/// A child of `rank` that has something to tell by wait: what its signal would say. False if there
/// is none.
bool find_waitable_child(const Rank& rank, siginfo_t& info);
/// Whether ended children of `rank` vanish without being waited for.
bool ignores_children(const Rank& rank);
/// Let them.
void reap_children(const Rank& rank);

}  // namespace weft::host
