// SPDX-License-Identifier: Apache-2.0
//
// Views of jobs, written down by hand: who waits for whom.
#pragma once

#include <mpi.h>

#include <cstring>

#include "hang/view.h"

namespace weft::hang {

inline constexpr std::int64_t second = 1'000'000'000, limit = 10 * second, now = 1000 * second;

inline CommName world(int size) {
  CommName comm;
  comm.size = size;
  std::strcpy(comm.name, "MPI_COMM_WORLD");
  return comm;
}

class ViewOf {
 public:
  explicit ViewOf(int ranks) {
    view.now_ns = now;
    view.ranks.resize(static_cast<std::size_t>(ranks));
    for (RankView& rank : view.ranks) rank.pid = 100;
  }

  RankView& rank(int r) { return view.ranks[static_cast<std::size_t>(r)]; }

  Record& waits(int r, const char* call, std::int64_t seconds = 20) {
    Thread thread;
    thread.record.wait = ++waits_;
    thread.record.since_ns = thread.record.moved_ns = now - seconds * second;
    thread.record.tid = 1000 + static_cast<int>(waits_);
    std::strcpy(thread.record.call, call);
    return rank(r).threads.emplace_back(thread).record;
  }

  Need& needs(Record& record, What what, int peer, int tag = 0) {
    Need& need = record.needs[record.needs_count++];
    need.what = what;
    need.peer = need.rank = peer;
    need.tag = tag;
    need.comm = world(static_cast<int>(view.ranks.size()));
    need.among = {0, 1, static_cast<std::int32_t>(view.ranks.size())};
    return need;
  }
  Record& receives(int r, int from, int tag = 0) {
    Record& record = waits(r, "MPI_Recv");
    needs(record, What::receive, from, tag);
    return record;
  }
  Record& sends(int r, int to, int tag = 0) {
    Record& record = waits(r, "MPI_Send");
    needs(record, What::send, to, tag);
    return record;
  }
  Record& meets(int r, const char* call, const std::vector<int>& missing) {
    Record& record = waits(r, call);
    for (const int peer : missing) needs(record, What::collective, peer);
    return record;
  }
  /// A wait for a collective by its request; the others are those of number 0 to `number` - 1.
  Record& waits_for_collective(int r, const char* call, std::uint64_t number,
                               const std::vector<int>& missing) {
    Record& record = meets(r, "MPI_Wait", missing);
    for (Need& need : record.needs) {
      std::strcpy(need.call, call);
      need.number = number;
    }
    return record;
  }
  static void has_begun(Record& record, std::uint32_t collectives) {
    record.begun[record.begun_count++] = {0, collectives};
  }
  void keeps(Record& record, int sender, int tag) {
    record.messages[record.messages_count++] = {
        sender, sender, tag, 0, 4, world(static_cast<int>(view.ranks.size()))};
  }

  JobView view;

 private:
  std::uint64_t waits_ = 0;
};

}  // namespace weft::hang
