// SPDX-License-Identifier: Apache-2.0
//
// Ranks that do the same share a line, so the report of a large job is short.
#include "hang/report.h"

#include <algorithm>
#include <utility>

#include "hang/faults.h"
#include "hang/phrases.h"

namespace weft::hang {
namespace {

constexpr std::size_t lines_max = 32;     // of ranks
constexpr std::size_t messages_max = 16;  // of unmatched messages

constexpr char age_mark = '\1';  // in a Line, where its age belongs

/// What several ranks do, or several threads of a rank.
struct Line {
  std::string what;
  std::vector<std::int32_t> ranks;
  std::vector<std::int32_t> threads;  // of a rank with several
  std::int64_t since_ns = 0;          // the latest begin of a wait; 0: none
};

class Report {
 public:
  Report(const JobView& view, const Analysis& analysis, const SiteName& site)
      : view_(view), analysis_(analysis), site_(site) {}

  std::string hang() {
    std::int64_t since = 0;
    std::vector<std::int32_t> ranks;
    for (std::size_t r = 0; r < view_.ranks.size(); ++r)
      for (std::size_t t = 0; t < view_.ranks[r].threads.size(); ++t) {
        if (!analysis_.stuck[r][t]) continue;
        since = std::max(since, view_.ranks[r].threads[t].record.since_ns);
        if (ranks.empty() || ranks.back() != static_cast<std::int32_t>(r))
          ranks.push_back(static_cast<std::int32_t>(r));
      }
    out_ =
        text("weft: the job hangs: for %s %s %s been waiting for what cannot come\n",
             seconds(since).c_str(), ranks_text(ranks).c_str(), ranks.size() == 1 ? "has" : "have");
    out_ += "  What is wrong:\n";
    for (const std::string& fault : find_faults(view_, analysis_)) out_ += "    " + fault + "\n";
    lists();
    return std::move(out_);
  }

  std::string state() {
    if (analysis_.hangs()) return hang();
    out_ = "weft: what the ranks do\n";
    lists();
    return std::move(out_);
  }

 private:
  std::string seconds(std::int64_t since_ns) const {
    return text("%.0f s", static_cast<double>(view_.now_ns - since_ns) / 1e9);
  }

  void lists() {
    out_ += "  Who waits for what:\n";
    collect();
    for (std::size_t i = 0; i < std::min(lines_.size(), lines_max); ++i) add(lines_[i]);
    if (lines_.size() > lines_max)
      out_ += text("    ... and %zu more such lines\n", lines_.size() - lines_max);
    spawned();
    messages();
    helpers();
    out_.pop_back();
  }

  /// Above, their numbers are their places in the job.
  void spawned() {
    std::string list;
    std::size_t lines = 0;
    for (std::size_t first = 0, end = 0; first < view_.ranks.size(); first = end) {
      const RankView& rank = view_.ranks[first];
      std::vector<std::int32_t> places, own;
      for (end = first; end < view_.ranks.size() && are_together(rank, view_.ranks[end]); ++end) {
        places.push_back(static_cast<std::int32_t>(end));
        own.push_back(static_cast<std::int32_t>(end) - rank.world.first);
      }
      if (rank.world.size == 0 || is_over(rank.world) || ++lines > lines_max) continue;
      list += "    " + ranks_text(places) + (own.size() == 1 ? " is " : " are ") + ranks_text(own) +
              text(" of %d spawned", rank.world.size) +
              (rank.host.empty() ? "" : ", on " + rank.host) + "\n";
    }
    if (lines > lines_max) list += text("    ... and %zu more such lines\n", lines - lines_max);
    if (!list.empty()) out_ += "  Spawned ranks:\n" + list;
  }

  static bool are_together(const RankView& a, const RankView& b) {
    return a.world == b.world && a.host == b.host;
  }

  bool is_over(const memory::World& world) const {
    return std::none_of(view_.ranks.begin(), view_.ranks.end(), [&](const RankView& rank) {
      return rank.world == world && rank.state != RankView::State::left;
    });
  }

  void helpers() {
    std::string list;
    for (const auto& [what, words] :
         {std::pair{Helper::works, "at work"},
          {Helper::awaits_news, "asleep until a message or room comes"},
          {Helper::stays_out, "outside, since the rank is in MPI, or comes and goes"},
          {Helper::rests, "at rest, since nothing is left to it"}}) {
      std::vector<std::int32_t> ranks;
      for (std::size_t r = 0; r < view_.ranks.size(); ++r)
        if (view_.ranks[r].helper == what) ranks.push_back(static_cast<std::int32_t>(r));
      if (!ranks.empty()) list += "    of " + ranks_text(ranks) + ": " + words + "\n";
    }
    if (!list.empty()) out_ += "  Progress threads:\n" + list;
  }

