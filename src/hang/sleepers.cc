// SPDX-License-Identifier: Apache-2.0
#include "hang/sleepers.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>

namespace weft::hang {
namespace {

std::vector<std::int32_t> tasks_of(std::int32_t pid) {
  std::vector<std::int32_t> tids;
  char path[64];
  std::snprintf(path, sizeof path, "/proc/%d/task", pid);
  DIR* directory = opendir(path);
  if (directory == nullptr) return tids;
  while (const dirent* entry = readdir(directory))
    if (const int tid = std::atoi(entry->d_name); tid > 0) tids.push_back(tid);
  closedir(directory);
  return tids;
}

/// Arguments of a futex wait without a time limit.
struct FutexWait {
  unsigned long long address = 0, operation = 0, expected = 0;
};

bool is_in_futex_wait(std::int32_t pid, std::int32_t tid, FutexWait* out) {
  char path[64], line[256];
  std::snprintf(path, sizeof path, "/proc/%d/task/%d/syscall", pid, tid);
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  const ssize_t n = read(fd, line, sizeof line - 1);
  close(fd);
  if (n <= 0) return false;
  line[n] = 0;
  long number = 0;
  unsigned long long time_limit = 0;
  if (std::sscanf(line, "%ld %llx %llx %llx %llx", &number, &out->address, &out->operation,
                  &out->expected, &time_limit) != 5)
    return false;
  const unsigned long long what = out->operation & FUTEX_CMD_MASK;
  return number == SYS_futex && time_limit == 0 &&
         (what == FUTEX_WAIT || what == FUTEX_WAIT_BITSET || what == FUTEX_LOCK_PI);
}

/// glibc's pthread_mutex_t begins with: the futex word, a count, the owner's thread id.
std::int32_t owner_of_mutex(std::int32_t pid, unsigned long long address) {
  std::int32_t words[3] = {};
  const iovec here{words, sizeof words};
  const iovec there{reinterpret_cast<void*>(address), sizeof words};
  return process_vm_readv(pid, &here, 1, &there, 1, 0) == static_cast<ssize_t>(sizeof words)
             ? words[2]
             : 0;
}

class Process {
 public:
  Process(JobView& view, std::int32_t pid) : pid_(pid), tids_(tasks_of(pid)) {
    for (RankView& rank : view.ranks) {
      if (rank.pid != pid) continue;
      ranks_.push_back(&rank);
      for (const Thread& thread : rank.threads) rank_of_[thread.record.tid] = &rank;
    }
  }

  void look() {
    std::vector<Sleeper> sleepers;
    bool can_move = tids_.empty();
    for (const std::int32_t tid : tids_) {
      if (rank_of_.count(tid) != 0) continue;
      Sleeper o;
      if (sleeps(tid, &o))
        sleepers.push_back(o);
      else
        can_move = true;
    }
    for (RankView* rank : ranks_) rank->others_can_move = can_move;
    for (const Sleeper& o : sleepers) {
      const bool is_host = ranks_.size() > 1 && o.tid == pid_;  // waits for the ranks' threads
      if (RankView* rank = rank_of(o); rank != nullptr && !is_host) rank->sleepers.push_back(o);
    }
  }

 private:
  bool is_task(std::int64_t tid) const {
    return std::find(tids_.begin(), tids_.end(), tid) != tids_.end();
  }

  /// Only another thread of this process can wake it.
  bool sleeps(std::int32_t tid, Sleeper* out) const {
    FutexWait wait;
    if (!is_in_futex_wait(pid_, tid, &wait)) return false;
    out->tid = tid;
    // pthread_join waits, for the kernel, on a word that holds the other thread's id.
    if (is_task(static_cast<std::int64_t>(wait.expected))) {
      out->what = Sleeper::For::thread;
      out->other = static_cast<std::int32_t>(wait.expected);
      return true;
    }
    if ((wait.operation & FUTEX_PRIVATE_FLAG) == 0) return false;
    out->other = owner_of_mutex(pid_, wait.address);
    if (out->other != tid && is_task(out->other)) out->what = Sleeper::For::mutex;
    return true;
  }

  /// Whose thread it is: known if it waits for one that is known, or if there is one rank only.
  RankView* rank_of(const Sleeper& o) const {
    if (ranks_.size() == 1) return ranks_[0];
    const auto found = rank_of_.find(o.other);
    return found == rank_of_.end() ? nullptr : found->second;
  }

  std::int32_t pid_;
  std::vector<std::int32_t> tids_;
  std::vector<RankView*> ranks_;
  std::map<std::int32_t, RankView*> rank_of_;
};

}  // namespace

void find_sleepers(JobView& view) {
  std::vector<std::int32_t> pids;
  for (const RankView& rank : view.ranks)
    if (rank.is_multiple() && std::find(pids.begin(), pids.end(), rank.pid) == pids.end())
      pids.push_back(rank.pid);
  for (const std::int32_t pid : pids) Process(view, pid).look();
}

}  // namespace weft::hang
