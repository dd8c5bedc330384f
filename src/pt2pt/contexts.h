// SPDX-License-Identifier: Apache-2.0
//
// The communication contexts of a rank, and who looks after one in which nobody waits.
//
// A context is an Engine; with MPI_THREAD_MULTIPLE a rank has several. Each that has waiting
// threads has a server (waiting.h). MPI wants more: a rank that waits anywhere has to complete what
// it has begun elsewhere. So the servers also look after contexts without waiting threads that need
// it (Engine::needs_progress: something has begun there, or Mailbox::knocked: a sender finds no
// room): now and then while they look, and before and after they sleep.
//
// No lost wake-up. A server of context j that goes to sleep
//   1. sets its word (parked of j's mailbox) to j + 1 and counts itself in `asleep`,
//   2. adopts every context k that needs progress: parked of k becomes j + 1, unless somebody
//   sleeps for k,
//   3. runs the barrier of sync/wait.h, looks after those contexts once more, and sleeps on its
//   word.
// News in k from then on finds j + 1 in k's word and wakes j. A thread whose call leaves k needing
// progress sets needs_progress, then reads `asleep`, and wakes one sleeping server if there is any:
// either that server reads needs_progress in step 2, or it is counted by then (both are seq_cst). A
// server that wakes gives up what it adopted and uncounts itself; before it sleeps again it adopts
// anew, and if it leaves it wakes another one while anything needs progress (leave_waiting).
//
// A sender on another node can say nothing here. So with a network a context is one of three:
//   attended    threads wait in it, so its own server looks (Engine::attended);
//   watched     whoever is named in its word is woken for what comes (wire::Network::is_watched);
//   unwatched   a server looks there before it sleeps, and has it watched from then on, or naps
//               where nobody can be woken for it.
// In step 2 a server adopts every context that nobody attends, and in step 3 it looks at those that
// are unwatched. A thread that leaves a context unattended while servers of others sleep names one
// of them in its word, has it watched, and wakes that server if it could not (hand_over). So
// servers take the lock of a context which others use only when something came that its threads did
// not take, or when nobody slept as they left it.
//   Either the thread that leaves finds the server in `asleep`, or the server finds the context
//   unattended. Either the watcher finds the name, or who has named finds the context unwatched. A
//   server that wakes takes back its own word before its name elsewhere: who names it too late
//   finds that it is awake, and names another one (name_sleeper). It hands on what it had adopted
//   if it leaves (hand_on).
// Who sends from a context, or waits in it, first takes the name of others out of its word
// (take_from_others): they are not woken for what it does itself. tests/model/network.pml
//
// As long as one thread calls (Contexts::sole) its calls do not say what they leave behind: it does
// so for all contexts when it begins to wait, or for it the first other thread that comes.
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>
#include <vector>

#include "object/objects.h"
#include "pt2pt/limits.h"
#include "sync/lock.h"
#include "sync/sole_lock.h"
#include "sync/thread.h"

namespace weft::pt2pt {

struct Engine;

/// Attached buffers of buffered mode (buffered.cc). Guarded by Contexts::objects.
struct BufferPool {
  std::byte* base = nullptr;
  std::int64_t size = 0;
  bool attached = false;
  bool automatic = false;
  struct Piece {
    std::int64_t at, bytes;
  };
  std::vector<Piece> pieces;               // in use, by address
  std::atomic<std::int64_t> in_flight{0};  // messages not yet sent
};

/// Whose buffer: a communicator's, a session's (by number), or the process's (neither).
struct BufferOwner {
  const object::Comm* comm = nullptr;
  std::uint32_t session = 0;

