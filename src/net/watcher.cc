// SPDX-License-Identifier: Apache-2.0
#include "net/watcher.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cstring>

namespace weft::net {

Err Watcher::start(const char* name) {
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

Err Watcher::add(int fd, Sleeper& sleeper) {
  epoll_event nothing{.events = EPOLLONESHOT, .data = {.ptr = &sleeper}};
  if (epoll_ctl(poll_, EPOLL_CTL_ADD, fd, &nothing) == 0) return ok;
  return fail(MPI_ERR_OTHER, "the network's descriptor cannot be watched: %s",
              std::strerror(errno));
}

void Watcher::remove(int fd) {
  epoll_ctl(poll_, EPOLL_CTL_DEL, fd, nullptr);
}

void Watcher::arm(int fd, Sleeper& sleeper) {
  epoll_event once{.events = EPOLLIN | EPOLLONESHOT, .data = {.ptr = &sleeper}};
  epoll_ctl(poll_, EPOLL_CTL_MOD, fd, &once);
}

void Watcher::watch(const sync::Thread& me) {
  while (!me.is_to_end()) {
    constexpr int most = 16;
    epoll_event ready[most];
    const int n = epoll_wait(poll_, ready, most, -1);
    for (int i = 0; i < n; ++i)
      if (auto* sleeper = static_cast<Sleeper*>(ready[i].data.ptr)) sleeper->wake(sleeper->state);
  }
}

}  // namespace weft::net
