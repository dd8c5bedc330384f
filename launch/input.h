// SPDX-License-Identifier: Apache-2.0
//
// stdin of the job. A file or pipe is handed to rank 0 as it is. A terminal stays with mpiexec (it
// is in the foreground, ranks are not), which passes on what is typed.
#pragma once

#include <string>

namespace weft::launch {

class Input {
 public:
  Input();
  ~Input();
  Input(const Input&) = delete;
  Input& operator=(const Input&) = delete;

  /// The descriptor that rank 0 gets as its stdin.
  int for_rank0() const { return is_terminal_ ? pipe_[0] : 0; }
  /// What the other ranks get: nothing to read.
  int for_others() const { return null_; }
  /// Rank 0 has started: our copy of its end is no longer needed.
  void rank0_started();

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

  int null_;
  int pipe_[2] = {-1, -1};
  bool is_terminal_;
  bool ended_ = false;
  std::string waiting_;
};

}  // namespace weft::launch
