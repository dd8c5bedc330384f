// SPDX-License-Identifier: Apache-2.0
//
// From what is certainly the cause to what is only seen: a message that came but does not match
// explains a circle of waits, and not the other way round.
#include "hang/faults.h"

#include <mpi.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <set>
#include <tuple>

#include "hang/phrases.h"

namespace weft::hang {
namespace {

using Sentences = std::vector<std::string>;

constexpr std::size_t most_mismatches = 6;  // that are told one by one

bool is_message(const Need& need) {
  return need.what == What::receive || need.what == What::probe || need.what == What::send;
}

bool awaits_message(const Need& need) {
  return need.what == What::receive || need.what == What::probe;
}

/// It was called long ago; whether all have started it is not known.
bool is_persistent(const Need& need) {
  return std::strstr(need.call, "_init") != nullptr;
}

bool is_in_finalize(const RankView& rank) {
  return !rank.threads.empty() && std::strcmp(rank.threads[0].record.call, "MPI_Finalize") == 0;
}

class Faults {
 public:
  Faults(const JobView& view, const Analysis& analysis) : view_(view), analysis_(analysis) {}

  Sentences find() {
    mismatches();
    if (!out_.empty()) {
      consequence();
      return out_;
    }
    for_each_stuck_need([this](std::int32_t r, const Record& record, const Need& need) {
      to_itself(r, record, need);
      from_gone(r, need);
      from_program(r, record, need);
    });
    mutexes();
    collectives();
    if (out_.empty()) circle();
    if (out_.empty()) nobody_sends();
    return out_;
  }

 private:
  template <class Body>
  void for_each_stuck(Body&& body) {
    for (std::size_t r = 0; r < view_.ranks.size(); ++r)
      for (std::size_t t = 0; t < view_.ranks[r].threads.size(); ++t)
        if (analysis_.stuck[r][t])
          body(static_cast<std::int32_t>(r), view_.ranks[r].threads[t].record);
  }
  /// Of stuck threads, what cannot come.
  template <class Body>
  void for_each_stuck_need(Body&& body) {
    for_each_stuck([&](std::int32_t r, const Record& record) {
      for (int i = 0; i < std::min(record.needs_count, Record::needs_max); ++i)
        if (!may_come(record.needs[i], analysis_)) body(r, record, record.needs[i]);
    });
  }

  void say(std::string sentence) {
    if (std::find(out_.begin(), out_.end(), sentence) == out_.end())
      out_.push_back(std::move(sentence));
  }

  // --- a message came, but does not match
  void mismatches() {
    for_each_stuck_need([this](std::int32_t r, const Record&, const Need& need) {
      if (!awaits_message(need)) return;
      if (wrong_tag(r, need) || wrong_comm(r, need)) return;
      wrong_source(r, need);
    });
    if (out_.size() <= most_mismatches) return;
    const std::size_t more = out_.size() - most_mismatches;
    out_.resize(most_mismatches);
    say(text("%zu more receives do not match what was sent.", more));
  }

  template <class Fits>
  const Message* message_at(std::int32_t r, Fits&& fits) const {
    for (const Thread& thread : view_.rank(r).threads) {
      const int shown = std::min(thread.record.messages_count, Record::messages_max);
      for (int i = 0; i < shown; ++i)
        if (fits(thread.record.messages[i])) return &thread.record.messages[i];
    }
    return nullptr;
  }

  bool wrong_tag(std::int32_t r, const Need& need) {
    const Message* m = message_at(r, [&](const Message& m) {
      return m.comm.context == need.comm.context && (need.peer == nobody || need.peer == m.sender);
    });
    if (m == nullptr) return false;
    say(
        text("rank %d waits for a message with tag %d, but the message that rank %d has sent to it "
             "has tag %d. The send and the receive must give the same tag (or the receive "
             "MPI_ANY_TAG).",
             r, need.tag, m->sender, m->tag));
    return true;
  }

  bool wrong_comm(std::int32_t r, const Need& need) {
    const Message* m = message_at(r, [&](const Message& m) {
      return m.comm.context != need.comm.context &&
             (need.peer == nobody || need.peer == m.sender) &&
             (need.tag == MPI_ANY_TAG || need.tag == m.tag);
    });
    if (m == nullptr) return false;
    say(
        text("rank %d waits for a message on %s, but rank %d has sent it on %s. The send and the "
             "receive must use the same communicator.",
             r, comm_text(need.comm).c_str(), m->sender, comm_text(m->comm).c_str()));
    return true;
  }

