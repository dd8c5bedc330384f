// SPDX-License-Identifier: Apache-2.0
//
// Start and end of one rank, which has users: the world model (MPI_Init_thread, MPI_Finalize) and
// sessions (session.h). For the first one the library starts. That talks to nobody: a peer's
// mailbox is there from the start, so a rank may send to one that has not come up yet. Only where
// agents of weft's mpiexec hold several hosts together it waits for the addresses of all ranks.
// MPI_Finalize waits until everything the rank sent has been taken, then for all ranks; the last
// session only until it is taken. After the last user the library rests: what it has stays as it
// is for the next one. Between nodes others may still answer, so the network is closed when the
// program ends.
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "coll/coll.h"
#include "hang/absence.h"
#include "memory/addresses.h"
#include "model/machine.h"
#include "parallel/helpers.h"
#include "parallel/jobs.h"
#include "parallel/openmp/call.h"
#include "pt2pt/completion.h"
#include "shm/deaths.h"
#include "world/across.h"
#include "world/comms.h"
#include "world/connected.h"
#include "world/network.h"
#include "world/rank.h"
#include "world/stats.h"
#include "world/unreceived.h"

namespace weft::world {
namespace {

void say_no_trace(const std::string& path) {
  std::fprintf(stderr, "weft: cannot write the trace to WEFT_TRACE=%s: %s\n", path.c_str(),
               std::strerror(errno));
}

void open_trace(Rank& rank) {
  const std::string& path = rank.process->params.text(P::trace);
  if (path.empty()) return;
  if (rank.world_rank == 0 && !Trace::begin_file(path.c_str())) say_no_trace(path);
  const auto trace = std::make_shared<Trace>();
  for (pt2pt::Engine* e : rank.contexts.engines) e->trace = trace;
}

void write_trace(Rank& rank) {
  const std::string& path = rank.process->params.text(P::trace);
  if (rank.engine.trace == nullptr || rank.trace_written) return;
  rank.trace_written = true;
  if (rank.engine.trace->write(path.c_str(), rank.world_rank)) return;
  // That it cannot be opened, rank 0 has said at its start.
  if (errno != ENOENT && errno != EACCES) say_no_trace(path);
}

/// With threads there are several contexts, and all locks work. A thread of weft's own needs the
/// locks alone.
void open_contexts(Rank& rank) {
  const Params& params = rank.process->params;
  memory::Job& job = *rank.process->job;
  rank.store.lock.enable();
  const std::uint32_t contexts = rank.open_level == MPI_THREAD_MULTIPLE ? job.header().contexts : 1;
  for (std::uint32_t i = 1; i < contexts; ++i) {
    rank.more.push_back(std::make_unique<Rank::Context>());
    Rank::Context& context = *rank.more.back();
    context.engine.open(job, rank.world_rank, params, context.counters, rank.contexts);
  }
  // What is traced or measured takes the locks one by one.
  const bool sole =
      params.integer(P::sync_lock) == static_cast<std::int64_t>(sync::LockKind::automatic) &&
      rank.engine.policy.membarrier && !params.boolean(P::stats) && params.text(P::trace).empty();
  pt2pt::Contexts& all = rank.contexts;
  if (sole)
    all.sole.announce(
        {[](void* contexts) { leave_contexts(*static_cast<pt2pt::Contexts*>(contexts)); }, &all});
  for (pt2pt::Engine* e : all.engines) e->share(rank.open_level >= MPI_THREAD_SERIALIZED);
  if (sole) all.sole.open(rank.counters.lock_taken);
}

/// When large work is offered to idle threads, and threads of weft's own for it: the same for all
/// ranks of the process.
void open_jobs(Rank& rank) {
  const Params& params = rank.process->params;
  const int all = rank.process->job->cpus();
  int cpus = all;
  // A process with one rank may have less than the job. Its main thread may have less still.
  if (!rank.process->threads) {
    cpus = rank.process->cpus;
    if (cpus < all) cpus = std::max(cpus, parallel::openmp::cpus());
  }
  const model::Parameters prices = rank.engine.prices();
  const double share = model::cache_share(prices, rank.process->job->sharing());
  parallel::Settings settings{
      .most_helpers = cpus - 1,
      .min_bytes = params.integer(P::parallel_min_bytes),
      .transfers = static_cast<parallel::Rule>(params.integer(P::parallel_transfers)),
      .cached_ns = prices.copy * 1e9,
      .memory_ns = prices.memory.b * 1e9};
  if (share > 0) settings.cached_lines = share;
  parallel::jobs().configure(settings);
  for (pt2pt::Engine* e : rank.contexts.engines)
    e->together_min = parallel::jobs().least_transfer();
  if (params.boolean(P::parallel_openmp)) parallel::openmp::call_for_jobs();
  parallel::start_helpers(static_cast<int>(params.integer(P::parallel_helpers)));
}

/// Rank 0 speaks for all, which have as many threads as a rule. An OpenMP runtime that is loaded
/// later is not seen.
void say_whether_openmp_fits(const Rank& rank) {
  const Params& params = rank.process->params;
  if (rank.world_rank != 0 || !params.boolean(P::parallel_openmp_fits)) return;
  const int threads = parallel::openmp::threads(), ranks = rank.process->job->sharing();
  const int cpus = rank.process->job->cpus();
  if (threads < 2 || std::int64_t{threads} * ranks <= cpus) return;
  char fewer_ranks[64] = "";
  if (ranks > 1 && threads <= cpus)
    std::snprintf(fewer_ranks, sizeof fewer_ranks, ", or mpiexec -n %d", cpus / threads);
  std::fprintf(
      stderr,
      "weft: %d OpenMP threads in each of %d ranks are more than the %d CPUs, and wait for "
      "each other: set OMP_NUM_THREADS=%d%s (WEFT_PARALLEL_OPENMP_FITS=0 silences this)\n",
      threads, ranks, cpus, std::max(1, cpus / ranks), fewer_ranks);
}

constexpr std::int64_t before_leaving_dead_ns = 300'000'000;

/// What was sent in the background must be out before this rank may leave.
void finish_sending(pt2pt::Engine& e) {
  const sync::Guard guard(e.lock);
  const std::int64_t begin = now_ns();
  // What a provider has for ranks that are dead may stay there.
  const auto is_idle = [&] {
    return e.network == nullptr || e.network->is_idle() ||
           (shm::has_deaths(*e.job) && now_ns() - begin > before_leaving_dead_ns);
  };
  const auto is_out = [&] { return e.busy.empty() && e.offers() == 0 && is_idle(); };
  if (shm::has_deaths(*e.job)) {  // nothing wakes who waits for that time
    while (!is_out()) {
      pt2pt::progress(e);
      pt2pt::looked_in_vain(e);
      if (!is_out()) sync::yield();
    }
    return;
  }
  pt2pt::wait_until(e, is_out, {.about = &pt2pt::sent_messages});
}

void set_framed(Rank& rank) {
  const bool framed =
      rank.engine.lock.enabled() || rank.engine.lock.measures() || rank.engine.trace != nullptr;
  rank.engine.framed = framed ? pt2pt::Engine::Framed::yes : pt2pt::Engine::Framed::no;
}

void tell_contexts(Rank& rank) {
  for (pt2pt::Engine* e : rank.contexts.engines) {
    e->first_here = rank.process->first;
    e->ranks_here = static_cast<std::int32_t>(rank.process->ranks.size());
  }
  rank.entry().contexts.store(static_cast<std::int32_t>(rank.contexts.engines.size()),
                              std::memory_order_relaxed);  // released with the state
}

Err tell_manager(Rank& rank) {
  if (rank.process->manager == nullptr || rank.told_manager) return ok;
  rank.told_manager = true;
  return rank.process->manager->finalize();
}

Err start_background(Rank& rank) {
  if (!rank.contexts.has_background) return ok;
  return rank.process->progress_threads.start(rank.charge, rank.process->params, rank.engine,
                                              rank.entry().seat,
                                              rank.world_rank - rank.process->first);
}

/// For the first user.
Err start(Rank& rank, int level) {
  rank.open_level = level;
  rank.main_thread = pthread_self();
  memory::RankEntry& entry = rank.entry();
  entry.pid.store(getpid(), std::memory_order_relaxed);
  const Params& params = rank.process->params;
  rank.contexts.objects = &rank.store.lock;
  rank.channels.couriers = &rank.process->couriers;
  rank.contexts.has_background = progress::is_wanted(
      params, entry.seat, rank.process->job->header(), parallel::openmp::threads());
  rank.engine.open(*rank.process->job, rank.world_rank, params, rank.counters, rank.contexts);
  // No two ranks that have had this place give a communicator the same number.
  rank.contexts.numbers = std::uint64_t{entry.incarnation & 0xffff} << 20;
  if (level == MPI_THREAD_MULTIPLE || rank.contexts.has_background) open_contexts(rank);
  tell_contexts(rank);
  open_jobs(rank);
  say_whether_openmp_fits(rank);
  WEFT_TRY(open_network(rank));
  prepare_store(rank);
  open_trace(rank);
  if (rank.network != nullptr || rank.process->manager != nullptr || rank.engine.trace != nullptr)
    std::atexit(end_at_exit);
  set_framed(rank);
  return ok;
}

/// More threads than it was started for. Not where others know how many contexts the rank has in
/// the network, nor beside a thread of weft's own.
void raise_level(Rank& rank, int level) {
  if (level <= rank.open_level) return;
  const bool stays = rank.network != nullptr || rank.contexts.has_background;
  rank.open_level = std::min(level, stays ? int{MPI_THREAD_SERIALIZED} : level);
  if (rank.open_level != MPI_THREAD_MULTIPLE) return;
  open_contexts(rank);
  tell_contexts(rank);
  set_framed(rank);
}

/// What others may know of the rank: who never uses MPI is missed where the world model is used.
void tell_state(Rank& rank, memory::RankState state) {
  // seq_cst: before the look for those who will never come; pairs with hang/absence.cc
  rank.entry().state.store(state, std::memory_order_seq_cst);
}

/// What ends with the world model, or with the last session.
void free_what_is_left(Rank& rank) {
  close_ports(rank);
  channel::free_all(rank.channels);
  rma::free_all(rank.windows);
}

Err end_world(Rank& rank, bool is_last) {
  const Counters before = rank.all_counters();
  // Peers may still need an answer in any context until all ranks have come here.
  for (pt2pt::Engine* e : rank.contexts.engines) {
    const pt2pt::Inside inside(*e);
    e->ending = true;
  }
  // What sessions have under way need not end.
  if (is_last)
    for (pt2pt::Engine* e : rank.contexts.engines) finish_sending(*e);
  leave_connected(rank);
  // Ranks of other jobs wait for what this one has told them of its end, until its job says
  // goodbye.
  if (is_last && rank.process->job->has_guests()) finish_sending(rank.engine);
  {
    const sync::Guard guard(rank.engine.lock);
    const Err met = coll::barrier(*rank.store.comm_world);
    // Without ranks that are dead each leaves when its own is done.
    if (met && !shm::has_deaths(*rank.process->job)) return met;
  }
  say_goodbye(rank);
  if (is_last) {
    finish_sending(rank.engine);
    name_unreceived(rank);
  }
  {
    const sync::Guard guard(rank.engine.lock);
    const bool all_are_there = !shm::has_deaths(*rank.process->job);
    if (rank.process->params.boolean(P::stats) && all_are_there)
      WEFT_TRY(print_stats(rank, before));
  }
  for (pt2pt::Engine* e : rank.contexts.engines) {
    const pt2pt::Inside inside(*e);
    e->ending = false;
  }
  if (is_last) write_trace(rank);
  free_predefined_comms(rank);
  return ok;
}

}  // namespace

Err add_user(Rank& rank, int* level) {
  // Sessions may come first, and want less than those that follow.
  const bool is_first = rank.open_level < 0;
  if (rank.has_ended)
    return fail(MPI_ERR_OTHER, "the program is ending; MPI cannot be used any more");
  if (is_first) {
    WEFT_TRY(start(rank, *level));
  } else {
    raise_level(rank, *level);
  }
  *level = std::min(*level, rank.open_level);
  if (rank.users++ > 0) return ok;
  tell_state(rank, memory::RankState::in_session);
  memory::await_addresses(*rank.process->job, rank.world_rank);
  if (rank.charge.worker() == nullptr) WEFT_TRY(start_background(rank));
  rank.phase.store(Rank::Phase::initialized, std::memory_order_release);
  return ok;
}

void prepare_to_leave(Rank& rank) {
  {
    const sync::Guard guard(rank.store.lock);
    if (rank.users > 1) return;
  }
  free_what_is_left(rank);
  for (pt2pt::Engine* e : rank.contexts.engines) finish_sending(*e);
}

void drop_user(Rank& rank) {
  if (--rank.users > 0) return;
  rank.entry().state.store(memory::RankState::finalized, std::memory_order_release);
  rank.phase.store(Rank::Phase::finalized, std::memory_order_release);
}

Err init(Rank& rank, int required, int* provided) {
  if (rank.world_model.load(std::memory_order_acquire) != Rank::Phase::before_init)
    return fail(MPI_ERR_OTHER,
                "MPI is initialized already (or has been finalized); call MPI_Init or "
                "MPI_Init_thread once");
  *provided = required;
  WEFT_TRY(add_user(rank, provided));
  rank.thread_level = *provided;
  rank.main_thread = pthread_self();
  WEFT_TRY(make_predefined_comms(rank));
  tell_state(rank, memory::RankState::initialized);
  if (const std::string text = hang::absence(*rank.process->job, rank.world_rank, true);
      !text.empty())
    abort_job(&rank, 1, text.c_str());
  rank.world_model.store(Rank::Phase::initialized, std::memory_order_release);
  return ok;
}

Err finalize(Rank& rank) {
  if (rank.world_model.load(std::memory_order_acquire) != Rank::Phase::initialized)
    return fail(MPI_ERR_OTHER,
                "MPI_Finalize ends what MPI_Init began, which was not called, or was finalized; a "
                "session ends by MPI_Session_finalize");
  WEFT_TRY(delete_self_attributes(rank));
  bool is_last = false;
  {
    const sync::Guard guard(rank.store.lock);
    is_last = rank.users == 1;
  }
  if (is_last) {
    free_what_is_left(rank);
    rank.process->progress_threads.stop(rank.charge);
  }
  WEFT_TRY(end_world(rank, is_last));
  if (is_last) WEFT_TRY(tell_manager(rank));
  rank.world_model.store(Rank::Phase::finalized, std::memory_order_release);
  const sync::Guard guard(rank.store.lock);
  if (!is_last) rank.entry().state.store(memory::RankState::in_session, std::memory_order_release);
  drop_user(rank);
  return ok;
}

void end_at_exit() {
  Process& p = process();
  for (const std::unique_ptr<Rank>& rank : p.ranks) {
    const bool mine = this_thread_rank == nullptr || this_thread_rank == rank.get();
    if (mine && rank->entry().pid.load(std::memory_order_relaxed) == getpid()) end(*rank);
  }
}

void end(Rank& rank) {
  if (rank.open_level < 0 || rank.has_ended || rank.users > 0) return;
  rank.has_ended = true;
  rank.process->progress_threads.stop(rank.charge);
  close_network(rank);
  write_trace(rank);
  static_cast<void>(tell_manager(rank));
}

}  // namespace weft::world
