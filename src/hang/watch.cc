// SPDX-License-Identifier: Apache-2.0
#include "hang/watch.h"

#include <algorithm>
#include <cstdio>

#include "base/clock.h"
#include "hang/report.h"
#include "hang/sleepers.h"
#include "hang/symbols.h"
#include "sync/wait.h"

namespace weft::hang {
namespace {

// Between two looks while all is well: a load per rank, and more only for ranks that wait long.
constexpr std::int64_t shortest_period_ns = 50'000'000, longest_period_ns = 2'000'000'000;
// Until those who were woken are asked again; doubled each time.
constexpr std::int64_t first_patience_ns = 5'000'000, most_patience_ns = 1'000'000'000;
// Looks after having been woken: the first may have begun before.
constexpr std::uint64_t looks_needed = 2;

Finding find(memory::Job& job, std::int64_t now_ns, std::int64_t limit_ns) {
  Finding f{look_at(job, now_ns), {}};
  f.analysis = analyse(f.view, limit_ns);
  if (!f.analysis.hangs()) return f;
  find_sleepers(f.view);
  f.analysis = analyse(f.view, limit_ns);
  return f;
}

}  // namespace

Finding find_now(memory::Job& job, std::int64_t limit_ns) {
  return find(job, now_ns(), limit_ns);
}

Watch::Watch(memory::Job& job, std::int64_t limit_ns) : job_(job), limit_ns_(limit_ns) {
  if (limit_ns > 0) next_ns_ = now_ns() + limit_ns;
}

std::int64_t period_ns(std::int64_t limit_ns) {
  return std::clamp(limit_ns / 8, shortest_period_ns, longest_period_ns);
}

/// Of all ranks that hang, every thread that hangs or looks after messages.
std::vector<Suspicion::Suspect> Suspicion::suspects_of(const Finding& f) {
  std::vector<Suspect> out;
  for (std::size_t r = 0; r < f.view.ranks.size(); ++r) {
    const std::vector<bool>& stuck = f.analysis.stuck[r];
    if (!f.analysis.has_stuck_threads(r)) continue;
    for (std::size_t t = 0; t < stuck.size(); ++t)
      if (const Thread& thread = f.view.ranks[r].threads[t]; stuck[t] || thread.record.park_at != 0)
        out.push_back({static_cast<std::int32_t>(r), thread.record.wait, thread.looks});
  }
  return out;
}

void wake(memory::Job& job, std::uint64_t at) {
  const memory::JobHeader& h = job.header();
  const memory::JobLayout layout = memory::job_layout(h);
  if (at < layout.areas || at + sizeof(sync::ParkWord) > layout.heap) return;
  auto& word = *reinterpret_cast<sync::ParkWord*>(job.at(at));
  auto itself = static_cast<std::uint32_t>((at - layout.areas) / h.area_bytes % h.contexts) + 1;
  if (word.compare_exchange_strong(itself, 0, std::memory_order_seq_cst)) sync::wake_all(word);
}

/// Those that have not are to be woken.
bool Suspicion::all_have_looked(const Finding& f, std::vector<Sleeps>* to_wake) const {
  bool all = true;
  for (const Suspect& s : suspects_)
    for (const Thread& thread : f.view.rank(s.rank).threads) {
      if (thread.record.wait != s.wait || thread.looks >= s.looks + looks_needed) continue;
      all = false;
      if (thread.record.park_at == 0) continue;  // it looks each second
      to_wake->push_back({s.rank, thread.record.park_at});
    }
  return all;
}

bool Suspicion::is_sure(const Finding& f, std::vector<Sleeps>* to_wake) {
  pause_ns_ = 0;
  const std::vector<Suspect> suspects = suspects_of(f);
  if (suspects.empty() || suspects == said_) {
    suspects_.clear();
    return false;
  }
  if (suspects != suspects_) {
    suspects_ = suspects;
    patience_ns_ = first_patience_ns;
  }
  if (!all_have_looked(f, to_wake)) {
    pause_ns_ = patience_ns_;
    patience_ns_ = std::min(2 * patience_ns_, most_patience_ns);
    return false;
  }
  said_ = suspects_;
  return true;
}

std::optional<Finding> Watch::look(std::int64_t now_ns) {
  if (next_ns_ == 0 || now_ns < next_ns_) return {};
  Finding f = find(job_, now_ns, limit_ns_);
  std::vector<Suspicion::Sleeps> to_wake;
  const bool is_sure = suspicion_.is_sure(f, &to_wake);
  for (const Suspicion::Sleeps& each : to_wake) wake(job_, each.park_at);
  next_ns_ = now_ns + (suspicion_.pause_ns() > 0 ? suspicion_.pause_ns() : period_ns(limit_ns_));
  if (!is_sure) return {};
  return f;
}

std::int64_t Watch::look_and_say() {
  const std::optional<Finding> f = look(now_ns());
  // One rank says it.
  if (f && job_.header().hang_reports.fetch_add(1, std::memory_order_relaxed) == 0) {
    Symbols symbols({}, false);
    const std::string report = hang_report(f->view, f->analysis, std::ref(symbols)) + "\n";
    std::fwrite(report.data(), 1, report.size(), stderr);
  }
  return std::max<std::int64_t>(next_ns_ - now_ns(), 1'000'000);
}

}  // namespace weft::hang
