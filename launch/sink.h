// SPDX-License-Identifier: Apache-2.0
//
// mpiexec's own stdout and stderr. Writing never blocks the launcher: what the reader does not take
// now waits in a queue.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "frames.h"

namespace weft::launch {

class Sink {
 public:
  /// `name` is what messages call it: "standard output".
  Sink(int fd, const char* name);
  /// A pipe to an agent: what is put becomes frames.
  Sink(int pipe, FrameKind kind);
  ~Sink();
  Sink(const Sink&) = delete;
  Sink& operator=(const Sink&) = delete;

  void put(std::string_view text);
  /// A line of mpiexec itself: starts on a line of its own.
  void put_message(const std::string& line);
  /// Write what the reader takes now.
  void flush();

  bool empty() const { return sent_ == queue_.size(); }
  /// So much waits for the reader that ranks must wait too.
  bool full() const { return queue_.size() - sent_ >= full_bytes; }
  /// The reader has gone (a closed pipe): nobody wants the rest.
  bool closed() const { return closed_; }
  /// Writing failed otherwise (a full disk): the rest is lost, and somebody should know.
  bool failed() const { return error_ != 0; }
  /// One sentence about that: what could not be written where, and why.
  std::string failure() const;
  bool is_terminal() const { return is_terminal_; }
  int fd() const { return fd_; }

 private:
  static constexpr std::size_t full_bytes = 1 << 20;
  void put_bytes(std::string_view bytes);
  long write_some(const char* data, std::size_t bytes);
  bool takes_nothing() const { return closed_ || error_ != 0; }

  int fd_;
  const char* name_;
  std::optional<FrameKind> framed_as_;
  bool own_fd_ = false;  // a description of our own, non-blocking
  bool is_socket_ = false;
  bool is_file_ = false;
  bool is_terminal_ = false;
  bool closed_ = false;
  int error_ = 0;
  bool middle_of_line_ = false;
  std::string queue_;
  std::size_t sent_ = 0;
};

}  // namespace weft::launch
