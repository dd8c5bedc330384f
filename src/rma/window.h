// SPDX-License-Identifier: Apache-2.0
//
// Windows (MPI-5.0 chapter 12): what a window is, and what its members share. Who accesses memory
// does the work: it loads, stores and copies where the target's memory is its own or the job's, and
// asks the kernel to copy where it is another process's. So a target has no part in it, and every
// operation is over when its call returns; what waits is synchronization alone (sync.cc).
//
// One block of the job's memory holds the Words of every member on this node, and the memory of
// windows that weft allocates. It goes when all of them have left it. Members on other nodes are
// reached by messages (messages.h); who they are for is kept from the first one on (Remote).
#pragma once

#include <mpi.h>

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/counters.h"
#include "base/err.h"
#include "base/pool.h"
#include "object/attribute.h"
#include "object/objects.h"
#include "pt2pt/engine.h"
#include "rma/limits.h"
#include "shm/mailbox.h"
#include "wire/network.h"

namespace weft::rma {

using object::Comm;
using object::Info;

/// Memory that a rank has attached to a dynamic window; `end` is 0 in a free entry.
struct Region {
  std::atomic<std::uint64_t> begin, end;
};

/// What all on its node may change about one member. Zero at the start. Two arrays follow: see
/// Target. All accesses are sequentially consistent: a waker changes a word and
/// then looks who sleeps, a sleeper says so and then looks at the word.
struct alignas(64) Words {
  // The lock of passive synchronization, granted in the order of tickets: a reader's turn is when
  // `readers` has come to its ticket, a writer's when `writers` has.
  std::atomic<std::uint32_t> next, readers, writers;
  /// The member that holds the lock alone, plus 1; for reports only.
  std::atomic<std::uint32_t> holder;
  /// 1: somebody accumulates what no processor's instruction does at once.
  alignas(64) std::atomic<std::uint32_t> accumulates;
  /// 1: somebody who holds that word accumulates so much that the processor does it at once for
  /// many elements, so nobody else may do so for one (accumulate.cc).
  std::atomic<std::uint32_t> in_bulk;
  /// How many threads of this member are changing elements somewhere in the window.
  alignas(64) std::atomic<std::uint32_t> changing;
  /// MPI_Win_complete calls for this member, ever.
  alignas(64) std::atomic<std::uint32_t> completed;
  /// The number of the last barrier in which round k has reached this member.
  std::atomic<std::uint32_t> arrived[barrier_rounds];
  /// Of a dynamic window; `unlisted`: how many more there are than entries.
  alignas(64) Region regions[listed_regions];
  std::atomic<std::uint32_t> unlisted;
};

struct Book;  // races.h

/// An access epoch towards one target.
enum class Held : std::uint8_t { no, shared, exclusive, unchecked, started };

/// A member on the same node as another one there sees it.
struct Target {
  int rank = 0;  // in the window
  Words* words = nullptr;
  // By member of this node: MPI_Win_post calls for this one; and how many this rank has seen.
  std::atomic<std::uint32_t>* posted = nullptr;
  std::uint32_t posts_seen = 0;
  // By ticket modulo their number: who waits with it, as an index of this node's members plus 1.
  // Tickets that wait follow each other. Each member of this node has one at most, and the target
  // one more for the ranks of other nodes; so there are that many places.
  std::atomic<std::uint32_t>* waiting = nullptr;
  Held held = Held::no;
  std::byte* here = nullptr;  // its memory; null: only the kernel reaches it
  std::uint64_t address = 0;  // the same in its own process
  std::int64_t bytes = 0;
  std::int64_t unit = 1;
  std::int32_t pid = 0;
  std::int32_t world_rank = 0;
  bool same_process = false;
  shm::View mailbox;     // to ring at
  Book* book = nullptr;  // null unless accesses are compared
  /// Bytes of rows that this rank has changed there one element at a time (accumulate.cc), since it
  /// last did so together. By atomic_ref, relaxed: only a guess hangs on it.
  std::int64_t one_by_one = 0;

