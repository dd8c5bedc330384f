// SPDX-License-Identifier: Apache-2.0
//
// How a process finds its place in the job: WEFT_JOB (weft's launcher), PMI or PMIx (another
// process manager), or nothing, which is a job of one rank. And the seam to the rank host, which
// attaches threads to ranks.
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "base/cpus.h"
#include "hang/absence.h"
#include "parallel/jobs.h"
#include "sync/wait.h"
#pragma GCC visibility push(default)
#include "weft/host.h"
#pragma GCC visibility pop
#include "world/join.h"
#include "world/manager.h"
#include "world/rank.h"

#pragma weak weft_host_flush

namespace weft {

Counters Rank::all_counters() {
  const sync::Away away(store.lock);  // it is the innermost
  Counters all;
  const auto add = [&all](pt2pt::Engine& e, const Counters& more) {
    const sync::Guard guard(e.lock);
    all.add(more);
  };
  add(engine, counters);
  for (const auto& context : more) add(context->engine, context->counters);
  {
    const sync::Guard guard(store.lock);
    const channel::Done done = channels.done();
    all.channel_messages = done.messages;
    all.channel_copies = done.copies;
  }
  // Jobs are the process's: its first rank has them.
  if (process != nullptr && world_rank == process->first) {
    const parallel::Jobs::Done done = parallel::jobs().done();
    all.jobs_offered = done.jobs;
    all.chunks_offered = done.chunks;
    all.chunks_given = done.given;
  }
  return all;
}

memory::RankEntry& Rank::entry() {
  return process->job->entry(world_rank);
}

namespace world {

constinit thread_local Rank* this_thread_rank = nullptr;

namespace {

[[noreturn]] void give_up(const char* what) {
  std::fprintf(stderr, "weft: cannot start: %s\n", what);
  syscall(SYS_exit_group, 1);
  std::abort();
}

Placement place(const Params& params, std::unique_ptr<wireup::Manager>* manager) {
  if (const char* text = std::getenv("WEFT_JOB")) {
    int fd = -1, first = 0, count = 0;
    if (std::sscanf(text, "%d,%d,%d", &fd, &first, &count) != 3 || count < 1)
      give_up("WEFT_JOB is not <fd>,<first rank>,<count>; it is set by mpiexec only");
    const Result<memory::Job*> job = memory::Job::open(fd);
    if (job.err) give_up(last_error_text(job.err.cls));
    fcntl(fd, F_SETFD, FD_CLOEXEC);
    unsetenv("WEFT_JOB");  // a program that this rank starts is no rank of the job
    return {job.value, first, count};
  }
  Result<std::unique_ptr<wireup::Manager>> joined = wireup::join_manager();
  if (joined.err) give_up(last_error_text(joined.err.cls));
  if (joined.value != nullptr) {
    *manager = std::move(joined.value);
    const Result<Placement> placement = join_job(**manager, params);
    if (placement.err) give_up(last_error_text(placement.err.cls));
    return placement.value;
  }
  if (const std::string alone = unjoined_manager(); !alone.empty())
    std::fprintf(stderr, "%s\n", alone.c_str());
  const Result<memory::Job*> job = memory::Job::create(1, usable_cpus(), params);
  if (job.err) give_up(last_error_text(job.err.cls));
  job.value->entry(0).app_size = 1;
  return {job.value, 0, 1};
}

Process* make_process() {
  auto* p = new Process;
  const char* job_text = std::getenv("WEFT_JOB");
  int fd = 0, first = 0;
  const bool speaks =
      job_text == nullptr || (std::sscanf(job_text, "%d,%d", &fd, &first) == 2 && first == 0);
  p->params = Params::from_env(speaks);
  p->under_mpiexec = job_text != nullptr;
  const Placement at = place(p->params, &p->manager);
  p->job = at.job;
  p->first = at.first;
  p->world = at.job->world_of(at.first);
  p->threads = at.count > 1;
  // Now, while a host of ranks has one thread: of a process with several the kernel makes each that
  // asks wait for all CPUs (an RCU grace period, 10 to 40 ms).
  sync::permit_fences();
  p->cpus = std::max(1, static_cast<int>(allowed_cpus().size()));
  for (int i = 0; i < at.count; ++i) {
    p->ranks.push_back(std::make_unique<Rank>());
    p->ranks.back()->process = p;
    p->ranks.back()->world_rank = at.first + i;
  }
  return p;
}

const char* left_open(const Rank& rank) {
  return rank.world_model.load(std::memory_order_acquire) == Rank::Phase::initialized
             ? " without calling MPI_Finalize"
             : " without finalizing its sessions";
}

Rank* hosted(int world_rank) {
  Process& p = process();
  const int i = world_rank - p.first;
  return i >= 0 && i < static_cast<int>(p.ranks.size()) ? p.ranks[static_cast<std::size_t>(i)].get()
                                                        : nullptr;
}

// Output the program wrote before it failed should not be lost; but a stream that somebody is
// blocked on must not stop us. As threads, ranks have streams that this library does not know.
void flush_output() {
  if (weft_host_flush != nullptr) return weft_host_flush();
  if (ftrylockfile(stdout) != 0) return;
  fflush_unlocked(stdout);
  funlockfile(stdout);
}

}  // namespace

Process& process() {
  static Process* const the_process = make_process();
  return *the_process;
}

Rank* current_rank_slow() {
  Process& p = process();
  if (p.threads) return nullptr;
  return this_thread_rank = p.ranks[0].get();
}

void abort_job(Rank* rank, int code, const char* message) {
  flush_output();
  if (rank != nullptr) {
    memory::RankEntry& entry = rank->entry();
    std::snprintf(rank->process->job->message(rank->world_rank), sizeof(memory::Job::Message), "%s",
                  message);
    entry.abort_code.store(code, std::memory_order_relaxed);
    // release: the text is there. pairs with the launcher's reading
    entry.aborted.store(1, std::memory_order_release);
  }
  // Nobody else would show it.
  if (rank == nullptr || !rank->process->under_mpiexec) std::fprintf(stderr, "%s\n", message);
  const int status = (code & 0xff) != 0 ? code & 0xff : 1;
  if (rank != nullptr && rank->process->manager != nullptr)
    rank->process->manager->abort(status, message);
  syscall(SYS_exit_group, status);
  std::abort();
}

void processor_name(char* name, int* length) {
  utsname u{};
  uname(&u);
  *length = std::snprintf(name, MPI_MAX_PROCESSOR_NAME, "%s", u.nodename);
}

void library_version(char* text, int* length) {
  *length =
      std::snprintf(text, MPI_MAX_LIBRARY_VERSION_STRING,
                    "weft " WEFT_VERSION " (MPI-5.0 standard ABI, ranks as processes or threads)");
}

}  // namespace world
}  // namespace weft

