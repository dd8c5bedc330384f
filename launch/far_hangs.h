// SPDX-License-Identifier: Apache-2.0
//
// Hangs of a job on several hosts. mpiexec asks the agents now and then what waits their ranks have
// noted, and concludes from all of them what it concludes on one machine from the job's memory
// (hang/watch.h). Agents wake those who have to look once more, and name the places in programs,
// whose processes are theirs.
//
// Ranks are those of the start and those that were spawned. An agent hears of these and of the
// questions in the order in which mpiexec says it; so a question is about the ranks that mpiexec
// had placed when it asked, and each of them is in one answer.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "hang/symbols.h"
#include "hang/watch.h"
#include "options.h"

namespace weft::launch {

/// A question to all agents: what do your ranks wait for?
struct Look {
  std::uint64_t number = 0;
  bool names_sites = false;
  std::vector<std::pair<std::int32_t, std::uint64_t>> to_wake;  // ranks and words, first
};

/// An agent's answer.
struct Seen {
  /// hang::RankView, its records as they lie in memory: both sides are one build (order.h).
  struct Rank {
    std::int32_t number = 0;
    memory::World world;
    std::uint8_t state = 0, helper = 0;
    std::int32_t pid = 0;
    bool more_threads = false, others_can_move = false;
    std::vector<std::string> threads, sleepers;
  };
  std::uint64_t number = 0;
  std::int64_t now_ns = 0;                                   // of its host's clock
  std::vector<Rank> ranks;                                   // its own
  std::vector<std::pair<std::uint64_t, std::string>> sites;  // of process and call: where that is
};

/// By an agent, for the ranks that are here.
Seen answer(const Look& look, memory::Job& job, const std::function<bool(int rank)>& is_here,
            hang::Symbols& symbols);

/// By mpiexec.
class FarHangs {
 public:
  explicit FarHangs(const Options& options);

  /// When to ask next, of base/clock.h; 0: never, or there is a question under way.
  std::int64_t next_ns() const { return asked_ ? 0 : next_ns_; }
  /// The question, in place of one that is under way. `spawned_on`: where ranks were placed behind
  /// those of the start (Spawner); `by_user`: whatever there is to say is said.
  Look ask(const std::vector<std::int32_t>& spawned_on, bool by_user);
  /// The agent's ranks have ended, or are dead.
  void leave(std::size_t agent);
  /// Throws Failure if that is no answer of this agent. A report, when all have answered and there
  /// is one.
  std::string take(std::size_t agent, const Seen& seen);
  /// Was it about a hang that is sure?
  bool is_hang() const { return is_hang_; }
  /// Then: whom_to_debug() (hangs.h).
  const std::vector<std::int32_t>& to_debug() const { return to_debug_; }
  /// The node of a rank in the last question.
  std::int32_t node_of(std::int32_t rank) const { return node_of_[static_cast<std::size_t>(rank)]; }

 private:
  bool are_its(std::size_t agent, const std::vector<Seen::Rank>& ranks) const;
  hang::RankView view_of(std::size_t agent, const Seen& seen, const Seen::Rank& rank);
  std::string conclude();

  const Options& options_;
  std::int64_t limit_ns_, next_ns_ = 0;
  std::vector<std::int32_t> node_of_;
  hang::JobView view_;
  hang::Suspicion suspicion_;
  std::vector<std::pair<std::uint64_t, std::string>> sites_;
  std::vector<bool> has_answered_, has_left_;
  std::vector<std::pair<std::int32_t, std::uint64_t>> to_wake_;
  std::vector<std::int32_t> to_debug_;
  std::uint64_t number_ = 0;
  bool asked_ = false, by_user_ = false, is_hang_ = false;
};

template <class A>
void fields(A& a, Look& l) {
  a(l.number, l.names_sites, l.to_wake);
}
template <class A>
void fields(A& a, Seen::Rank& r) {
  a(r.number, r.world.first, r.world.size, r.state, r.helper, r.pid, r.more_threads,
    r.others_can_move, r.threads, r.sleepers);
}
template <class A>
void fields(A& a, Seen& s) {
  a(s.number, s.now_ns, s.ranks, s.sites);
}

}  // namespace weft::launch
