// SPDX-License-Identifier: Apache-2.0
#include "sync/thread.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "sync/limits.h"

namespace weft::sync {
namespace {

/// As the kernel has it (sched_setattr(2)); glibc before 2.41 has no name for it.
struct SchedAttributes {
  std::uint32_t size, policy;
  std::uint64_t flags;
  std::int32_t nice;
  std::uint32_t priority;
  std::uint64_t runtime, deadline, period;
};

/// Ask for the CPU often and for short, as a thread does that mostly sleeps: when woken it then
/// gets the CPU at once from a rank that computes there, not at the end of that one's slice (3 ms).
/// Linux before 6.12 does not listen.
void ask_for_short_slices() {
  SchedAttributes mine{};
  if (syscall(SYS_sched_getattr, 0, &mine, sizeof mine, 0) != 0 || mine.policy != SCHED_OTHER)
    return;
  mine.runtime = slice_ns;
  syscall(SYS_sched_setattr, 0, &mine, 0);
}

/// A set for any number of CPUs.
class CpuSet {
 public:
  explicit CpuSet(std::span<const int> cpus) {
    if (cpus.empty()) return;
    const auto most = static_cast<std::size_t>(*std::max_element(cpus.begin(), cpus.end())) + 1;
    bytes_ = CPU_ALLOC_SIZE(most);
    set_ = CPU_ALLOC(most);
    if (set_ == nullptr) return;
    CPU_ZERO_S(bytes_, set_);
    for (int cpu : cpus) CPU_SET_S(static_cast<std::size_t>(cpu), bytes_, set_);
  }
  ~CpuSet() {
    if (set_ != nullptr) CPU_FREE(set_);
  }
  CpuSet(const CpuSet&) = delete;
  CpuSet& operator=(const CpuSet&) = delete;
  /// False: there is none, or the thread may use none of them.
  bool bind(pthread_t thread) const {
    return set_ != nullptr && pthread_setaffinity_np(thread, bytes_, set_) == 0;
  }

 private:
  cpu_set_t* set_ = nullptr;
  std::size_t bytes_ = 0;
};

constexpr std::size_t most_letters = 15;  // the kernel's

}  // namespace

void* Thread::main(void* thread) {
  Thread& me = *static_cast<Thread*>(thread);
  ask_for_short_slices();
  me.task_.run(me, me.task_.state);
  return nullptr;
}

Err Thread::start(const Task& task) {
  task_ = task;
  to_end_.store(false, std::memory_order_relaxed);
  signal_.reset();
  char name[most_letters + 1] = "";
  std::strncpy(name, task.name, most_letters);
  sigset_t all, old;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &old);  // the program's signals are for its own threads
  const int error = pthread_create(&thread_, nullptr, main, this);
  pthread_sigmask(SIG_SETMASK, &old, nullptr);
  if (error != 0)
    return fail(MPI_ERR_NO_MEM, "the system gives no thread for %s: %s", name,
                std::strerror(error));
  running_ = true;
  pthread_setname_np(thread_, name);
  placed_ = CpuSet(task.cpus).bind(thread_);
  task_.cpus = {};  // the caller's
  return ok;
}

void Thread::end() {
  if (!running_) return;
  ask_to_end();
  wake();
  pthread_join(thread_, nullptr);
  running_ = false;
}

}  // namespace weft::sync
