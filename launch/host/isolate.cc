// SPDX-License-Identifier: Apache-2.0
//
// See isolate.h. A copy of the host's whole table for every rank, most of which it closes again,
// would cost the square of the ranks (0.8 s for 2,048). So a rank takes a copy of the part below
// our own descriptors and fetches the three it needs from the host's table. Where that is forbidden
// (a container may refuse pidfd_getfd), it is done the long way.
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

}  // namespace

std::string why_not_isolated() {
  // Neither changes anything: no flag, no descriptor.
  if (unshare(0) == 0 || close_descriptors(no_descriptor, no_descriptor, 0) == 0) return {};
  return std::string("this system forbids unshare and close_range (") + std::strerror(errno) +
         "), so all ranks would share one table of open files; run its ranks as processes";
}

void Descriptors::seal() {
  std::ranges::sort(own_);
  for (int fd : own_) {
    const auto n = static_cast<unsigned>(fd);
    if (!runs_.empty() && runs_.back().last + 1 >= n)
      runs_.back().last = n;
    else
      runs_.push_back({n, n});
  }
  fetches_ = can_fetch();
}

// May we, and is nothing else above our first descriptor that ranks should have?
bool Descriptors::can_fetch() const {
  const int process = open_process();
  const int copy = fetch(process, own_.front());
  DIR* list = opendir("/proc/self/fd");
  bool can = process >= 0 && copy >= 0 && list != nullptr;
  while (const dirent* entry = can ? readdir(list) : nullptr) {
    const int fd = std::atoi(entry->d_name);
    const bool is_temporary = fd == process || fd == copy || fd == dirfd(list);
    if (fd > own_.front() && !is_temporary && !std::ranges::binary_search(own_, fd)) can = false;
  }
  if (list) closedir(list);
  for (int fd : {process, copy})
    if (fd >= 0) close(fd);
  return can;
}

void Descriptors::isolate(const int (&standard)[3]) const {
  unshare(CLONE_FS);  // where these are forbidden they are common to all ranks
  unshare(CLONE_SYSVSEM);
  if (fetches_) {
    close_descriptors(runs_.front().first, no_descriptor, with_own_table);
    const int process = open_process();
    for (int i = 0; i < 3; i++) {
      const int fd = fetch(process, standard[i]);
      dup2(fd, i);
      close(fd);
    }
    close(process);
    return;
  }
  if (unshare(CLONE_FILES) != 0) close_descriptors(no_descriptor, no_descriptor, with_own_table);
  for (int i = 0; i < 3; i++) dup2(standard[i], i);
  close_all();
}

void Descriptors::close_all() const {
  for (const Run& run : runs_) {
    if (close_descriptors(run.first, run.last, 0) == 0) continue;
    for (unsigned fd = run.first; fd <= run.last; fd++) close(static_cast<int>(fd));
  }
}

}  // namespace weft::host
