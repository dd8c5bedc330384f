// SPDX-License-Identifier: Apache-2.0
#include "hang/analysis.h"

#include <gtest/gtest.h>

#include "unit/hang/view_of.h"

namespace weft::hang {
namespace {

bool hangs(const ViewOf& v) {
  return analyse(v.view, limit).hangs();
}

TEST(Analysis, NobodyWaits) {
  EXPECT_FALSE(hangs(ViewOf(4)));
}

TEST(Analysis, CircleHangs) {
  ViewOf v(3);
  for (int r = 0; r < 3; ++r) v.receives(r, (r + 1) % 3);
  EXPECT_TRUE(hangs(v));
}

TEST(Analysis, YoungWaitsDoNot) {
  ViewOf v(2);
  v.receives(0, 1);
  v.receives(1, 0).since_ns = now - limit + 1;
  v.rank(1).threads[0].record.moved_ns = v.rank(1).threads[0].record.since_ns;
  EXPECT_FALSE(hangs(v));
}

TEST(Analysis, WhoMovesMeanwhileDoesNot) {
  ViewOf v(2);
  v.receives(0, 1);
  v.receives(1, 0).moved_ns = now - second;
  EXPECT_FALSE(hangs(v));
}

TEST(Analysis, WaitingForOneThatComputesIsNoHang) {
  ViewOf v(4);  // 0 -> 1 -> 2 -> 3, which computes
  for (int r = 0; r < 3; ++r) v.receives(r, r + 1);
  EXPECT_FALSE(hangs(v));
}

TEST(Analysis, PartOfAJobHangs) {
  ViewOf v(5);
  v.receives(0, 1);
  v.receives(1, 0);
  v.receives(2, 3);  // which computes
  v.receives(4, 0);  // which hangs
  const Analysis a = analyse(v.view, limit);
  EXPECT_TRUE(a.is_stuck(0, 0) && a.is_stuck(1, 0) && a.is_stuck(4, 0));
  EXPECT_FALSE(a.is_stuck(2, 0));
}

TEST(Analysis, ARankThatHasLeftSendsNothing) {
  ViewOf v(2);
  v.receives(0, 1);
  v.rank(1).state = RankView::State::left;
  EXPECT_TRUE(hangs(v));
}

TEST(Analysis, AllOrOne) {
  ViewOf v(3);  // rank 2 computes
  v.receives(1, 0);
  Record& all = v.waits(0, "MPI_Waitall");
  v.needs(all, What::receive, 1);
  v.needs(all, What::receive, 2);
  EXPECT_TRUE(hangs(v));
  v.rank(0).threads[0].record.one_is_enough = 1;
  EXPECT_FALSE(hangs(v));
}

TEST(Analysis, OneOfMoreThanAreShown) {
  ViewOf v(3);  // rank 2 computes
  v.receives(1, 0);
  Record& any = v.waits(0, "MPI_Waitany");
  for (int i = 0; i < Record::needs_max; ++i) v.needs(any, What::receive, 1);
  any.one_is_enough = 1;
  EXPECT_TRUE(hangs(v));
  Record& more = v.rank(0).threads[0].record;
  more.needs_count += 2;
  EXPECT_FALSE(hangs(v));  // nothing is known of the ninth and the tenth
  more.rest.what = What::receive;
  more.rest.among = {0, 1, 2};  // from ranks 0 and 1
  EXPECT_TRUE(hangs(v));
  more.rest.among = {0, 1, 3};
  EXPECT_FALSE(hangs(v));
}

TEST(Analysis, AllOfMoreThanAreShown) {
  ViewOf v(4);  // ranks 1 and 3 compute
  v.receives(2, 0);
  Record& all = v.waits(0, "MPI_Waitall");
  for (int i = 0; i < Record::needs_max; ++i) v.needs(all, What::receive, 1);
  EXPECT_FALSE(hangs(v));
  Record& more = v.rank(0).threads[0].record;
  more.needs_count += 1;
  EXPECT_FALSE(hangs(v));
  more.rest.what = What::receive;
  more.rest.among = {2, 1, 1};
  EXPECT_TRUE(hangs(v));
  more.rest.among = {2, 1, 2};
  EXPECT_FALSE(hangs(v));
}

TEST(Analysis, AnySource) {
  ViewOf v(4);
  Need& need = v.receives(0, nobody).needs[0];
  need.among = {0, 2, 2};  // ranks 0 and 2
  v.receives(2, 0);
  EXPECT_TRUE(hangs(v));
  v.rank(0).threads[0].record.needs[0].among = {0, 1, 4};  // rank 1 computes
  EXPECT_FALSE(hangs(v));
  v.rank(0).threads[0].record.needs[0].among.count = 0;  // not known
  EXPECT_FALSE(hangs(v));
}

TEST(Analysis, ThreadsOfARank) {
  ViewOf v(2);
  v.receives(0, 1).multiple = 1;
  v.receives(1, 0);
  EXPECT_TRUE(hangs(v));
  v.rank(0).others_can_move = true;  // another thread of rank 0 may send
  EXPECT_FALSE(hangs(v));
  v.rank(0).threads[0].record.multiple = 0;  // it may not
  EXPECT_TRUE(hangs(v));
  v.rank(0).more_threads = true;  // waits that could not be noted
  EXPECT_FALSE(hangs(v));
}

TEST(Analysis, AThreadThatMayGoOnHelpsTheOthers) {
  ViewOf v(3);
  v.receives(0, 1).multiple = 1;
  v.receives(0, 2).multiple = 1;  // rank 2 computes
  v.receives(1, 0);
  EXPECT_FALSE(hangs(v));
  v.receives(2, 1);
  EXPECT_TRUE(hangs(v));
}

TEST(Analysis, WhatIsNotKnownMayCome) {
  ViewOf v(1);
  v.needs(v.waits(0, "MPI_Wait"), What::other, nobody);
  EXPECT_FALSE(hangs(v));
}

TEST(Analysis, AGeneralizedRequestNeedsAThreadThatMoves) {
  ViewOf v(2);
  v.needs(v.waits(0, "MPI_Wait"), What::program, 0);
  EXPECT_TRUE(hangs(v));
  v.receives(0, 1).multiple = 1;  // a second thread, which waits for rank 1, which computes
  v.rank(0).threads[0].record.multiple = 1;
  EXPECT_FALSE(hangs(v));
  v.receives(1, 0);
  EXPECT_TRUE(hangs(v));
  v.rank(0).others_can_move = true;
  EXPECT_FALSE(hangs(v));
}

}  // namespace
}  // namespace weft::hang
