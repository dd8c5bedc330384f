// SPDX-License-Identifier: Apache-2.0
//
// Algorithms between the two groups of an intercommunicator, for all group sizes from 1 to 5. Rank
// r of the first group is simulated rank r, rank r of the second is simulated rank p + r.
#include "unit/coll/simulator.h"

namespace weft::coll::sim {
namespace {

constexpr int max_group = 5;

/// A rank's view: its place, the size of the other group, and its number in the simulation.
struct View {
  Position me;
  int remote;
  int id;
  bool first;
};

void join(const int* in, int* inout) {  // neighbours in rank order only
  const bool fits = in[1] + 1 == inout[0];
  inout[0] = fits ? in[0] : -1;
  inout[1] = fits ? inout[1] : -1;
}

/// Run `emit` for every rank of every pair of groups, in both ways, then `check`.
void for_all_groups(const std::function<void(Schedule&, const View&)>& emit,
                    const std::function<void(int p, int q)>& prepare,
                    const std::function<void(int p, int q)>& check) {
  for (int p = 1; p <= max_group; ++p)
    for (int q = 1; q <= max_group; ++q)
      for (const Way way : both_ways) {
        SCOPED_TRACE(testing::Message() << "groups of " << p << " and " << q);
        Simulator sim(p + q, all_types(), join);
        sim.split_groups(p);
        prepare(p, q);
        for (int r = 0; r < p; ++r) emit(sim.schedule(r), {{r, p}, q, r, true});
        for (int r = 0; r < q; ++r) emit(sim.schedule(p + r), {{r, q}, p, p + r, false});
        sim.run(way);
        check(p, q);
        if (testing::Test::HasFailure()) FAIL();
      }
}

/// The buffers of all ranks.
struct Buffers {
  const Words& words = *all_types()[1];
  std::vector<Array> send, got, want;
  void reset(int ranks, std::int64_t elements) {
    send.assign(static_cast<std::size_t>(ranks), Array(words, elements));
    got = want = send;
  }
  Array& sent(int id) { return send[static_cast<std::size_t>(id)]; }
  Array& into(int id) { return got[static_cast<std::size_t>(id)]; }
  Array& wanted(int id) { return want[static_cast<std::size_t>(id)]; }
  void check() {
    for (std::size_t i = 0; i < got.size(); ++i)
      EXPECT_TRUE(got[i] == want[i]) << "simulated rank " << i;
  }
};

/// Rank `root` of the first group is the root: the argument that `view` passes.
int root_of(const View& view, int root) {
  if (!view.first) return root;
  return view.me.rank == root ? MPI_ROOT : MPI_PROC_NULL;
}

TEST(Inter, BarrierWaitsForTheOtherGroup) {
  const Words& words = *all_types()[0];
  const Op op{};
  Array array(words, 2);
  for (int p = 1; p <= max_group; ++p)
    for (int q = 1; q <= max_group; ++q)
      for (int late = 0; late < p; ++late) {
        Simulator sim(p + q, {&words}, [](const int*, int*) {});
        sim.split_groups(p);
        sim.schedule(late).reduce(array.data(), element(array.data(), 1, words.type), 1, words.type,
                                  op);
        sim.schedule(late).next_round();
        for (int r = 0; r < p; ++r) barrier_inter(sim.schedule(r), {r, p}, q);
        for (int r = 0; r < q; ++r) barrier_inter(sim.schedule(p + r), {r, q}, p);
        sim.run(Way::eager, {1, 0, 1000});
        for (int r = 0; r < q; ++r)
          EXPECT_GE(sim.time(p + r), 8000) << p << " and " << q << " ranks";
      }
}

TEST(Inter, Bcast) {
  Buffers b;
  for_all_groups(
      [&](Schedule& s, const View& v) {
        bcast_inter(s, b.into(v.id).buffer(0, 3), root_of(v, 0), v.remote);
      },
      [&](int p, int q) {
        b.reset(p + q, 3);
        b.into(0).set(1, 7);
        for (int id = 0; id < p + q; ++id)
          if (id == 0 || id >= p) b.wanted(id) = b.into(0);
      },
      [&](int, int) { b.check(); });
}

TEST(Inter, GatherAndScatter) {
  Buffers gathered, scattered;
  for_all_groups(
      [&](Schedule& s, const View& v) {
        const int root = root_of(v, v.first ? v.me.size - 1 : v.remote - 1);
        gather_inter(s, gathered.sent(v.id).buffer(0, 2), Blocks(gathered.into(v.id).buffer(0, 2)),
                     root, v.remote);
        scatter_inter(s, Blocks(scattered.sent(v.id).buffer(0, 2)),
                      scattered.into(v.id).buffer(0, 2), root, v.remote);
      },
      [&](int p, int q) {
        gathered.reset(p + q, 2 * q);
        scattered.reset(p + q, 2 * q);
        for (int r = 0; r < q; ++r)
          for (int i = 0; i < 2; ++i) {
            gathered.sent(p + r).set(i, 100 * r + 10 * i);
            gathered.wanted(p - 1).set(2 * r + i, 100 * r + 10 * i);
            scattered.sent(p - 1).set(2 * r + i, 100 * r + 10 * i);
            scattered.wanted(p + r).set(i, 100 * r + 10 * i);
          }
      },
      [&](int, int) {
        gathered.check();
        scattered.check();
      });
}

TEST(Inter, AllgatherAndAlltoall) {
  Buffers all, each;
  const auto value = [](int from, int to) { return 1000 * from + 10 * to; };
  for_all_groups(
      [&](Schedule& s, const View& v) {
        allgather_inter(s, all.sent(v.id).buffer(0, 1), Blocks(all.into(v.id).buffer(0, 1)), v.me,
                        v.remote);
        alltoall_inter(s, Blocks(each.sent(v.id).buffer(0, 1)),
                       Blocks(each.into(v.id).buffer(0, 1)), v.me, v.remote);
      },
      [&](int p, int q) {
        all.reset(p + q, max_group);
        each.reset(p + q, max_group);
        for (int id = 0; id < p + q; ++id) {
          all.sent(id).set(0, value(id, 0));
          const bool first = id < p;
          for (int r = 0; r < (first ? q : p); ++r) {
            const int other = first ? p + r : r;
            all.wanted(id).set(r, value(other, 0));
            each.sent(id).set(r, value(id, other));
            each.wanted(id).set(r, value(other, id));
          }
        }
      },
      [&](int, int) {
        all.check();
        each.check();
      });
}

TEST(Inter, ReductionsKeepRankOrder) {
  Op op{};
  op.commutative = false;
  Buffers one, all, parts;
  const auto set = [](Array& array, std::int64_t at, std::int64_t i, int first, int last) {
    array.word(at, 0) = static_cast<int>(i) * 100 + first;
    array.word(at, 1) = static_cast<int>(i) * 100 + last;
  };
  // Of the reduction of p * q elements, a rank of the first group gets q and one of the second gets
  // p.
  for_all_groups(
      [&](Schedule& s, const View& v) {
        const Type* type = &one.words.type;
        reduce_inter(s, {one.sent(v.id).data(), one.into(v.id).data(), 3, type, &op}, root_of(v, 0),
                     v.remote);
        allreduce_inter(s, {all.sent(v.id).data(), all.into(v.id).data(), 3, type, &op}, v.me,
                        v.remote);
        reduce_scatter_inter(s, {parts.sent(v.id).data(), parts.into(v.id).data(), 0, type, &op},
                             Parts(v.remote), v.me, v.remote);
      },
      [&](int p, int q) {
        one.reset(p + q, 3);
        all.reset(p + q, 3);
        parts.reset(p + q, p * q);
        for (int id = 0; id < p + q; ++id) {
          const bool first = id < p;
          const int rank = first ? id : id - p;
          const int remote = first ? q : p;
          for (int i = 0; i < 3; ++i) {
            set(one.sent(id), i, i, rank, rank);
            set(all.sent(id), i, i, rank, rank);
            if (id == 0) set(one.wanted(id), i, i, 0, remote - 1);
            set(all.wanted(id), i, i, 0, remote - 1);
          }
          for (int i = 0; i < p * q; ++i) set(parts.sent(id), i, i, rank, rank);
          for (int i = 0; i < remote; ++i)
            set(parts.wanted(id), i, rank * remote + i, 0, remote - 1);
        }
      },
      [&](int, int) {
        one.check();
        all.check();
        parts.check();
      });
}

}  // namespace
}  // namespace weft::coll::sim
