// SPDX-License-Identifier: Apache-2.0
//
// MPI_Init_thread and MPI_Finalize of one rank. Init talks to nobody: a peer's mailbox is there
// from the start, so a rank may send to one that has not come up yet. Only where agents of weft's
// mpiexec hold several hosts together it waits for the addresses of all ranks. Finalize waits until
// everything the rank sent has been taken, then for all ranks.
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "coll/coll.h"
#include "hang/absence.h"
#include "memory/addresses.h"
#include "model/machine.h"
#include "parallel/helpers.h"
#include "parallel/jobs.h"
#include "parallel/openmp/call.h"
#include "pt2pt/completion.h"
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
  if (rank.engine.trace == nullptr) return;
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
  const std::uint32_t contexts =
      rank.thread_level == MPI_THREAD_MULTIPLE ? job.header().contexts : 1;
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
  for (pt2pt::Engine* e : all.engines) e->share(rank.thread_level >= MPI_THREAD_SERIALIZED);
  if (sole) all.sole.open(rank.counters.lock_taken);
}

/// When large work is offered to idle threads, and threads of weft's own for it: the same for all
/// ranks of the process.
void open_jobs(Rank& rank) {
  const Params& params = rank.process->params;
  const int all = static_cast<int>(rank.process->job->header().cpus);
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
  const int cpus = static_cast<int>(rank.process->job->header().cpus);
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

/// What was sent in the background must be out before this rank may leave.
void finish_sending(pt2pt::Engine& e) {
  const sync::Guard guard(e.lock);
  const auto is_out = [&e] {
    return e.busy.empty() && e.offers() == 0 && (e.network == nullptr || e.network->is_idle());
  };
  pt2pt::wait_until(e, is_out, {.about = &pt2pt::sent_messages});
}

}  // namespace

Err init(Rank& rank, int required, int* provided) {
  if (rank.phase.load(std::memory_order_acquire) != Rank::Phase::before_init)
    return fail(MPI_ERR_OTHER,
                "MPI is initialized already (or has been finalized); call MPI_Init or "
                "MPI_Init_thread once");
  rank.thread_level = required;
  *provided = required;
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
  if (required == MPI_THREAD_MULTIPLE || rank.contexts.has_background) open_contexts(rank);
  for (pt2pt::Engine* e : rank.contexts.engines) {
    e->first_here = rank.process->first;
    e->ranks_here = static_cast<std::int32_t>(rank.process->ranks.size());
  }
  open_jobs(rank);
  say_whether_openmp_fits(rank);
  WEFT_TRY(open_network(rank));
  entry.contexts.store(static_cast<std::int32_t>(rank.contexts.engines.size()),
                       std::memory_order_relaxed);  // released with the state
  WEFT_TRY(make_predefined_comms(rank));
  open_trace(rank);
  const bool framed =
      rank.engine.lock.enabled() || rank.engine.lock.measures() || rank.engine.trace != nullptr;
  rank.engine.framed = framed ? pt2pt::Engine::Framed::yes : pt2pt::Engine::Framed::no;
  // seq_cst: before the look for those who will never come; pairs with hang/absence.cc
  entry.state.store(memory::RankState::initialized, std::memory_order_seq_cst);
  if (const std::string text = hang::absence(*rank.process->job, rank.world_rank, true);
      !text.empty())
    abort_job(&rank, 1, text.c_str());
  memory::await_addresses(*rank.process->job);
  if (rank.contexts.has_background)
    WEFT_TRY(rank.process->progress_threads.start(rank.charge, params, rank.engine, entry.seat,
                                                  rank.world_rank - rank.process->first));
  rank.phase.store(Rank::Phase::initialized, std::memory_order_release);
  return ok;
}

Err finalize(Rank& rank) {
  WEFT_TRY(delete_self_attributes(rank));
  close_ports(rank);
  channel::free_all(rank.channels);
  rma::free_all(rank.windows);
  rank.process->progress_threads.stop(rank.charge);
  const Counters before = rank.all_counters();
  // Peers may still need an answer in any context until all ranks have come here.
  for (pt2pt::Engine* e : rank.contexts.engines) {
    const pt2pt::Inside inside(*e);
    e->ending = true;
  }
  for (pt2pt::Engine* e : rank.contexts.engines) finish_sending(*e);
  leave_connected(rank);
  {
    const sync::Guard guard(rank.engine.lock);
    WEFT_TRY(coll::barrier(*rank.store.comm_world));
  }
  finish_sending(rank.engine);
  name_unreceived(rank);
  {
    const sync::Guard guard(rank.engine.lock);
    if (rank.process->params.boolean(P::stats)) WEFT_TRY(print_stats(rank, before));
  }
  write_trace(rank);
  free_predefined_comms(rank);
  close_network(rank);
  if (rank.process->manager != nullptr) WEFT_TRY(rank.process->manager->finalize());
  rank.entry().state.store(memory::RankState::finalized, std::memory_order_release);
  rank.phase.store(Rank::Phase::finalized, std::memory_order_release);
  return ok;
}

}  // namespace weft::world