using namespace weft;

extern "C" void weft_host_attach(int world_rank) {
  world::this_thread_rank = world_rank < 0 ? nullptr : world::hosted(world_rank);
}

extern "C" void weft_host_rank_exited(int world_rank, int status, int how) {
  Rank* rank = world::hosted(world_rank);
  if (rank == nullptr) return;
  const auto phase = rank->phase.load(std::memory_order_acquire);
  if (phase == Rank::Phase::before_init && status == 0) {
    hang::mark_absent(*rank->process->job, world_rank);
    const std::string text = hang::absence(*rank->process->job, world_rank);
    if (!text.empty()) world::abort_job(rank, 1, text.c_str());
    return;
  }
  world::end(*rank);
  rank->entry().state.store(memory::RankState::exited, std::memory_order_release);
  const bool left_early = phase == Rank::Phase::initialized;
  if (!left_early && (status == 0 || phase == Rank::Phase::finalized)) return;
  char text[256];
  std::snprintf(text, sizeof text, "weft: rank %d (%s) ended with status %d%s%s",
                world_rank - rank->process->world.first, program_invocation_short_name, status,
                how == WEFT_HOST_QUIT ? " by _exit" : "",
                left_early ? world::left_open(*rank) : "");
  world::abort_job(rank, status != 0 ? status : 1, text);
}

extern "C" void weft_host_refused(int fd, int first_rank, const char* reason) {
  const Result<memory::Job*> job = memory::Job::open(dup(fd));
  if (job.err) return;
  memory::RankEntry& entry = job.value->entry(first_rank);
  std::snprintf(job.value->message(first_rank), sizeof(memory::Job::Message), "%s",
                reason != nullptr ? reason : "");
  // release: the text is there. pairs with the launcher's reading
  entry.hosting.store(reason != nullptr ? memory::Hosting::refused : memory::Hosting::begun,
                      std::memory_order_release);
  delete job.value;
}

extern "C" void weft_host_abort(int world_rank, int status, int signal) {
  Rank* rank = world_rank < 0 ? nullptr : world::hosted(world_rank);
  if (rank == nullptr) return;
  memory::RankEntry& entry = rank->entry();
  entry.abort_code.store(status, std::memory_order_relaxed);
  entry.signal.store(signal, std::memory_order_release);
}
