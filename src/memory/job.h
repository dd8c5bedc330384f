// SPDX-License-Identifier: Apache-2.0
//
// The job on one node: an anonymous memory file (memfd) that the launcher makes and every process
// of the job inherits. It starts with a JobHeader, one RankEntry per rank and the table of the
// node's hierarchy; which node each rank is on, its last words, what waiting threads note
// (hang/record.h) and ranks find out for each other (coll/ledger.h), the areas of each rank's
// communication contexts (mailbox, rings) and a common heap follow. All of that is mapped at the
// start. Behind it are extents, each twice as long as the one before, for what has no bound but
// memory; a process maps one when it first needs it. Zero bytes are the valid initial state of
// everything behind the entries, so the launcher only sizes the file. No name, no socket, nothing
// to clean up.
//
// A job on several nodes has such a file on each. All of them have room for every rank of the job,
// under its number in the world. Of a rank on another node there is its entry; the rest is never
// touched, and so takes no memory. Nodes that are only pretended share one file.
//
// There is room for more ranks than a job starts with: places for those that it spawns
// (spawning.h). A rank's number in the job is its place; its MPI_COMM_WORLD is some of them in a
// row. A place is used again when its rank has ended, perhaps for one on another node. Behind those
// are places of guests (guests.h), which are ranks of other jobs.
//
// A process learns its place from WEFT_JOB=<fd>,<first rank>,<count>: it hosts the world ranks
// first .. first+count-1 (count > 1: ranks as threads).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/err.h"
#include "base/keyed_hash.h"
#include "base/params.h"
#include "base/wait_times.h"
#include "memory/limits.h"
#include "topo/hierarchy.h"
#include "topo/seat.h"

