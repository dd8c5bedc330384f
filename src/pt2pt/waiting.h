// SPDX-License-Identifier: Apache-2.0
//
// Several threads of a rank that wait at once: selective reactivation (Dang, Seo, Amer, Balaji:
// Advanced Thread Synchronization for Multithreaded MPI Implementations, CCGrid 2017, §IV.A).
//
// One of the waiting threads, the server, looks after messages; the others sleep, each on a signal
// of its own. Whoever completes a request counts it at the thread that waits for it, and signals
// that thread when what it waits for is complete: once, also for many requests. A server that
// leaves names the next one. Parameter sync.servers says how many servers a context has; 0: each
// waiting thread looks itself.
//
// Threads that wait for something else than requests (a probed message, a flag in shared memory)
// are watchers: the server asks their questions and signals those for whom it is so; they ask again
// under the lock, because another thread may have been faster. It asks when an unexpected message
// has come, or when somebody has rung: who writes a flag rings at the mailbox, if that is watched
// (shm::View::ring). So a look costs the same however many watch. A ring that is overlooked, and
// news that nobody rings for, cost a delay and no more: the server also asks every few looks, and
// always before it sleeps.
#pragma once

#include <mpi.h>

#include <atomic>
#include <span>

#include "base/list.h"
#include "object/request.h"
#include "pt2pt/wait_note.h"
#include "sync/signal.h"

namespace weft::pt2pt {

struct Engine;
struct Posted;
using object::Request;

/// The requests that a wait is about: either of the two forms, or none.
struct Awaited {
  std::span<const MPI_Request> handles{};
  std::span<Request* const> requests{};
  bool one_is_enough = false;
  const About* about = nullptr;  // what it is about instead, for who asks why nobody moves
  Posted* receive = nullptr;     // of a blocking receive: what this thread does itself
  // Of several contexts, one is enough: for who asks why nobody moves, too.
  std::span<const MPI_Request> elsewhere{};

  bool none() const { return handles.empty() && requests.empty(); }
};

/// What a thread waits on in context `home` for requests of other contexts (several_contexts.cc).
struct Bell {
  Engine* home;
  std::atomic<bool> rung{false};
  bool operator()() const { return rung.load(std::memory_order_acquire); }
};

/// A thread in a blocking call; on its stack. Guarded by the context's lock, but for `signal`.
struct Waiting {
  template <class Done>
  Waiting(Done& question, const Awaited& about)
      : ask([](void* q) { return static_cast<bool>((*static_cast<Done*>(q))()); }),
        what(const_cast<void*>(static_cast<const void*>(&question))),
        awaited(about) {}
  bool done() const { return ask(what); }

  bool (*ask)(void* what);
  void* what;
  const Awaited& awaited;
  Link<Waiting> link;
  std::size_t pending = 0;  // completions until this thread has to be woken
  bool listed = false;
  bool counted = false;  // in Contexts::waiting
  bool serves = false;
  Bell* bell = nullptr;  // set: not waiting here itself, to be told so
  WaitNote note;
  sync::Signal signal;
};

using WaitingList = List<Waiting, &Waiting::link>;

/// Those of one context.
struct Waiters {
  int most_servers = 1;      // 0: every waiting thread looks
  int cpus = 1;              // that the rank's threads may share
  int waiting = 0;           // threads in a blocking call
  int blocked = 0;           // of these, listed or asleep: they see no completion themselves
  int sleeping = 0;          // asleep on the mailbox's park word
  int servers = 0;           // that look after messages; may still be about to wake up
  int watching_servers = 0;  // of these, watchers
  // One of those that wait for a signal stays awake, to follow the server when it leaves. It is not
  // told so: if the server is back first (it has received, and receives again), it is the server
  // again, and no thread was switched.
  Waiting* deputy = nullptr;
  // A server has left; written under the lock, read by the deputy.
  std::atomic<bool> vacant{false};
  WaitingList list;      // for requests
  WaitingList watchers;  // for something else
  int watching = 0;      // how many these are
  // When they were last asked.
  std::uint32_t rings = 0, looks = 0;
  std::uint64_t unexpected = 0;

  bool wants_server() const { return servers < most_servers; }
};

/// wait_until() with MPI_THREAD_MULTIPLE.
void wait_among_threads(Engine& e, Waiting& me);
/// Something has happened that threads may sleep for; `waiting`: the one whose request is done.
void tell_waiters(Engine& e, Waiting* waiting);

}  // namespace weft::pt2pt
