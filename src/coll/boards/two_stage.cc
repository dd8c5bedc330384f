// SPDX-License-Identifier: Apache-2.0
//
// Scatter and gather in two stages: one rank of each outermost group, its leader, moves the blocks
// of its group from or to the root, in one read where these ranks follow each other; the others of
// the group read from the leader, or the leader from them. The root leads its own group, without a
// second stage. Block by block, strip by strip, each rank reads what another one has put aside.
//
// source   Li, Hoefler, Snir, section 2.6
// reads    (s-1) q blocks across sockets, in s-1 reads; then p-s inside
// copies   2 per block outside the root's group, else 1; through areas 1 more
// steps    2 on the longest path
// legal    uniform blocks of any type; MPI_IN_PLACE at the root
// example  2 groups of 3, root 0: 1 and 2 read theirs from 0, 3 those of 3, 4, 5; 4 and 5 from 3.
#include "coll/boards/algorithms.h"

namespace weft::coll {
namespace {

class TwoStage {
 public:
  TwoStage(Schedule& s, bool gathers, std::int64_t block, int root, const Site& node)
      : s_(s),
        node_(node),
        levels_(node.levels()),
        level_(levels_.depth() > 1 ? 1 : 0),
        me_(node.me.rank),
        root_(root),
        block_(block),
        group_(levels_.group_of(level_, me_)),
        leads_(leader(group_) == me_),
        gathers_(gathers),
        strips_{block,
                node.direct() ? std::max<std::int64_t>(block, 1) : node.strip_bytes(node.me.size)} {
    s_.announce(block);
    if (node.direct() && leads_ && me_ != root_)
      room_ = s_.bytes(block * std::ssize(members(group_)));
  }

  void scatter(const Blocks& send, const Buffer& recv) {
    if (node_.direct()) show_blocks(send);
    for (t_ = 0; t_ < strips_.count(); ++t_) {
      before_reuse();
      if (me_ == root_ && !node_.direct())
        for (int j = 0; j < node_.me.size; ++j)
          if (j != root_) put(send[j], j);
      if (me_ != root_) {
        const int from = leads_ ? root_ : leader(group_);
        await(from);
        if (leads_) fetch_group();
        fetch(from, position(from, me_), recv);
      }
      signal();
    }
    before_return();
  }

  void gather(const ConstBuffer& send, const Blocks& recv) {
    if (node_.direct() && me_ != root_) show_rooms(send);
    for (t_ = 0; t_ < strips_.count(); ++t_) {
      before_reuse();
      if (!leads_ && !node_.direct()) put(send, 0);
      if (leads_) {
        if (me_ != root_) put(send, position(me_, me_));
        for (const int j : members(group_)) {
          if (j == me_) continue;
          await(j);
          fetch(j, 0, me_ == root_ ? recv[j] : room(position(me_, j)));
        }
      }
      if (me_ == root_) collect_groups(recv);
      signal();
    }
    before_return();
  }

 private:
  std::span<const std::int32_t> members(int group) const { return levels_.members(level_, group); }
  int leader(int group) const {
    return levels_.group_of(level_, root_) == group ? root_ : members(group).front();
  }
  /// Where the block of `rank` is among those that `holder` has.
  int position(int holder, int rank) const {
    if (holder == root_) return rank;
    const auto all = members(levels_.group_of(level_, rank));
    return static_cast<int>(std::find(all.begin(), all.end(), rank) - all.begin());
  }
  /// The ranks of a group that follow each other, if their blocks go in one strip.
  template <class Body>
  void for_runs(int group, Body&& body) const {
    const auto all = members(group);
    for (std::size_t i = 0, n = 1; i < all.size(); i += n) {
      for (n = 1; strips_.count() == 1 && i + n < all.size() && all[i + n] == all[i + n - 1] + 1;)
        ++n;
      body(static_cast<int>(i), all[i], static_cast<std::int64_t>(n));
    }
  }

  std::int64_t at() const { return strips_.begin(t_); }
  std::int64_t length() const { return strips_.length(t_); }
  /// What a rank has in its area of its block number `i`: the strip, one behind the other.
  std::byte* piece(int rank, int i) const { return node_.piece(rank, t_, 0, 1) + i * length(); }
  /// This rank's, as a leader: for a block that it passes on.
  Buffer room(int i) const {
    if (node_.direct()) return as_bytes(room_ + i * block_, block_);
    return placed(piece(me_, i), at());
  }
  /// The block number `i` of `rank`.
  Source source(int rank, int i) const {
    if (node_.direct()) return {.rank = rank, .what = 0, .index = i};
    return {.rank = rank, .here = as_bytes(piece(rank, i) - at(), INT64_MAX)};
  }
  void put(const ConstBuffer& block, int i) { s_.fetch(own(block), at(), length(), room(i)); }
  void fetch(int from, int i, const Buffer& to) { s_.fetch(source(from, i), at(), length(), to); }
  void await(int rank) {
    s_.await_phase(rank, t_ + 1);
    if (t_ == 0) s_.expect(rank, block_, nullptr);
  }

