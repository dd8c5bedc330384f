// SPDX-License-Identifier: Apache-2.0
//
// Algorithms that reduce, simulated for 1 to 17 ranks. Two operations: "join" does not commute, it
// joins runs of ranks {lo..hi} and only works for neighbours in rank order; "sum" adds powers of
// two, so the result says who contributed, and how often.
#include "unit/coll/simulator.h"

namespace weft::coll::sim {
namespace {

constexpr int broken = -999'999;

void join(const int* in, int* inout) {
  const bool fits = in[1] + 1 == inout[0];
  inout[0] = fits ? in[0] : broken;
  inout[1] = fits ? inout[1] : broken;
}
void sum(const int* in, int* inout) {
  inout[0] += in[0];
  inout[1] += in[1];
}

const Op join_op = [] {
  Op op{};
  op.commutative = false;
  return op;
}();
const Op sum_op{};

struct Setting {
  int p;
  std::int64_t count;
  const Words* words;
  bool in_place;
  Way way;
  bool commutes;
  int root;
  const Op& op() const { return commutes ? sum_op : join_op; }
};

std::ostream& operator<<(std::ostream& out, const Setting& s) {
  return out << "p " << s.p << ", count " << s.count << ", type " << s.words->name << ", root "
             << s.root << (s.commutes ? ", commutes" : "") << (s.in_place ? ", in place" : "")
             << (s.way == Way::eager ? ", eager" : ", rendezvous");
}

void for_all(bool rooted, bool any_op, const std::function<void(const Setting&)>& body) {
  for (int p = 1; p <= max_ranks; ++p)
    for (const std::int64_t count : {0, 1, 3, 20})
      for (const Words* words : all_types())
        for (const bool in_place : {false, true})
          for (const Way way : both_ways)
            for (const bool commutes : {false, true})
              for (int root = 0; root < (rooted ? p : 1); root += std::max(1, p / 2)) {
                if (!commutes && !any_op) continue;
                const Setting s{p, count, words, in_place, way, commutes, root};
                body(s);
                if (testing::Test::HasFailure()) FAIL() << s;
              }
}

/// Element i := the reduction of the contributions of ranks first..last to it.
void set_run(Array& array, std::int64_t at, std::int64_t i, int first, int last, bool commutes) {
  int a = 0, b = 0;
  if (commutes) {
    for (int r = first; r <= last; ++r) {
      a += 1 << r;
      b += static_cast<int>(i) * (r + 1);
    }
  } else {
    a = static_cast<int>(i) * 100 + first;
    b = static_cast<int>(i) * 100 + last;
  }
  array.word(at, 0) = a;
  array.word(at, 1) = b;
}

/// A setting's ranks with their operands: n elements each, in the send buffer or in place.
struct Ranks {
  Ranks(const Setting& t, std::int64_t n, bool root_only_in_place = false)
      : sim(t.p, {t.words}, t.commutes ? sum : join),
        send(static_cast<std::size_t>(t.p), Array(*t.words, n)),
        got(send),
        want(send) {
    for (int r = 0; r < t.p; ++r) {
      const bool here = t.in_place && (!root_only_in_place || r == t.root);
      const auto at = static_cast<std::size_t>(r);
      for (std::int64_t i = 0; i < n; ++i) {
        set_run(here ? got[at] : send[at], i, i, r, r, t.commutes);
        if (here) want[at] = got[at];
      }
      operands.push_back(
          {here ? MPI_IN_PLACE : send[at].data(), got[at].data(), n, &t.words->type, &t.op()});
    }
    before = send;
  }
  void run(const Setting& t) {
    sim.run(t.way);
    expect_results();
  }
  void expect_results() {
    for (std::size_t r = 0; r < got.size(); ++r) {
      EXPECT_TRUE(got[r] == want[r]) << "result of rank " << r;
      EXPECT_TRUE(send[r] == before[r]) << "send buffer of rank " << r << " was written";
    }
  }
  Simulator sim;
  std::vector<Array> send, got, want, before;
  std::vector<Operands> operands;
};

void test_reduce(void (*emit)(Schedule&, const Operands&, int root, Position)) {
  for_all(true, true, [&](const Setting& t) {
    Ranks ranks(t, t.count, true);
    for (int r = 0; r < t.p; ++r) {
      Operands& x = ranks.operands[static_cast<std::size_t>(r)];
      if (r != t.root) x.recv = nullptr;
      emit(ranks.sim.schedule(r), x, t.root, {r, t.p});
    }
    for (std::int64_t i = 0; i < t.count; ++i)
      set_run(ranks.want[static_cast<std::size_t>(t.root)], i, i, 0, t.p - 1, t.commutes);
    ranks.run(t);
  });
}

TEST(Reduce, Binomial) {
  test_reduce(reduce_binomial);
}
TEST(Reduce, Ordered) {
  test_reduce(reduce_ordered);
}

void test_allreduce(void (*emit)(Schedule&, const Operands&, Position), bool any_op) {
  for_all(false, any_op, [&](const Setting& t) {
    Ranks ranks(t, t.count);
    for (int r = 0; r < t.p; ++r) {
      const auto at = static_cast<std::size_t>(r);
      emit(ranks.sim.schedule(r), ranks.operands[at], {r, t.p});
      for (std::int64_t i = 0; i < t.count; ++i)
        set_run(ranks.want[at], i, i, 0, t.p - 1, t.commutes);
    }
    ranks.run(t);
  });
}

TEST(Allreduce, RecursiveDoubling) {
  test_allreduce(allreduce_recursive_doubling, true);
}
TEST(Allreduce, Rabenseifner) {
  test_allreduce(allreduce_rabenseifner, false);
}
TEST(Allreduce, Ordered) {
  test_allreduce(allreduce_ordered, true);
}

/// Rank r gets the reduction of ranks 0 to r - `before`.
void test_scan(void (*emit)(Schedule&, const Operands&, Position), int before) {
  for_all(false, true, [&](const Setting& t) {
    Ranks ranks(t, t.count);
    for (int r = 0; r < t.p; ++r) {
      const auto at = static_cast<std::size_t>(r);
      emit(ranks.sim.schedule(r), ranks.operands[at], {r, t.p});
      for (std::int64_t i = 0; i < t.count && r >= before; ++i)
        set_run(ranks.want[at], i, i, 0, r - before, t.commutes);
    }
    ranks.run(t);
  });
}

TEST(Scan, RecursiveDoubling) {
  test_scan(scan_recursive_doubling, 0);
  test_scan(exscan_recursive_doubling, 1);
}
TEST(Scan, Linear) {
  test_scan(scan_linear, 0);
  test_scan(exscan_linear, 1);
}

/// Equal parts of t.count elements, and parts of different sizes, some empty.
void test_reduce_scatter(void (*emit)(Schedule&, const Operands&, const Parts&, Position),
                         bool any_op) {
  for_all(false, any_op, [&](const Setting& t) {
    for (const bool equal : {true, false}) {
      std::vector<int> sizes;
      for (int r = 0; r < t.p; ++r) sizes.push_back(static_cast<int>((r * t.count) % 4));
      const Parts parts = equal ? Parts(t.count) : Parts(Counts{sizes.data()});
      const std::int64_t total = parts.before(t.p);
      Ranks ranks(t, total);
      for (int r = 0; r < t.p; ++r) {
        const auto at = static_cast<std::size_t>(r);
        emit(ranks.sim.schedule(r), ranks.operands[at], parts, {r, t.p});
        for (std::int64_t i = 0; i < parts[r]; ++i)
          set_run(ranks.want[at], i, parts.before(r) + i, 0, t.p - 1, t.commutes);
      }
      ranks.sim.run(t.way);
      // In place, the standard leaves open what is behind rank 0's part.
      if (t.in_place)
        for (std::int64_t i = parts[0]; i < total; ++i)
          for (std::size_t k = 0; k < 2; ++k) ranks.want[0].word(i, k) = ranks.got[0].word(i, k);
      ranks.expect_results();
    }
  });
}

TEST(ReduceScatter, Pairwise) {
  test_reduce_scatter(reduce_scatter_pairwise, false);
}
TEST(ReduceScatter, Ordered) {
  test_reduce_scatter(reduce_scatter_ordered, true);
}
TEST(ReduceScatter, Rooted) {
  test_reduce_scatter(reduce_scatter_rooted, true);
}

}  // namespace
}  // namespace weft::coll::sim
