// SPDX-License-Identifier: Apache-2.0
//
// Long random rows of collectives on real engines: small ones on shared blocks, larger ones as
// schedules, blocking, nonblocking (several at once) and persistent, roots and sizes changing, so
// that whatever one operation leaves behind meets the next. All ranks draw the same program; a
// failure prints its seed.
#include <algorithm>
#include <cstdlib>
#include <random>

#include "object/op.h"
#include "unit/coll/ranks.h"
#include "unit/sanitizer.h"

namespace weft::coll {
namespace {

const Type& int_type() {
  return *datatype::predefined(reinterpret_cast<std::uintptr_t>(MPI_INT));
}
const Op& sum_op() {
  return *object::predefined_op(MPI_SUM);
}

/// One collective of the program, with this rank's buffers and what must be in them at the end.
struct Call {
  int kind, root, count;
  bool in_place;
  std::vector<int> send, recv, want;
  MPI_Request request = MPI_REQUEST_NULL;
};
constexpr int kinds = 12;

int datum(int rank, int i, int salt) {
  return rank * 1000 + i * 7 + salt;
}

class Program {
 public:
  Program(Comm& comm, unsigned seed)
      : comm_(comm), random_(seed), own_(seed + static_cast<unsigned>(comm.rank)) {}

  void run(int calls) {
    for (int done = 0; done < calls;) {
      const int style = draw(4);
      if (style < 2) {  // a row of blocking ones
        for (int n = 1 + draw(20); n > 0; --n, ++done) {
          Call call = make();
          EXPECT_FALSE(issue(call, {}));
          check(call);
        }
      } else if (style == 2) {  // several nonblocking ones, with a blocking one between
        std::vector<Call> calls_at_once;
        // Also more than there are boards.
        for (int n = 1 + draw(10); n > 0; --n, ++done) calls_at_once.push_back(make());
        for (Call& call : calls_at_once)
          EXPECT_FALSE(issue(call, {How::nonblocking, &call.request}));
        Call between = make();
        EXPECT_FALSE(issue(between, {}));
        check(between);
        // Each rank waits in an order of its own.
        std::shuffle(calls_at_once.begin(), calls_at_once.end(), own_);
        for (Call& call : calls_at_once) {
          EXPECT_FALSE(pt2pt::wait(&call.request, MPI_STATUS_IGNORE));
          check(call);
        }
      } else {  // a persistent one, started three times with the same operands
        Call call = make(false);
        EXPECT_FALSE(issue(call, {How::persistent, &call.request}));
        for (int n = 0; n < 3; ++n, ++done) {
          std::fill(call.recv.begin(), call.recv.end(), -1);
          if (call.kind == 1 && comm_.rank == call.root) call.recv = call.send;
          EXPECT_FALSE(pt2pt::start(&call.request));
          EXPECT_FALSE(pt2pt::wait(&call.request, MPI_STATUS_IGNORE));
          check(call);
        }
        EXPECT_FALSE(pt2pt::request_free(&call.request));
      }
    }
  }

 private:
  int draw(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }

