// SPDX-License-Identifier: Apache-2.0
#include "input.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/limits.h"

namespace weft::launch {
namespace {

bool is_file(int fd) {
  struct stat s {};
  return fstat(fd, &s) == 0 && S_ISREG(s.st_mode);
}

/// The file once more, with a position of its own.
int open_again(int fd) {
  const std::string path = "/proc/self/fd/" + std::to_string(fd);
  const int own = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (own >= 0) lseek(own, lseek(fd, 0, SEEK_CUR), SEEK_SET);
  return own;
}

}  // namespace

Input::Input(Reader reader, Terminal& terminal)
    : reader_(reader),
      terminal_(terminal),
      null_(open("/dev/null", O_RDONLY | O_CLOEXEC)),
      is_terminal_(isatty(0) == 1 && reader.rank != Reader::nobody) {
  if (reader.rank == Reader::everybody && !is_file(0))
    throw Failure{2,
                  "weft: -stdin all needs a file that each rank can read: mpiexec -stdin all "
                  "... < FILE; from a pipe or a terminal let one rank read and MPI_Bcast it"};
  if (null_ < 0 || (is_terminal_ && pipe2(pipe_, O_CLOEXEC) != 0))
    throw Failure{1, std::string("weft: cannot set up standard input: ") + strerror(errno) +
                         limit_behind(errno)};
  if (is_terminal_) fcntl(pipe_[1], F_SETFL, O_NONBLOCK);
}

Input::~Input() {
  ::close(null_);
  close_readers_ends();
  close();
}

void Input::type_into(int keys) {
  close_readers_ends();
  ::close(pipe_[1]);
  pipe_[1] = keys;
  types_ = true;
}

int Input::for_ranks(int first, int count) {
  if (reader_.rank == Reader::everybody) {
    if (own_file_ >= 0) ::close(own_file_);
    return own_file_ = open_again(0);
  }
  if (reader_.rank < first || reader_.rank >= first + count) return null_;
  return is_terminal_ ? pipe_[0] : 0;
}

void Input::ranks_started() {
  begun_ = true;
  close_readers_ends();
}

void Input::close_readers_ends() {
  for (int* fd : {&pipe_[0], &own_file_}) {
    if (*fd >= 0) ::close(*fd);
    *fd = -1;
  }
}

void Input::see_to_terminal() {
  if (types_ && begun_ && !ended_) terminal_.take();
}

pollfd Input::wants_read() const {
  return {can_take() && !is_in_background() ? 0 : -1, POLLIN, 0};
}

pollfd Input::wants_write() const {
  // Without events: whether the reader's terminal is still open.
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
