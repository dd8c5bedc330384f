// SPDX-License-Identifier: Apache-2.0
#include "net/watcher.h"

#include <errno.h>
#include <linux/close_range.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>

namespace weft::net {
namespace {

/// Gives this thread a table of descriptors of its own, with these and standard error. Threads that
/// share one make the kernel count who uses a descriptor, in each system call of each: epoll_wait
/// of a rank that looks for messages took 0.22 us, and 0.16 without (lowest tenths; 2-core EPYC,
/// family 25). Where the kernel does not give one (before 5.9), it stays shared.
void keep_only(std::array<int, 2> kept) {
  std::array<unsigned, 3> all{STDERR_FILENO, static_cast<unsigned>(kept[0]),
                              static_cast<unsigned>(kept[1])};
  std::sort(all.begin(), all.end());
  unsigned first = 0;
  const auto close_from_first_to = [&](unsigned last) {
    return first > last || syscall(SYS_close_range, first, last, CLOSE_RANGE_UNSHARE) == 0;
  };
  for (const unsigned fd : all) {
    if (fd > 0 && !close_from_first_to(fd - 1)) return;
    first = std::max(first, fd + 1);
  }
  close_from_first_to(~0U);
}

}  // namespace

Err Watcher::start(const char* name, Descriptors descriptors) {
  if (thread_.is_running()) return ok;
  descriptors_ = descriptors;
  poll_ = epoll_create1(EPOLL_CLOEXEC);
  end_ = eventfd(0, EFD_CLOEXEC);
  epoll_event to_end{.events = EPOLLIN, .data = {.ptr = nullptr}};
  if (poll_ < 0 || end_ < 0 || epoll_ctl(poll_, EPOLL_CTL_ADD, end_, &to_end) != 0)
    return fail(MPI_ERR_OTHER, "the system gives no descriptor to watch the network: %s",
                std::strerror(errno));
  return thread_.start(
      {name,
       {},
       [](sync::Thread& me, void* self) { static_cast<Watcher*>(self)->watch(me); },
       this});
}

void Watcher::stop() {
  if (!thread_.is_running()) return;
  thread_.ask_to_end();
  eventfd_write(end_, 1);
  thread_.end();
}

Watcher::~Watcher() {
  stop();
  if (poll_ >= 0) close(poll_);
  if (end_ >= 0) close(end_);
}

bool Watcher::arm(int fd, Sleeper& sleeper) {
  epoll_event once{.events = EPOLLIN | EPOLLONESHOT, .data = {.ptr = &sleeper}};
  return epoll_ctl(poll_, EPOLL_CTL_MOD, fd, &once) == 0 ||
         (errno == ENOENT && epoll_ctl(poll_, EPOLL_CTL_ADD, fd, &once) == 0);
}

void Watcher::remove(int fd) {
  epoll_ctl(poll_, EPOLL_CTL_DEL, fd, nullptr);
}

void Watcher::watch(const sync::Thread& me) {
  if (descriptors_ == Descriptors::own) keep_only({poll_, end_});
  while (!me.is_to_end()) {
    constexpr int most = 16;
    epoll_event ready[most];
    const int n = epoll_wait(poll_, ready, most, -1);
    for (int i = 0; i < n; ++i)
      if (auto* sleeper = static_cast<Sleeper*>(ready[i].data.ptr)) sleeper->wake(sleeper->state);
  }
}

}  // namespace weft::net
