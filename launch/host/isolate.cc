// SPDX-License-Identifier: Apache-2.0
//
// See isolate.h. A copy of the host's whole table for every rank, most of which it closes again,
// would cost the square of the ranks (0.8 s for 2,048). So a rank takes a copy of the part in which
// there are others' descriptors, and fetches the three it needs from the host's table. Where that
// is forbidden (a container may refuse pidfd_getfd), it takes a copy of all.
#include "isolate.h"

#include <dirent.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace weft::host {
namespace {

constexpr unsigned no_descriptor = ~0U;
constexpr unsigned with_own_table = 1U << 1;  // CLOSE_RANGE_UNSHARE; not in every header

// By number: libc's functions are newer than the system calls.
long close_descriptors(unsigned first, unsigned last, unsigned flags) {
  return syscall(SYS_close_range, first, last, flags);
}
int open_process() {
  return static_cast<int>(syscall(SYS_pidfd_open, syscall(SYS_getpid), 0));
}
int fetch(int process, int fd) {
  return static_cast<int>(syscall(SYS_pidfd_getfd, process, fd, 0));
}

// The calls change nothing here: no flag, no descriptor.
bool may_unshare() {
  return unshare(0) == 0;
}
bool may_close_range() {
  return close_descriptors(no_descriptor, no_descriptor, 0) == 0;
}

}  // namespace

std::string why_not_isolated() {
  if (may_unshare() || may_close_range()) return {};
  return std::string("this system forbids unshare and close_range (") + std::strerror(errno) +
         "), so all ranks would share one table of open files; run its ranks as processes";
}

void Descriptors::seal() {
  std::ranges::sort(own_);
  can_fetch_ = find_cut() && may_close_range();
}

/// Also whether this process may fetch descriptors from itself.
bool Descriptors::find_cut() {
  const int process = open_process();
  const int copy = fetch(process, own_.front());
  DIR* list = opendir("/proc/self/fd");
  int highest = list ? 2 : own_.back();
  while (const dirent* entry = list ? readdir(list) : nullptr) {
    const int fd = std::atoi(entry->d_name);
    const bool is_temporary = fd == process || fd == copy || fd == dirfd(list);
    if (!is_temporary && !std::ranges::binary_search(own_, fd)) highest = std::max(highest, fd);
  }
  cut_ = static_cast<unsigned>(highest) + 1;
  if (list) closedir(list);
  for (int fd : {process, copy})
    if (fd >= 0) close(fd);
  return process >= 0 && copy >= 0;
}

void Descriptors::isolate(const int (&standard)[3]) const {
  unshare(CLONE_FS | CLONE_SYSVSEM);  // where that is forbidden they are common to all ranks
  if (can_fetch_)
    close_descriptors(cut_, no_descriptor, with_own_table);
  else if (unshare(CLONE_FILES) != 0)
    close_descriptors(no_descriptor, no_descriptor, with_own_table);
  const int process = can_fetch_ ? open_process() : -1;
  for (int i = 0; i < 3; i++) {
    if (standard[i] == i) continue;
    const int fd = can_fetch_ ? fetch(process, standard[i]) : standard[i];
    dup2(fd, i);
    if (can_fetch_) close(fd);
  }
  if (can_fetch_) close(process);
  close_all();
}

void Descriptors::close_all() const {
  const bool at_once = close_descriptors(cut_, no_descriptor, 0) == 0;
  for (int fd : own_) {
    if (at_once && static_cast<unsigned>(fd) >= cut_) return;
    close(fd);
  }
}

}  // namespace weft::host