  bool wrong_source(std::int32_t r, const Need& need) {
    const Message* m = message_at(r, [&](const Message& m) {
      return m.comm.context == need.comm.context && need.tag == m.tag;
    });
    if (m == nullptr) return false;
    say(
        text("rank %d waits for a message from rank %d, but the message with tag %d came from rank "
             "%d. The receive must name the rank that sends (or MPI_ANY_SOURCE).",
             r, need.peer, m->tag, m->sender));
    return true;
  }

  // --- one rank and another
  void to_itself(std::int32_t r, const Record& record, const Need& need) {
    if (!is_message(need) || need.peer != r) return;
    if (need.what == What::send)
      say(
          text("rank %d sends a message to itself with %s and waits until it is received, but "
               "nobody else can receive it. Start the receive before (MPI_Irecv), or use "
               "MPI_Sendrecv.",
               r, call_text(record).c_str()));
    else
      say(text("rank %d waits for a message from itself, but has not sent one.", r));
  }

  void from_gone(std::int32_t r, const Need& need) {
    if (!is_message(need) || need.peer == nobody || need.peer == r) return;
    const RankView& peer = view_.rank(need.peer);
    const bool gone = peer.state == RankView::State::left;
    if (!gone && !is_in_finalize(peer)) return;
    const char* where = gone ? "has finished" : "is in MPI_Finalize already";
    if (need.what == What::send)
      say(
          text("rank %d waits until rank %d receives its message (%s), but rank %d %s and receives "
               "nothing any more.",
               r, need.peer, tag_text(need.tag).c_str(), need.peer, where));
    else
      say(
          text("rank %d waits for a message from rank %d, but rank %d %s and sends nothing any "
               "more. Either the send is missing there, or the receive is one too many.",
               r, need.peer, need.peer, where));
  }

  void from_program(std::int32_t r, const Record& record, const Need& need) {
    if (need.what == What::program)
      say(
          text("rank %d waits in %s for a generalized request, but none of its threads is left to "
               "call MPI_Grequest_complete. Call it before the wait, or in a thread that does not "
               "wait (MPI_THREAD_MULTIPLE).",
               r, call_text(record).c_str()));
  }

  // --- threads of a rank
  void mutexes() {
    for_each_stuck([this](std::int32_t r, const Record& record) {
      for (const Sleeper& o : view_.rank(r).sleepers)
        if (o.what == Sleeper::For::mutex && o.other == record.tid)
          say(
              text("on rank %d, thread %d waits in %s while it holds a mutex that thread %d needs "
                   "to go on. Unlock it before a call that waits for other ranks.",
                   r, record.tid, call_text(record).c_str(), o.tid));
    });
  }

  // --- collectives
  struct Meeting {
    const Need* need = nullptr;
    std::vector<std::pair<std::string, std::vector<std::int32_t>>> calls;  // ranks in each
    std::set<std::int32_t> wanted;  // ranks whose part is missing

    std::vector<std::int32_t>& ranks_in(const std::string& call) {
      for (auto& [name, ranks] : calls)
        if (name == call) return ranks;
      return calls.emplace_back(call, std::vector<std::int32_t>()).second;
    }
    bool is_finalize() const { return calls.size() == 1 && calls[0].first == "MPI_Finalize"; }
    /// "MPI_Barrier on MPI_COMM_WORLD", of a meeting with one call.
    std::string name() const {
      const bool plain = need->what == What::construction || is_finalize();
      return calls[0].first + (plain ? "" : " on " + comm_text(need->comm));
    }
  };
  // What it is, whose, and which one of those that are waited for by their requests: waits for
  // these tell nothing about the order of calls.
  using MeetingKey = std::tuple<What, std::uint32_t, std::uint64_t>;

