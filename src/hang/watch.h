// SPDX-License-Identifier: Apache-2.0
//
// Looking, now and then, whether a job hangs (analysis.h), and making sure before it is said:
// everybody who seems to hang is woken and has to look after messages twice more, in vain, and to
// write down anew what it waits for. So a rank that has a message but no CPU is not taken for one
// that waits, however busy the machine is, and no old note counts.
//
// mpiexec looks for the jobs it started. Elsewhere each rank that waits looks, and one of them says
// what it finds.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/params.h"
#include "hang/analysis.h"
#include "memory/job.h"

namespace weft::hang {

/// Parameter sync.hang_seconds in ns.
inline std::int64_t limit_ns(const Params& params) {
  return params.integer(P::sync_hang_seconds) * 1'000'000'000;
}

struct Finding {
  JobView view;
  Analysis analysis;
};

/// What it looks like now, nothing made sure.
Finding find_now(memory::Job& job, std::int64_t limit_ns);

/// What a series of findings says: who seems to hang, and whether that is sure.
class Suspicion {
 public:
  /// Who sleeps on a word of the job's memory, and has to look.
  struct Sleeps {
    std::int32_t rank;
    std::uint64_t park_at;
  };
  /// Is it a hang that was not found before, and sure? Else `to_wake` are to look, and the next
  /// finding is to come after pause_ns(); 0: there is no hurry.
  bool is_sure(const Finding& finding, std::vector<Sleeps>* to_wake);
  std::int64_t pause_ns() const { return pause_ns_; }

 private:
  /// A wait of the rank, and how often its thread had looked when it was first suspected.
  struct Suspect {
    std::int32_t rank;
    std::uint64_t wait, looks;
    bool operator==(const Suspect& o) const { return rank == o.rank && wait == o.wait; }
  };
  static std::vector<Suspect> suspects_of(const Finding& finding);
  bool all_have_looked(const Finding& finding, std::vector<Sleeps>* to_wake) const;

  std::int64_t pause_ns_ = 0, patience_ns_ = 0;
  std::vector<Suspect> suspects_, said_;
};

/// Between two findings while all is well.
std::int64_t period_ns(std::int64_t limit_ns);
/// Wake the thread that sleeps on a park word of its own (shm/mailbox.h). One that is about to
/// sleep may be missed; it is woken the next time.
void wake(memory::Job& job, std::uint64_t park_at);

class Watch {
 public:
  /// `limit_ns`: how long ranks have to have waited; 0: never look.
  Watch(memory::Job& job, std::int64_t limit_ns);

  /// Look, if it is time. A hang that was not found before, once it is sure.
  std::optional<Finding> look(std::int64_t now_ns);
  /// When to look next; 0: never.
  std::int64_t next_ns() const { return next_ns_; }

  /// For a rank that is about to sleep: the same, and say what is found on stderr. Returns how long
  /// to sleep at most, in ns.
  std::int64_t look_and_say();

 private:
  memory::Job& job_;
  std::int64_t limit_ns_, next_ns_ = 0;
  Suspicion suspicion_;
};

}  // namespace weft::hang