  void collect() {
    for (std::size_t r = 0; r < view_.ranks.size(); ++r) {
      const auto number = static_cast<std::int32_t>(r);
      const RankView& rank = view_.ranks[r];
      if (rank.threads.empty()) collect(number, doing_text(rank));
      const bool named = rank.threads.size() > 1 || !rank.sleepers.empty();
      for (const Thread& thread : rank.threads)
        collect(number, wait_text(thread.record, called(thread.record)),
                named ? thread.record.tid : 0, thread.record.since_ns);
      for (const Sleeper& o : rank.sleepers) collect(number, sleeper_text(o), o.tid);
    }
  }

  /// `thread`: 0 if it is the rank's only one.
  void collect(std::int32_t rank, std::string what, std::int32_t thread = 0,
               std::int64_t since_ns = 0) {
    const auto same = std::find_if(lines_.begin(), lines_.end(), [&](const Line& line) {
      if (line.what != what || line.threads.empty() != (thread == 0)) return false;
      return thread == 0 || line.ranks[0] == rank;
    });
    Line& line = same != lines_.end() ? *same : lines_.emplace_back();
    line.what = std::move(what);
    if (thread != 0) line.threads.push_back(thread);
    if (thread == 0 || line.ranks.empty()) line.ranks.push_back(rank);
    line.since_ns = std::max(line.since_ns, since_ns);
  }

  void add(const Line& line) {
    const bool one = std::max(line.ranks.size(), line.threads.size()) == 1;
    std::string what = one ? line.what : plural(line.what);
    if (const std::size_t at = what.find(age_mark); at != what.npos)
      what.replace(at, 1, seconds(line.since_ns));
    const std::size_t threads = line.threads.size();
    out_ += "    ";
    if (threads == 1) out_ += text("thread %d of ", line.threads[0]);
    if (threads > 1) out_ += text("%zu threads of ", threads);
    out_ += ranks_text(line.ranks) + " " + what + "\n";
  }

  std::string called(const Record& record) const {
    const std::string where = site_(record.pid, record.call_site);
    return std::string(", called ") + (where.empty() ? "" : "in " + where + " ") + age_mark +
           " ago,";
  }

  static std::string sleeper_text(const Sleeper& o) {
    switch (o.what) {
      case Sleeper::For::mutex:
        return text("waits outside MPI for a mutex that thread %d holds", o.other);
      case Sleeper::For::thread:
        return text("waits outside MPI for the end of thread %d", o.other);
      case Sleeper::For::something:
        break;
    }
    return "sleeps outside MPI until another thread wakes it";
  }

  void messages() {
    std::size_t count = 0;
    std::string list;
    for (std::size_t r = 0; r < view_.ranks.size(); ++r) {
      if (view_.ranks[r].threads.empty()) continue;
      // Those of a rank are the same in all its notes, but for their age.
      const Record* record = &view_.ranks[r].threads[0].record;
      for (const Thread& thread : view_.ranks[r].threads)
        if (thread.record.messages_count > record->messages_count) record = &thread.record;
      const int shown = std::min(record->messages_count, Record::messages_max);
      for (int i = 0; i < shown && count < messages_max; ++i, ++count)
        list += message(static_cast<std::int32_t>(r), record->messages[i]);
      if (record->messages_count > shown)
        list += text("    at rank %zu: and %d more\n", r, record->messages_count - shown);
    }
    if (!list.empty()) out_ += "  Messages that no receive matches:\n" + list;
  }

  static std::string message(std::int32_t rank, const Message& m) {
    return text("    at rank %d: from rank %d, tag %d, %s, %lld bytes%s\n", rank, m.sender, m.tag,
                comm_text(m.comm).c_str(), static_cast<long long>(m.bytes),
                m.offered != 0 ? " (still at its sender)" : "");
  }

  const JobView& view_;
  const Analysis& analysis_;
  const SiteName& site_;
  std::vector<Line> lines_;
  std::string out_;
};

}  // namespace

std::string hang_report(const JobView& view, const Analysis& analysis, const SiteName& site) {
  return Report(view, analysis, site).hang();
}

std::string state_report(const JobView& view, const Analysis& analysis, const SiteName& site) {
  return Report(view, analysis, site).state();
}

}  // namespace weft::hang