  Call make(bool may_be_in_place = true) {
    constexpr int counts[] = {0, 1, 2, 13, 14, 15, 100, 1000, 1024, 1025, 4000};
    const int p = comm_.size();
    Call c{draw(kinds),
           draw(p),
           counts[draw(static_cast<int>(std::size(counts)))],
           draw(2) == 1 && may_be_in_place,
           {},
           {},
           {}};
    const int salt = draw(1 << 20);
    const auto n = static_cast<std::size_t>(c.count);
    const bool is_root = comm_.rank == c.root;
    const auto fill = [&](std::size_t blocks, auto&& value) {
      std::vector<int> v(n * blocks);
      for (std::size_t i = 0; i < v.size(); ++i) v[i] = value(static_cast<int>(i));
      return v;
    };
    const auto mine = [&](int i) { return datum(comm_.rank, i, salt); };
    const auto block_of = [&](int i) { return c.count == 0 ? 0 : i / c.count; };
    const auto place_in = [&](int i) { return c.count == 0 ? 0 : i % c.count; };
    const auto sum_to = [&](int last, int i) {
      int sum = 0;
      for (int r = 0; r <= last; ++r) sum += datum(r, i, salt);
      return sum;
    };
    const auto np = static_cast<std::size_t>(p);
    const auto none = [](int) { return -1; };
    switch (c.kind) {
      case 0:
        break;  // barrier
      case 1:   // bcast
        c.send = fill(1, mine);
        c.recv = is_root ? c.send : fill(1, none);
        c.want = fill(1, [&](int i) { return datum(c.root, i, salt); });
        break;
      case 2:  // gather
      case 3:  // allgather
        c.send = fill(1, mine);
        c.recv = fill(np, none);
        c.in_place &= c.kind == 3 || is_root;
        if (c.in_place)
          std::copy(c.send.begin(), c.send.end(), c.recv.begin() + comm_.rank * c.count);
        c.want = c.kind == 3 || is_root
                     ? fill(np, [&](int i) { return datum(block_of(i), place_in(i), salt); })
                     : c.recv;
        break;
      case 4:  // scatter
        c.send = fill(np, mine);
        c.recv = fill(1, none);
        c.in_place &= is_root;
        c.want = c.in_place ? c.recv : fill(1, [&](int i) {
          return datum(c.root, comm_.rank * c.count + i, salt);
        });
        break;
      case 5:  // alltoall
        c.send = fill(np, mine);
        c.recv = c.in_place ? c.send : fill(np, none);
        c.want = fill(np, [&](int i) {
          return datum(block_of(i), comm_.rank * c.count + place_in(i), salt);
        });
        break;
      case 6:  // reduce
      case 7:  // allreduce
        c.send = fill(1, mine);
        c.in_place &= c.kind == 7 || is_root;
        c.recv = c.in_place ? c.send : fill(1, none);
        c.want = c.kind == 7 || is_root ? fill(1, [&](int i) { return sum_to(p - 1, i); }) : c.recv;
        break;
      case 8:  // scan
        c.send = fill(1, mine);
        c.recv = c.in_place ? c.send : fill(1, none);
        c.want = fill(1, [&](int i) { return sum_to(comm_.rank, i); });
        break;
      case 9:  // exscan
        c.send = fill(1, mine);
        c.recv = c.in_place ? c.send : fill(1, none);
        c.want =
            comm_.rank == 0 ? c.recv : fill(1, [&](int i) { return sum_to(comm_.rank - 1, i); });
        break;
      default:  // 10: reduce_scatter_block; 11: alltoallw with int blocks
        c.in_place = false;
        c.send = fill(np, mine);
        c.recv = fill(c.kind == 10 ? 1 : np, none);
        c.want = c.kind == 10
                     ? fill(1, [&](int i) { return sum_to(p - 1, comm_.rank * c.count + i); })
                     : fill(np, [&](int i) {
                         return datum(block_of(i), comm_.rank * c.count + place_in(i), salt);
                       });
    }
    return c;
  }

  Err issue(Call& c, const How& how) {
    const Type* type = &int_type();
    const void* send = c.in_place ? MPI_IN_PLACE : c.send.data();
    const ConstBuffer from{send, c.count, type};
    const Buffer into{c.recv.data(), c.count, type};
    const Operands x{send, c.recv.data(), c.count, type, &sum_op()};
    switch (c.kind) {
      case 0:
        return barrier(comm_, how);
      case 1:
        return bcast(into, c.root, comm_, how);
      case 2:
        return gather(from, into, c.root, comm_, how);
      case 3:
        return allgather(from, into, comm_, how);
      case 4: {
        const ConstBuffer all{c.send.data(), c.count, type};
        return scatter(all, c.in_place ? Buffer{MPI_IN_PLACE, 0, type} : into, c.root, comm_, how);
      }
      case 5:
        return alltoall(from, into, comm_, how);
      case 6:
        return reduce(x, c.root, comm_, how);
      case 7:
        return allreduce(x, comm_, how);
      case 8:
        return scan(x, comm_, how);
      case 9:
        return exscan(x, comm_, how);
      case 10:
        return reduce_scatter_block(x, comm_, how);
      default: {
        // The schedule reads the arrays while it is emitted only.
        const auto np = static_cast<std::size_t>(comm_.size());
        counts_.assign(np, c.count);
        displs_.resize(np);
        for (std::size_t r = 0; r < np; ++r) displs_[r] = 4 * static_cast<int>(r) * c.count;
        types_.assign(np, MPI_INT);
        const Counts counts{counts_.data()}, displs{displs_.data()};
        return alltoallw({c.send.data(), counts, displs, types_.data()},
                         {c.recv.data(), counts, displs, types_.data()}, comm_, how);
      }
    }
  }

  void check(const Call& c) {
    if (c.recv == c.want || failed_) return;
    failed_ = true;  // and go on: the others count on this rank
    ADD_FAILURE() << "collective " << c.kind << ", rank " << comm_.rank << " of " << comm_.size()
                  << ", root " << c.root << ", count " << c.count
                  << (c.in_place ? ", in place" : "");
  }

