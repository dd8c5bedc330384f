// SPDX-License-Identifier: Apache-2.0
#include "parallel/helpers.h"

#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>

#include "base/clock.h"
#include "parallel/jobs.h"
#include "parallel/limits.h"
#include "sync/wait.h"

namespace weft::parallel {
namespace {

constexpr std::uint32_t all_of_it = UINT32_MAX;

void look_for_jobs(Jobs& all) {
  for (std::int64_t until = now_ns() + spin_ns; now_ns() < until;) {
    if (!all.is_offered()) {
      sync::pause();
    } else if (all.help(all_of_it)) {
      until = now_ns() + spin_ns;
    } else {
      sync::yield();  // those in it may want this core
    }
  }
}

void* run(void*) {
  Jobs& all = jobs();
  std::atomic<std::uint32_t> bed{0};
  all.count_waiting(1);
  for (;;) {
    look_for_jobs(all);
    const sync::Spare::Sleeper sleeper(&all, bed, sync::Spare::Sleeper::Scope::process);
    if (sleeper.is_wanted()) continue;
    all.count_sleeping(1);
    syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&bed), FUTEX_WAIT_PRIVATE, 0, nullptr,
            nullptr, 0);
    all.count_sleeping(-1);
  }
  return nullptr;
}

}  // namespace

void start_helpers(int n) {
  static std::atomic<int> running{0};
  pthread_attr_t attributes;
  sigset_t all, old;
  pthread_attr_init(&attributes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &old);  // the program's signals are for its own threads
  for (int have = running.load(); have < n;) {
    if (!running.compare_exchange_weak(have, have + 1)) continue;
    pthread_t thread;
    if (pthread_create(&thread, &attributes, run, nullptr) != 0) break;
    ++have;
  }
  pthread_sigmask(SIG_SETMASK, &old, nullptr);
  pthread_attr_destroy(&attributes);
}

}  // namespace weft::parallel
