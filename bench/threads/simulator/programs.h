// SPDX-License-Identifier: Apache-2.0
//
// The programs whose time is simulated: those of the paper's figures (bench/threads/main.c measures
// the first three), and two that use weft's locks alone.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace weft::simulator {

struct Work {
  int threads = 1;
  int bytes = 64;
  int rounds = 0;  // 0: the program's own
};

/// What a program is: the body of each thread of each rank, and how much they do together.
struct Thread {
  int rank;
  int core;  // of the rank's own
  std::function<void()> body;
};
struct Program {
  std::vector<Thread> threads;
  double messages = 0;
  double per_time = 1;  // times that the end counts for a message: 0.5 for half a round trip
};

/// One thread of rank 0 sends to N of rank 1, which answer.
Program latency(const Work& work);
/// N pairs of threads, windows of messages, each answered once.
Program stream(const Work& work, int window);
/// Threads of rank 0 take the rank's kind of lock in turns; each critical section writes some
/// lines. The order in which they got it comes back in `order`.
Program critical_sections(const Work& work, std::vector<int>& order);
/// Two threads, the second on core `work.threads`, wake each other under a lock of that kind.
Program handover(const Work& work, bool in_kernel);

}  // namespace weft::simulator
