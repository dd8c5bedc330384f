// SPDX-License-Identifier: Apache-2.0
//
// The rules, in their order: an abort that a rank announced, a signal, an end before MPI_Finalize,
// an exit code. A process that never called MPI_Init (a shell command) may end with 0 at any time,
// unless another rank calls it.
#include "outcome.h"

#include <string.h>
#include <sys/wait.h>

#include "hang/absence.h"

namespace weft::launch {
namespace {

using memory::RankEntry;
using memory::RankState;

/// " (./app, pid 4711 on node2)"
std::string process(const Ended& e) {
  return " (" + e.program + ", pid " + std::to_string(e.pid) +
         (e.host.empty() ? "" : " on " + e.host) + ")";
}

std::string who(memory::Job& job, const Ended& e, int rank) {
  const memory::World world = job.world_of(e.first);
  const std::string of = " of " + std::to_string(world.size) + (world.first > 0 ? " spawned" : "");
  if (rank >= 0) return "weft: rank " + std::to_string(rank - world.first) + of + process(e);
  if (e.count == 1) return who(job, e, e.first);
  return "weft: the process of ranks " + std::to_string(e.first - world.first) + "-" +
         std::to_string(e.first - world.first + e.count - 1) + of + process(e);
}

std::string signal_text(int signal) {
  const char* description = sigdescr_np(signal);
  return "was killed by signal " + std::to_string(signal) + " (" +
         (description != nullptr ? description : "unknown") + ")";
}

// The text lies in shared memory that a broken rank may have written over: bounded, one line.
std::string abort_text(const memory::Job::Message& message) {
  std::string text(message, strnlen(message, sizeof message));
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

Outcome aborted(memory::Job& job, const Ended& e, int rank) {
  const RankEntry& entry = job.entry(rank);
  const int code = entry.abort_code.load(std::memory_order_relaxed);
  std::string text = abort_text(job.message(rank));
  const std::string base_name = e.program.substr(e.program.rfind('/') + 1);
  if (text.empty())
    text = who(job, e, rank) + " called MPI_Abort with code " + std::to_string(code);
  else if (rank >= e.first && rank < e.first + e.count && text.find(base_name) == std::string::npos)
    text += process(e);
  if (text.rfind("weft", 0) != 0) text.insert(0, "weft: ");
  const int shell_code = code & 255;
  return {true, code != 0 && shell_code == 0 ? 1 : shell_code, text,
          entry.lost_peer.load(std::memory_order_relaxed) != 0};
}

// The rank whose doing the end of a process was, when it can be told; else -1. A host writes the
// signal or the code of the rank it dies of.
int guilty_rank(memory::Job& job, const Ended& e) {
  for (int r = e.first; r < e.first + e.count; ++r) {
    const RankEntry& entry = job.entry(r);
    if (entry.signal.load(std::memory_order_acquire) != 0 ||
        entry.abort_code.load(std::memory_order_relaxed) != 0)
      return r;
  }
  return e.count == 1 ? e.first : -1;
}

bool is_in_mpi(RankState state) {
  return state == RankState::initialized || state == RankState::in_session;
}

bool is_unfinished(memory::Job& job, const Ended& e) {
  for (int r = e.first; r < e.first + e.count; ++r)
    if (is_in_mpi(job.entry(r).state.load(std::memory_order_acquire))) return true;
  return false;
}

// A host has seen to its ranks itself.
std::string absence(memory::Job& job, const Ended& e) {
  for (int r = e.first; r < e.first + e.count; ++r)
    if (job.entry(r).state.load(std::memory_order_acquire) == RankState::started)
      hang::mark_absent(job, r);
  const std::string text = hang::absence(job, e.first);
  return text.empty() ? "" : text + process(e);
}

bool has_finalized(memory::Job& job, const Ended& e) {
  for (int r = e.first; r < e.first + e.count; ++r) {
    const RankState state = job.entry(r).state.load(std::memory_order_acquire);
    if (state == RankState::started || is_in_mpi(state)) return false;
  }
  return true;
}

}  // namespace

int exit_code_of(int status) {
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

std::string how_it_died(const std::string& message, const std::string& host) {
  std::string out = message.substr(message.starts_with("weft: ") ? 6 : 0);
  if (!host.empty() && out.find(" on " + host) == out.npos) out += ", on " + host;
  return out;
}

Outcome judge(memory::Job& job, const Ended& e) {
  for (const std::uint32_t lost_peer : {0u, 1u})
    for (int r = 0; r < job.used(); ++r) {
      const RankEntry& entry = job.entry(r);
      // acquire: the text was written before (pairs with the release of the rank that aborts)
      if (entry.aborted.load(std::memory_order_acquire) != 0 &&
          entry.lost_peer.load(std::memory_order_relaxed) == lost_peer)
        return aborted(job, e, r);
    }
  const int code = exit_code_of(e.status);
  const int rank = guilty_rank(job, e);
  if (WIFSIGNALED(e.status)) {
    const int own = rank >= 0 ? job.entry(rank).signal.load(std::memory_order_relaxed) : 0;
    const int signal = own != 0 ? own : WTERMSIG(e.status);
    return {true, 128 + signal, who(job, e, rank) + " " + signal_text(signal), false, true};
  }
  if (is_unfinished(job, e) && (e.others_running || code != 0))
    return {true, code != 0 ? code : 1,
            who(job, e, rank) + " exited with code " + std::to_string(code) +
                " before it called MPI_Finalize",
            false, true};
  if (code != 0 && e.others_running && !has_finalized(job, e))
    return {true, code,
            who(job, e, rank) + " exited with code " + std::to_string(code) +
                " while other ranks were running"};
  const std::string missing = code == 0 && e.others_running ? absence(job, e) : "";
  if (!missing.empty()) return {true, 1, missing};
  return {false, code, ""};
}

}  // namespace weft::launch
