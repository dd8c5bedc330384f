// SPDX-License-Identifier: Apache-2.0
//
// Windows (MPI-5.0 chapter 12): what a window is, and what its members share. Who accesses memory
// does the work: it loads, stores and copies where the target's memory is its own or the job's, and
// asks the kernel to copy where it is another process's. So a target has no part in it, and every
// operation is over when its call returns; what waits is synchronization alone (sync.cc).
//
// One block of the job's memory holds the Words of every member, and the memory of windows that
// weft allocates. It goes when all have left it.
#pragma once

#include <mpi.h>

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "base/err.h"
#include "base/pool.h"
#include "object/attribute.h"
#include "object/objects.h"
#include "rma/limits.h"
#include "shm/mailbox.h"

namespace weft::rma {

using object::Comm;
using object::Info;

/// Memory that a rank has attached to a dynamic window; `end` is 0 in a free entry.
struct Region {
  std::atomic<std::uint64_t> begin, end;
};

/// What all may change about one member. Zero at the start. Two arrays with an entry for each
/// member follow: see Target. All accesses are sequentially consistent: a waker changes a word and
/// then looks who sleeps, a sleeper says so and then looks at the word.
struct alignas(64) Words {
  // The lock of passive synchronization, granted in the order of tickets: a reader's turn is when
  // `readers` has come to its ticket, a writer's when `writers` has.
  std::atomic<std::uint32_t> next, readers, writers;
  /// 1: somebody accumulates what no processor's instruction does at once.
  alignas(64) std::atomic<std::uint32_t> accumulates;
  /// MPI_Win_complete calls for this member, ever.
  alignas(64) std::atomic<std::uint32_t> completed;
  /// The number of the last barrier in which round k has reached this member.
  std::atomic<std::uint32_t> arrived[barrier_rounds];
  /// Of a dynamic window; `unlisted`: how many more there are than entries.
  alignas(64) Region regions[listed_regions];
  std::atomic<std::uint32_t> unlisted;
};

/// A member of a window as another one sees it.
struct Target {
  Words* words = nullptr;
  std::atomic<std::uint32_t>* posted = nullptr;   // by member: MPI_Win_post calls for this one
  std::atomic<std::uint32_t>* waiting = nullptr;  // ticket modulo size: who waits with it, plus 1
  std::byte* here = nullptr;                      // its memory; null: only the kernel reaches it
  std::uint64_t address = 0;                      // the same in its own process
  std::int64_t bytes = 0;
  std::int64_t unit = 1;
  std::int32_t pid = 0;
  std::int32_t world_rank = 0;
  bool same_process = false;
  shm::View mailbox;  // to ring at
};

/// An access epoch towards one target.
enum class Held : std::uint8_t { no, shared, exclusive, unchecked, started };

struct Window : Object {
  Window(Comm& comm, std::uint64_t block) : comm(comm), block(block) {}

  Comm& comm;
  const std::uint64_t block;  // in the job's memory
  object::Errhandler* errhandler = nullptr;
  Info* hints = nullptr;
  object::Attributes attributes;
  std::string name;
  // What attributes show.
  void* base = nullptr;
  MPI_Aint size = 0;
  int disp_unit = 1, flavor = 0, model = MPI_WIN_UNIFIED;

  std::vector<Target> targets;
  bool direct = false;  // all members' memory is here for all of them
  bool no_locks = false;
  std::byte* own_memory = nullptr;  // made for this window beside the job's memory
  std::vector<std::pair<std::uint64_t, std::uint64_t>> attached;  // begin, end

  // Access epochs. Fence: opened by a fence that does not exclude it.
  enum class Epoch : std::uint8_t { none, fence, started, locks, lock_all };
  Epoch epoch = Epoch::none;
  bool used = false;                      // the fence's epoch has had an operation
  int locks = 0;                          // targets that are locked, each by itself
  std::vector<Held> held;                 // by target
  std::vector<int> group;                 // of MPI_Win_start
  std::vector<std::uint32_t> posts_seen;  // by target
  // Exposure epoch.
  bool exposed = false;
  std::vector<int> exposed_to;
  std::uint32_t completions = 0;  // that end it, or ended the last
  std::uint32_t barriers = 0;

  int members() const { return comm.size(); }
  int me() const { return comm.rank; }
  pt2pt::Engine& engine() { return *comm.engine; }
};

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
Err lock_all(Window& win, int assert);
Err unlock_all(Window& win);
Err flush(Window& win, int rank);
Err flush_all(Window& win);
Err sync(Window& win);
/// Until all members have come here.
void barrier(Window& win);
/// With MPI_Win_lock_all targets are locked as they are accessed first.
void lock_lazily(Window& win, int rank);
/// Is there an epoch in which this rank may access `rank`? `passive`: one by locks.
Err check_epoch(Window& win, int rank, bool passive);

}  // namespace weft::rma