  /// `wanted` bytes of its memory, if they are here and in the window, else null.
  std::byte* at(std::int64_t disp, std::int64_t wanted) const {
    std::int64_t offset;
    if (here == nullptr || __builtin_mul_overflow(disp, unit, &offset) || offset < 0 ||
        offset > bytes - wanted)
      return nullptr;
    return here + offset;
  }
};

/// Are long copies faster by the origin alone than with idle threads? A line that a helper reads or
/// writes leaves the cache of the core which has written it, and has it back when it is written
/// again; between far cores that may take longer than the copy.
class HelpTrials {
 public:
  /// The next copy of so many bytes, more than straight_bytes. By any thread.
  bool is_faster_alone(std::int64_t bytes);

 private:
  std::atomic_flag taken_;  // by a thread; what others copy meanwhile is not counted
  Trials<help_trial, straight_bytes, tried_bytes> trials_;
};

/// What a member's displacements mean.
struct Extent {
  std::int64_t bytes = 0, unit = 1;
  bool operator==(const Extent&) const = default;
};

/// A member on another node to which this rank has spoken. Under the lock of the context.
struct Remote {
  int rank = 0;
  std::int32_t world_rank = 0;
  Held held = Held::no;
  bool asked = false;    // a thread waits for the lock
  bool visited = false;  // its book has accesses of this rank's (races.h)
  bool granted = false;  // the lock that was asked for; after MPI_Win_unlock: it is given back
  int pending = 0;       // operations that are not over at this end
  // Operations with an effect there, up to which one it is known to be done, and up to which that
  // has been asked.
  std::uint64_t issued = 0, confirmed = 0, asked_for = 0;
  // Operations since this rank last had to know, and how many they were then: the next one of that
  // number asks itself.
  int since = 0, usual = 1;
  // Its memory, for the network's own reads and writes.
  enum class Opens : std::uint8_t { unknown, asked, no, yes } opens = Opens::unknown;
  wire::Place place{};
  // MPI_Win_post calls for this rank, and how many it has seen.
  std::uint32_t posts = 0, posts_seen = 0;
  int error = 0;  // class of what it has refused; told by the next synchronization
};

/// A lock that a rank of another node has asked this one for.
struct LockRequest {
  int rank;
  bool shared;
};

struct Exchange;  // messages.h
struct Sites;     // races.h

struct Window : Object {
  Window(Comm& comm, std::uint64_t block)
      : comm(comm), counters(comm.engine->counters), block(block) {}

  Comm& comm;
  Counters* const counters;
  const std::uint64_t block;  // in the job's memory
  object::Errhandler* errhandler = nullptr;
  Info* hints = nullptr;
  object::Attributes attributes;
  std::string name;
  // What attributes show.
  void* base = nullptr;
  MPI_Aint size = 0;
  int disp_unit = 1, flavor = 0, model = MPI_WIN_UNIFIED;

  std::vector<Target> targets;  // the members on this node
  std::vector<int> here;        // their ranks, in order; empty if all members are here
  int my_index = 0;             // in targets
  std::vector<Extent> extents;  // by member; one if all have the same
  bool direct = false;          // the memory of all on this node is here for all of them
  bool no_locks = false;
  /// There is nothing to look at beside: no member on another node, no comparison, no trace, no
  /// clock. So calls ask one question for all four.
  bool is_simple = true;
  std::span<Target> at_once;        // the targets of one that is_simple, else none
  bool is_compared = false;         // WEFT_ABI_CHECK=full: see races.h
  std::byte* own_memory = nullptr;  // made for this window beside the job's memory
  std::vector<std::pair<std::uint64_t, std::uint64_t>> attached;  // begin, end

