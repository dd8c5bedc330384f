// SPDX-License-Identifier: Apache-2.0
//
// What a way costs: its ranks emit their schedules, without data, and a clock for each rank walks
// through them. All ranks enter together; the way takes as long as the rank that is done last.
//
// A clock counts what its rank does, in the prices of the machine:
//   copies, folds      per line; a copy over lines that others have read takes them first (b/4)
//   reading of others  a + max(b, B d) per line at the level that reader and owner have in common,
//                      where d ranks read through the same link at that time
//   flags              a line each; who waits goes on with the clock of who signals
//   messages           software at both ends, a line to announce and one to answer, copied in and
//                      out; between nodes a latency, and one after the other out of a node and
//                      into one (model::Network)
//   fetching back      at the end: what others have read of a rank's own buffers, w per line; what
//                      they have written there is read
// Where ranks outnumber CPUs, one rank runs on a CPU at a time, until it waits, and each change
// costs a turn.
//
// source   Li, Hoefler, Snir: NUMA-Aware Shared-Memory Collective Communication for MPI, HPDC 2013:
//          the terms; model/equations.h has its equations, with which tests compare
#pragma once

#include <array>
#include <queue>
#include <vector>

#include "coll/boards/node.h"
#include "coll/ways.h"
#include "model/machine.h"
#include "model/prediction.h"

namespace weft::coll {

/// A call of `p` ranks with buffers that are not there.
struct ImaginedCall {
  /// `uniform`: blocks of one size, and known to be.
  ImaginedCall(Call call, std::int64_t bytes, int p, bool uniform = true, int root = 0);
  ImaginedCall(const ImaginedCall&) = delete;
  const Buffer send, recv;
  const std::vector<std::int64_t> counts, displacements;  // if not uniform
  const Blocks from, to;
  const Operands operands;
  const Parts each;
  const Operation operation;

 private:
  Blocks uneven(const Buffer& each) const;
};

class Walk {
 public:
  /// Ranks lie on the machine one behind the other.
  explicit Walk(const model::Machine& x);

  /// `bytes`: as in messages/algorithms.h. `reach`: ranks reach each other's buffers.
  model::Prediction price(const Way& way, Call call, std::int64_t bytes, bool reach);

  /// What all ranks do together, as the executor counts it.
  struct Counts {
    std::array<std::int64_t, model::most_levels> copied{}, folded{};  // lines, by level
    std::int64_t copies = 0;
    std::int64_t most_steps = 0;  // of one rank
  };
  Counts count(const Way& way, Call call, std::int64_t bytes, bool reach);

 private:
  enum Part { software, flags, reading, copying, folding, fetching, turns, others, network, parts };

  /// When a rank is where it is, and what that consists of.
  struct Clock {
    double now = 0;
    std::array<double, parts> part{};
    void add(Part what, double seconds) {
      now += seconds;
      part[what] += seconds;
    }
    /// Wait for `other`. False: nothing to wait for.
    bool follow(const Clock& other) {
      if (other.now <= now) return false;
      *this = other;
      return true;
    }
  };
  struct Signal {
    std::int64_t phase;
    Clock at;
    int earlier;  // of the same rank; -1: none
  };
  struct Message {
    int from;
    double lines;
    Clock at;
    int next;
  };
  static constexpr int shown_max = Boards::shown_max;
  struct Rank {
    Clock clock;
    std::size_t next = 0, end = 0;
    std::size_t posted = 0, taken = 0;  // messages: of the round, and received
    int signalled = -1;                 // the newest
    int inbox = -1, inbox_end = -1;
    int awaits = -1;  // a rank; -1: nobody
    std::int64_t phase = 0;
    int next_waiter = -1, waiters = -1;
    double read[shown_max][model::most_levels] = {};  // lines of what it shows, by readers' level
    double shown[shown_max] = {};                     // lines
    struct {
      double lines = 0, latencies = 0;
      int by = 0;
    } written[model::most_levels];  // by others
    std::int64_t steps = 0;
    int read_last = -1;    // a rank
    std::int64_t met = 0;  // of ranks that do all the same: the newest phase awaited
  };
  struct Reader {
    double until;
    int next;
  };
  struct Cpu {
    Clock free;
    int last = -1;
  };
  /// What leads out of a node or a rank, or into it, and when it is busy. Messages are not walked
  /// in the order of time, so one may come between others.
  struct Link {
    struct Span {
      double begin, end;
    };
    std::vector<Span> busy = {};  // in order
    /// When a message that is there at `at`, and `takes` so long, enters.
    double enter(double at, double takes);
  };
  /// What leads out of all nodes, or into them: a rank has one message there at a time, a node as
  /// many as the network has pairs (`ranks` are empty if that is one, too).
  struct Ends {
    std::vector<Link> nodes, ranks;
    double enter(int rank, int node, double at, double lines, const model::Network& x);
  };
  struct Ready {
    double at;
    int rank;
    bool operator<(const Ready& other) const {  // the earliest is on top of the queue
      return at != other.at ? at > other.at : rank > other.rank;
    }
  };