  BufferOwner(std::nullptr_t) {}
  BufferOwner(const object::Comm* of) : comm(of) {}
  BufferOwner(const object::Session* of) : session(of->number) {}
  explicit BufferOwner(std::uint32_t number) : session(number) {}
  bool is_process() const { return comm == nullptr && session == 0; }
  bool operator==(const BufferOwner&) const = default;
};

struct Buffers {
  BufferPool own;
  std::vector<std::pair<BufferOwner, BufferPool*>> of_others;
};

/// What the contexts of a rank share.
struct Contexts {
  static constexpr int most = 16;
  std::vector<Engine*> engines;  // the first is always open, the others with MPI_THREAD_MULTIPLE
  std::atomic<int> waiting{0};   // threads that have waited for a while, in all contexts
  std::atomic<int> asleep{0};    // of these: servers that sleep, or are about to
  // Some communicator is not in the first context; stays so. relaxed: whoever has a request of
  // another context got it after that was set.
  std::atomic<bool> spread{false};
  sync::SoleLock sole;                    // in place of the locks of all contexts
  sync::RankLock* objects = nullptr;      // the rank's object lock (object/store.h); guards:
  std::vector<object::Comm*> comms;       // in order of their construction
  std::atomic<std::uint64_t> numbers{0};  // of communicators, that this rank has given
  Buffers buffers;

  // A thread of weft's own that goes on with what has begun (progress/charge.h), and whether
  // it has to be told that something has.
  bool has_background = false;  // it is started once all contexts are open
  sync::Thread* background = nullptr;
  // It does not sit where the rank computes, and of late the rank was away for so long that leaving
  // something to it was worth it. By the thread. relaxed: a guess
  std::atomic<bool> background_gains{false};
  /// watches: the rank comes and goes, and it sleeps for a moment; told of what is left to it only.
  enum class Rests : std::uint8_t { no, until_told, until_news, until_back, watches };
  std::atomic<Rests> background_rests{Rests::no};
  // The sole thread sleeps in MPI, and looks after everything when it wakes. As it comes back it
  // stores this, then reads background_rests; the thread of weft's own stores that it rests until
  // then, and reads this.
  std::atomic<bool> sole_sleeps{false};
  // Something was left to it since it was told. relaxed: comes with what wakes it (sync/signal.h)
  std::atomic<bool> delegated{false};
  std::atomic<float> tell_ns{first_tell_ns};  // that telling it takes, of late. relaxed: a guess

  bool several() const { return engines.size() > 1; }
};

/// The sole thread leaves MPI, and the thread of weft's own rests, or did: does it have to look?
[[gnu::cold]] void say_what_has_begun(Contexts& all);
/// Something has begun that nobody waits for: wake the rank's thread for it. With the lock
/// of `e`.
[[gnu::cold]] void wake_background(Engine& e);

/// The thread lets go of the context's lock: say whether somebody else has to look after it.
inline void leave_context(Engine& e);
[[gnu::cold]] void leave_networked(Engine& e);
/// The watcher's thread: something has come from other nodes.
void wake_for_network(Engine& e);
/// A thread is at it that leaves the context later: who sleeps in another context need not be
/// woken. With the lock.
void take_from_others(Engine& e);
/// The same of all contexts, by the sole thread, or at its end.
void leave_contexts(Contexts& all);
/// Look after other contexts than `e` that need it; the caller holds no context's lock. Before and
/// after it sleeps it waits for their locks, and looks whether they have news from other nodes, if
/// nobody else does. True if one of them has to be looked after again, which nobody tells.
enum class Others { now_and_then, before_sleep, after_sleep };
/// `sleep_ns`: before it sleeps; for how long, at most, becomes less where nobody wakes it for one
/// of them.
bool look_after_others(Engine& e, Others when, std::int64_t* sleep_ns = nullptr);
/// Steps 1 and 2 above, and their opposite. By a server of `e`. True if nobody was named in its own
/// context's word. `others_sleep`: they still rely on that word.
bool begin_sleep(Engine& e);
void end_sleep(Engine& e, bool others_sleep = false);
/// A thread begins to wait in `e`, and has ended that; with the lock.
void begin_waiting(Engine& e);
void leave_waiting(Engine& e);
/// Who had adopted contexts is awake, and does not look there again: others that sleep adopt them,
/// all but one.
void hand_on(Contexts& all, const Engine* but = nullptr);

}  // namespace weft::pt2pt
