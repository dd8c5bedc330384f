// SPDX-License-Identifier: Apache-2.0
#include "coll/shared/cost.h"

#include <algorithm>
#include <cmath>

#include "coll/shared/block.h"
#include "model/equations.h"

namespace weft::coll {
namespace {

using model::lines_of;
using model::Machine;
using model::Prediction;

/// One rank looks at the flags of all others.
double all_flags(const Machine& x) {
  double t = 0;
  for (int l = 0; l < x.levels; ++l) t += x.peers_at(l) * x.level[l].line();
  return t;
}
// Everybody reads m lines from everybody, each from another first: ranks of a part share its link.
double all_read(const Machine& x, double m) {
  double t = 0;
  for (int l = 0; l < x.levels; ++l)
    t += x.peers_at(l) * x.level[l].read(m, l == 0 ? x.fan[0] : x.ranks_in(l - 1));
  return t;
}
double one_reads_all(const Machine& x, double m) {
  double t = 0;
  for (int l = 0; l < x.levels; ++l) t += x.peers_at(l) * x.level[l].read(m, 1);
  return t;
}
double farthest_flag(const Machine& x) {
  return x.top().line();
}

/// Everybody waits for everybody; with `m` lines their fold is on the way.
void add_meeting(Prediction& out, const Machine& x, bool flat, double m = 0) {
  out.wait(1);
  if (flat) {
    out.add("look at all flags", "a line each of p-1 ranks", all_flags(x));
    return;
  }
  double count = 0, fold = 0;
  int span = 1;
  for (int members = x.ranks(); members > 1; members = (members + fan - 1) / fan) {
    const int here = std::min(fan, members);
    span *= here;
    const model::Level& level = x.holding(span);
    count += here * level.line();
    if (m > 0) fold += (here - 1) * (level.read(m, 1) + x.reduce * m);
  }
  // One after the other: nobody works beside it on the same CPU.
  out.add_for_one("count in at nodes of 8", "8 lines per level of the tree", count);
  out.add_for_one("last one folds", "(2) with n = 8", fold);
  out.add("release", "one line", farthest_flag(x));
}

/// The same, and everybody looks whether all do the same.
void add_agreement(Prediction& out, const Machine& x, bool flat) {
  add_meeting(out, x, flat);
  if (!flat) out.add("look at all flags", "a line each of p-1 ranks", all_flags(x));
}

/// What others have read has to come back before its owner writes it again.
void add_fetch_back(Prediction& out, const Machine& x, double m) {
  out.add("owners fetch their lines back", "w m", x.top().back() * m);
}

Prediction slots_stream(Call call, const Machine& x, std::int64_t bytes) {
  const double m = lines_of(bytes), p = x.ranks();
  const std::int64_t held = call == Call::scatter ? x.ranks() * bytes : bytes;
  const bool inlined = held <= inline_max;  // the flag's line holds it
  const bool from_root = call == Call::bcast || call == Call::scatter;
  Prediction out;
  out.add("copy into the slot", "copy per line", x.copy * lines_of(held)).wait(1);
  if (from_root) {
    out.add("root's flag", "one line", farthest_flag(x));
    if (!inlined) out.add("all read the slot", "(4) right", model::bcast_one_stage(x, m));
    return out;
  }
  const bool all = call == Call::scan;  // else the root
  const auto add = all ? &Prediction::add : &Prediction::add_for_one;
  (out.*add)("look at all flags", "a line each of p-1 ranks", all_flags(x));
  if (!inlined)
    (out.*add)("read all slots", "sum of (a + b m) over p-1 ranks",
               all ? all_read(x, m) : one_reads_all(x, m));
  if (call == Call::gather)
    out.add_for_one("root copies them out", "copy p m", p * x.copy * m);
  else
    (out.*add)("fold", "(p-1) reduce m", (p - 1) * x.reduce * m);
  return out;
}

Prediction slots_meeting(Call call, const Machine& x, std::int64_t bytes, bool flat) {
  const double m = lines_of(bytes), p = x.ranks();
  const std::int64_t held = call == Call::alltoall ? x.ranks() * bytes : bytes;
  const bool inlined = held <= inline_max;
  Prediction out;
  out.add("copy into the slot", "copy per line", x.copy * lines_of(held));
  add_meeting(out, x, flat, call == Call::allreduce ? m : 0);
  if (call == Call::allreduce && !flat) {
    if (!inlined) out.add("all read the result", "(4) right", model::bcast_one_stage(x, m));
    return out;
  }
  const double wanted = call == Call::reduce_scatter ? m / p : m;
  if (!flat) out.add("look at all flags", "a line each of p-1 ranks", all_flags(x));
  if (!inlined)
    out.add("all read all slots", "sum of (a + max(b, Bq) m) over p-1 ranks, as (8)",
            all_read(x, wanted));
  if (call == Call::allreduce || call == Call::reduce_scatter)
    out.add("fold", "(p-1) reduce m", (p - 1) * x.reduce * wanted);
  else
    out.add("copy out", "copy p m", p * x.copy * m);
  return out;
}

/// Of `m` lines everybody folds a part, beginning with its own vector.
void add_tiles(Prediction& out, const Machine& x, double m) {
  const double p = x.ranks();
  out.add("everybody folds a tile", "sum of (a + max(b, Bq) m/p) over p-1 ranks, as (8)",
          all_read(x, m / p) + x.reduce * m * (p - 1) / p);
}

}  // namespace

Prediction slots_cost(Call call, const Machine& x, std::int64_t bytes, bool flat) {
  Prediction out;
  switch (call) {
    case Call::barrier:
      add_meeting(out, x, flat);
      return out;
    case Call::bcast:
    case Call::reduce:
    case Call::scan:
    case Call::gather:
    case Call::scatter:
      return slots_stream(call, x, bytes);
    case Call::allreduce:
    case Call::reduce_scatter:
    case Call::allgather:
    case Call::alltoall:
      return slots_meeting(call, x, bytes, flat);
    default:
      return out;
  }
}

double footprint(Call call, const Machine& x, std::int64_t bytes) {
  const double m = lines_of(bytes), p = x.ranks();
  switch (call) {
    case Call::bcast:
      return m;
    case Call::reduce:
    case Call::allreduce:
    case Call::scan:
      return 2 * m;
    case Call::reduce_scatter:
      return m + m / p;
    case Call::alltoall:
      return 2 * p * m;
    default:
      return (p + 1) * m;
  }
}

namespace {

/// What others have written to a rank's buffer is in their caches when it reads it.
void add_arrival(Prediction& out, double read) {
  out.add("what came is read", "sum of (a + b m) over p-1 ranks", read);
}

Prediction direct_in(Call call, const Machine& x, std::int64_t bytes, bool flat) {
  const double m = lines_of(bytes), p = x.ranks(), others = (p - 1) * m;
  const double put = x.copy + x.top().taken();  // a line of another rank's buffer
  Prediction out;
  switch (call) {
    case Call::bcast:  // the root's flag tells the way
      out.add("the root's flag", "one line", farthest_flag(x));
      [[fallthrough]];
    case Call::scatter:
      out.wait(3);  // the root for all, who came before it and wait for it
      out.add("look at all flags", "a line each of p-1 ranks", all_flags(x));
      out.add_for_one("the root writes to all", "(copy + b/4) (p-1) m", put * others);
      if (call == Call::scatter) out.add_for_one("the root copies its own", "copy m", x.copy * m);
      out.add("the root's flag", "one line", farthest_flag(x));
      add_arrival(out, x.top().read(m, 1));
      return out;
    case Call::gather:
      out.wait(2);
      out.add("the root's flag", "one line", farthest_flag(x));
      out.add("all write to the root", "(copy + b/4) m", put * m);
      out.add("look at all flags", "a line each of p-1 ranks", all_flags(x));
      out.add_for_one("the root copies its own", "copy m", x.copy * m);
      add_arrival(out, one_reads_all(x, m));
      return out;
    case Call::reduce:
    case Call::allreduce:
    case Call::reduce_scatter: {
      const double targets = call == Call::allreduce ? p : 1;
      add_agreement(out, x, flat);
      if (p == 2 && call != Call::reduce) {
        out.add("bring a half to the other", "(copy + b/4) m/2", put * m / 2);
        add_meeting(out, x, flat);
        out.add("fold a half there", "a + (b + reduce) m/2", all_read(x, m / 2) + x.reduce * m / 2);
        if (call == Call::reduce_scatter) return out;
        out.add("bring the result", "(copy + b/4) m/2", put * m / 2);
        add_meeting(out, x, flat);
        add_arrival(out, all_read(x, m / 2));
        return out;
      }
      add_tiles(out, x, m);
      out.add("write the tile where it is wanted", "(copy + b/4) m/p per rank",
              targets * (call == Call::reduce_scatter ? x.copy : put) * m / p);
      add_meeting(out, x, flat);
      add_fetch_back(out, x, m * (p - 1) / p);
      return out;
    }
    case Call::allgather:
    case Call::alltoall:
      add_agreement(out, x, flat);
      out.add("copy the own block", "copy m", x.copy * m);
      out.add("all write to all", "(copy + b/4) (p-1) m", put * others);
      add_meeting(out, x, flat);
      add_arrival(out, all_read(x, m));
      return out;
    default:
      return out;
  }
}

double piece_lines(const Machine& x, double m) {
  return lines_of(Cuts(x.crowded(), false).piece(static_cast<std::int64_t>(m) * 64));
}

/// Who writes pieces and who reads them work at the same time, but for the first piece.
void add_pieces(Prediction& out, Call call, const Machine& x, double m, double write, double read) {
  const double piece = piece_lines(x, m), pieces = std::ceil(m / piece);
  const double first = m > 0 ? std::min(1.0, piece / m) : 1;
  out.add("first piece", "write, then read it", write * first);
  out.add("write and read at the same time", "max of (copy + b/4) m and sum of (a + b m)",
          std::max(write * (1 - first), read));
  out.wait(std::ceil(pieces / window) + 1);  // a writer is a window ahead
  const bool root_awaits = call == Call::gather || call == Call::reduce;
  out.add("flags of the pieces", root_awaits ? "p-1 lines each" : "a line each",
          pieces * (root_awaits ? all_flags(x) : farthest_flag(x)));
}

Prediction pieces_cost(Call call, const Machine& x, double m) {
  const double p = x.ranks();
  const double in = x.copy + x.top().taken();  // from readers, who have what was there before
  Prediction out;
  switch (call) {
    case Call::bcast:
      add_pieces(out, call, x, m, in * m, model::bcast_one_stage(x, m));
      break;
    case Call::gather:
      add_pieces(out, call, x, m, in * m, one_reads_all(x, m) + (p - 1) * x.copy * m);
      out.add("root copies its own", "copy m", x.copy * m);
      break;
    case Call::reduce:
      add_pieces(out, call, x, m, in * m, one_reads_all(x, m) + (p - 1) * x.reduce * m);
      break;
    case Call::scatter:
      add_pieces(out, call, x, m, (p - 1) * in * m, model::bcast_one_stage(x, m));
      out.add("root copies its own", "copy m", x.copy * m);
      break;
    default: {  // scan: a piece goes on while its rank folds the next one
      const double first = std::min(m, lines_of(Cuts::smallest));
      const double step = 2 * x.copy + x.reduce + x.top().taken() + x.top().b;
      out.add("first piece, rank by rank", "(p-1) (a + (2 copy + reduce + 5/4 b) m)",
              (p - 1) * (x.top().line() + x.top().a + step * first));
      out.add("the other pieces behind it", "(2 copy + reduce + 5/4 b) m", step * (m - first));
      out.wait(std::ceil(m / lines_of(Cuts::smallest)));
    }
  }
  return out;
}

Prediction strips_cost(Call call, const Machine& x, double m, bool flat) {
  const double p = x.ranks();
  const bool reduces = call == Call::reduce || call == Call::allreduce;
  const bool tiles = reduces && x.ranks() > 2;  // two ranks fold all, each for itself
  const double others = call == Call::alltoall ? (p - 1) * m : tiles ? m * (p - 1) / p : m;
  const double staged = tiles ? m : others;
  const Cuts cuts(x.crowded(), flat);
  const std::int64_t strip =
      tiles ? cuts.strip_max : cuts.strip(static_cast<std::int64_t>(staged) * 64);
  Prediction out, meeting;
  // Each of two ranks writes where it has read.
  const double taken = x.ranks() == 2 ? 0 : x.top().taken();
  out.add("copy into the strips", "(copy + b/4) m, of two ranks copy m", (x.copy + taken) * others);
  const double strips = std::ceil(staged / lines_of(strip));
  add_agreement(meeting, x, flat);
  if (tiles) add_meeting(meeting, x, flat);
  out.add("meetings", tiles ? "two per strip" : "one per strip", strips * meeting.seconds());
  out.wait(strips * meeting.turns());
  if (tiles) {
    add_tiles(out, x, m);
    out.add("collect the tiles", "sum of (a + max(b, Bq) m/p) over p-1 ranks, as (8)",
            (call == Call::allreduce ? all_read(x, m / p) : one_reads_all(x, m / p)) + x.copy * m);
  } else if (reduces) {
    out.add("both fold all", "a + max(b, B) m + reduce m", all_read(x, m) + x.reduce * m);
  } else if (call == Call::reduce_scatter) {
    out.add("everybody folds a part", "sum of (a + max(b, Bq) m/p) over p-1 ranks, as (8)",
            all_read(x, m / p) + (p - 1) * x.reduce * m / p);
  } else {
    out.add("all read from all", "sum of (a + max(b, Bq) m) over p-1 ranks, as (8)",
            all_read(x, m));
    out.add("copy out", "copy p m", p * x.copy * m);
  }
  return out;
}

}  // namespace

Prediction direct_cost(Call call, const Machine& x, std::int64_t bytes, bool flat) {
  return direct_in(call, x.holding_lines(footprint(call, x, bytes), model::Others::in_memory),
                   bytes, flat);
}

Prediction block_cost(Call call, const Machine& cached, std::int64_t bytes, bool flat) {
  const Machine x = cached.holding_lines(footprint(call, cached, bytes), model::Others::in_cache);
  if (call == Call::reduce && root_folds(x.ranks(), x.crowded()))
    return pieces_cost(call, x, lines_of(bytes));
  switch (call) {
    case Call::bcast:
    case Call::gather:
    case Call::scatter:
    case Call::scan:
      return pieces_cost(call, x, lines_of(bytes));
    case Call::reduce:
    case Call::allreduce:
    case Call::reduce_scatter:
    case Call::allgather:
    case Call::alltoall:
      return strips_cost(call, x, lines_of(bytes), flat);
    default:
      return {};
  }
}

}  // namespace weft::coll
