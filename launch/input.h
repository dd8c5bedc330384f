// SPDX-License-Identifier: Apache-2.0
//
// stdin of the job. A file or pipe is handed to the rank that reads it (0, unless -stdin says so)
// as it is. A terminal stays with mpiexec (it is in the foreground, ranks are not), which passes on
// what is typed: to the reader's own terminal, or through a pipe if it has none.
#pragma once

#include <poll.h>

#include <string>

#include "options.h"
#include "terminal.h"

namespace weft::launch {

class Input {
 public:
  /// Throws Failure where everybody cannot read.
  Input(Reader reader, Terminal& terminal);
  ~Input();
  Input(const Input&) = delete;
  Input& operator=(const Input&) = delete;

  /// Does this rank read what is typed?
  bool is_typed_for(int rank) const { return is_terminal_ && rank == reader_.rank; }
  /// That rank has a terminal; `keys` is our side of it, from now on the Input's.
  void type_into(int keys);
  /// The descriptor that a process of these ranks gets as its stdin, if that is no terminal of its
  /// own; valid until the next call.
  int for_ranks(int first, int count);
  /// What others get: nothing to read.
  int for_others() const { return null_; }
  /// All have started: what is typed is passed on from now, and our copies of what ranks read are
  /// no longer needed.
  void ranks_started();

  /// The terminal may become ours at any time: see to it again after a while.
  bool wants_checks() const { return can_take() && is_in_background(); }
  void see_to_terminal();
  /// For poll: the terminal, and the reader's end.
  pollfd wants_read() const;
  pollfd wants_write() const;
  void read();
  /// The reader's end has news: room, or nobody reads any more.
  void serve(short events);
  /// mpiexec's terminal is gone.
  bool has_hung_up() const { return hung_up_; }
  void close();

 private:
  bool can_take() const { return is_terminal_ && begun_ && !ended_ && waiting_.empty(); }
  void write();
  void close_readers_ends();

  Reader reader_;
  Terminal& terminal_;
  int null_;
  int own_file_ = -1;  // stdin opened once more, for a reader among several
  int pipe_[2] = {-1, -1};
  bool is_terminal_;
  bool types_ = false;  // pipe_[1] is our side of the reader's terminal
  bool begun_ = false, ended_ = false;
  bool hung_up_ = false;
  std::string waiting_;
};

}  // namespace weft::launch
