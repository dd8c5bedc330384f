// SPDX-License-Identifier: Apache-2.0
//
// Algorithms that move data, simulated for 1 to 17 ranks and compared with what MPI says must be
// where.
#include "unit/coll/simulator.h"

namespace weft::coll::sim {
namespace {

constexpr std::int64_t counts[] = {0, 1, 3, 20};

/// What rank `from` has for rank `to`: a value that is used nowhere else.
int value(int from, int to, std::int64_t i) {
  return from * 1'000'000 + to * 10'000 + static_cast<int>(i) * 10;
}

struct Setting {
  int p;
  std::int64_t count;
  const Words* words;
  bool in_place;
  Way way;
  int root;
};

std::ostream& operator<<(std::ostream& out, const Setting& s) {
  return out << "p " << s.p << ", count " << s.count << ", type " << s.words->name << ", root "
             << s.root << (s.in_place ? ", in place" : "")
             << (s.way == Way::eager ? ", eager" : ", rendezvous");
}

/// Run `body` in every setting; roots and in-place only where they matter.
void for_all(bool rooted, bool has_in_place, const std::function<void(const Setting&)>& body) {
  for (int p = 1; p <= max_ranks; ++p)
    for (const std::int64_t count : counts)
      for (const Words* words : all_types())
        for (const bool in_place : {false, true})
          for (const Way way : both_ways)
            for (int root = 0; root < (rooted ? p : 1); root += std::max(1, p / 2)) {
              if (in_place && !has_in_place) continue;
              const Setting s{p, count, words, in_place, way, root};
              body(s);
              if (testing::Test::HasFailure()) FAIL() << s;
            }
}

void expect_equal(std::vector<Array>& got, std::vector<Array>& want) {
  for (std::size_t r = 0; r < got.size(); ++r) EXPECT_TRUE(got[r] == want[r]) << "rank " << r;
}

void test_bcast(void (*emit)(Schedule&, const Buffer&, int, Position)) {
  for_all(true, false, [&](const Setting& t) {
    Simulator sim(t.p, {t.words});
    std::vector<Array> got(static_cast<std::size_t>(t.p), Array(*t.words, t.count)), want = got;
    for (int r = 0; r < t.p; ++r) {
      const auto at = static_cast<std::size_t>(r);
      for (std::int64_t i = 0; i < t.count; ++i) {
        want[at].set(i, value(t.root, 0, i));
        if (r == t.root) got[at].set(i, value(t.root, 0, i));
      }
      emit(sim.schedule(r), got[at].buffer(0, t.count), t.root, {r, t.p});
    }
    sim.run(t.way);
    expect_equal(got, want);
  });
}

TEST(Bcast, Binomial) {
  test_bcast(bcast_binomial);
}
TEST(Bcast, ScatterAllgather) {
  test_bcast(bcast_scatter_allgather);
}

void test_gather(void (*emit)(Schedule&, const ConstBuffer&, const Blocks&, int, Position)) {
  for_all(true, true, [&](const Setting& t) {
    const Words& sent = *all_types()[1];  // the send type differs from the receive type
    Simulator sim(t.p, {t.words, &sent});
    std::vector<Array> send(static_cast<std::size_t>(t.p), Array(sent, t.count));
    Array got(*t.words, t.count * t.p), want = got;
    for (int r = 0; r < t.p; ++r) {
      Array& mine = send[static_cast<std::size_t>(r)];
      for (std::int64_t i = 0; i < t.count; ++i) {
        mine.set(i, value(r, 0, i));
        want.set(r * t.count + i, value(r, 0, i));
        if (t.in_place && r == t.root) got.set(r * t.count + i, value(r, 0, i));
      }
      const bool is_root = r == t.root;
      ConstBuffer from = mine.buffer(0, t.count);
      if (is_root && t.in_place) from = {MPI_IN_PLACE, 0, nullptr};
      const Buffer into = is_root ? got.buffer(0, t.count) : Buffer{nullptr, 0, nullptr};
      emit(sim.schedule(r), from, Blocks(into), t.root, {r, t.p});
    }
    sim.run(t.way);
    EXPECT_TRUE(got == want);
  });
}

TEST(Gather, Linear) {
  test_gather(gather_linear);
}
TEST(Gather, Binomial) {
  test_gather(gather_binomial);
}

void test_scatter(void (*emit)(Schedule&, const Blocks&, const Buffer&, int, Position)) {
  for_all(true, true, [&](const Setting& t) {
    const Words& sent = *all_types()[1];
    Simulator sim(t.p, {t.words, &sent});
    Array send(sent, t.count * t.p);
    std::vector<Array> got(static_cast<std::size_t>(t.p), Array(*t.words, t.count)), want = got;
    for (int r = 0; r < t.p; ++r) {
      const bool is_root = r == t.root;
      for (std::int64_t i = 0; i < t.count; ++i) {
        send.set(r * t.count + i, value(0, r, i));
        if (!is_root || !t.in_place) want[static_cast<std::size_t>(r)].set(i, value(0, r, i));
      }
      Buffer into = got[static_cast<std::size_t>(r)].buffer(0, t.count);
      if (is_root && t.in_place) into = {MPI_IN_PLACE, 0, nullptr};
      const Buffer from = is_root ? send.buffer(0, t.count) : Buffer{nullptr, 0, nullptr};
      emit(sim.schedule(r), Blocks(from), into, t.root, {r, t.p});
    }
    sim.run(t.way);
    expect_equal(got, want);
  });
}

TEST(Scatter, Linear) {
  test_scatter(scatter_linear);
}
TEST(Scatter, Binomial) {
  test_scatter(scatter_binomial);
}

void test_allgather(void (*emit)(Schedule&, const ConstBuffer&, const Blocks&, Position)) {
  for_all(false, true, [&](const Setting& t) {
    const Words& sent = *all_types()[1];
    Simulator sim(t.p, {t.words, &sent});
    std::vector<Array> send(static_cast<std::size_t>(t.p), Array(sent, t.count));
    std::vector<Array> got(static_cast<std::size_t>(t.p), Array(*t.words, t.count * t.p)),
        want = got;
    for (int r = 0; r < t.p; ++r) {
      const auto at = static_cast<std::size_t>(r);
      for (std::int64_t i = 0; i < t.count; ++i) {
        send[at].set(i, value(r, 0, i));
        if (t.in_place) got[at].set(r * t.count + i, value(r, 0, i));
        for (Array& array : want) array.set(r * t.count + i, value(r, 0, i));
      }
      ConstBuffer from = send[at].buffer(0, t.count);
      if (t.in_place) from = {MPI_IN_PLACE, 0, nullptr};
      emit(sim.schedule(r), from, Blocks(got[at].buffer(0, t.count)), {r, t.p});
    }
    sim.run(t.way);
    expect_equal(got, want);
  });
}

TEST(Allgather, Ring) {
  test_allgather(allgather_ring);
}
TEST(Allgather, Bruck) {
  test_allgather(allgather_bruck);
}

void test_alltoall(void (*emit)(Schedule&, const Blocks&, const Blocks&, Position)) {
  for_all(false, true, [&](const Setting& t) {
    const Words& sent = *all_types()[1];
    Simulator sim(t.p, {t.words, &sent});
    std::vector<Array> send(static_cast<std::size_t>(t.p), Array(sent, t.count * t.p));
    std::vector<Array> got(static_cast<std::size_t>(t.p), Array(*t.words, t.count * t.p)),
        want = got;
    for (int r = 0; r < t.p; ++r) {
      const auto at = static_cast<std::size_t>(r);
      for (int k = 0; k < t.p; ++k)
        for (std::int64_t i = 0; i < t.count; ++i) {
          send[at].set(k * t.count + i, value(r, k, i));
          if (t.in_place) got[at].set(k * t.count + i, value(r, k, i));
          want[at].set(k * t.count + i, value(k, r, i));
        }
      const Blocks from = t.in_place ? Blocks(ConstBuffer{MPI_IN_PLACE, 0, nullptr})
                                     : Blocks(send[at].buffer(0, t.count));
      emit(sim.schedule(r), from, Blocks(got[at].buffer(0, t.count)), {r, t.p});
    }
    sim.run(t.way);
    expect_equal(got, want);
  });
}

TEST(Alltoall, Pairwise) {
  test_alltoall(alltoall_pairwise);
}
TEST(Alltoall, Scattered) {
  test_alltoall(alltoall_scattered);
}
TEST(Alltoall, Bruck) {
  test_alltoall(alltoall_bruck);
}

// Blocks of different sizes at displacements out of order, some empty: rank r has (r + 2k) % 4
// elements for rank k, stored from the last block to the first with a gap of one element between.
TEST(Alltoall, VectorForm) {
  for_all(false, true, [&](const Setting& t) {
    const auto block = [&](int from, int to) {
      return t.in_place ? (from + to) % 4 : (from + 2 * to) % 4;
    };
    Simulator sim(t.p, {t.words});
    std::vector<Array> send(static_cast<std::size_t>(t.p), Array(*t.words, 5 * t.p)), got = send,
                                                                                      want = send;
    std::vector<std::vector<int>>
        numbers;  // send counts, receive counts, displacements of each rank
    for (int r = 0; r < t.p; ++r) {
      const auto at = static_cast<std::size_t>(r);
      std::vector<int> out, in, displs;
      for (int k = 0; k < t.p; ++k) {
        out.push_back(block(r, k));
        in.push_back(block(k, r));
        displs.push_back(5 * (t.p - 1 - k));
        for (int i = 0; i < out.back(); ++i) {
          send[at].set(displs.back() + i, value(r, k, i));
          if (t.in_place) got[at].set(displs.back() + i, value(r, k, i));
        }
        for (int i = 0; i < in.back(); ++i) want[at].set(displs.back() + i, value(k, r, i));
      }
      numbers.insert(numbers.end(), {out, in, displs});
    }
    for (int r = 0; r < t.p; ++r) {
      const auto at = static_cast<std::size_t>(r);
      const Counts out{numbers[3 * at].data()}, in{numbers[3 * at + 1].data()},
          displs{numbers[3 * at + 2].data()};
      const VBuffer from{t.in_place ? MPI_IN_PLACE : send[at].data(), out, displs, &t.words->type};
      alltoall_pairwise(sim.schedule(r), Blocks(from),
                        Blocks(VBuffer{got[at].data(), in, displs, &t.words->type}), {r, t.p});
    }
    sim.run(t.way);
    expect_equal(got, want);
  });
}

TEST(Barrier, Dissemination) {
  // Nobody leaves before the last has come: with alpha = 1 and one rank delayed by a reduction of
  // cost 1000, every rank's time shows the delay.
  for (int p = 2; p <= max_ranks; ++p) {
    const Words& words = *all_types()[0];
    Simulator sim(p, {&words}, [](const int*, int*) {});
    Array array(words, 2);
    const Op op{};
    for (int r = 0; r < p; ++r) {
      Schedule& s = sim.schedule(r);
      if (r == p / 2)
        s.reduce(array.data(), element(array.data(), 1, words.type), 1, words.type, op);
      s.next_round();
      barrier_dissemination(s, {r, p});
    }
    EXPECT_EQ(sim.run(Way::eager, {1, 0, 1000}), 8000 + log2_ceil(p));
    for (int r = 0; r < p; ++r) EXPECT_GE(sim.time(r), 8000) << "rank " << r << " of " << p;
  }
}

}  // namespace
}  // namespace weft::coll::sim
