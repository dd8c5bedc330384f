// SPDX-License-Identifier: Apache-2.0
#include "input.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "options.h"

namespace weft::launch {

Input::Input() : null_(open("/dev/null", O_RDONLY | O_CLOEXEC)), is_terminal_(isatty(0) == 1) {
  if (null_ < 0 || (is_terminal_ && pipe2(pipe_, O_CLOEXEC) != 0))
    throw Failure{1, std::string("weft: cannot set up standard input: ") + strerror(errno)};
  if (is_terminal_) fcntl(pipe_[1], F_SETFL, O_NONBLOCK);
}

Input::~Input() {
  ::close(null_);
  rank0_started();
  close();
}

void Input::rank0_started() {
  if (pipe_[0] >= 0) ::close(pipe_[0]);
  pipe_[0] = -1;
}

// A read in the background would fail.
bool Input::is_in_background() const {
  return can_take() && tcgetpgrp(0) != getpgrp();
}
int Input::wants_read() const {
  return can_take() && !is_in_background() ? 0 : -1;
}

void Input::read() {
  char buffer[4096];
  const ssize_t n = ::read(0, buffer, sizeof buffer);
  if (n > 0) {
    waiting_.append(buffer, static_cast<std::size_t>(n));
    write();
  } else if (n == 0) {
    close();
  } else if (errno != EINTR && errno != EAGAIN && errno != EIO) {
    close();
  } else if (errno == EIO && tcgetpgrp(0) < 0) {
    close();  // the terminal has hung up
  }
}

void Input::write() {
  const ssize_t n = ::write(pipe_[1], waiting_.data(), waiting_.size());
  if (n > 0) waiting_.erase(0, static_cast<std::size_t>(n));
  if (n < 0 && errno != EAGAIN && errno != EINTR) close();
}

void Input::close() {
  ended_ = true;
  waiting_.clear();
  if (pipe_[1] >= 0) ::close(pipe_[1]);
  pipe_[1] = -1;
}

}  // namespace weft::launch