  Comm& comm_;
  std::mt19937 random_, own_;
  bool failed_ = false;
  std::vector<int> counts_, displs_;
  std::vector<MPI_Datatype> types_;
};

void run_programs(bool crowded, const char* yield_us, const std::vector<int>& sizes, int calls,
                  Placing placing = {}) {
  ASSERT_EQ(setenv("WEFT_SYNC_YIELD_US", yield_us, 1), 0);
  for (const int p : sizes) {
    const unsigned seed = 4711u * static_cast<unsigned>(p) + static_cast<unsigned>(crowded);
    SCOPED_TRACE(testing::Message() << "seed " << seed << ", " << p << " ranks");
    run_ranks(
        p, crowded, [&](Comm& comm) { Program(comm, seed).run(calls); }, placing);
    if (testing::Test::HasFailure()) break;
  }
  unsetenv("WEFT_SYNC_YIELD_US");
}

TEST(MixedCollectives, RanksWithCoresOfTheirOwn) {
  run_programs(false, "1000", {1, 2, 3, 9}, 40);
}
TEST(MixedCollectives, MoreRanksThanCores) {
  run_programs(true, "1000", {2, 5, 8, 17, 70}, 60);
}
// Everybody sleeps as soon as he waits: a wake-up that is lost stops the test.
TEST(MixedCollectives, SleepingAtOnce) {
  run_programs(true, "0", {2, 5, 9}, 60);
}

// Every way along the levels of a node, through areas and between buffers; the ways are asked for,
// so blocking calls go it too.
struct Ways {
  const char *bcast, *reduce, *allreduce;
  const char* from_root = "exchange";  // and to it
};
class AlongLevels : public testing::TestWithParam<Ways> {
 protected:
  void run(bool reach) {
    const Ways ways = GetParam();
    setenv("WEFT_COLL_BARRIER", "tree", 1);
    setenv("WEFT_COLL_BCAST", ways.bcast, 1);
    setenv("WEFT_COLL_REDUCE", ways.reduce, 1);
    setenv("WEFT_COLL_ALLREDUCE", ways.allreduce, 1);
    setenv("WEFT_COLL_GATHER", ways.from_root, 1);
    setenv("WEFT_COLL_SCATTER", ways.from_root, 1);
    for (const char* name : {"ALLGATHER", "ALLTOALL", "REDUCE_SCATTER"})
      setenv((std::string("WEFT_COLL_") + name).c_str(), "exchange", 1);
    run_programs(true, "0", {2, 3, 5, 9, 12}, 60, {.reach = reach, .parts = 3});
    for (const char* name : {"BARRIER", "BCAST", "REDUCE", "ALLREDUCE", "GATHER", "SCATTER",
                             "ALLGATHER", "ALLTOALL", "REDUCE_SCATTER"})
      unsetenv((std::string("WEFT_COLL_") + name).c_str());
  }
};
TEST_P(AlongLevels, ThroughAreas) {
  run(false);
}
TEST_P(AlongLevels, BetweenBuffers) {
  run(true);
}
INSTANTIATE_TEST_SUITE_P(MixedCollectives, AlongLevels,
                         testing::Values(Ways{"one_stage", "tree", "tree"},
                                         Ways{"two_stage", "tiled_naive", "tiled_naive",
                                              "two_stage"},
                                         Ways{"tree", "tree_4", "tree_one_stage", "two_stage"},
                                         Ways{"tree", "tiled_cyclic", "tiled_cyclic"},
                                         Ways{"tree", "tiled_hierarchical", "tiled_hierarchical"},
                                         Ways{"two_stage", "tiled_hierarchical", "dissemination"}));

// Blocking calls that are longer than a slot go along the levels where the model says so.
TEST(MixedCollectives, SeveralLevelsAndCores) {
  run_programs(false, "1000", {6}, 60, {.parts = 2});
  run_programs(false, "1000", {6}, 60, {.reach = true, .parts = 2});
}
TEST(MixedCollectives, BetweenBuffersOnOneLevel) {
  run_programs(true, "0", {2, 7}, 60, {.reach = true});
}

// Long enough that several ways take turns, whatever they cost, and ranks tell each other what they
// measured.
class Exploring : public testing::TestWithParam<bool> {};
TEST_P(Exploring, BetweenOperationsOfOtherWays) {
  setenv("WEFT_COLL_EXPLORE", "1000000", 1);
  const int calls = weft::test::under_thread_sanitizer ? 3000 : 12000;
  run_programs(false, "1000", {2, 3}, calls, {.reach = GetParam()});
  run_programs(true, "0", {4}, calls / 2, {.reach = GetParam(), .parts = 2});
  unsetenv("WEFT_COLL_EXPLORE");
}
INSTANTIATE_TEST_SUITE_P(MixedCollectives, Exploring, testing::Bool());

}  // namespace
}  // namespace weft::coll
