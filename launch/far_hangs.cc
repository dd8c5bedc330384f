// SPDX-License-Identifier: Apache-2.0
#include "far_hangs.h"

#include <algorithm>
#include <cstring>

#include "base/clock.h"
#include "base/params.h"
#include "hang/checked.h"
#include "hang/report.h"
#include "hang/sleepers.h"
#include "hangs.h"

namespace weft::launch {
namespace {

constexpr const char* limit_name = "WEFT_SYNC_HANG_SECONDS";
// A hang that the user asks about need not be old.
constexpr std::int64_t asked_limit_ns = 500'000'000;
// Processes of different hosts may have one number: the host is above it.
constexpr int pid_bits = 22;
constexpr std::int32_t most_hosts = 1 << (31 - pid_bits);

/// The limit as the ranks have it: -x and -genv set it for them only.
std::int64_t limit_of(const Options& options) {
  std::int64_t limit = hang::limit_ns(Params::from_env(false)), seconds = 0;
  const auto look = [&](const Variables& variables) {
    for (const auto& [name, value] : variables)
      if (name == limit_name && parse_integer(value.c_str(), &seconds) && seconds >= 0)
        limit = seconds * 1'000'000'000;
  };
  look(options.env);
  look(options.programs.at(0).env);
  return limit;
}

template <class T>
std::string bytes_of(const T& value) {
  std::string out(sizeof value, '\0');
  std::memcpy(out.data(), &value, sizeof value);
  return out;
}
template <class T>
T value_of(const std::string& bytes) {
  T value;
  if (bytes.size() != sizeof value) throw Failure{1, "notes about waits that are none"};
  std::memcpy(static_cast<void*>(&value), bytes.data(), sizeof value);
  return value;
}

/// Of a call in a process.
std::uint64_t name_of(std::int32_t pid, std::uint64_t address) {
  return (static_cast<std::uint64_t>(pid) << 48) ^ address;  // addresses have 47 bits
}

}  // namespace

Seen answer(const Look& look, memory::Job& job, const std::function<bool(int rank)>& is_here,
            hang::Symbols& symbols) {
  for (const auto& [rank, at] : look.to_wake)
    if (is_here(rank)) hang::wake(job, at);
  Seen out;
  out.number = look.number;
  out.now_ns = now_ns();
  hang::JobView view = hang::look_at(job, out.now_ns);
  const auto ranks = static_cast<int>(view.ranks.size());
  for (int r = 0; r < ranks; ++r)
    if (!is_here(r)) view.ranks[static_cast<std::size_t>(r)] = {};
  hang::find_sleepers(view);
  for (int r = 0; r < ranks; ++r) {
    if (!is_here(r)) continue;
    const hang::RankView& rank = view.rank(r);
    Seen::Rank& seen = out.ranks.emplace_back();
    seen.number = r;
    seen.world = rank.world;
    seen.state = static_cast<std::uint8_t>(rank.state);
    seen.helper = static_cast<std::uint8_t>(rank.helper);
    seen.pid = rank.pid;
    seen.more_threads = rank.more_threads;
    seen.others_can_move = rank.others_can_move;
    for (const hang::Thread& thread : rank.threads) {
      seen.threads.push_back(bytes_of(thread));
      if (look.names_sites)
        out.sites.emplace_back(name_of(thread.record.pid, thread.record.call_site),
                               symbols(thread.record.pid, thread.record.call_site));
    }
    for (const hang::Sleeper& sleeper : rank.sleepers) seen.sleepers.push_back(bytes_of(sleeper));
  }
  return out;
}

FarHangs::FarHangs(const Options& options)
    : options_(options),
      limit_ns_(limit_of(options)),
      has_answered_(options.hosts.size()),
      has_left_(options.hosts.size()) {
  if (limit_ns_ > 0) next_ns_ = now_ns() + limit_ns_;
}

Look FarHangs::ask(const std::vector<std::int32_t>& spawned_on, bool by_user) {
  asked_ = true;
  by_user_ = by_user;
  has_answered_ = has_left_;
  sites_.clear();
  node_of_.clear();
  for (std::size_t node = 0; node < options_.hosts.size(); ++node)
    node_of_.resize(node_of_.size() + static_cast<std::size_t>(options_.hosts[node].ranks),
                    static_cast<std::int32_t>(node));
  node_of_.insert(node_of_.end(), spawned_on.begin(), spawned_on.end());
  hang::RankView gone;  // until its agent says something else
  gone.state = hang::RankView::State::left;
  view_.ranks.assign(node_of_.size(), gone);
  view_.now_ns = now_ns();
  Look look{++number_, by_user || suspicion_.pause_ns() > 0, {}};
  look.to_wake.swap(to_wake_);
  return look;
}

void FarHangs::leave(std::size_t agent) {
  if (has_left_[agent]) return;
  has_left_[agent] = true;
  if (!asked_) return;
  asked_ = false;  // it may not have answered: anew
  if (limit_ns_ > 0) next_ns_ = now_ns() + hang::period_ns(limit_ns_);
}

/// All that it has, in their order, and no others.
bool FarHangs::are_its(std::size_t agent, const std::vector<Seen::Rank>& ranks) const {
  const auto node = static_cast<std::int32_t>(agent);
  auto at = ranks.begin();
  for (std::size_t r = 0; r < node_of_.size(); ++r) {
    if (node_of_[r] != node) continue;
    if (at == ranks.end() || at->number != static_cast<std::int32_t>(r)) return false;
    ++at;
  }
  return at == ranks.end();
}

std::string FarHangs::take(std::size_t agent, const Seen& seen) {
  if (!asked_ || seen.number != number_) return "";
  if (!are_its(agent, seen.ranks))
    throw Failure{1, "notes about waits of ranks that it does not have"};
  has_answered_[agent] = true;
  for (const Seen::Rank& rank : seen.ranks)
    view_.ranks[static_cast<std::size_t>(rank.number)] = view_of(agent, seen, rank);
  const bool all =
      std::all_of(has_answered_.begin(), has_answered_.end(), [](bool b) { return b; });
  return all ? conclude() : "";
}

hang::RankView FarHangs::view_of(std::size_t agent, const Seen& seen, const Seen::Rank& from) {
  const std::int32_t host = (static_cast<std::int32_t>(agent) % most_hosts) << pid_bits;
  hang::RankView rank;
  rank.state = static_cast<hang::RankView::State>(from.state);
  rank.helper = static_cast<hang::Helper>(from.helper);
  rank.pid = host | from.pid;
  rank.more_threads = from.more_threads;
  rank.others_can_move = from.others_can_move;
  rank.world = from.world;
  if (from.world.size > 0) rank.host = options_.hosts[agent].name;
  for (const std::string& bytes : from.threads) {
    hang::Thread& thread = rank.threads.emplace_back(value_of<hang::Thread>(bytes));
    if (!hang::make_safe(thread.record, static_cast<std::int32_t>(view_.ranks.size())))
      throw Failure{1, "notes about waits for ranks that there are not"};
    thread.record.since_ns += view_.now_ns - seen.now_ns;
    thread.record.moved_ns += view_.now_ns - seen.now_ns;
    // From here on a name, which is unique among hosts.
    const std::uint64_t name = name_of(thread.record.pid, thread.record.call_site);
    const auto at = std::find_if(seen.sites.begin(), seen.sites.end(),
                                 [name](const auto& site) { return site.first == name; });
    thread.record.call_site = sites_.size();
    sites_.emplace_back(name, at != seen.sites.end() ? at->second : "");
    thread.record.pid = rank.pid;
  }
  for (const std::string& bytes : from.sleepers)
    rank.sleepers.push_back(value_of<hang::Sleeper>(bytes));
  return rank;
}

std::string FarHangs::conclude() {
  asked_ = is_hang_ = false;
  const auto site = [this](std::int32_t, std::uint64_t number) {
    return number < sites_.size() ? sites_[number].second : "";
  };
  if (by_user_) return hang::state_report(view_, hang::analyse(view_, asked_limit_ns), site);
  const hang::Finding finding{view_, hang::analyse(view_, limit_ns_)};
  std::vector<hang::Suspicion::Sleeps> to_wake;
  is_hang_ = suspicion_.is_sure(finding, &to_wake);
  if (is_hang_) to_debug_ = whom_to_debug(finding);
  for (const auto& [rank, at] : to_wake) to_wake_.emplace_back(rank, at);
  const std::int64_t pause = suspicion_.pause_ns();
  next_ns_ = now_ns() + (pause > 0 ? pause : hang::period_ns(limit_ns_));
  return is_hang_ ? hang::hang_report(finding.view, finding.analysis, site) : "";
}

}  // namespace weft::launch
