// SPDX-License-Identifier: Apache-2.0
//
// The few declarations of the tool interface that are needed are here: gcc brings no omp-tools.h.
// A tool of the user's wins: with OMP_TOOL_LIBRARIES set, or with another tool behind this library,
// weft is none, and tokens work all the same.
#include "parallel/openmp/ompt.h"

#include <dlfcn.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "parallel/openmp/members.h"

namespace weft::parallel::openmp {
namespace {

// OpenMP 5.2, 19.4: names and values of the standard.
union ompt_data_t {
  std::uint64_t value;
  void* ptr;
};
using ompt_interface_fn_t = void (*)();
using ompt_function_lookup_t = ompt_interface_fn_t (*)(const char* name);
using ompt_callback_t = void (*)();
using ompt_set_callback_t = int (*)(int event, ompt_callback_t callback);
using ompt_wait_id_t = std::uint64_t;
struct ompt_start_tool_result_t {
  int (*initialize)(ompt_function_lookup_t lookup, int initial_device_num, ompt_data_t* tool_data);
  void (*finalize)(ompt_data_t* tool_data);
  ompt_data_t tool_data;
};
enum : int {
  ompt_callback_parallel_begin = 3,
  ompt_callback_parallel_end = 4,
  ompt_callback_task_create = 5,
  ompt_callback_task_schedule = 6,
  ompt_callback_implicit_task = 7,
  ompt_callback_sync_region_wait = 16,
  ompt_callback_mutex_released = 17,
  ompt_callback_mutex_acquire = 26,
  ompt_callback_mutex_acquired = 27,
};
enum : int { ompt_scope_begin = 1 };
enum : int {
  ompt_sync_region_taskwait = 5,
  ompt_sync_region_taskgroup = 6,
  ompt_sync_region_reduction = 7
};
enum : int { ompt_mutex_critical = 5 };
enum : int { ompt_parallel_league = 0x40000000 };
enum : int { ompt_task_initial = 0x1, ompt_task_explicit = 0x4 };

constexpr std::uint64_t explicit_task = 0x77656674;  // "weft"

constexpr int most_runtimes = 256;  // with ranks as threads each has its own
struct Runtimes {
  std::atomic<ompt_set_callback_t> set[most_runtimes] = {};
  std::atomic<int> count{0};
  std::atomic<int> leagues{0};  // running teams constructs
};
constinit Runtimes runtimes;

/// Constructs of different kinds may have one wait id.
Mutex name_of(int kind, ompt_wait_id_t id) {
  return id * 32 + static_cast<std::uint64_t>(kind);
}

// A thread's implicit tasks, innermost last: where it was before.
constexpr int most_nested = 16;
struct Nest {
  Member::Place before[most_nested] = {};
  int depth = 0;
};
constinit thread_local Nest nest;

void on_parallel_begin(ompt_data_t*, const void*, ompt_data_t* parallel, unsigned requested,
                       int flags, const void*) {
  parallel->value = new_team();
  // relaxed: threads of the league begin after it
  if ((flags & ompt_parallel_league) != 0) {
    runtimes.leagues.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  if (nest.depth == 0) last_request = static_cast<int>(requested);
}

void on_parallel_end(ompt_data_t*, ompt_data_t*, int flags, const void*) {
  if ((flags & ompt_parallel_league) != 0) runtimes.leagues.fetch_sub(1, std::memory_order_relaxed);
}

void on_implicit_task(int endpoint, ompt_data_t* parallel, ompt_data_t*, unsigned, unsigned,
                      int flags) {
  if ((flags & ompt_task_initial) != 0) return;
  Member* me = Member::mine();
  if (me == nullptr) return;
  if (endpoint == ompt_scope_begin) {
    const auto before = me->enter(parallel != nullptr ? parallel->value : 0);
    if (nest.depth < most_nested) nest.before[nest.depth] = before;
    ++nest.depth;
  } else if (nest.depth > 0) {
    --nest.depth;
    me->leave(nest.depth < most_nested ? nest.before[nest.depth] : Member::Place{0, false});
  }
}

void on_sync_region_wait(int kind, int endpoint, ompt_data_t*, ompt_data_t*, const void*) {
  if (kind == ompt_sync_region_taskwait || kind == ompt_sync_region_taskgroup ||
      kind == ompt_sync_region_reduction)
    return;
  Member* me = Member::mine();
  if (me != nullptr) endpoint == ompt_scope_begin ? me->reach_barrier() : me->pass_barrier();
}

void on_mutex_acquire(int kind, unsigned, unsigned, ompt_wait_id_t id, const void*) {
  if (Member* me = kind == ompt_mutex_critical ? Member::mine() : nullptr)
    me->want(name_of(kind, id));
}
void on_mutex_acquired(int kind, ompt_wait_id_t id, const void*) {
  if (Member* me = kind == ompt_mutex_critical ? Member::mine() : nullptr)
    me->have(name_of(kind, id));
}
void on_mutex_released(int kind, ompt_wait_id_t id, const void*) {
  if (Member* me = kind == ompt_mutex_critical ? Member::mine() : nullptr)
    me->release(name_of(kind, id));
}

void on_task_create(ompt_data_t*, const void*, ompt_data_t* task, int flags, int, const void*) {
  if ((flags & ompt_task_explicit) != 0) task->value = explicit_task;
}
void on_task_schedule(ompt_data_t*, int, ompt_data_t* next) {
  if (Member* me = Member::mine()) me->run_task(next != nullptr && next->value == explicit_task);
}

template <class F>
void set(ompt_set_callback_t set_callback, int event, F* callback) {
  set_callback(event, reinterpret_cast<ompt_callback_t>(callback));
}

void watch_by(ompt_set_callback_t f) {
  set(f, ompt_callback_implicit_task, on_implicit_task);
  set(f, ompt_callback_sync_region_wait, on_sync_region_wait);
  set(f, ompt_callback_mutex_acquire, on_mutex_acquire);
  set(f, ompt_callback_mutex_acquired, on_mutex_acquired);
  set(f, ompt_callback_mutex_released, on_mutex_released);
  set(f, ompt_callback_task_create, on_task_create);
  set(f, ompt_callback_task_schedule, on_task_schedule);
}

int initialize(ompt_function_lookup_t lookup, int, ompt_data_t*) {
  const auto f = reinterpret_cast<ompt_set_callback_t>(lookup("ompt_set_callback"));
  if (f == nullptr) return 0;
  // The size of the last team, for jobs outside of regions; the rest when there is a job.
  set(f, ompt_callback_parallel_begin, on_parallel_begin);
  set(f, ompt_callback_parallel_end, on_parallel_end);
  const int i = runtimes.count.fetch_add(1);
  if (i < most_runtimes) runtimes.set[i].store(f);
  if (watched.load()) watch_by(f);
  return 1;
}

void finalize(ompt_data_t*) {}

constinit ompt_start_tool_result_t tool{initialize, finalize, {0}};

using StartTool = ompt_start_tool_result_t* (*)(unsigned, const char*);

/// A tool behind this library, and not the runtime's own question for one.
StartTool next_tool() {
  const auto next = reinterpret_cast<StartTool>(dlsym(RTLD_NEXT, "ompt_start_tool"));
  Dl_info where{};
  if (next == nullptr || dladdr(reinterpret_cast<void*>(next), &where) == 0) return nullptr;
  const bool is_runtime =
      dlsym(dlopen(where.dli_fname, RTLD_NOLOAD | RTLD_LAZY), "__kmpc_fork_call");
  return is_runtime ? nullptr : next;
}

}  // namespace

void watch_by_tools() {
  for (int i = 0; i < runtimes.count.load() && i < most_runtimes; ++i)
    if (const auto f = runtimes.set[i].load()) watch_by(f);
}

bool is_told_by_tool() {
  return runtimes.count.load(std::memory_order_relaxed) > 0;
}

bool has_league() {
  return runtimes.leagues.load(std::memory_order_relaxed) != 0;
}

}  // namespace weft::parallel::openmp

/// Called by a runtime when it starts (OpenMP 5.2, 19.2.1). No version: else it is not found when
/// this library comes before the runtime.
extern "C" [[gnu::visibility("default")]] void* ompt_start_tool(unsigned version,
                                                                const char* runtime) {
  using namespace weft::parallel::openmp;
  const char* libraries = std::getenv("OMP_TOOL_LIBRARIES");
  if (libraries != nullptr && *libraries != 0) return nullptr;
  // A runtime may start before there is a rank: the parameter, not yet read.
  const char* wanted = std::getenv("WEFT_PARALLEL_OPENMP");
  if (wanted != nullptr && std::strcmp(wanted, "0") == 0) return nullptr;
  if (const auto next = next_tool())
    if (void* other = next(version, runtime)) return other;
  return &tool;
}
