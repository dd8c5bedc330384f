// SPDX-License-Identifier: Apache-2.0
//
// Entry points of libgomp that are called here first: it has no tool interface. Each says what its
// thread does and goes on to the runtime behind. They are exported under libgomp's version names
// only, as hidden versions (src/abi/exports.map): so the linker takes none of them for libgomp's
// own, and programs that were linked before find them too. Where libgomp comes before this library
// they are not called, and nobody is told to be idle.
#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "parallel/openmp/members.h"
#include "parallel/openmp/ompt.h"
#include "parallel/openmp/runtime.h"

namespace weft::parallel::openmp {
namespace {

template <std::size_t N>
struct Text {
  char text[N];
  constexpr Text(const char (&t)[N]) { std::copy_n(t, N, text); }
};

/// The function behind, looked up by each thread: with ranks as threads each rank has a runtime.
template <Text name, Text version, class F>
F* next() {
  static constinit thread_local F* function = nullptr;
  if (function == nullptr) [[unlikely]]
    function = reinterpret_cast<F*>(behind(name.text, version.text));
  return function;
}

/// Null: nobody wants to know, or knows better.
Member* told() {
  if (!watched.load(std::memory_order_relaxed) || is_told_by_tool()) [[likely]]
    return nullptr;
  return Member::mine();
}

/// What a parallel region runs, with what is said before and after.
struct Region {
  void (*body)(void*);
  void* data;
  Team team;

  static void run(void* arg) {
    const Region region = *static_cast<Region*>(arg);  // gone when the last thread is through
    Member* me = Member::mine();
    if (me != nullptr) me->enter(region.team);
    region.body(region.data);
    if (me != nullptr) me->reach_barrier();  // until its next region
  }
};

constinit thread_local int depth = 0;  // of regions that this thread began

/// Start a region by `start(body, data)`.
template <class Start>
void region(void (*body)(void*), void* data, unsigned threads, Start start) {
  ++depth;
  Member* me = told();
  if (me == nullptr) {
    start(body, data);
  } else {
    Region r{body, data, new_team()};
    const Member::Place before = me->enter(0);
    start(Region::run, &r);
    me->leave(before);
  }
  if (--depth == 0) last_request = static_cast<int>(threads);
}

/// A barrier of the team.
template <class Wait>
void barrier(Wait wait) {
  Member* me = told();
  if (me == nullptr) return wait();
  me->reach_barrier();
  wait();
  me->pass_barrier();
}

template <class Enter>
void begin_critical(Mutex mutex, Enter enter) {
  Member* me = told();
  if (me == nullptr) return enter();
  me->want(mutex);
  enter();
  me->have(mutex);
}
template <class Name, class Leave>
void end_critical(Name name, Leave leave) {
  leave();
  if (Member* me = told()) me->release(name());
}

using Body = void (*)(void*);
using Plain = void();

/// The unnamed critical section of the caller's runtime, of which each rank has its own.
Mutex unnamed() {
  return reinterpret_cast<Mutex>(next<"GOMP_critical_start", "GOMP_1.0", Plain>());
}

template <Text name, Text version>
void parallel_loop(Body body, void* data, unsigned threads, long start, long end, long step,
                   long chunk, unsigned flags) {
  using F = void(Body, void*, unsigned, long, long, long, long, unsigned);
  F* behind = next<name, version, F>();
  region(body, data, threads,
         [&](Body b, void* d) { behind(b, d, threads, start, end, step, chunk, flags); });
}
template <Text name, Text version>
void parallel_loop(Body body, void* data, unsigned threads, long start, long end, long step,
                   unsigned flags) {
  using F = void(Body, void*, unsigned, long, long, long, unsigned);
  F* behind = next<name, version, F>();
  region(body, data, threads,
         [&](Body b, void* d) { behind(b, d, threads, start, end, step, flags); });
}

}  // namespace
}  // namespace weft::parallel::openmp

using namespace weft::parallel::openmp;

