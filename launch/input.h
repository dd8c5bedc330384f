// SPDX-License-Identifier: Apache-2.0
//
// stdin of the job. A file or pipe is handed to the rank that reads it (0, unless -stdin says so)
// as it is; if all read it, a file is opened once for each. Anything else passes through mpiexec: a
// terminal stays with it (it is in the foreground, ranks are not), and what is typed goes to the
// reader's own terminal, or through a pipe if it has none; a pipe that all ranks read is copied
// into one pipe for each. Who reads slowly holds up the others: no more is read before all have
// taken what was.
#pragma once

#include <poll.h>

#include <string>
#include <vector>

#include "options.h"
#include "terminal.h"

namespace weft::launch {

class Input {
 public:
  Input(Reader reader, Terminal& terminal);
  ~Input();
  Input(const Input&) = delete;
  Input& operator=(const Input&) = delete;

  /// Does this rank read what is typed?
  bool is_typed_for(int rank) const { return is_terminal_ && rank == reader_.rank; }
  /// That rank has a terminal; `keys` is our side of it, from now on the Input's.
  void type_into(int keys);
  /// Does each rank get a pipe of its own?
  bool is_copied() const { return is_copied_; }
  /// Its end of it, the caller's; -1: the system has none.
  int open_copy();
  /// The descriptor that a process of these ranks gets as its stdin, if that is no terminal and no
  /// pipe of its own; valid until the next call.
  int for_ranks(int first, int count);
  /// What others get: nothing to read.
  int for_others() const { return null_; }
  /// All have started: what is typed is passed on from now, and our copies of what ranks read are
  /// no longer needed.
  void ranks_started();

  /// The terminal may become ours at any time: see to it again after a while.
  bool wants_checks() const { return can_take() && is_in_background(); }
  void see_to_terminal();
  /// For poll: what to wait for, and what to do about it, with the same entries.
  void watch(std::vector<pollfd>& fds) const;
  void serve(const pollfd* fds);
  /// mpiexec's terminal is gone.
  bool has_hung_up() const { return hung_up_; }
  void close();

 private:
  /// Our end of what a rank reads from; -1: nobody reads it any more.
  struct Copy {
    int fd;
    std::size_t taken = 0;  // of what waits
  };
  bool can_take() const {
    return (is_terminal_ || is_copied_) && begun_ && !ended_ && waiting_.empty();
  }
  /// What is read here. Of a terminal a shell may have taken meanwhile what there was, when the job
  /// stops: a read that waited would take what is typed for the shell, and hold up all else.
  int source() const { return own_terminal_ >= 0 ? own_terminal_ : 0; }
  void read();
  void write(Copy& copy);
  void drop_taken();
  void close_readers_ends();

  Reader reader_;
  Terminal& terminal_;
  int null_;
  int own_terminal_ = -1;  // opened once more, so that no read waits; -1: it is not
  int own_file_ = -1;      // stdin opened once more, for a reader among several
  int readers_ = -1;       // the reader's end of the one pipe for what is typed
  bool is_terminal_, is_copied_;
  bool types_ = false;  // the one copy is our side of the reader's terminal
  bool begun_ = false, ended_ = false;
  bool hung_up_ = false;
  std::vector<Copy> copies_;
  std::string waiting_;  // until all have taken it
};

}  // namespace weft::launch
