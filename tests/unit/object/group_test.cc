// SPDX-License-Identifier: Apache-2.0
// Groups: every operation of MPI-5.0 §7.3 against small examples and against a naive model.
#include "object/group.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "object/store.h"

namespace weft::object {
namespace {

using Members = std::vector<std::int32_t>;

class Groups : public testing::Test {
 protected:
  Groups() { store.world_rank = 3; }
  ~Groups() override {
    EXPECT_EQ(store.groups.live(), 1 + made_.size()) << "a group was lost";
    for (Group* group : made_) store.groups.destroy(group);
  }

  const Group& group(Members members) {
    Group* g = make_group(store, std::move(members));
    made_.push_back(g);
    return *g;
  }
  /// The members behind a handle, which is freed.
  Members take(MPI_Group handle) {
    const Group* g = store.group(handle);
    EXPECT_NE(g, nullptr);
    Members members = g->members;
    EXPECT_EQ(handle == MPI_GROUP_EMPTY, members.empty());
    EXPECT_FALSE(free_group(store, &handle));
    EXPECT_EQ(handle, MPI_GROUP_NULL);
    return members;
  }

  Store store;

 private:
  std::vector<Group*> made_;
};

TEST_F(Groups, KnowTheirOwnersRank) {
  EXPECT_EQ(group({5, 3, 1}).rank, 1);
  EXPECT_EQ(group({5, 1}).rank, MPI_UNDEFINED);
}

TEST_F(Groups, InclKeepsTheGivenOrder) {
  const Group& g = group({10, 11, 12, 13});
  MPI_Group out;
  const int ranks[] = {3, 0, 2};
  ASSERT_FALSE(group_incl(store, g, ranks, &out));
  EXPECT_EQ(take(out), (Members{13, 10, 12}));
  ASSERT_FALSE(group_incl(store, g, {}, &out));
  EXPECT_EQ(out, MPI_GROUP_EMPTY);
}

TEST_F(Groups, ExclKeepsTheGroupsOrder) {
  const Group& g = group({10, 11, 12, 13});
  MPI_Group out;
  const int ranks[] = {3, 0};
  ASSERT_FALSE(group_excl(store, g, ranks, &out));
  EXPECT_EQ(take(out), (Members{11, 12}));
  const int all[] = {0, 1, 2, 3};
  ASSERT_FALSE(group_excl(store, g, all, &out));
  EXPECT_EQ(out, MPI_GROUP_EMPTY);
}

TEST_F(Groups, WrongRanksAreRefused) {
  const Group& g = group({10, 11, 12});
  MPI_Group out = MPI_GROUP_NULL;
  for (const std::vector<int>& ranks :
       {std::vector{3}, {-1}, {MPI_PROC_NULL}, {1, 1}, {0, 1, 2, 0}}) {
    EXPECT_EQ(group_incl(store, g, ranks, &out).cls, MPI_ERR_RANK);
    EXPECT_EQ(group_excl(store, g, ranks, &out).cls, MPI_ERR_RANK);
  }
  EXPECT_EQ(out, MPI_GROUP_NULL);
}

TEST_F(Groups, Ranges) {
  Members twenty(20);
  for (int i = 0; i < 20; ++i) twenty[static_cast<std::size_t>(i)] = 100 + i;
  const Group& g = group(twenty);
  MPI_Group out;
  const Range up_down[] = {{1, 9, 4}, {19, 12, -3}, {0, 0, 5}};
  ASSERT_FALSE(group_range_incl(store, g, up_down, &out));
  EXPECT_EQ(take(out), (Members{101, 105, 109, 119, 116, 113, 100}));
  ASSERT_FALSE(group_range_excl(store, g, up_down, &out));
  EXPECT_EQ(take(out).size(), 13u);
  // The last rank need not be hit, and may then lie beyond the group.
  const Range beyond[] = {{0, 21, 10}};
  EXPECT_EQ(group_range_incl(store, g, beyond, &out).cls, MPI_ERR_RANK);
  const Range just[] = {{0, 20, 19}};
  ASSERT_FALSE(group_range_incl(store, g, just, &out));
  EXPECT_EQ(take(out), (Members{100, 119}));
  const Range zero[] = {{0, 1, 0}};
  EXPECT_EQ(group_range_incl(store, g, zero, &out).cls, MPI_ERR_ARG);
  const Range wrong_way[] = {{5, 1, 1}};
  EXPECT_EQ(group_range_incl(store, g, wrong_way, &out).cls, MPI_ERR_ARG);
  const Range twice[] = {{0, 4, 2}, {2, 2, 1}};
  EXPECT_EQ(group_range_incl(store, g, twice, &out).cls, MPI_ERR_RANK);
}

TEST_F(Groups, SetOperationsAgreeWithNaiveOnes) {
  std::mt19937 random(7);
  const auto contains = [](const Members& m, int x) {
    return std::find(m.begin(), m.end(), x) != m.end();
  };
  for (int round = 0; round < 200; ++round) {
    const auto draw = [&] {
      Members m;
      for (int i = 0; i < 12; ++i)
        if (random() % 2) m.push_back(i);
      std::shuffle(m.begin(), m.end(), random);
      return m;
    };
    const Members a = draw(), b = draw();
    Members both = a, common, only;
    for (const int x : b)
      if (!contains(a, x)) both.push_back(x);
    for (const int x : a) (contains(b, x) ? common : only).push_back(x);
    const Group &ga = group(a), &gb = group(b);
    MPI_Group out;
    group_union(store, ga, gb, &out);
    EXPECT_EQ(take(out), both);
    group_intersection(store, ga, gb, &out);
    EXPECT_EQ(take(out), common);
    group_difference(store, ga, gb, &out);
    EXPECT_EQ(take(out), only);
    Members sorted_a = a, sorted_b = b;
    std::sort(sorted_a.begin(), sorted_a.end());
    std::sort(sorted_b.begin(), sorted_b.end());
    EXPECT_EQ(compare_groups(ga, gb), a == b                 ? MPI_IDENT
                                      : sorted_a == sorted_b ? MPI_SIMILAR
                                                             : MPI_UNEQUAL);
  }
  EXPECT_EQ(compare_groups(group({1, 2}), group({2, 1})), MPI_SIMILAR);
}

TEST_F(Groups, TranslateRanks) {
  const Group& from = group({10, 11, 12});
  const Group& to = group({12, 10});
  const int ranks[] = {0, 1, 2, MPI_PROC_NULL};
  int out[4];
  ASSERT_FALSE(translate_ranks(from, ranks, to, out));
  EXPECT_EQ(std::vector<int>(out, out + 4), (std::vector<int>{1, MPI_UNDEFINED, 0, MPI_PROC_NULL}));
  const int bad[] = {3};
  EXPECT_EQ(translate_ranks(from, bad, to, out).cls, MPI_ERR_RANK);
}

TEST_F(Groups, HandlesAreCheckedAndTheEmptyGroupSurvives) {
  MPI_Group handle;
  share_group(store, group({1, 2}), &handle);
  const MPI_Group copy = handle;
  EXPECT_NE(store.group(copy), nullptr);
  ASSERT_FALSE(free_group(store, &handle));
  EXPECT_EQ(store.group(copy), nullptr) << "a freed handle is still alive";
  EXPECT_EQ(store.group(MPI_GROUP_NULL), nullptr);
  alignas(Group) const char garbage[sizeof(Group)] = {};
  EXPECT_EQ(store.group(reinterpret_cast<MPI_Group>(const_cast<char*>(garbage))), nullptr)
      << "garbage is a group";
  MPI_Group empty = MPI_GROUP_EMPTY;
  ASSERT_FALSE(free_group(store, &empty));
  EXPECT_EQ(store.group(MPI_GROUP_EMPTY)->size(), 0);
}

}  // namespace
}  // namespace weft::object
