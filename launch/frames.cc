// SPDX-License-Identifier: Apache-2.0
#include "frames.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>

#include "options.h"
#include "values.h"

namespace weft::launch {
namespace {

constexpr std::size_t head_bytes = 8;
constexpr std::string_view mark = "wf1";

}  // namespace

std::size_t most_bytes(FrameKind kind) {
  switch (kind) {
    case FrameKind::output:
    case FrameKind::errors:
    case FrameKind::input:
    case FrameKind::hello:
    case FrameKind::placed:
    case FrameKind::answer:
    case FrameKind::question:
    case FrameKind::failed:
    case FrameKind::lost:
    case FrameKind::noise:
    case FrameKind::died:
      return piece_bytes;
    case FrameKind::addresses:
    case FrameKind::spawn:
    case FrameKind::place:
    case FrameKind::told:
    case FrameKind::leaving:
    case FrameKind::order:
    case FrameKind::grow:
    case FrameKind::look:
    case FrameKind::seen:
      return std::size_t{64} << 20;
    case FrameKind::relayed:
    case FrameKind::for_all:
      return (std::size_t{64} << 20) + 64;  // its wrapping
    default:
      return 64;
  }
}

std::string framed(FrameKind kind, std::string_view payload) {
  std::string out;
  for (std::size_t rest = payload.size(), i = 0; i < 4; ++i, rest >>= 8)
    out += static_cast<char>(rest & 255);
  out += static_cast<char>(kind);
  return out.append(mark).append(payload);
}

std::optional<Frame> FrameReader::next() {
  const std::string_view rest = std::string_view(waiting_).substr(at_);
  const auto refuse = [&] {
    throw Failure{1, "what is no frame: " + shown(std::string(rest.substr(0, 80)))};
  };
  const std::string_view marked = rest.substr(std::min<std::size_t>(5, rest.size()), mark.size());
  if (marked != mark.substr(0, marked.size())) refuse();
  if (rest.size() < head_bytes) {
    // Of 64 MiB at most. Text, which may be short, is more.
    if (rest.size() >= 4 && static_cast<unsigned char>(rest[3]) > 4) refuse();
    return {};
  }
  std::size_t bytes = 0;
  for (std::size_t i = 4; i-- > 0;) bytes = bytes << 8 | static_cast<unsigned char>(rest[i]);
  const auto kind = static_cast<std::uint8_t>(rest[4]);
  if (kind < 1 || kind > last_frame_kind || bytes > most_bytes(FrameKind{kind})) refuse();
  if (rest.size() < head_bytes + bytes) return {};
  Frame out{FrameKind{kind}, std::string(rest.substr(head_bytes, bytes))};
  at_ += head_bytes + bytes;
  if (at_ == waiting_.size() || at_ > window_bytes) {
    waiting_.erase(0, at_);
    at_ = 0;
  }
  return out;
}

Channel::Channel(int in, int out) : in_(in), out_(out) {
  for (int fd : {in, out}) fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
}

Channel::~Channel() {
  close();
}

void Channel::send(FrameKind kind, std::string_view payload) {
  if (out_ < 0) return;
  queue_ += framed(kind, payload);
  flush();
}

void Channel::flush() {
  while (sent_ < queue_.size()) {
    const ssize_t n = write(out_, queue_.data() + sent_, queue_.size() - sent_);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno != EAGAIN) return close_out();  // its end will be read
    if (n <= 0) break;
    sent_ += static_cast<std::size_t>(n);
  }
  if (sent_ < queue_.size() && sent_ < window_bytes) return;
  queue_.erase(0, sent_);
  sent_ = 0;
}

bool Channel::read() {
  char buffer[piece_bytes];
  constexpr int enough = 16;
  for (int i = 0; i < enough && in_ >= 0; ++i) {
    const ssize_t n = ::read(in_, buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) return true;
    if (n <= 0) return false;
    reader_.add({buffer, static_cast<std::size_t>(n)});
    if (n < static_cast<ssize_t>(sizeof buffer)) return true;
  }
  return in_ >= 0;
}

void Channel::close_out() {
  if (out_ >= 0) ::close(out_);
  out_ = -1;
  queue_.clear();
  sent_ = 0;
}

void Channel::close() {
  close_out();
  if (in_ >= 0) ::close(in_);
  in_ = -1;
}

}  // namespace weft::launch
