// SPDX-License-Identifier: Apache-2.0
#include "coll/block/steps.h"

#include "coll/block/block.h"
#include "model/machine.h"
#include "object/op.h"

namespace weft::coll {
namespace {

/// Else in strips.
bool in_pieces(Call call, int ranks, bool crowded) {
  return call == Call::bcast || call == Call::gather || call == Call::scatter ||
         call == Call::scan || (call == Call::reduce && root_folds(ranks, crowded));
}

}  // namespace

bool is_alike(Call call, Place place, int ranks, bool crowded) {
  switch (call) {
    case Call::bcast:
    case Call::gather:
    case Call::scatter:
    case Call::scan:
      return false;
    case Call::reduce:
      return place == Place::direct || (place == Place::block && !in_pieces(call, ranks, crowded));
    default:
      return true;
  }
}

namespace {

class Steps {
 public:
  Steps(Schedule& s, Call call, std::int64_t bytes, std::int64_t of, bool crowded, const Site& node)
      : s_(s),
        call_(call),
        n_(bytes),
        of_(of),
        crowded_(crowded),
        node_(node),
        me_(node.me.rank),
        p_(node.me.size),
        own_(s.bytes(1)) {}

  void slots() {
    const bool spreads = call_ == Call::scatter || call_ == Call::alltoall;
    const std::int64_t held = spreads ? n_ * (p_ - 1) : n_;
    in_flags_ = (spreads ? n_ * p_ : n_) <= inline_max;
    switch (call_) {
      case Call::barrier:
        return s_.meet(0, false);
      case Call::bcast:
      case Call::scatter:
        if (me_ != 0) return take_when(0, 1, n_);
        put(held);
        s_.signal(1);
        if (call_ == Call::scatter) copy(n_);
        return;
      case Call::gather:
      case Call::reduce:
        if (me_ == 0 && call_ == Call::gather) copy(n_);
        if (me_ == 0) return for_others([&](int i) { take_when(i, 1, n_); });
        put(n_);
        return s_.signal(1);
      case Call::scan:
        put(n_);
        s_.signal(1);
        for (int i = 0; i < me_; ++i) take_when(i, 1, n_);
        return;
      default:
        break;
    }
    put(held);
    if (call_ == Call::allreduce && !is_flat()) {
      s_.meet(n_, false);
      return move(p_ - 1, n_);
    }
    if (!folds()) copy(n_);
    s_.meet(0, true);
    for_others([&](int i) { take(i, part()); });
  }

  void direct() {
    switch (call_) {
      case Call::bcast:  // the root's first flag tells the way
      case Call::scatter:
        if (me_ != 0) {
          if (call_ == Call::bcast) s_.await_phase(0, 1);
          show();
          s_.signal(1);
          return s_.await_phase(0, 2);
        }
        s_.signal(1);
        if (call_ == Call::scatter) copy(n_);
        for_others([&](int i) {
          s_.await_phase(i, 1);
          give(i, n_);
        });
        return s_.signal(2);
      case Call::gather:
        show();
        s_.signal(1);
        if (me_ == 0) {
          copy(n_);
          return for_others([&](int i) { s_.await_phase(i, 2); });
        }
        s_.await_phase(0, 1);
        give(0, n_);
        return s_.signal(2);
      case Call::allgather:
      case Call::alltoall:
        show();
        copy(n_);
        s_.meet(0, true);
        for_others([&](int i) { give(i, n_); });
        return s_.meet(0, false);
      default:
        show();
        s_.meet(0, true);
        return p_ == 2 && call_ != Call::reduce ? direct_of_two() : direct_tiles();
    }
  }

  void block() {
    const Cuts cuts(crowded_, is_flat());
    if (in_pieces(call_, p_, crowded_))
      return pieces(call_ == Call::scan ? Cuts::smallest : cuts.piece(of_));
    if (p_ > 2 && (call_ == Call::reduce || call_ == Call::allreduce))
      return tiled_strips(cuts.strip_max);
    const std::int64_t others = call_ == Call::alltoall ? n_ * (p_ - 1) : n_;
    const std::int64_t step = cuts.strip(call_ == Call::alltoall ? of_ * (p_ - 1) : of_);
    for (std::int64_t at = 0; at < others; at += step) strip(std::min(step, others - at));
    if (!folds()) copy(n_);
  }

 private:
  bool is_flat() const { return p_ <= flat_max && !crowded_; }
  bool folds() const {
    return call_ == Call::reduce || call_ == Call::allreduce || call_ == Call::reduce_scatter ||
           call_ == Call::scan;
  }
  /// Of a vector, what this rank wants.
  std::int64_t part() const { return call_ == Call::reduce_scatter ? n_ / p_ : n_; }
  template <class Body>
  void for_others(Body&& body) const {
    for (int i = 1; i < p_; ++i) body((me_ + i) % p_);
  }

