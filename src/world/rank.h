// SPDX-License-Identifier: Apache-2.0
//
// A Process owns the ranks that live in this OS process: one with ranks as processes, several with
// ranks as threads. A Rank owns everything else; nothing in weft is global beside the one Process
// and each thread's pointer to its Rank.
#pragma once

#include <mpi.h>
#include <pthread.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/counters.h"
#include "base/log.h"
#include "base/params.h"
#include "channel/channel.h"
#include "memory/job.h"
#include "object/store.h"
#include "progress/threads.h"
#include "pt2pt/engine.h"
#include "rma/window.h"
#include "wireup/manager.h"
#include "world/across.h"
#include "world/network.h"

namespace weft {

namespace world {
struct Process;
}

struct Rank {
  enum class Phase : int { before_init, initialized, finalized };

  world::Process* process = nullptr;
  int world_rank = 0;
  /// Is the library open for somebody: the world model, or a session? It may be again and again.
  /// release by who opens and closes it, acquire by entry points; likewise the next.
  std::atomic<Phase> phase{Phase::before_init};
  std::atomic<Phase> world_model{Phase::before_init};  // MPI_Init and MPI_Finalize
  int users = 0;                         // the world model, and each session; under store.lock
  int open_level = -1;                   // of threads that the library is open for; -1: not yet
  int thread_level = MPI_THREAD_SINGLE;  // of the world model
  bool has_ended = false;                // the network and the thread of weft's own are gone
  bool told_manager = false;             // another launcher's, that this process is done
  bool trace_written = false;
  pthread_t main_thread{};
  int tool_inits = 0;  // MPI_T_init_thread calls without their MPI_T_finalize
  Counters counters;
  object::Store store;               // pools, predefined objects, keyvals, error classes
  std::unique_ptr<Network> network;  // null: it has spoken to ranks of its node only
  std::mutex opens_network;
  pt2pt::Engine engine;      // the first context
  pt2pt::Contexts contexts;  // all of them
  channel::Channels channels;
  rma::Windows windows;
  struct Context {
    Counters counters;
    pt2pt::Engine engine;
  };
  object::Comm* parent = nullptr;              // the way to who spawned this rank
  world::Ports ports;                          // that it has opened; these under store.lock
  world::Members still_connected;              // guests of communicators that were freed
  world::SharedNames shared_names;             // that it has published
  std::list<world::Link> links;                // to worlds of other jobs
  std::vector<std::unique_ptr<Context>> more;  // beyond the first, with MPI_THREAD_MULTIPLE

  progress::Charge charge{contexts};  // of a progress thread, if there is one

  /// What all contexts counted. By a thread that holds no context's lock.
  Counters all_counters();

  memory::RankEntry& entry();
};

namespace world {

struct Process {
  Params params;
  memory::Job* job = nullptr;
  int first = 0;         // place of ranks[0]
  memory::World world;   // its ranks' MPI_COMM_WORLD: places in a row
  int cpus = 1;          // that the process may use
  bool threads = false;  // ranks as threads: a thread belongs to a rank only if it was attached
  bool under_mpiexec = false;                // weft's: it tells the user why a rank aborted
  std::unique_ptr<wireup::Manager> manager;  // another launcher's, if one of them started us
  std::mutex asks_manager;                   // one thread at a time
  std::mutex opens_network;                  // the same, for libfabric's look at the machine,
  std::weak_ptr<const net::Survey> survey;   // which is that of all ranks
  channel::CourierSets couriers;
  progress::Threads progress_threads;
  std::vector<std::unique_ptr<Rank>> ranks;
};

/// The Process; made at the first call, from WEFT_JOB, PMI, PMIx, or as a job of one rank.
Process& process();

/// The calling thread's rank. nullptr on a thread that belongs to none, which happens only with
/// ranks as threads (include/weft/host.h).
Rank* current_rank_slow();
extern constinit thread_local Rank* this_thread_rank;
inline Rank* current_rank() {
  return __builtin_expect(this_thread_rank != nullptr, 1) ? this_thread_rank : current_rank_slow();
}

/// MPI_Init_thread and MPI_Finalize (MPI-5.0 §11.2, §11.6).
Err init(Rank& rank, int required, int* provided);
Err finalize(Rank& rank);

/// One more user of the library, which is started for the first, and goes on where it was for the
/// next after a pause; `*level` becomes the one there is, if it is lower. Under the object lock.
Err add_user(Rank& rank, int* level);
/// Before a session leaves: if it is the last user, all that was sent has to be out.
void prepare_to_leave(Rank& rank);
/// One user less. Local. Under the object lock.
void drop_user(Rank& rank);
/// The rank's program ends: what outlasts the last user. Nothing if that has been done.
void end(Rank& rank);
/// The same for the ranks of the thread that ends the process.
void end_at_exit();

/// End the whole job: the launcher prints `message` once and exits with `code`. `rank` may be null.
[[noreturn, gnu::cold]] void abort_job(Rank* rank, int code, const char* message);

/// MPI_Get_processor_name, MPI_Get_library_version.
void processor_name(char* name, int* length);
void library_version(char* text, int* length);

}  // namespace world
}  // namespace weft
