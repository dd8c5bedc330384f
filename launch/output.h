// SPDX-License-Identifier: Apache-2.0
//
// The way of the ranks' output: each rank's stdout and stderr is a pipe or a terminal (Stream),
// read by lines and passed to mpiexec's own stdout or stderr (Sink). Lines of different ranks never
// mix; bytes are never changed. A slow reader slows the ranks down instead of filling memory.
#pragma once

#include <poll.h>

#include <chrono>
#include <list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "options.h"
#include "sink.h"
#include "terminal.h"

namespace weft::launch {

using Clock = std::chrono::steady_clock;

/// Where an agent's worker writes instead of stdout and stderr: pipes for frames (frames.h).
struct Upstream {
  int output, errors;
  int notes;  // for mpiexec itself: why the job has to end, who left
};

/// mpiexec's end of one rank's stdout or stderr, or of both if that is a terminal.
class Stream {
 public:
  /// Whether the start of a line is shown before its end: never, if it is a prompt, or at once.
  enum class Kind { pipe, prompting_pipe, terminal };
  /// `tag` stands in front of every line ("" for none). The stream owns `fd`.
  Stream(int fd, std::string tag, Kind kind, Sink& sink)
      : fd_(fd), tag_(std::move(tag)), kind_(kind), sink_(&sink) {}

  /// Take what is there, up to a bound.
  enum class Got { text, nothing, end };
  Got read();
  /// Take what came another way; then there is no descriptor (-1).
  void take(std::string_view text);
  /// Pass on an unfinished line as it is: a prompt, or the end.
  void flush_partial();
  void close();

  bool is_open() const { return fd_ >= 0; }
  bool is_terminal() const { return kind_ == Kind::terminal; }
  bool has_partial_to_show() const { return kind_ != Kind::pipe && !partial_.empty(); }
  Sink& sink() const { return *sink_; }
  int fd() const { return fd_; }

 private:
  void put_lines(std::string_view lines);

  int fd_;
  std::string tag_;
  Kind kind_;
  Sink* sink_;
  std::string partial_;
  bool continues_ = false;  // the start of the current line has been passed on already
};

/// All ranks' streams and both sinks.
class Output {
 public:
  /// To mpiexec's streams, or, in an agent's worker, upstream.
  Output(Terminal& terminal, const Options& options, const Upstream* upstream = nullptr);

  /// The ranks' ends of a rank's streams; the caller closes them.
  struct Ends {
    int out = -1, err = -1;
    int in = -1, keys = -1;  // if `out` is a terminal: it once more, for stdin; our side of it
  };
  /// Files where the user wants them. Else, with `has_terminal`, a terminal where mpiexec's own is
  /// one; else a pipe. False: no descriptors left, or the file cannot be made.
  bool open(int rank, bool has_terminal, Ends* ends);
  /// A pipe to stderr for a helper of mpiexec; -1: none.
  int open_pipe_to_errors(const std::string& tag);

  /// What comes from ranks of another host, to stderr or stdout; for take().
  Stream& add_remote(bool is_errors);
  void take(Stream& remote, std::string_view text);

  void say(const std::string& line) { errors_.put_message(line); }
  /// Take what the ranks have written by now.
  void drain();
  /// Pass on what is left and close all streams.
  void close();
  /// The size of mpiexec's terminal has changed.
  void resize();
  /// mpiexec's terminal is gone, and with it the ranks'.
  void hang_up();

  /// For poll: what to wait for, and what to do about it, with the same entries.
  void watch(std::vector<pollfd>& fds) const;
  void serve(const pollfd* fds);
  /// When to call show_partials.
  std::optional<Clock::time_point> next() const { return partials_at_; }
  void show_partials();

  bool waits_for_reader() const { return !out_.empty() || !err_.empty(); }
  bool has_streams();
  /// Nobody reads our stdout any more.
  bool reader_has_gone() const { return out_.closed(); }
  bool is_lost() const { return out_.failed() || err_.failed(); }

 private:
  int open_pipe(const std::string& tag, Stream::Kind kind, Sink& sink);
  int open_side(int rank, bool is_terminal, Sink& sink);
  void read(Stream& stream);
  void see_to_sinks();

  Terminal& terminal_;
  const Options& options_;
  Sink out_, err_;
  Sink& errors_;
  std::list<Stream> streams_;
  std::list<Stream> remote_;
  std::optional<Clock::time_point> partials_at_;
  bool told_loss_ = false;
};

}  // namespace weft::launch
