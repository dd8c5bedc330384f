// SPDX-License-Identifier: Apache-2.0
//
// stdin of the job. A file or pipe is handed to rank 0 as it is. A terminal stays with mpiexec (it
// is in the foreground, ranks are not), which passes on what is typed: to rank 0's own terminal, or
// through a pipe if it has none.
#pragma once

#include <poll.h>

#include <string>

#include "terminal.h"

namespace weft::launch {

class Input {
 public:
  explicit Input(Terminal& terminal);
  ~Input();
  Input(const Input&) = delete;
  Input& operator=(const Input&) = delete;

  bool is_terminal() const { return is_terminal_; }
  /// Rank 0 has a terminal; `keys` is our side of it, from now on the Input's.
  void type_into(int keys);
  /// The descriptor that rank 0 gets as its stdin, if that is no terminal of its own.
  int for_rank0() const { return is_terminal_ ? pipe_[0] : 0; }
  /// What the other ranks get: nothing to read.
  int for_others() const { return null_; }
  /// Rank 0 has started: our copy of its end is no longer needed.
  void rank0_started();

  /// The terminal may become ours at any time: see to it again after a while.
  bool wants_checks() const { return can_take() && is_in_background(); }
  void see_to_terminal();
  /// For poll: the terminal, and rank 0's end.
  pollfd wants_read() const;
  pollfd wants_write() const;
  void read();
  /// Rank 0's end has news: room, or nobody reads any more.
  void serve(short events);
  /// mpiexec's terminal is gone.
  bool has_hung_up() const { return hung_up_; }
  void close();

 private:
  bool can_take() const { return is_terminal_ && !ended_ && waiting_.empty(); }
  void write();

  Terminal& terminal_;
  int null_;
  int pipe_[2] = {-1, -1};
  bool is_terminal_;
  bool types_ = false;  // pipe_[1] is our side of rank 0's terminal
  bool ended_ = false;
  bool hung_up_ = false;
  std::string waiting_;
};

}  // namespace weft::launch