  /// Calls body(collectives that rank r has begun on the communicator), if that is known.
  template <class Body>
  void for_begun(std::int32_t r, const CommName& comm, Body&& body) const {
    for (const Thread& thread : view_.rank(r).threads)
      for (int i = 0; i < thread.record.begun_count; ++i)
        if (thread.record.begun[i].context == comm.context) body(thread.record.begun[i].operations);
  }
  bool has_begun(std::int32_t r, const Need& need) const {
    bool so = false;
    for_begun(r, need.comm, [&](std::uint32_t operations) { so |= operations > need.number; });
    return so;
  }
  /// Who has certainly not called what is waited for: its part may be missing at third ranks too.
  void add_late_ranks(const Need& need, std::set<std::int32_t>& out) const {
    if (need.number == Need::not_counted || need.among.count == 0) return;
    for (std::int32_t i = 0; i < need.among.count; ++i) {
      const std::int32_t r = need.among.first + i * need.among.stride;
      for_begun(r, need.comm, [&](std::uint32_t operations) {
        if (operations <= need.number) out.insert(r);
      });
    }
  }

  void collectives() {
    std::map<MeetingKey, Meeting> meetings;
    for_each_stuck([&](std::int32_t r, const Record& record) {
      for (int i = 0; i < std::min(record.needs_count, Record::needs_max); ++i) {
        const Need& need = record.needs[i];
        if (need.what != What::collective && need.what != What::construction) continue;
        const bool by_request = need.call[0] != 0;
        Meeting& m =
            meetings[{need.what, need.comm.context, by_request ? need.number : UINT64_MAX}];
        if (m.need == nullptr) m.need = &need;
        std::vector<std::int32_t>& callers = m.ranks_in(by_request ? need.call : call_text(record));
        if (callers.empty() || callers.back() != r) callers.push_back(r);
        if (need.peer != nobody && (is_persistent(need) || !has_begun(need.peer, need)))
          m.wanted.insert(need.peer);
        if (by_request) add_late_ranks(need, m.wanted);
      }
    });
    // A wait in MPI_Finalize mostly follows from something else.
    for (const bool finalize : {false, true})
      for (auto& [key, m] : meetings)
        if (m.is_finalize() == finalize && (!finalize || out_.empty())) collective(m);
  }

  void collective(Meeting& m) {
    for (const auto& [call, ranks] : m.calls)
      for (const std::int32_t r : ranks) m.wanted.erase(r);
    if (m.calls.size() > 1)
      different_calls(m);
    else if (!m.wanted.empty())
      missing_ranks(m);
    else if (m.calls[0].second.size() > 1)
      say("all who wait in " + m.name() +
          " wait for each other: they must give the same root and sizes, and must have called the "
          "same collectives before. WEFT_ABI_CHECK=full compares every call.");
  }

  void different_calls(const Meeting& m) {
    std::string who;
    for (const auto& [call, ranks] : m.calls)
      who += (who.empty() ? "" : ", ") + ranks_text(ranks) + " in " + call;
    say("the ranks of " + comm_text(m.need->comm) + " are in different collectives: " + who +
        ". All its ranks must call the same collectives in the same order.");
  }

  /// Of a rank that has not come to a collective because it waits for one that has.
  static std::string wait_before(const Need& need, const Meeting& m) {
    std::string out = " for " + need_text(need);
    const std::vector<std::int32_t>& in_it = m.calls[0].second;
    if (std::find(in_it.begin(), in_it.end(), need.peer) != in_it.end())
      out += text(", which rank %d would have to %s before %s %s", need.peer,
                  need.what == What::send ? "do" : "send",
                  m.need->call[0] != 0 ? "it waits for its" : "its", m.calls[0].first.c_str());
    return out;
  }

  void missing_ranks(const Meeting& m) {
    std::map<std::string, std::vector<std::int32_t>> instead;
    for (const std::int32_t r : m.wanted) instead[doing_text(view_.rank(r))].push_back(r);
    for (const auto& [doing, ranks] : instead) {
      const bool one = ranks.size() == 1;
      const std::string who = ranks_text(ranks);
      if (view_.rank(ranks[0]).state == RankView::State::left) {
        say(m.name() + " needs all its ranks, but " + who + (one ? " has" : " have") +
            " finished: " + ranks_text(m.calls[0].second) + " called more collectives than " +
            (one ? "it." : "they."));
        continue;
      }
      const Need* need = one ? first_obstacle(ranks[0]) : nullptr;
      const char* what = is_persistent(*m.need) ? " does not wait for it (was it started there?)"
                                                : " has not called it";
      say(m.name() + " needs all its ranks, but " + who + (one ? what : " " + plural(what + 1)) +
          ": " + (one ? "it " + doing : "they " + plural(doing)) +
          (need == nullptr ? "" : wait_before(*need, m)) + ".");
    }
  }

