// SPDX-License-Identifier: Apache-2.0
#include "hang/phrases.h"

#include <mpi.h>

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <string_view>
#include <utility>

namespace weft::hang {
namespace {

constexpr std::size_t pieces_max = 8;  // of a list of ranks

std::string from_text(const Need& need) {
  if (need.peer == nobody) return "any rank";
  std::string out = text("rank %d", need.peer);
  if (need.rank != need.peer && need.rank != nobody) out += text(" (rank %d there)", need.rank);
  return out;
}

bool is_finalize(const Record& record) {
  return std::strcmp(record.call, "MPI_Finalize") == 0;
}

/// "for ranks 1 and 2" if all needs are other ranks' parts of one collective or construction.
std::string partners_text(const Record& record) {
  std::vector<std::int32_t> peers;
  const int shown = std::min(record.needs_count, Record::needs_max);
  for (int i = 0; i < shown; ++i) {
    const Need& need = record.needs[i];
    const Need& first = record.needs[0];
    const bool same = need.what == first.what && need.comm.context == first.comm.context &&
                      std::strcmp(need.call, first.call) == 0 && need.peer != nobody;
    if (!same || (need.what != What::collective && need.what != What::construction)) return "";
    peers.push_back(need.peer);
  }
  std::sort(peers.begin(), peers.end());
  peers.erase(std::unique(peers.begin(), peers.end()), peers.end());
  std::string out = ranks_text(peers);
  if (record.needs_count > shown) out += text(" and %d more", record.needs_count - shown);
  return out;
}

}  // namespace

std::string text(const char* format, ...) {
  va_list args, again;
  va_start(args, format);
  va_copy(again, args);
  std::string out(static_cast<std::size_t>(std::vsnprintf(nullptr, 0, format, args)), ' ');
  std::vsnprintf(out.data(), out.size() + 1, format, again);
  va_end(again);
  va_end(args);
  return out;
}

std::string numbers_text(const std::vector<std::int32_t>& ranks) {
  std::vector<std::string> pieces;
  for (std::size_t i = 0; i < ranks.size();) {
    std::size_t last = i;
    while (last + 1 < ranks.size() && ranks[last + 1] == ranks[last] + 1) ++last;
    if (last < i + 2) last = i;  // two are no row
    pieces.push_back(last > i ? text("%d-%d", ranks[i], ranks[last]) : text("%d", ranks[i]));
    i = last + 1;
  }
  if (pieces.size() > pieces_max) {
    pieces.resize(pieces_max);
    pieces.emplace_back("others");
  }
  std::string out;
  for (std::size_t i = 0; i < pieces.size(); ++i)
    out += (i == 0 ? "" : i + 1 == pieces.size() ? " and " : ", ") + pieces[i];
  return out;
}

std::string ranks_text(const std::vector<std::int32_t>& ranks) {
  return (ranks.size() == 1 ? "rank " : "ranks ") + numbers_text(ranks);
}

std::string comm_text(const CommName& comm) {
  if (comm.name[0] != 0) return comm.name;
  if (comm.size == 0) return "a communicator that is being made";
  return text("a communicator without a name (number %llu, %d ranks)",
              static_cast<unsigned long long>(comm.context << 2 >> 2),
              comm.size);  // without the flags (world/comm_agree.h)
}

std::string tag_text(std::int32_t tag) {
  return tag == MPI_ANY_TAG ? "any tag" : text("tag %d", tag);
}

std::string need_text(const Need& need) {
  const std::string about = tag_text(need.tag) + ", " + comm_text(need.comm);
  const auto bytes = static_cast<long long>(need.bytes);
  switch (need.what) {
    case What::receive:
      return "a message from " + from_text(need) +
             text(" (%s, up to %lld bytes)", about.c_str(), bytes);
    case What::probe:
      return "a message from " + from_text(need) + " (" + about + ")";
    case What::send:
      return from_text(need) + text(" to receive %lld bytes (%s)", bytes, about.c_str());
    case What::collective:
    case What::construction:
      return from_text(need) + "'s part of " + (need.call[0] != 0 ? need.call : "a collective") +
             " on " + comm_text(need.comm);
    case What::channel_message:
      return "a message through a channel of " + comm_text(need.comm) + " from " + from_text(need);
    case What::channel_room:
      return from_text(need) + " to receive from a channel of " + comm_text(need.comm);
    case What::window:
      return from_text(need) + "'s " +
             (need.call[0] != 0 ? need.call : std::string("call on a window")) + " (" +
             comm_text(need.comm) + ")";
    case What::program:
      return "a call of MPI_Grequest_complete by this rank";
    case What::other:
      break;
  }
  return "something outside MPI";
}

std::string call_text(const Record& record) {
  return record.call[0] != 0 ? record.call : "an MPI call";
}

std::string doing_text(const RankView& rank) {
  if (rank.state == RankView::State::left) return "has finished";
  if (rank.state == RankView::State::not_initialized) return "has not called MPI_Init";
  if (rank.threads.empty()) return "is not waiting in MPI";
  const Record& record = rank.threads[0].record;
  return is_finalize(record) ? "is in MPI_Finalize" : "waits in " + call_text(record);
}

std::string plural(std::string doing) {
  constexpr std::pair<std::string_view, const char*> verbs[] = {
      {"waits", "wait"}, {"sleeps", "sleep"}, {"has", "have"}, {"is", "are"}, {"does", "do"}};
  for (const auto& [one, several] : verbs)
    if (doing.rfind(one, 0) == 0) return doing.replace(0, one.size(), several);
  return doing;
}

std::string wait_text(const Record& record, const std::string& called) {
  std::string out = "waits in " + call_text(record);
  const std::string partners = partners_text(record);
  if (!partners.empty()) {
    const Need& need = record.needs[0];
    if (need.call[0] != 0) out += text(" for %s", need.call);
    if (need.what == What::collective && !is_finalize(record)) out += " on " + comm_text(need.comm);
    return out + called + " for " + partners;
  }
  out += called;
  if (record.needs_count == 1) return out + " for " + need_text(record.needs[0]);
  out += text(record.one_is_enough != 0 ? " for one of %d operations:" : " for %d operations:",
              record.needs_count);
  const int shown = std::min(record.needs_count, Record::needs_max);
  for (int i = 0; i < shown; ++i) out += "\n      - " + need_text(record.needs[i]);
  if (record.needs_count > shown) out += text("\n      - and %d more", record.needs_count - shown);
  return out;
}

}  // namespace weft::hang