  // Access epochs. Fence: opened by a fence that does not exclude it.
  enum class Epoch : std::uint8_t { none, fence, started, locks, lock_all };
  Epoch epoch = Epoch::none;
  /// The fence's epoch has had an operation. Threads that operate set it; all relaxed: what the
  /// program orders them with before the next fence orders this, too.
  std::atomic<bool> used = false;
  /// This rank has stored without a fence behind it. All relaxed: it is the thread's own, or there
  /// may be several, and then each flush has a fence.
  std::atomic<bool> has_stored = false;
  HelpTrials puts, gets;
  int locks = 0;           // targets that are locked, each by itself
  bool unchecked = false;  // MPI_Win_lock_all with MPI_MODE_NOCHECK
  std::vector<int> group;  // of MPI_Win_start
  // Exposure epoch.
  bool exposed = false;
  std::vector<int> exposed_to;
  std::uint32_t completions = 0;  // that end it, or ended the last
  std::uint32_t barriers = 0;
  std::atomic<std::uint32_t> ends = 0;  // of operations: see look_at_end(); relaxed, may miss some
  std::uint32_t fences = 0;             // if accesses are compared

  Sites* sites = nullptr;  // if accesses are compared

  // Members on other nodes.
  Exchange* exchange = nullptr;  // null: there are none
  std::uint64_t number = 0;      // of the window among the communicator's constructions
  std::unordered_map<int, Remote> remotes;
  wire::Place opened{};  // this rank's memory for ranks of other nodes; no bytes: it is not open
  std::deque<LockRequest> lock_requests;  // the first one has a ticket
  std::uint32_t lock_ticket = 0;
  bool has_lock_ticket = false;

  /// A member on this node; null: it is on another one.
  Target* near(int rank) {
    if (here.empty()) return &targets[static_cast<std::size_t>(rank)];
    return find_near(rank);
  }
  Target* find_near(int rank);
  Target& mine() { return targets[static_cast<std::size_t>(my_index)]; }
  /// A member on another node. With the context's lock.
  Remote& away(int rank);
  const Extent& extent(int rank) const {
    return extents[extents.size() == 1 ? 0 : static_cast<std::size_t>(rank)];
  }
  // For abi/one_sided.h: nothing, or false, unless it is_simple.
  /// A member towards which an epoch is open with all that there is to do done; else null, and the
  /// usual way does that.
  Target* open_target(int rank) {
    if (static_cast<std::size_t>(rank) >= at_once.size()) return nullptr;
    Target& t = at_once[static_cast<std::size_t>(rank)];
    // acquire: pairs with acquire() in sync.cc. relaxed: see used
    const bool is_open = std::atomic_ref(t.held).load(std::memory_order_acquire) != Held::no ||
                         unchecked || used.load(std::memory_order_relaxed);
    return is_open ? &t : nullptr;
  }
  void note_stores() {
    if (!has_stored.load(std::memory_order_relaxed))
      has_stored.store(true, std::memory_order_relaxed);
  }
  /// Count an end of operations. False, and not counted: this one is to look at messages, too.
  bool ends_at_once() {
    const std::uint32_t next = ends.load(std::memory_order_relaxed) + 1;
    if (next % ends_per_look == 0) return false;
    ends.store(next, std::memory_order_relaxed);
    return true;
  }
  /// A flush of one that needs nothing but a fence. False: it is time for a look at messages, too,
  /// or there is something to say.
  bool flush_at_once(int rank) {
    const bool is_legal =
        static_cast<std::size_t>(rank) < at_once.size() &&
        (epoch == Epoch::lock_all ||
         (epoch == Epoch::locks && at_once[static_cast<std::size_t>(rank)].held != Held::no));
    if (!is_legal || !ends_at_once()) return false;
    count_one(counters->rma_syncs);
    fence_stores();
    return true;
  }
  /// What this thread loads from now on is later than what it has stored.
  void fence_stores() {
    if (!has_stored.load(std::memory_order_relaxed) && !comm.engine->among_threads) return;
    std::atomic_thread_fence(std::memory_order_seq_cst);
    has_stored.store(false, std::memory_order_relaxed);
  }