namespace weft::memory {

enum class RankState : std::uint32_t {
  started = 0,
  initialized = 1,
  finalized = 2,
  exited = 3,
  absent = 4,     // ended without MPI_Init (hang/absence.h)
  in_session = 5  // uses MPI by sessions only: need not wait for all ranks
};

/// Of a host's first rank: how far the host has come. `refused`: it has not begun to run its ranks,
/// and if it ends, the message says why it cannot.
enum class Hosting : std::uint32_t { unknown = 0, refused = 1, begun = 2 };

/// Ranks that began together, and have one MPI_COMM_WORLD.
struct World {
  std::int32_t first = 0, size = 0;
  std::int32_t end() const { return first + size; }
  bool operator==(const World&) const = default;
};

/// What everybody may know about a rank. Written by the rank itself unless it says otherwise.
struct alignas(64) RankEntry {
  std::int32_t appnum;    // launcher: which of the `:` separated programs
  std::int32_t app_size;  // launcher: ranks of that program
  World world;            // launcher: of a spawned rank; no size: those of the start
  std::atomic<std::uint32_t> incarnation;  // launcher: how many ranks had this place before
  std::uint64_t order;  // launcher: where the order to spawn it is; 0: there is none
  // agent: of a spawned rank; 1 while not all nodes know where the ranks of its world are
  std::atomic<std::uint32_t> awaited;
  topo::SeatRecord seat;          // launcher: of its progress thread
  std::atomic<std::int32_t> pid;  // process that hosts the rank; 0 before it attached
  std::atomic<RankState> state;
  std::atomic<std::uint32_t> leaving;  // 1: MPI_Finalize; it sends to no other world any more
  std::atomic<std::int32_t> contexts;  // communication contexts that the rank has opened
  // Where in the job's memory a text has their addresses in a network; 0: they have none yet.
  std::atomic<std::uint64_t> addresses;
  std::uint64_t text_at, text_bytes;  // room for such a text, also of the place's next rank
  std::atomic<Hosting> hosting;
  std::atomic<std::uint32_t>
      aborted;  // 1 after MPI_Abort or a fatal error (release; Job::message is valid)
  std::atomic<std::int32_t> abort_code;
  // It aborted because another node's rank did not answer: somebody else may know why.
  std::atomic<std::uint32_t> lost_peer;
  std::atomic<std::int32_t> signal;  // a thread rank died by this signal (its process follows)
  // Its errors on MPI_COMM_WORLD return: it wants to go on without ranks that die.
  std::atomic<std::uint32_t> survives;
  // Whoever learns it (shm/deaths.h): 1, it is no more (release; its message says how that came).
  std::atomic<std::uint32_t> dead;
  WaitTimes wait_times;  // where ranks outnumber CPUs
};

/// How far the network of a job on one node reaches, once it is to be opened (world/network.h).
enum class Range : std::uint32_t { unsaid = 0, loopback = 1, beyond = 2 };

struct JobHeader {
  static constexpr std::uint64_t magic_value = 0x31304a5446455745;  // "EWEFTJ01"
  std::uint64_t magic;
  std::uint32_t nranks;  // that the job starts with
  std::uint32_t places;  // for them, for those they spawn, and for guests
  std::uint32_t guests;  // of these, the last ones
  // CPUs that the job may use here, and its ranks that share them (for the waiting policy).
  std::atomic<std::uint32_t> cpus;
  std::uint32_t cpu_quota;  // by its control group, whose time is worth so many; 0: no end
  std::uint32_t sharing;
  std::uint32_t universe;    // ranks that all its hosts are meant for (MPI_UNIVERSE_SIZE)
  std::uint32_t nodes;       // that the job runs on
  std::uint32_t loopback;    // 1: all nodes are this machine, and so is the network between them
  std::uint32_t apart;       // 1: each node has a memory of the job, and an agent
  HashKey secret;            // that packets between nodes prove
  HashKey identity;          // of the job: its ports begin with it
  char host[256];            // by which mpiexec reaches this node; "": the node's own name will do
  std::uint64_t area_bytes;  // size of the area of a rank's context
  std::uint64_t heap_bytes;
  std::uint32_t ring_cells;
  std::uint32_t ring_bytes;
  std::uint32_t contexts;                   // communication contexts of each rank; a power of two
  std::atomic<std::uint32_t> heap_lock;     // 0 free, 1 held
  std::atomic<std::uint64_t> extended;      // bytes of the extents that are in use
  std::uint32_t watched;                    // launcher: it looks for hangs, ranks need not
  std::atomic<std::uint32_t> hang_reports;  // by ranks, where nobody else looks
  std::atomic<std::uint32_t> absent;        // ranks that ended without MPI_Init
  std::atomic<std::uint32_t> told;          // ranks of this node that told their addresses
  std::atomic<std::uint32_t> promised;      // 1: those of other nodes are to come (addresses.h)
  std::atomic<std::uint32_t> used;          // launcher: places that have had a rank
  std::atomic<std::uint32_t> takes_orders;  // 1: a launcher starts what ranks spawn
  // The process of the mpiexec that this job has started for that, where it had none; -1: one of
  // its ranks is about to start it.
  std::atomic<std::int32_t> attendant;
  // On several nodes: the process of that mpiexec's agent here; 0: there was none.
  std::atomic<std::int32_t> agent;
  std::atomic<std::uint32_t> order_count;  // orders given (spawning.h)
  std::atomic<std::uint64_t> orders;       // the newest that was not taken
  std::atomic<std::uint32_t> ports;        // that were opened
  std::atomic<std::uint32_t> guest_lock;   // 0 free, 1 held
  std::atomic<std::uint32_t> guests_used;  // places of guests that have had one
  std::atomic<Range> range;
  std::atomic<std::uint32_t> deaths;  // ranks that died while others go on (shm/deaths.h)
  std::atomic<std::uint64_t> cpus_added[cpu_words];  // which, of add_cpus()
  std::uint64_t heap_state[64];                      // memory/job.cc
  // What memory costs here, by the launcher: a model::Parameters. Zero: not known.
  alignas(64) std::byte prices[price_bytes];
};

/// Of memory that the members of a communicator share: its number, and which of its blocks.
struct BlockName {
  std::uint64_t communicator, block;
  bool operator==(const BlockName&) const = default;
};

/// Byte offsets in the segment, from the header's numbers alone.
struct JobLayout {
  std::size_t entries, hierarchy, nodes, messages, guests, findings, waits, areas, heap, total;
};
JobLayout job_layout(const JobHeader& header);

/// Holds a lock word of the job's memory.
class JobGuard {
 public:
  explicit JobGuard(std::atomic<std::uint32_t>& word);
  ~JobGuard() { word_.store(0, std::memory_order_release); }  // pairs with the next one's exchange
  JobGuard(const JobGuard&) = delete;
  JobGuard& operator=(const JobGuard&) = delete;

 private:
  std::atomic<std::uint32_t>& word_;
};

struct GuestRecord;  // guests.h

/// The same on all nodes, and tells nothing of the secret.
HashKey identity_of(const HashKey& secret);

/// A mapped job segment.
class Job {
 public:
  /// Launcher (or a program started alone): make the memory file for `nranks` ranks and map it.
  /// `node_of`: each rank's node; empty: all are on one. `universe`: ranks that its hosts are meant
  /// for; 0: nobody said, as many as CPUs.
  static Result<Job*> create(int nranks, int cpus, const Params& params,
                             const std::vector<std::int32_t>& node_of = {}, int universe = 0);
  /// Rank: map an inherited or opened memory file and check that it is a weft job.
  static Result<Job*> open(int fd);
  ~Job();

