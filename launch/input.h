// SPDX-License-Identifier: Apache-2.0
//
// stdin of the job. A file or pipe is handed to the rank that reads it (0, unless -stdin says so)
// as it is. A terminal stays with mpiexec (it is in the foreground, ranks are not), which passes on
// what is typed.
#pragma once

#include <string>

#include "options.h"

namespace weft::launch {

class Input {
 public:
  /// Throws Failure where everybody cannot read.
  explicit Input(Reader reader);
  ~Input();
  Input(const Input&) = delete;
  Input& operator=(const Input&) = delete;

  /// The descriptor that a process of these ranks gets as its stdin; valid until the next call.
  int for_ranks(int first, int count);
  /// What others get: nothing to read.
  int for_others() const { return null_; }
  /// All have started: our copies of what they read are no longer needed.
  void ranks_started();

  /// The terminal belongs to another job now; ask again after a while.
  bool is_in_background() const;
  /// The descriptor to watch for reading (the terminal) or writing (the pipe), -1 for none now.
  int wants_read() const;
  int wants_write() const { return waiting_.empty() ? -1 : pipe_[1]; }
  void read();
  void write();
  /// Nobody reads any more, or the terminal is gone.
  void close();

 private:
  bool can_take() const { return is_terminal_ && !ended_ && waiting_.empty(); }

  Reader reader_;
  int null_;
  int own_file_ = -1;  // stdin opened once more, for a reader among several
  int pipe_[2] = {-1, -1};
  bool is_terminal_;
  bool ended_ = false;
  std::string waiting_;
};

}  // namespace weft::launch
