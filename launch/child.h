// SPDX-License-Identifier: Apache-2.0
//
// Starting and ending operating system processes: one system call away from fork and exec, plus
// what makes sure that nothing is left behind. A child leads a process group of its own, and
// whatever it starts comes back to the launcher when its parent dies (child subreaper). If the
// launcher is killed the child dies with it (PDEATHSIG), and so does its process group: it has the
// launcher's lifeline, whose end is a SIGKILL from the kernel.
#pragma once

#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/types.h>

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace weft::launch {

/// A pipe that nobody writes to; it ends when the process that made it ends, however that happens.
class Lifeline {
 public:
  Lifeline();
  ~Lifeline();
  Lifeline(const Lifeline&) = delete;
  Lifeline& operator=(const Lifeline&) = delete;
  /// By a new process, before it execs: at the end of the lifeline the kernel kills its process
  /// group.
  void hold() const;

 private:
  int ends_[2] = {-1, -1};
  char path_[32] = "";
};

/// Everything a new process starts with.
struct Start {
  const char* path = nullptr;
  char* const* argv = nullptr;
  char* const* env = nullptr;
  const char* directory = nullptr;     // nullptr: stay
  std::span<const int> cpus;           // empty: all of mpiexec's
  int in = -1, out = -1, err = -1;     // become 0, 1, 2
  std::span<const int> inherited;      // further descriptors the process gets, same numbers
  std::size_t stack_bytes = 0;         // 0: as it is
  const rlimit* open_files = nullptr;  // nullptr: as it is
  const Lifeline* lifeline = nullptr;  // nullptr: none
  sigset_t signal_mask{};              // mask to start with
};

/// Start a process; -1 when it failed, with the system's error in errno and the step in `step`.
pid_t start_process(const Start& start, std::string& step);

/// Send a signal to a process that start_process made, and to its process group.
void signal_process(pid_t pid, int signal);

/// Kill and reap every process below the calling one (which must be a child subreaper) that is
/// still there, but for children that are spared and theirs. Gives up after about a second on
/// processes the kernel does not end.
void kill_descendants(std::span<const pid_t> spared = {});

/// The end of a child interrupts a wait with this mask, and nothing else. Returned: it.
sigset_t let_children_wake();

/// As many open files as are allowed. Returned: what was allowed before; nothing if that is not
/// known.
std::optional<rlimit> raise_file_limit();

}  // namespace weft::launch