  /// The first `bytes` of a call of `of` bytes.
  Clock run(const Way& way, Call call, std::int64_t bytes, std::int64_t of, bool reach);
  void emit(const Way& way, Call call, std::int64_t bytes, std::int64_t of, int rank);
  void go_on(int rank);
  void run_step(int rank, const Step& step);
  /// False: the rank waits.
  bool await(int rank, int peer, std::int64_t phase);
  bool receive(int rank, const Step& step);
  void post_round(int rank);
  void wait_for(int rank, int peer, std::int64_t phase);
  /// Those that wait for `rank`, as far as `phase` or a message lets them go on.
  void release(int rank, std::int64_t phase);
  void end(int rank);
  /// `before`: until the first line comes; `line`: s per line, alone.
  void read(int rank, int owner, double lines, double before, double line);
  void fetch_or_fold(int rank, const Step& step);
  void give(int rank, const Step& step);
  void meet(Rank& me, const Step& step);

  void add(Rank& me, Part what, double seconds) const {
    me.clock.add(what, seconds);
    if (alike_ && share_ > 1) me.clock.add(others, (share_ - 1) * seconds);
  }
  void turn_of_all(Rank& me) const {
    if (share_ > 1) me.clock.add(turns, share_ * x_.turn);
  }
  bool are_apart(int a, int b) const { return a / here_ != b / here_; }
  /// A message between ranks goes through what leads out of its node, and a latency later into
  /// another one.
  void cross(Clock& clock, int from, int to, double lines);
  int level_of(int a, int b) const;
  int part_of(int level, int rank) const { return rank / size_[level + 1]; }
  double latency(int level, int a, int b) const;
  double flag(int a, int b) const;
  /// Ranks that read through the link between `reader` and `owner` while this one does.
  int readers(int reader, int owner, int level);

  const model::Machine machine_;
  model::Machine x_;                    // with what does not fit the caches
  const int here_, p_;                  // ranks of a node, and of all
  int size_[model::most_levels + 1];    // ranks in a part of each level; before the first: 1
  int first_link_[model::most_levels];  // in links_
  double share_ = 1;                    // ranks on a CPU
  Ground ground_;
  Schedule schedule_;
  Areas areas_{};
  bool alike_ = false;  // all ranks do the same: one stands for all
  bool messages_ = false, at_board_ = false;
  std::vector<Rank> ranks_;
  std::vector<Signal> signals_;
  std::vector<Message> sent_;
  std::vector<Reader> reading_;
  std::vector<int> links_;  // the newest reader; level 0: of a part, else between two parts
  int link_ = 0;            // of the last readers()
  std::vector<Cpu> cpus_;
  std::priority_queue<Ready> ready_;
  Ends out_, in_;
  Counts counts_;
};

/// The same; of more nodes than are walked one by one, from what all of those, half and a quarter
/// as many cost: what twice as many nodes add goes on growing as it did.
model::Prediction price_of(const model::Machine& x, const Way& way, Call call, std::int64_t bytes,
                           bool reach);

}  // namespace weft::coll
