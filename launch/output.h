// SPDX-License-Identifier: Apache-2.0
//
// The way of the ranks' output: each rank's stdout and stderr is a pipe (Stream), read by lines and
// passed to mpiexec's own stdout or stderr (Sink). Lines of different ranks never mix; bytes are
// never changed. A slow reader slows the ranks down instead of filling memory.
#pragma once

#include <string>
#include <string_view>

namespace weft::launch {

/// mpiexec's stdout or stderr. Writing never blocks the launcher.
class Sink {
 public:
  explicit Sink(int fd);
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
  /// The reader has gone.
  bool closed() const { return closed_; }
  int fd() const { return fd_; }

 private:
  static constexpr std::size_t full_bytes = 1 << 20;
  long write_some(const char* data, std::size_t bytes);

  int fd_;
  bool own_fd_ = false;  // a description of our own, non-blocking
  bool is_socket_ = false;
  bool is_file_ = false;
  bool closed_ = false;
  bool middle_of_line_ = false;
  std::string queue_;
  std::size_t sent_ = 0;
};

/// The read end of one rank's stdout or stderr.
class Stream {
 public:
  /// `tag` stands in front of every line ("" for none). The stream owns `fd`.
  Stream(int fd, std::string tag, Sink& sink) : fd_(fd), tag_(std::move(tag)), sink_(&sink) {}

  /// Take what the pipe holds, up to a bound; false at its end (then close() it).
  bool read();
  /// Pass on an unfinished line as it is: a prompt, or the end.
  void flush_partial();
  void close();

  bool is_open() const { return fd_ >= 0; }
  bool has_partial() const { return !partial_.empty(); }
  Sink& sink() const { return *sink_; }
  int fd() const { return fd_; }

 private:
  void take(std::string_view text);
  void put_lines(std::string_view lines);

  int fd_;
  std::string tag_;
  Sink* sink_;
  std::string partial_;
  bool continues_ = false;  // the start of the current line has been passed on already
};

}  // namespace weft::launch
