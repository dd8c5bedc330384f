// SPDX-License-Identifier: Apache-2.0
//
// Messages of the same sender, tag and communicator share a line; many lines end in a summary.
#include "world/unreceived.h"

#include <algorithm>
#include <cstdio>

#include "pt2pt/completion.h"
#include "world/comm_agree.h"
#include "world/rank.h"

namespace weft::world {
namespace {

constexpr std::size_t lines_max = 8;

struct Line {
  std::int32_t sender;
  wire::Envelope envelope;
  std::int64_t bytes;  // of the first
  int messages;
};

void add_lines(const pt2pt::Matcher& matcher, std::vector<Line>& lines) {
  for (const pt2pt::Arrived* m = matcher.first_arrived(); m != nullptr;
       m = pt2pt::Matcher::next_arrived(m)) {
    if (m->envelope.context % contexts_per_comm != 0) continue;  // not the user's
    const auto same = std::find_if(lines.begin(), lines.end(), [m](const Line& line) {
      return line.sender == m->sender && line.envelope.context == m->envelope.context &&
             line.envelope.tag == m->envelope.tag;
    });
    if (same != lines.end())
      ++same->messages;
    else
      lines.push_back({m->sender, m->envelope, m->bytes, 1});
  }
}

const char* name_of(const Rank& rank, std::uint64_t context) {
  for (const object::Comm* comm : rank.contexts.comms)
    if (comm->context == context)
      return comm->name.empty() ? "a communicator without a name" : comm->name.c_str();
  return "a communicator that was freed";
}

}  // namespace

void name_unreceived(Rank& rank) {
  std::vector<Line> lines;
  for (pt2pt::Engine* e : rank.contexts.engines) {
    const pt2pt::Inside inside(*e);
    while (e->inbox.poll() != nullptr) pt2pt::progress(*e);
    add_lines(e->matcher, lines);
  }
  for (std::size_t i = 0; i < std::min(lines.size(), lines_max); ++i) {
    const Line& line = lines[i];
    char count[48] = "a message";
    if (line.messages > 1) std::snprintf(count, sizeof count, "%d messages", line.messages);
    std::fprintf(stderr,
                 "weft: rank %d never received %s from rank %d (tag %d, %s, %lld bytes%s)\n",
                 rank.world_rank, count, line.sender, line.envelope.tag,
                 name_of(rank, line.envelope.context), static_cast<long long>(line.bytes),
                 line.messages > 1 ? " the first" : "");
  }
  int others = 0;
  for (std::size_t i = lines_max; i < lines.size(); ++i) others += lines[i].messages;
  if (others > 0)
    std::fprintf(stderr, "weft: rank %d never received %d other message%s\n", rank.world_rank,
                 others, others > 1 ? "s" : "");
}

}  // namespace weft::world
