// SPDX-License-Identifier: Apache-2.0
//
// Our stdout may be shared with other programs, so its flags stay as they are: pipes and terminals
// are opened once more for a non-blocking description of our own, sockets take MSG_DONTWAIT, and
// files never block.
#include "sink.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

namespace weft::launch {

Sink::Sink(int fd, const char* name) : fd_(fd), name_(name), is_terminal_(isatty(fd) == 1) {
  struct stat s {};
  fstat(fd, &s);
  is_socket_ = S_ISSOCK(s.st_mode);
  is_file_ = S_ISREG(s.st_mode);
  // What was opened for reading only stays so: main.cc opens closed descriptors that way.
  const bool may_write = (fcntl(fd, F_GETFL) & O_ACCMODE) != O_RDONLY;
  if ((S_ISFIFO(s.st_mode) || S_ISCHR(s.st_mode)) && may_write) {
    const std::string path = "/proc/self/fd/" + std::to_string(fd);
    const int own = open(path.c_str(), O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC | O_APPEND);
    if (own >= 0) {
      fd_ = own;
      own_fd_ = true;
    }
  }
}

Sink::Sink(int pipe, FrameKind kind) : Sink(pipe, "the agent") {
  framed_as_ = kind;
}

Sink::~Sink() {
  if (own_fd_) close(fd_);
}

void Sink::put(std::string_view text) {
  if (takes_nothing() || text.empty()) return;
  middle_of_line_ = text.back() != '\n';
  if (!framed_as_) return put_bytes(text);
  for (std::size_t at = 0; at < text.size(); at += piece_bytes)
    put_bytes(framed(*framed_as_, text.substr(at, piece_bytes)));
  // Text that ends with a whole piece would look cut.
  if (text.size() % piece_bytes == 0) put_bytes(framed(*framed_as_));
}

void Sink::put_bytes(std::string_view bytes) {
  if (takes_nothing()) return;
  if (empty()) {
    const long n = write_some(bytes.data(), bytes.size());
    if (n > 0) bytes.remove_prefix(static_cast<std::size_t>(n));
    if (takes_nothing()) return;
  }
  queue_.append(bytes);
}

void Sink::put_message(const std::string& line) {
  if (middle_of_line_) put("\n");
  put(line + "\n");
}

void Sink::flush() {
  while (!takes_nothing() && !empty()) {
    const long n = write_some(queue_.data() + sent_, queue_.size() - sent_);
    if (n <= 0) break;
    sent_ += static_cast<std::size_t>(n);
  }
  if (takes_nothing() || empty()) {
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
    constexpr timespec now{0, 0};
    if (ppoll(&ready, 1, &now, nullptr) <= 0) return 0;
    n = write(fd_, data, std::min<std::size_t>(bytes, 4096));
  }
  if (n >= 0) return n;
  if (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR) return 0;
  if (errno == EPIPE || errno == ECONNRESET)
    closed_ = true;
  else
    error_ = errno;
  return -1;
}

std::string Sink::failure() const {
  char path[PATH_MAX] = "";
  const std::string link = "/proc/self/fd/" + std::to_string(fd_);
  const bool is_closed = error_ == EBADF;  // then the link is /dev/null's, which says nothing
  const bool has_path = !is_closed && readlink(link.c_str(), path, sizeof path - 1) > 0;
  return "weft: the ranks' output cannot be written to " +
         (has_path ? std::string(path) + " (" + name_ + ")" : std::string(name_)) + ": " +
         (is_closed ? "it is closed" : std::strerror(error_)) + "; the rest of it is lost";
}

}  // namespace weft::launch