  /// Several blocks in one read, from byte `begin` on of all blocks; `i`: the number of the first.
  void fetch_run(const Source& from, std::int64_t begin, std::int64_t blocks, const Buffer& to) {
    s_.fetch(from, begin, blocks * block_, to);
  }
  void fetch_group() {
    for_runs(group_, [&](int i, int rank, std::int64_t n) {
      if (n == 1 && rank == me_) return;
      if (strips_.count() > 1) return fetch(root_, rank, room(i));
      const std::int64_t begin = rank * block_;
      const Source all = node_.direct()
                             ? Source{.rank = root_, .what = 0, .index = node_.me.size}
                             : Source{.rank = root_, .here = as_bytes(piece(root_, 0), INT64_MAX)};
      std::byte* const to = node_.direct() ? room_ + i * block_ : piece(me_, i);
      fetch_run(all, begin, n, placed(to, begin));
    });
  }
  void collect_groups(const Blocks& recv) {
    const Buffer first = recv[0];
    const Buffer all{first.data, first.count * node_.me.size, first.type};
    for (int g = 0; g < levels_.groups(level_); ++g) {
      const int from = leader(g);
      if (from == root_) continue;
      await(from);
      int run = 0;
      for_runs(g, [&](int i, int rank, std::int64_t n) {
        if (strips_.count() > 1) return fetch(from, i, recv[rank]);
        const std::int64_t begin = rank * block_;
        const Source those =
            node_.direct()
                ? Source{.rank = from, .what = 0, .index = run++}
                : Source{.rank = from, .here = as_bytes(piece(from, i) - begin, INT64_MAX)};
        fetch_run(those, begin, n, all);
      });
    }
  }

  /// Scatter: what others read of the root, block by block and all; and of a leader.
  void show_blocks(const Blocks& send) {
    const int p = node_.me.size;
    if (me_ == root_) {
      ConstBuffer* const views = s_.views(p + 1);
      for (int j = 0; j < p; ++j) views[j] = send[j];
      views[p] = {views[0].data, views[0].count * p, views[0].type};
      s_.show(0, {views, static_cast<std::size_t>(p + 1)});
    } else if (leads_) {
      const auto q = members(group_).size();
      ConstBuffer* const views = s_.views(std::ssize(members(group_)));
      for (std::size_t i = 0; i < q; ++i) views[i] = room(static_cast<int>(i));
      s_.show(0, {views, q});
    }
  }
  /// Gather: what a rank brings, or a leader for runs of ranks, each where it is in all blocks.
  void show_rooms(const ConstBuffer& send) {
    ConstBuffer* const views = s_.views(std::ssize(members(group_)));
    std::size_t count = 0;
    if (!leads_) {
      views[count++] = send;
    } else {
      for_runs(group_, [&](int i, int rank, std::int64_t n) {
        views[count++] =
            as_bytes(static_cast<const void*>(room_ + (i - rank) * block_), (rank + n) * block_);
      });
    }
    s_.show(0, {views, count});
  }

  /// Those that this rank serves: as a leader its group, as the root the other leaders too.
  template <class Body>
  void for_served(Body&& body) const {
    if (!leads_) return;
    for (const int rank : members(group_))
      if (rank != me_) body(rank);
    if (me_ != root_) return;
    for (int g = 0; g < levels_.groups(level_); ++g)
      if (leader(g) != root_) body(leader(g));
  }
  int above() const { return me_ == root_ ? -1 : leads_ ? root_ : leader(group_); }
  /// Wait until strip `t` of what this rank has put aside has been read.
  void await_readers(std::int64_t t) {
    if (!gathers_) return for_served([&](int rank) { s_.await_phase(rank, t + 1); });
    if (above() >= 0) s_.await_phase(above(), t + 1);
  }
  void before_reuse() {
    if (!node_.direct() && t_ >= 2) await_readers(t_ - 2);
  }
  void before_return() {
    if (node_.direct() && strips_.count() > 0) await_readers(strips_.count() - 1);
  }
  void signal() {
    s_.signal(t_ + 1);
    if (above() >= 0) s_.wake(above());
    for_served([&](int rank) { s_.wake(rank); });
  }

  Schedule& s_;
  const Site& node_;
  const Levels& levels_;
  const int level_, me_, root_;
  const std::int64_t block_;
  const int group_;
  const bool leads_, gathers_;
  const Strips strips_;
  std::byte* room_ = nullptr;  // of a leader
  std::int64_t t_ = 0;         // the strip
};

}  // namespace

void scatter_two_stage(Schedule& s, const Blocks& send, const Buffer& recv, int root,
                       const Site& node) {
  const bool is_root = node.me.rank == root;
  if (is_root && !is_in_place(recv.data)) s.copy(send[root], recv);
  TwoStage(s, false, is_root ? send[root].bytes() : recv.bytes(), root, node).scatter(send, recv);
}

void gather_two_stage(Schedule& s, const ConstBuffer& send, const Blocks& recv, int root,
                      const Site& node) {
  const bool is_root = node.me.rank == root;
  if (is_root && !is_in_place(send.data)) s.copy(send, recv[root]);
  TwoStage(s, true, is_root ? recv[root].bytes() : send.bytes(), root, node).gather(send, recv);
}

}  // namespace weft::coll
