// SPDX-License-Identifier: Apache-2.0
//
// Jobs: large pieces of work, cut into chunks, that a thread in MPI offers to the idle threads of
// its process (Si, Pena, Balaji, Takagi, Ishikawa: MT-MPI, ICS'14). The caller works, helpers join
// chunk by chunk, and nobody waits for a helper that has not started: without help a job takes as
// long as alone. Helpers are ranks and threads that wait in MPI (sync/spare.h), threads of weft's
// own (helpers.h) and idle OpenMP threads (openmp/call.h).
//
// A chunk is a leaf: it copies or folds bytes, or posts packets by an endpoint that is the chunk's
// meanwhile. It takes no lock, calls no user code and offers no job; so a helper can do it wherever
// it waits, and the caller may hold any lock meanwhile.
#pragma once

#include <atomic>
#include <cstdint>

#include "parallel/limits.h"
#include "parallel/transfer.h"
#include "sync/spare.h"

namespace weft::parallel {

/// Chunks 0 to chunks-1, to be done in any order and at once.
struct Work {
  void (*chunk)(void* context, std::uint32_t index);
  void* context;
  std::uint32_t chunks;
  std::int64_t worth_ns;  // what it takes one thread, about
  /// Somebody waits for the first chunks first: all begin there. Otherwise helpers begin at the
  /// end, and of work that is done again most chunks meet the core in whose caches they are.
  bool in_order = false;
};

/// Idle threads that do not look for work but have to be called: by the caller, while the job is
/// open. Returns how many chunks the caller has done meanwhile.
using Call = std::uint32_t(class Jobs& jobs, class Job& job, std::int64_t worth_ns);
/// How many of them would come for work of so much.
using Callable = int(std::int64_t worth_ns);

/// A slot for one job at a time; never freed. Its state is `most << 16 | active`: how many helpers
/// it takes, 0 while it is closed, and how many are in it.
///
/// A helper counts itself in by compare-and-swap, only while the slot is open, and reads the rest
/// of the slot after that: the caller does not touch it before the last helper has left. A helper
/// that was slow may find another job in the slot than the one it saw (ABA): its compare-and-swap
/// then succeeds only if that job is open and has room, and it joins that one.
class alignas(64) Job {
 public:
  /// Do up to `most` chunks; how many were done. By any thread but the caller.
  std::uint32_t help(std::uint32_t most);
  /// By the caller: what is left.
  std::uint32_t work() { return drain(UINT32_MAX, false); }
  /// relaxed: a guess
  bool has_room() const {
    const std::uint64_t state = state_.load(std::memory_order_relaxed);
    return (state & active_mask) < state >> most_shift &&
           has_chunks(left_.load(std::memory_order_relaxed));
  }

 private:
  friend class Jobs;
  static constexpr std::uint64_t active_mask = 0xffff;
  static constexpr int most_shift = 16;
  // Chunks that nobody has taken: `end << 32 | first`.
  static std::uint32_t first_of(std::uint64_t left) { return static_cast<std::uint32_t>(left); }
  static std::uint32_t end_of(std::uint64_t left) { return static_cast<std::uint32_t>(left >> 32); }
  static bool has_chunks(std::uint64_t left) { return first_of(left) < end_of(left); }
  std::uint32_t drain(std::uint32_t most, bool from_end);

  std::atomic<std::uint64_t> state_{0};
  std::atomic<std::uint64_t> left_{0};
  bool in_order_ = false;
  void (*chunk_)(void*, std::uint32_t) = nullptr;
  void* context_ = nullptr;
  std::uint64_t bit_ = 0;
};

/// When to offer, set once by each rank's init, to the same.
struct Settings {
  int most_helpers = 0;         // at a time in one job: CPUs besides the caller's
  std::int64_t min_bytes = -1;  // parameter parallel.min_bytes
  Rule transfers = Rule::profile;
  // The cost model's: to copy a cache line within the caches, and from memory to memory; lines
  // that a rank's part of the caches holds.
  double cached_ns = line_cached_ns, memory_ns = line_memory_ns, cached_lines = lines_cached;
};

/// The jobs of a process.
class Jobs : public sync::Spare {
 public:
  constexpr Jobs() : Spare({join_any, any_has_room, add_waiting}) {}
  void configure(const Settings& settings);
  /// What one thread takes to copy so many lines, about; rather too little than too much.
  std::int64_t worth_ns(double lines) const {
    // relaxed: numbers that do not change
    const bool cached = lines <= cached_lines_.load(std::memory_order_relaxed);
    return static_cast<std::int64_t>(
        lines * (cached ? cached_ns_ : memory_ns_).load(std::memory_order_relaxed));
  }

