// SPDX-License-Identifier: Apache-2.0
#include "input.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "options.h"

namespace weft::launch {

Input::Input(Terminal& terminal)
    : terminal_(terminal),
      null_(open("/dev/null", O_RDONLY | O_CLOEXEC)),
      is_terminal_(isatty(0) == 1) {
  if (null_ < 0 || (is_terminal_ && pipe2(pipe_, O_CLOEXEC) != 0))
    throw Failure{1, std::string("weft: cannot set up standard input: ") + strerror(errno)};
  if (is_terminal_) fcntl(pipe_[1], F_SETFL, O_NONBLOCK);
}

Input::~Input() {
  ::close(null_);
  rank0_started();
  close();
}

void Input::type_into(int keys) {
  rank0_started();
  ::close(pipe_[1]);
  pipe_[1] = keys;
  types_ = true;
}

void Input::rank0_started() {
  if (pipe_[0] >= 0) ::close(pipe_[0]);
  pipe_[0] = -1;
}

void Input::see_to_terminal() {
  if (types_ && !ended_) terminal_.take();
}

pollfd Input::wants_read() const {
  return {can_take() && !is_in_background() ? 0 : -1, POLLIN, 0};
}

pollfd Input::wants_write() const {
  // Without events: whether rank 0's terminal is still open.
  if (types_) return {pipe_[1], static_cast<short>(waiting_.empty() ? 0 : POLLOUT), 0};
  return {waiting_.empty() ? -1 : pipe_[1], POLLOUT, 0};
}

void Input::read() {
  char buffer[4096];
  const ssize_t n = ::read(0, buffer, sizeof buffer);
  if (n > 0) {
    waiting_.append(buffer, static_cast<std::size_t>(n));
    return write();
  }
  if (n < 0 && (errno == EINTR || errno == EAGAIN)) return;
  const bool was_refused = n < 0 && errno == EIO;
  termios settings{};
  hung_up_ = tcgetattr(0, &settings) != 0;
  if (was_refused && !hung_up_) return;  // it has just become another job's
  close();
}

void Input::write() {
  const ssize_t n = ::write(pipe_[1], waiting_.data(), waiting_.size());
  if (n > 0) waiting_.erase(0, static_cast<std::size_t>(n));
  if (n < 0 && errno != EAGAIN && errno != EINTR) close();
}

void Input::serve(short events) {
  if ((events & POLLHUP) != 0 && types_)
    close();
  else if (events != 0 && !waiting_.empty())
    write();
}

void Input::close() {
  if (types_) terminal_.give_back();
  ended_ = true;
  waiting_.clear();
  if (pipe_[1] >= 0) ::close(pipe_[1]);
  pipe_[1] = -1;
}

}  // namespace weft::launch
