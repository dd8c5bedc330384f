// SPDX-License-Identifier: Apache-2.0
//
// Wakes threads that sleep for shared memory (a futex) when something comes from the network (a
// descriptor): one thread that sleeps for the descriptors of all endpoints of a rank. A descriptor
// is watched once each time it is armed, and stays in the watcher's set until it is removed. If it
// is a set of sockets itself, the kernel goes through both sets for each packet meanwhile: send()
// of its peer took 5.2 us, and 5.0 without (lowest tenths; 2-core EPYC, family 25).
//
// No lost wake-up: who sleeps announces it (sync/wait.h), looks once more, arms, and sleeps. What
// came after that look makes the descriptor readable, before or after it is armed; either way the
// watcher runs `wake`, which finds the announcement.
#pragma once

#include "base/err.h"
#include "sync/thread.h"

namespace weft::net {

class Watcher {
 public:
  struct Sleeper {
    void (*wake)(void* state);
    void* state;
  };
  /// What `wake` of its sleepers may use: with descriptors of the thread's own it has none of the
  /// rank's, whose system calls cost less then.
  enum class Descriptors : bool { own, shared };
  /// Starts the thread, unless it runs; `name` as sync::Thread has it.
  Err start(const char* name, Descriptors descriptors);
  /// Wake nobody any more: before any sleeper goes.
  void stop();
  ~Watcher();
  Watcher() = default;
  Watcher(const Watcher&) = delete;
  Watcher& operator=(const Watcher&) = delete;

  /// Wake it, once, when the descriptor is readable. `sleeper` stays where it is until remove().
  /// False: the system does not watch this one.
  bool arm(int fd, Sleeper& sleeper);
  void remove(int fd);

 private:
  void watch(const sync::Thread& me);

  sync::Thread thread_;
  Descriptors descriptors_ = Descriptors::own;
  int poll_ = -1, end_ = -1;
};

}  // namespace weft::net
