// SPDX-License-Identifier: Apache-2.0
#include "input.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "base/limits.h"
#include "frames.h"

namespace weft::launch {
namespace {

bool is_file(int fd) {
  struct stat s {};
  return fstat(fd, &s) == 0 && S_ISREG(s.st_mode);
}

/// The file once more, with a position and flags of its own.
int open_again(int fd, int flags = 0) {
  const std::string path = "/proc/self/fd/" + std::to_string(fd);
  const int own = open(path.c_str(), O_RDONLY | O_NOCTTY | O_CLOEXEC | flags);
  if (own >= 0) lseek(own, lseek(fd, 0, SEEK_CUR), SEEK_SET);
  return own;
}

}  // namespace

Input::Input(Reader reader, Terminal& terminal)
    : reader_(reader),
      terminal_(terminal),
      null_(open("/dev/null", O_RDONLY | O_CLOEXEC)),
      is_terminal_(isatty(0) == 1 && reader.rank != Reader::nobody),
      is_copied_(reader.rank == Reader::everybody && !is_file(0)) {
  if (is_terminal_) own_terminal_ = open_again(0, O_NONBLOCK);
  if (is_terminal_ && !is_copied_) readers_ = open_copy();
  if (null_ < 0 || (is_terminal_ && !is_copied_ && readers_ < 0))
    throw Failure{1, std::string("weft: cannot set up standard input: ") + strerror(errno) +
                         limit_behind(errno)};
}

Input::~Input() {
  close_readers_ends();
  close();
  if (own_terminal_ >= 0) ::close(own_terminal_);
  ::close(null_);
}

int Input::open_copy() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return -1;
  fcntl(ends[1], F_SETFL, O_NONBLOCK);
  copies_.push_back({ends[1]});
  return ends[0];
}

void Input::type_into(int keys) {
  close_readers_ends();
  for (const Copy& copy : copies_) ::close(copy.fd);
  copies_ = {{keys}};
  types_ = true;
}

int Input::for_ranks(int first, int count) {
  if (reader_.rank == Reader::everybody) {
    if (own_file_ >= 0) ::close(own_file_);
    return own_file_ = open_again(0);
  }
  if (reader_.rank < first || reader_.rank >= first + count) return null_;
  return is_terminal_ ? readers_ : 0;
}

void Input::ranks_started() {
  begun_ = true;
  close_readers_ends();
}

void Input::close_readers_ends() {
  for (int* fd : {&readers_, &own_file_}) {
    if (*fd >= 0) ::close(*fd);
    *fd = -1;
  }
}

void Input::see_to_terminal() {
  if (types_ && begun_ && !ended_) terminal_.take();
}

void Input::watch(std::vector<pollfd>& fds) const {
  fds.push_back({can_take() && !is_in_background() ? source() : -1, POLLIN, 0});
  for (const Copy& copy : copies_) {
    // Without events: whether anybody still has the other end.
    const short events = copy.taken < waiting_.size() ? POLLOUT : 0;
    fds.push_back({begun_ && !ended_ ? copy.fd : -1, events, 0});
  }
}

void Input::serve(const pollfd* fds) {
  const bool has_more = fds++->revents != 0;
  for (Copy& copy : copies_) {
    const short events = fds++->revents;
    if ((events & (POLLERR | POLLHUP)) != 0) {
      ::close(copy.fd);
      copy.fd = -1;
    } else if (events != 0) {
      write(copy);
    }
  }
  drop_taken();
  if (has_more && can_take()) read();
}

void Input::read() {
  char buffer[piece_bytes];
  const ssize_t n = ::read(source(), buffer, sizeof buffer);
  if (n > 0) {
    waiting_.assign(buffer, static_cast<std::size_t>(n));
    for (Copy& copy : copies_) write(copy);
    return drop_taken();
  }
  if (n < 0 && (errno == EINTR || errno == EAGAIN)) return;
  if (is_terminal_) {
    const bool was_refused = n < 0 && errno == EIO;
    termios settings{};
    hung_up_ = tcgetattr(0, &settings) != 0;
    if (was_refused && !hung_up_) return;  // it has just become another job's
  }
  close();
}

void Input::write(Copy& copy) {
  if (copy.fd < 0 || copy.taken == waiting_.size()) return;
  const ssize_t n = ::write(copy.fd, waiting_.data() + copy.taken, waiting_.size() - copy.taken);
  if (n > 0) copy.taken += static_cast<std::size_t>(n);
  if (n >= 0 || errno == EAGAIN || errno == EINTR) return;
  ::close(copy.fd);
  copy.fd = -1;
}

/// What all have taken who still read; where nobody does, all is over.
void Input::drop_taken() {
  const auto reads = [](const Copy& copy) { return copy.fd >= 0; };
  const auto owes = [&](const Copy& copy) { return reads(copy) && copy.taken < waiting_.size(); };
  if (begun_ && !ended_ && !copies_.empty() && std::ranges::none_of(copies_, reads)) close();
  if (std::ranges::any_of(copies_, owes)) return;
  waiting_.clear();
  for (Copy& copy : copies_) copy.taken = 0;
}

void Input::close() {
  if (types_) terminal_.give_back();
  ended_ = true;
  waiting_.clear();
  for (const Copy& copy : copies_)
    if (copy.fd >= 0) ::close(copy.fd);
  copies_.clear();
  if (is_copied_) dup2(null_, 0);  // who writes there learns that nobody reads
}

}  // namespace weft::launch