// weft_gomp_X is exported as GOMP_X: the asm statement after it says under which version.
extern "C" {
#pragma GCC visibility push(default)

void weft_gomp_parallel(Body body, void* data, unsigned threads, unsigned flags) {
  auto* behind = next<"GOMP_parallel", "GOMP_4.0", void(Body, void*, unsigned, unsigned)>();
  region(body, data, threads, [&](Body b, void* d) { behind(b, d, threads, flags); });
}
asm(".symver weft_gomp_parallel, GOMP_parallel@GOMP_4.0");

// Its data describes reductions to the runtime, too: it goes on as it is.
unsigned weft_gomp_parallel_reductions(Body body, void* data, unsigned threads, unsigned flags) {
  auto* behind =
      next<"GOMP_parallel_reductions", "GOMP_5.0", unsigned(Body, void*, unsigned, unsigned)>();
  if (depth == 0) last_request = static_cast<int>(threads);
  return behind(body, data, threads, flags);
}
asm(".symver weft_gomp_parallel_reductions, GOMP_parallel_reductions@GOMP_5.0");

void weft_gomp_parallel_sections(Body body, void* data, unsigned threads, unsigned count,
                                 unsigned flags) {
  auto* behind =
      next<"GOMP_parallel_sections", "GOMP_4.0", void(Body, void*, unsigned, unsigned, unsigned)>();
  region(body, data, threads, [&](Body b, void* d) { behind(b, d, threads, count, flags); });
}
asm(".symver weft_gomp_parallel_sections, GOMP_parallel_sections@GOMP_4.0");

void weft_gomp_parallel_loop_static(Body body, void* data, unsigned threads, long start, long end,
                                    long step, long chunk, unsigned flags) {
  parallel_loop<"GOMP_parallel_loop_static", "GOMP_4.0">(body, data, threads, start, end, step,
                                                         chunk, flags);
}
asm(".symver weft_gomp_parallel_loop_static, GOMP_parallel_loop_static@GOMP_4.0");

void weft_gomp_parallel_loop_dynamic(Body body, void* data, unsigned threads, long start, long end,
                                     long step, long chunk, unsigned flags) {
  parallel_loop<"GOMP_parallel_loop_dynamic", "GOMP_4.0">(body, data, threads, start, end, step,
                                                          chunk, flags);
}
asm(".symver weft_gomp_parallel_loop_dynamic, GOMP_parallel_loop_dynamic@GOMP_4.0");

void weft_gomp_parallel_loop_guided(Body body, void* data, unsigned threads, long start, long end,
                                    long step, long chunk, unsigned flags) {
  parallel_loop<"GOMP_parallel_loop_guided", "GOMP_4.0">(body, data, threads, start, end, step,
                                                         chunk, flags);
}
asm(".symver weft_gomp_parallel_loop_guided, GOMP_parallel_loop_guided@GOMP_4.0");

void weft_gomp_parallel_loop_nonmonotonic_dynamic(Body body, void* data, unsigned threads,
                                                  long start, long end, long step, long chunk,
                                                  unsigned flags) {
  parallel_loop<"GOMP_parallel_loop_nonmonotonic_dynamic", "GOMP_4.5">(body, data, threads, start,
                                                                       end, step, chunk, flags);
}
asm(".symver weft_gomp_parallel_loop_nonmonotonic_dynamic, "
    "GOMP_parallel_loop_nonmonotonic_dynamic@GOMP_4.5");

void weft_gomp_parallel_loop_nonmonotonic_guided(Body body, void* data, unsigned threads,
                                                 long start, long end, long step, long chunk,
                                                 unsigned flags) {
  parallel_loop<"GOMP_parallel_loop_nonmonotonic_guided", "GOMP_4.5">(body, data, threads, start,
                                                                      end, step, chunk, flags);
}
asm(".symver weft_gomp_parallel_loop_nonmonotonic_guided, "
    "GOMP_parallel_loop_nonmonotonic_guided@GOMP_4.5");

void weft_gomp_parallel_loop_runtime(Body body, void* data, unsigned threads, long start, long end,
                                     long step, unsigned flags) {
  parallel_loop<"GOMP_parallel_loop_runtime", "GOMP_4.0">(body, data, threads, start, end, step,
                                                          flags);
}
asm(".symver weft_gomp_parallel_loop_runtime, GOMP_parallel_loop_runtime@GOMP_4.0");

void weft_gomp_parallel_loop_nonmonotonic_runtime(Body body, void* data, unsigned threads,
                                                  long start, long end, long step, unsigned flags) {
  parallel_loop<"GOMP_parallel_loop_nonmonotonic_runtime", "GOMP_5.0">(body, data, threads, start,
                                                                       end, step, flags);
}
asm(".symver weft_gomp_parallel_loop_nonmonotonic_runtime, "
    "GOMP_parallel_loop_nonmonotonic_runtime@GOMP_5.0");

void weft_gomp_parallel_loop_maybe_nonmonotonic_runtime(Body body, void* data, unsigned threads,
                                                        long start, long end, long step,
                                                        unsigned flags) {
  parallel_loop<"GOMP_parallel_loop_maybe_nonmonotonic_runtime", "GOMP_5.0">(
      body, data, threads, start, end, step, flags);
}
asm(".symver weft_gomp_parallel_loop_maybe_nonmonotonic_runtime, "
    "GOMP_parallel_loop_maybe_nonmonotonic_runtime@GOMP_5.0");

void weft_gomp_barrier() {
  auto* behind = next<"GOMP_barrier", "GOMP_1.0", Plain>();
  barrier([&] { behind(); });
}
asm(".symver weft_gomp_barrier, GOMP_barrier@GOMP_1.0");

void weft_gomp_loop_end() {
  auto* behind = next<"GOMP_loop_end", "GOMP_1.0", Plain>();
  barrier([&] { behind(); });
}
asm(".symver weft_gomp_loop_end, GOMP_loop_end@GOMP_1.0");

void weft_gomp_sections_end() {
  auto* behind = next<"GOMP_sections_end", "GOMP_1.0", Plain>();
  barrier([&] { behind(); });
}
asm(".symver weft_gomp_sections_end, GOMP_sections_end@GOMP_1.0");

void weft_gomp_critical_start() {
  Plain* behind = next<"GOMP_critical_start", "GOMP_1.0", Plain>();
  begin_critical(reinterpret_cast<Mutex>(behind), behind);
}
asm(".symver weft_gomp_critical_start, GOMP_critical_start@GOMP_1.0");

void weft_gomp_critical_end() {
  end_critical(unnamed, next<"GOMP_critical_end", "GOMP_1.0", Plain>());
}
asm(".symver weft_gomp_critical_end, GOMP_critical_end@GOMP_1.0");

void weft_gomp_critical_name_start(void** name) {
  auto* behind = next<"GOMP_critical_name_start", "GOMP_1.0", void(void**)>();
  begin_critical(reinterpret_cast<Mutex>(name), [&] { behind(name); });
}
asm(".symver weft_gomp_critical_name_start, GOMP_critical_name_start@GOMP_1.0");

void weft_gomp_critical_name_end(void** name) {
  auto* behind = next<"GOMP_critical_name_end", "GOMP_1.0", void(void**)>();
  end_critical([&] { return reinterpret_cast<Mutex>(name); }, [&] { behind(name); });
}
asm(".symver weft_gomp_critical_name_end, GOMP_critical_name_end@GOMP_1.0");

void weft_gomp_task(Body body, void* data, void (*copy)(void*, void*), long size, long align,
                    bool deferred, unsigned flags, void** depend, int priority, void* detach) {
  auto* behind = next<"GOMP_task", "GOMP_2.0",
                      void(Body, void*, void (*)(void*, void*), long, long, bool, unsigned, void**,
                           int, void*)>();
  if (Member* me = deferred ? told() : nullptr) me->made_tasks();
  behind(body, data, copy, size, align, deferred, flags, depend, priority, detach);
}
asm(".symver weft_gomp_task, GOMP_task@GOMP_2.0");

#pragma GCC visibility pop
}