  /// The same of lines that another core has written, or reads next.
  std::int64_t worth_between_cores_ns(double lines) const {
    return static_cast<std::int64_t>(lines * memory_ns_.load(std::memory_order_relaxed));
  }

  /// Is work on so many bytes worth offering?
  bool is_worth(std::int64_t bytes, std::int64_t worth_ns) const {
    // relaxed: numbers that do not change
    const std::int64_t min = min_bytes_.load(std::memory_order_relaxed);
    return min < 0 ? worth_ns >= least_worth_ns : bytes >= min;
  }
  bool is_forced() const { return min_bytes_.load(std::memory_order_relaxed) >= 0; }
  /// Chunks for so much work: short enough that a helper whose own wait is over is back soon, and
  /// that all end together; so long that taking one (0.1 us) is cheap.
  std::uint32_t chunks_for(std::int64_t worth_ns) const;

  /// Do the work, with whoever helps; returns when all of it is done, and all it wrote is seen.
  ///
  /// Returns how many chunks another thread has done.
  ///
  /// thread   any, but not from within a chunk
  /// cost     warm: 5 atomics, of which one in a line that waiting threads read; no allocation; a
  ///          system call only to wake sleepers, if the work is worth it
  std::uint32_t offer(const Work& work);

  /// Do up to `most` chunks of each job that is open. False: there was nothing to do.
  bool help(std::uint32_t most);
  void set_call(Call* call, Callable* callable) {
    call_.store(call, std::memory_order_relaxed);
    callable_.store(callable, std::memory_order_relaxed);
  }

  /// Threads that would come for work of so much, about: those that have waited in MPI for a while,
  /// helpers of weft's own, idle ones of OpenMP. Who sleeps comes only if it is worth waking.
  int idle(std::int64_t worth_ns) const;
  /// No transfer of fewer bytes has help, whoever is idle.
  std::int64_t least_transfer() const;
  /// What parallel::at_once() says of a transfer of `bytes` with room for `room_bytes`, which takes
  /// one thread so long. `peer_here`: the other side is of this process, and not idle if it waits.
  ///
  /// cost     a few loads, unless it is long enough to ask who is idle
  std::int64_t at_once(std::int64_t bytes, std::int64_t room_bytes, std::int64_t worth_ns,
                       bool peer_here) const;

  struct Done {
    std::uint64_t jobs = 0, chunks = 0, given = 0;
  };
  Done done() const;

 private:
  friend class Job;
  static bool join_any(Spare& jobs);
  static bool any_has_room(const Spare& jobs);
  static void add_waiting(Spare& jobs, int change);
  Job* claim();
  void publish(Job& job, const Work& work);
  std::uint32_t call_helpers(Job& job, std::int64_t worth_ns);
  static void close(Job& job);

  static constexpr int slots = 64;

  alignas(64) std::atomic<std::uint64_t> claimed_{0};  // slots in use; line of the callers
  std::atomic<std::uint64_t> jobs_{0}, chunks_{0}, given_{0};
  alignas(64) std::atomic<int> most_helpers_{0};
  std::atomic<std::int64_t> min_bytes_{-1};
  std::atomic<double> cached_ns_{line_cached_ns}, memory_ns_{line_memory_ns},
      cached_lines_{lines_cached};
  std::atomic<Rule> transfers_{Rule::profile};
  std::atomic<Call*> call_{nullptr};
  std::atomic<Callable*> callable_{nullptr};
  alignas(64) std::atomic<int> waiting_{0};  // threads that have waited in MPI for a while
  Job job_[slots];
};

/// The process's. Beside the Process itself and each thread's rank the one thing that is global:
/// ranks of a process share it, and rooms below `world` must find it.
Jobs& jobs();

/// Do body(from, to) for parts of [0, bytes), each a whole number of `unit` bytes but for the last,
/// if that is worth `worth_ns`; else the whole at once.
template <class Body>
void for_parts(std::int64_t bytes, std::int64_t unit, std::int64_t worth_ns, Body&& body) {
  Jobs& all = jobs();
  if (!all.is_worth(bytes, worth_ns)) return body(std::int64_t{0}, bytes);
  const std::int64_t wanted = all.chunks_for(worth_ns);
  const std::int64_t part = ((bytes + wanted - 1) / wanted + unit - 1) / unit * unit;
  struct Context {
    Body& body;
    std::int64_t part, bytes;
  } context{body, part, bytes};
  const auto chunk = [](void* c, std::uint32_t i) {
    const Context& x = *static_cast<Context*>(c);
    const std::int64_t from = i * x.part;
    x.body(from, from + x.part < x.bytes ? from + x.part : x.bytes);
  };
  all.offer({chunk, &context, static_cast<std::uint32_t>((bytes + part - 1) / part), worth_ns});
}

}  // namespace weft::parallel
