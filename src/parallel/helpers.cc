// SPDX-License-Identifier: Apache-2.0
#include "parallel/helpers.h"

#include <atomic>

#include "base/clock.h"
#include "parallel/jobs.h"
#include "parallel/limits.h"
#include "sync/thread.h"
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

void run(sync::Thread& me, void*) {
  Jobs& all = jobs();
  all.count_waiting(1);
  for (;;) {
    look_for_jobs(all);
    all.count_sleeping(1);
    me.sleep(0, &all);
    all.count_sleeping(-1);
  }
}

}  // namespace

void start_helpers(int n) {
  static std::atomic<int> running{0};
  for (int have = running.load(); have < n;) {
    if (!running.compare_exchange_weak(have, have + 1)) continue;
    // It ends with the process.
    if ((new sync::Thread)->start({.name = "weft-helper", .cpus = {}, .run = run})) break;
    ++have;
  }
}

}  // namespace weft::parallel
