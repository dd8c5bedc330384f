// SPDX-License-Identifier: Apache-2.0
//
// Reading ranks' pipes and writing our own output. Our stdout may be shared with other programs, so
// its flags stay as they are: pipes and terminals are opened once more for a non-blocking
// description of our own, sockets take MSG_DONTWAIT, and files never block.
#include "output.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

namespace weft::launch {
namespace {
constexpr std::size_t longest_line = 1 << 20;  // longer ones may be cut by another rank's output
}

Sink::Sink(int fd) : fd_(fd) {
  struct stat s {};
  fstat(fd, &s);
  is_socket_ = S_ISSOCK(s.st_mode);
  is_file_ = S_ISREG(s.st_mode);
  if (S_ISFIFO(s.st_mode) || S_ISCHR(s.st_mode)) {
    const std::string path = "/proc/self/fd/" + std::to_string(fd);
    const int own = open(path.c_str(), O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC | O_APPEND);
    if (own >= 0) {
      fd_ = own;
      own_fd_ = true;
    }
  }
}

Sink::~Sink() {
  if (own_fd_) close(fd_);
}

void Sink::put(std::string_view text) {
  if (closed_ || text.empty()) return;
  middle_of_line_ = text.back() != '\n';
  if (empty()) {
    const long n = write_some(text.data(), text.size());
    if (n > 0) text.remove_prefix(static_cast<std::size_t>(n));
    if (closed_) return;
  }
  queue_.append(text);
}

void Sink::put_message(const std::string& line) {
  if (middle_of_line_) put("\n");
  put(line + "\n");
}

void Sink::flush() {
  while (!closed_ && !empty()) {
    const long n = write_some(queue_.data() + sent_, queue_.size() - sent_);
    if (n <= 0) break;
    sent_ += static_cast<std::size_t>(n);
  }
  if (closed_ || empty()) {
    queue_.clear();
    sent_ = 0;
  } else if (sent_ > full_bytes) {
    queue_.erase(0, sent_);
    sent_ = 0;
  }
}

long Sink::write_some(const char* data, std::size_t bytes) {
  ssize_t n = 0;
  if (is_socket_) {
    n = send(fd_, data, bytes, MSG_DONTWAIT | MSG_NOSIGNAL);
  } else if (own_fd_ || is_file_) {
    n = write(fd_, data, bytes);
  } else {
    // A blocking description that could not be opened again: small pieces, when it has room.
    pollfd ready{fd_, POLLOUT, 0};
    if (poll(&ready, 1, 0) <= 0) return 0;
    n = write(fd_, data, std::min<std::size_t>(bytes, 4096));
  }
  if (n >= 0) return n;
  if (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR) return 0;
  closed_ = true;  // EPIPE, ENOSPC, EIO: nobody will read the rest
  return -1;
}

bool Stream::read() {
  // No initialization: 64 KiB of zeros per read would cost more than the read.
  thread_local char buffer[64 * 1024];
  const ssize_t n = ::read(fd_, buffer, sizeof buffer);
  if (n > 0) {
    take({buffer, static_cast<std::size_t>(n)});
    return true;
  }
  return n < 0 && (errno == EAGAIN || errno == EINTR);
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

}  // namespace weft::launch
