// SPDX-License-Identifier: Apache-2.0
#include "output.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "rank_files.h"

namespace weft::launch {
namespace {

using std::chrono::milliseconds;

constexpr std::size_t longest_line = 1 << 20;  // longer ones may be cut by another rank's output
// An unfinished line is shown after that. What a terminal echoes must not seem to be late.
constexpr milliseconds before_prompt{100}, before_echo{5};

bool same_file(int a, int b) {
  struct stat x {
  }, y{};
  return fstat(a, &x) == 0 && fstat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

}  // namespace

Stream::Got Stream::read() {
  // No initialization: 64 KiB of zeros per read would cost more than the read.
  thread_local char buffer[64 * 1024];
  const ssize_t n = ::read(fd_, buffer, sizeof buffer);
  if (n > 0) {
    take({buffer, static_cast<std::size_t>(n)});
    return Got::text;
  }
  // A terminal that no rank has open any more gives EIO.
  return n < 0 && (errno == EAGAIN || errno == EINTR) ? Got::nothing : Got::end;
}

void Stream::take(std::string_view text) {
  const std::size_t newline = text.rfind('\n');
  if (newline == std::string_view::npos) {
    partial_.append(text);
    if (partial_.size() >= longest_line) flush_partial();
    return;
  }
  std::string_view lines = text.substr(0, newline + 1);
  if (!partial_.empty()) {
    // Whole lines go out in one piece: the waiting start and the new end belong together.
    partial_.append(lines);
    const std::string joined = std::move(partial_);
    partial_.clear();
    put_lines(joined);
  } else {
    put_lines(lines);
  }
  partial_.append(text.substr(newline + 1));
}

void Stream::put_lines(std::string_view lines) {
  if (tag_.empty()) {
    sink_->put(lines);
    continues_ = false;
    return;
  }
  std::string tagged;
  while (!lines.empty()) {
    const std::size_t length = std::min(lines.find('\n'), lines.size() - 1) + 1;
    if (!continues_) tagged += tag_;
    tagged.append(lines.substr(0, length));
    continues_ = lines[length - 1] != '\n';
    lines.remove_prefix(length);
  }
  sink_->put(tagged);
}

void Stream::flush_partial() {
  if (partial_.empty()) return;
  const std::string text = std::move(partial_);
  partial_.clear();
  put_lines(text);
  continues_ = true;
}

void Stream::close() {
  if (fd_ < 0) return;
  flush_partial();
  if (continues_ && !tag_.empty()) sink_->put("\n");
  ::close(fd_);
  fd_ = -1;
}

Output::Output(Terminal& terminal, const Options& options, const Upstream* upstream)
    : terminal_(terminal),
      options_(options),
      out_(upstream != nullptr ? Sink(upstream->output, FrameKind::output)
                               : Sink(1, "standard output")),
      err_(upstream != nullptr ? Sink(upstream->errors, FrameKind::errors)
                               : Sink(2, "standard error")),
      errors_(options.merge_output || same_file(out_.fd(), err_.fd()) ? out_ : err_) {}

int Output::open_pipe(const std::string& tag, Stream::Kind kind, Sink& sink) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return -1;
  if (fcntl(ends[0], F_SETFL, O_NONBLOCK) == 0) {
    streams_.emplace_back(ends[0], tag, kind, sink);
    return ends[1];
  }
  for (int end : ends) ::close(end);
  return -1;
}

int Output::open_pipe_to_errors(const std::string& tag) {
  return open_pipe(tag, Stream::Kind::pipe, errors_);
}

/// A terminal, if there is to be one and the system has one, else a pipe.
int Output::open_side(int rank, bool is_terminal, Sink& sink) {
  const std::optional<Pty> pty = is_terminal ? terminal_.open() : std::nullopt;
  const std::string tag = options_.tag_output ? "[" + std::to_string(rank) + "] " : "";
  if (!pty)
    return open_pipe(tag, rank == 0 ? Stream::Kind::prompting_pipe : Stream::Kind::pipe, sink);
  streams_.emplace_back(pty->ours, tag, Stream::Kind::terminal, sink);
  return pty->ranks;
}

bool Output::open(int rank, bool has_terminal, Ends* ends) {
  const std::string& out_files = options_.out_files;
  const std::string& err_files = options_.merge_output ? out_files : options_.err_files;
  ends->out = out_files.empty() ? open_side(rank, has_terminal && out_.is_terminal(), out_)
                                : open_file_of_rank(out_files, rank);
  if (ends->out < 0) return false;
  const bool is_terminal = out_files.empty() && streams_.back().is_terminal();
  if (is_terminal) {
    ends->in = fcntl(ends->out, F_DUPFD_CLOEXEC, 3);
    ends->keys = fcntl(streams_.back().fd(), F_DUPFD_CLOEXEC, 3);
  }
  // One terminal for both, as the user has one for both.
  const bool is_same =
      err_files.empty() ? is_terminal && &errors_ == &out_ : err_files == out_files;
  if (is_same)
    ends->err = fcntl(ends->out, F_DUPFD_CLOEXEC, 3);
  else if (!err_files.empty())
    ends->err = open_file_of_rank(err_files, rank);
  else
    ends->err = open_side(rank, has_terminal && errors_.is_terminal(), errors_);
  return ends->err >= 0;
}

void Output::read(Stream& stream) {
  if (stream.read() == Stream::Got::end) stream.close();
  if (!stream.is_open() || !stream.has_partial_to_show()) return;
  const auto at = Clock::now() + (stream.is_terminal() ? before_echo : before_prompt);
  if (!partials_at_ || at < *partials_at_) partials_at_ = at;
}

Stream& Output::add_remote(bool is_errors) {
  return remote_.emplace_back(-1, "", Stream::Kind::pipe, is_errors ? errors_ : out_);
}

/// Other hosts' text comes as their Output put it, whole lines or what is to be shown of one, but
/// in pieces.
void Output::take(Stream& remote, std::string_view text) {
  remote.take(text);
  if (text.size() < piece_bytes) remote.flush_partial();
}

void Output::drain() {
  for (Stream& stream : streams_) {
    constexpr int enough = 32;  // times 64 KiB
    for (int i = 0; i < enough && stream.is_open() && !stream.sink().full(); ++i) {
      const Stream::Got got = stream.read();
      if (got == Stream::Got::end) stream.close();
      if (got != Stream::Got::text) break;
    }
  }
}

bool Output::has_streams() {
  std::erase_if(streams_, [](const Stream& stream) { return !stream.is_open(); });
  return !streams_.empty();
}

void Output::close() {
  for (Stream& stream : streams_) stream.close();
  for (Stream& stream : remote_) stream.flush_partial();
  out_.flush();
  err_.flush();
  see_to_sinks();
}

void Output::resize() {
  for (const Stream& stream : streams_)
    if (stream.is_open() && stream.is_terminal()) terminal_.resize(stream.fd());
}

void Output::hang_up() {
  for (Stream& stream : streams_)
    if (stream.is_terminal()) stream.close();
}

void Output::watch(std::vector<pollfd>& fds) const {
  fds.push_back({out_.empty() ? -1 : out_.fd(), POLLOUT, 0});
  fds.push_back({err_.empty() ? -1 : err_.fd(), POLLOUT, 0});
  for (const Stream& stream : streams_)
    fds.push_back({stream.sink().full() ? -1 : stream.fd(), POLLIN, 0});
}

void Output::serve(const pollfd* fds) {
  if (fds++->revents != 0) out_.flush();
  if (fds++->revents != 0) err_.flush();
  for (Stream& stream : streams_)
    if (fds++->revents != 0) read(stream);
  see_to_sinks();
}

/// Ranks whose reader has gone learn it from their own pipes. A loss is told once.
void Output::see_to_sinks() {
  for (Stream& stream : streams_)
    if (stream.sink().closed()) stream.close();
  if (told_loss_ || !is_lost()) return;
  told_loss_ = true;
  const Sink& lost = out_.failed() ? out_ : err_;
  Sink& other = &lost == &out_ ? errors_ : out_;
  // Standard output is the ranks' own: nothing of ours may get into it.
  if (&other != &lost && &other != &out_) other.put_message(lost.failure());
}

void Output::show_partials() {
  partials_at_.reset();
  for (Stream& stream : streams_)
    if (stream.has_partial_to_show()) stream.flush_partial();
}

}  // namespace weft::launch