  void copy(std::int64_t n) { s_.copy(as_bytes(own_, n), as_bytes(own_, n)); }
  /// To where others read it. Of two ranks that both write, each writes where it has read.
  void put(std::int64_t n) {
    if (p_ == 2 && is_alike(call_, Place::slots, p_, crowded_)) return copy(n);
    s_.fetch(own(as_bytes(own_, n)), 0, n, as_bytes(node_.areas.of(me_), n));
  }
  Source at(int rank) const {
    if (shows_) return {.rank = rank, .what = 0};
    return {.rank = rank, .here = as_bytes(node_.areas.of(rank), INT64_MAX)};
  }
  void move(int from, std::int64_t n) {
    in_flags_ ? copy(n) : s_.fetch(at(from), 0, n, as_bytes(own_, n));
  }
  void fold(int from, std::int64_t n) {
    in_flags_ ? s_.reduce(own_, own_, n, byte_type(), op_)
              : s_.fold(at(from), 0, own_, n, byte_type(), op_);
  }
  void take(int from, std::int64_t n) { folds() ? fold(from, n) : move(from, n); }
  void take_when(int from, std::int64_t phase, std::int64_t n) {
    s_.await_phase(from, phase);
    take(from, n);
  }
  void show() {
    const ConstBuffer view = as_bytes(own_, n_);
    s_.show(0, {&view, 1});
    shows_ = true;
  }
  void give(int to, std::int64_t n) {
    s_.give(as_bytes(own_, n), {.rank = to, .what = 0}, nullptr);
  }

  /// Each brings half of its operand to the other one, which folds it there.
  void direct_of_two() {
    const int other = 1 - me_;
    put(n_ / 2);
    s_.meet(0, false);
    shows_ = false;
    fold(other, n_ / 2);
    if (call_ == Call::reduce_scatter) return;
    give(other, n_ / 2);
    s_.meet(0, false);
  }
  /// Everybody folds a part for all, and writes it where it is wanted.
  void direct_tiles() {
    const std::int64_t tile = n_ / p_;
    for_others([&](int i) { fold(i, tile); });
    copy(tile);
    if (call_ == Call::allreduce) for_others([&](int i) { give(i, tile); });
    if (call_ == Call::reduce) give((me_ + 1) % p_, tile);
    s_.meet(0, false);
  }

  void pieces(std::int64_t step) {
    std::int64_t phase = 0;
    for (std::int64_t from = 0; from < n_; from += step) {
      const std::int64_t n = std::min(step, n_ - from);
      ++phase;
      if (call_ == Call::scan) {
        copy(n);
        if (me_ > 0) take_when(me_ - 1, phase, n);
        if (me_ + 1 < p_) put(n);
        s_.signal(phase);
        copy(n);
      } else if ((call_ == Call::gather || call_ == Call::reduce) == (me_ == 0)) {
        if (me_ == 0) for_others([&](int i) { take_when(i, phase, n); });
        if (me_ != 0) take_when(0, phase, n);
      } else {
        if (call_ != Call::scatter) put(n);
        if (call_ == Call::scatter) for_others([&](int) { put(n); });
        s_.signal(phase);
      }
    }
    if (me_ == 0 && (call_ == Call::gather || call_ == Call::scatter)) copy(n_);
  }

  void strip(std::int64_t n) {
    put(n);
    s_.meet(0, true);
    const std::int64_t wanted = call_ == Call::alltoall         ? n / (p_ - 1)
                                : call_ == Call::reduce_scatter ? n / p_
                                                                : n;
    for_others([&](int i) { take(i, wanted); });
  }
  /// To the meeting behind the parts of a strip all come with the next one.
  void tiled_strips(std::int64_t step) {
    put(std::min(step, n_));
    s_.meet(0, true);
    for (std::int64_t at = 0; at < n_; at += step) {
      const std::int64_t tile = std::min(step, n_ - at) / p_;
      for_others([&](int i) { fold(i, tile); });
      copy(tile);
      if (at + step < n_) put(std::min(step, n_ - at - step));
      s_.meet(0, false);
      if (me_ == 0 || call_ == Call::allreduce) for_others([&](int i) { move(i, tile); });
    }
  }

  Schedule& s_;
  const Call call_;
  const std::int64_t n_, of_;
  const bool crowded_;
  const Site& node_;
  const int me_, p_;
  const Op& op_ = *object::predefined_op(MPI_SUM);
  std::byte* const own_;   // this rank's buffers
  bool in_flags_ = false;  // the flags' lines hold the data
  bool shows_ = false;     // ranks read each other's buffers
};

}  // namespace

void emit_shared(Schedule& s, Call call, Place place, std::int64_t bytes, std::int64_t of,
                 bool crowded, const Site& node) {
  Steps steps(s, call, bytes, of, crowded, node);
  place == Place::slots ? steps.slots() : place == Place::direct ? steps.direct() : steps.block();
}

double footprint(Call call, int ranks, std::int64_t bytes) {
  const double m = model::lines_of(bytes), p = ranks;
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

}  // namespace weft::coll