  JobHeader& header() { return *static_cast<JobHeader*>(base_); }
  const JobHeader& header() const { return *static_cast<const JobHeader*>(base_); }
  /// Ranks that the job started with; places for its ranks; those that have had one; places for
  /// ranks and guests.
  int size() const { return static_cast<int>(header().nranks); }
  int places() const { return all_places() - static_cast<int>(header().guests); }
  int all_places() const { return static_cast<int>(header().places); }
  int used() {
    return static_cast<int>(header().used.load(std::memory_order_acquire));  // pairs with occupy()
  }
  World world_of(int rank);
  bool is_guest(int rank) const { return rank >= places(); }
  /// Guests have the places from places() to this one.
  int guests_end() const {
    // acquire: their records; pairs with admit()
    return places() + static_cast<int>(header().guests_used.load(std::memory_order_acquire));
  }
  bool has_guests() const { return guests_end() != places(); }
  bool has_guest(const std::vector<std::int32_t>& ranks) const;
  GuestRecord& guest(int rank);
  /// CPUs that the job may use here; its ranks that share them and their caches.
  int cpus() const {
    // relaxed: constant once the ranks have joined (world/join.cc)
    return static_cast<int>(header().cpus.load(std::memory_order_relaxed));
  }
  int sharing() const { return static_cast<int>(header().sharing); }
  /// A rank may use these: so may the job, up to the header's quota. Who asks for all waits for all
  /// ranks first.
  void add_cpus(std::span<const int> cpus);
  int nodes() const { return static_cast<int>(header().nodes); }
  int node_of(int world_rank);
  /// Are all of them on the node of rank `here`?
  bool are_together(int here, const std::vector<std::int32_t>& world_ranks);
  RankEntry& entry(int world_rank);
  /// Why the rank aborted, one line, shown once by the launcher. Of most ranks it is never touched.
  using Message = char[message_bytes];
  Message& message(int world_rank);
  /// Where the ranks are on the node. Written by weft's launcher before they start, then constant.
  topo::HierarchyTable& hierarchy_table();
  topo::Hierarchy hierarchy() { return topo::Hierarchy(hierarchy_table()); }
  /// What is never touched takes no memory.
  std::byte* area(int world_rank, int context);
  std::byte* waits(int world_rank);
  std::span<std::byte> findings();
  std::byte* heap();
  std::byte* at(std::uint64_t offset) {
    return offset < bytes_ ? static_cast<std::byte*>(base_) + offset : in_extent(offset);
  }
  std::uint64_t offset_of(const void* p) {
    return static_cast<std::uint64_t>(static_cast<const std::byte*>(p) -
                                      static_cast<std::byte*>(base_));
  }
  int fd() const { return fd_; }

  /// Launcher: places in a row for spawned ranks become as if nobody had been there. `node_of`: of
  /// each of them; empty: there is one.
  void occupy(World world, std::span<const std::int32_t> node_of = {});
  /// The same for a guest, on a node of its own.
  void occupy_guest(int rank, bool is_first);

  /// `bytes` more, zero, until the job ends; `align`: a line, or a power of two up to a page. Their
  /// offset; 0: the system has no more, errno says why.
  std::uint64_t extend(std::size_t bytes, std::size_t align = 64);

  /// Memory of the heap that `users` ranks share under a name, without a message: whoever asks
  /// first makes it, aligned to a line, its first `zeroed` bytes are zero. If it does not fit then
  /// it is 0 for all of them, however much is free when they ask; each asks once. It goes when all
  /// have left it (or been refused); the name may be used again then.
  std::uint64_t shared_block(BlockName name, std::size_t bytes, std::size_t zeroed, int users);
  bool has_shared_block(BlockName name) { return find_shared_block(name) != 0; }
  /// One that is there, for who does not leave it; 0: there is none.
  std::uint64_t find_shared_block(BlockName name);
  /// Under the heap's lock, so that everybody's accesses are before those of the next users.
  void leave_shared_block(std::uint64_t offset);

 private:
  void renew(int rank, World world, bool is_first);
  std::int32_t* nodes_of_ranks();
  std::uint64_t allocate_locked(std::size_t bytes, std::size_t* dirty);
  void free_locked(std::uint64_t offset, std::size_t bytes);
  std::uint64_t find_locked(BlockName name);
  void leave_locked(std::uint64_t block);

  // Where extent k begins behind the layout, and its length.
  static constexpr std::uint64_t first_extent = first_extent_bytes;
  static constexpr int extent_count = 22;  // 64 TiB
  static constexpr std::uint64_t extent_start(int k) { return (first_extent << k) - first_extent; }
  static constexpr std::uint64_t extent_bytes(int k) { return first_extent << k; }

  Job(void* base, std::size_t bytes, int fd) : base_(base), bytes_(bytes), fd_(fd) {}
  static bool size_file(int fd, std::size_t layout_bytes);
  /// nullptr: it cannot be mapped, errno says why.
  std::byte* extent(int k);
  [[gnu::cold]] std::byte* in_extent(std::uint64_t offset);

  void* base_;
  std::size_t bytes_;
  int fd_;
  std::atomic<std::byte*> extents_[extent_count] = {};  // where they are mapped; by any thread
};

}  // namespace weft::memory