  // --- circles
  /// What keeps rank r, if that is one rank's send or receive (`any`: or its part of a collective):
  /// the first need that cannot come.
  const Need* first_obstacle(std::int32_t r, bool any = false) const {
    const RankView& rank = view_.rank(r);
    for (std::size_t t = 0; t < rank.threads.size(); ++t) {
      if (!analysis_.is_stuck(r, t)) continue;
      const Record& record = rank.threads[t].record;
      for (int i = 0; i < std::min(record.needs_count, Record::needs_max); ++i)
        if (const Need& need = record.needs[i];
            (any || is_message(need)) && need.peer != nobody && analysis_.is_dead(need.peer))
          return &need;
    }
    return nullptr;
  }

  /// `any`: collectives count too.
  std::vector<std::int32_t> find_circle(bool any) const {
    for (std::size_t start = 0; start < view_.ranks.size(); ++start) {
      std::vector<std::int32_t> path;
      auto r = static_cast<std::int32_t>(start);
      for (const Need* need = nullptr; (need = first_obstacle(r, any)) != nullptr; r = need->peer) {
        const auto seen = std::find(path.begin(), path.end(), r);
        if (seen != path.end()) return {seen, path.end()};
        path.push_back(r);
      }
    }
    return {};
  }

  static std::string circle_text(const std::vector<std::int32_t>& ranks) {
    if (ranks.size() == 2) return text("ranks %d and %d wait for each other", ranks[0], ranks[1]);
    std::string who;
    for (const std::int32_t r : ranks) who += text("%d -> ", r);
    return "ranks " + who + text("%d wait for each other in a circle", ranks[0]);
  }

  /// Of what has been said.
  void consequence() {
    const std::vector<std::int32_t> ranks = find_circle(true);
    if (ranks.size() > 1) say("That is why " + circle_text(ranks) + ".");
  }

  void circle() {
    const std::vector<std::int32_t> ranks = find_circle(false);
    if (ranks.empty()) return;
    const auto sends = std::count_if(ranks.begin(), ranks.end(), [this](std::int32_t r) {
      return first_obstacle(r)->what == What::send;
    });
    const std::string who = circle_text(ranks);
    if (sends == 0)
      say(who +
          ": each receives first and would send only afterwards, so nobody ever sends. Let one "
          "of them send before it receives, or use MPI_Sendrecv or MPI_Irecv.");
    else if (sends == static_cast<std::ptrdiff_t>(ranks.size()))
      say(who +
          ": each sends and waits until the other side receives, so nobody ever receives. A "
          "large message is not kept for later. Let one of them receive first, or use "
          "MPI_Sendrecv or MPI_Isend.");
    else
      say(who + ": none can go on before another one does.");
  }

  void nobody_sends() {
    std::map<std::string, std::vector<std::int32_t>> from_any;  // ranks, by communicator
    for_each_stuck_need([&](std::int32_t r, const Record&, const Need& need) {
      if (awaits_message(need) && need.peer == nobody)
        from_any[comm_text(need.comm)].push_back(r);
      else if (is_message(need))
        say(text("rank %d waits for rank %d, which cannot go on: it %s.", r, need.peer,
                 doing_text(view_.rank(need.peer)).c_str()));
    });
    for (auto& [comm, ranks] : from_any) {
      ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
      say(ranks_text(ranks) + (ranks.size() == 1 ? " waits" : " wait") +
          " for a message from any rank of " + comm +
          ", but none of them can send one: all of them wait or have finished.");
    }
    if (out_.empty()) say("every rank waits for another one.");
  }

  const JobView& view_;
  const Analysis& analysis_;
  Sentences out_;
};

}  // namespace

Sentences find_faults(const JobView& view, const Analysis& analysis) {
  return Faults(view, analysis).find();
}

}  // namespace weft::hang