  int members() const { return comm.size(); }
  int me() const { return comm.rank; }
  pt2pt::Engine& engine() { return *comm.engine; }
};

/// By any thread.
inline void count(Window& win, std::uint64_t Counters::*counter) {
  count_one(win.counters->*counter);
}

inline MPI_Win handle_of(const Window& win) {
  return reinterpret_cast<MPI_Win>(const_cast<Window*>(&win));
}
inline object::Holder holder(Window& win) {
  return {object::Target::win, handle_of(win), &win.attributes};
}

/// The windows of a rank. Guarded by the rank's object lock.
struct Windows {
  Pool<Window, Kind::win> pool;
  std::vector<Window*> live;
  std::vector<std::shared_ptr<Exchange>> exchanges;  // by context; null: none so far
  std::shared_ptr<Sites> sites;                      // null: no window's accesses are compared
};

// --- making (create.cc); collective over `comm`. `info` may be null.
struct Shape {
  std::int64_t size = 0, disp_unit = 1;
  const Info* info = nullptr;
};
Err create(Windows& windows, void* base, const Shape& shape, Comm& comm, MPI_Win* out);
/// `*baseptr` becomes the address of this rank's memory.
Err allocate(Windows& windows, const Shape& shape, Comm& comm, void* baseptr, MPI_Win* out);
Err allocate_shared(Windows& windows, const Shape& shape, Comm& comm, void* baseptr, MPI_Win* out);
Err create_dynamic(Windows& windows, const Info* info, Comm& comm, MPI_Win* out);
/// MPI_Win_free; the handle becomes MPI_WIN_NULL.
Err free(Windows& windows, Window& win, MPI_Win* handle);
/// At the beginning of MPI_Finalize: those that the program has not freed.
void free_all(Windows& windows);

// --- local (window.cc)
Err attach(Window& win, void* base, std::int64_t bytes);
Err detach(Window& win, const void* base);
/// Where a member's memory is here; MPI_PROC_NULL: that of the first member that has some.
Err shared_query(Window& win, int rank, std::int64_t* bytes, std::int64_t* unit, void* baseptr);
void get_group(const Window& win, MPI_Group* out);
Err get_attribute(Window& win, int keyval, void* value, int* flag);
Err set_hints(Window& win, const Info* info);
Err get_hints(const Window& win, MPI_Info* out);

// --- synchronization (sync.cc). Under the lock of the communicator's context.
Err fence(Window& win, int assert);
Err post(Window& win, const object::Group& group, int assert);
Err start(Window& win, const object::Group& group, int assert);
Err complete(Window& win);
Err wait(Window& win);
Err test(Window& win, int* flag);
Err lock(Window& win, int type, int rank, int assert);
Err unlock(Window& win, int rank);
/// The same of a window that is_simple, if there is nothing to wait for, to look at or to say; else
/// false, and the usual way does it.
bool lock_at_once(Window& win, int type, int rank, int assert);
bool unlock_at_once(Window& win, int rank);
Err lock_all(Window& win, int assert);
Err unlock_all(Window& win);
Err flush(Window& win, int rank);
Err flush_all(Window& win);
Err flush_local(Window& win, int rank);
Err flush_local_all(Window& win);
Err sync(Window& win);
/// Until all members have come here.
void barrier(Window& win);
/// Until all operations of this rank are done.
void settle(Window& win);
/// With MPI_Win_lock_all targets are locked as they are accessed first.
void lock_lazily(Window& win, Target& target);
void lock_lazily(Window& win, Remote& remote);  // with the context's lock
/// What a rank of another node asks of this one (messages.h): go on with the locks, true when there
/// is nothing left to grant; and one is given back.
bool grant_locks(Window& win);
void give_lock_back(Window& win, bool shared);
/// Is there an epoch in which this rank may access `rank`? `passive`: one by locks.
Err check_epoch(Window& win, int rank, bool passive);

}  // namespace weft::rma
