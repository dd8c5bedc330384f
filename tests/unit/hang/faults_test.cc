// SPDX-License-Identifier: Apache-2.0
//
// What tests/launch/hang does not show: the sentences for rarer faults.
#include "hang/faults.h"

#include <gtest/gtest.h>

#include "hang/report.h"
#include "unit/hang/view_of.h"

namespace weft::hang {
namespace {

using Sentences = std::vector<std::string>;

Sentences faults(const ViewOf& v) {
  return find_faults(v.view, analyse(v.view, limit));
}

bool never_says(const ViewOf& v, const char* part) {
  for (const std::string& sentence : faults(v))
    if (sentence.find(part) != sentence.npos) {
      ADD_FAILURE() << sentence;
      return false;
    }
  return true;
}

bool says(const ViewOf& v, const char* part) {
  for (const std::string& sentence : faults(v))
    if (sentence.find(part) != sentence.npos) return true;
  std::string all;
  for (const std::string& sentence : faults(v)) all += sentence + "\n";
  ADD_FAILURE() << all;
  return false;
}

TEST(Faults, WrongSource) {
  ViewOf v(3);
  v.keeps(v.receives(0, 1, 5), 2, 5);
  v.receives(1, 0);
  v.receives(2, 0);
  EXPECT_TRUE(says(v,
                   "rank 0 waits for a message from rank 1, but the message with tag 5 came "
                   "from rank 2."));
}

TEST(Faults, AMismatchAndItsCircle) {
  ViewOf v(3);
  for (int r = 0; r < 3; ++r) v.receives(r, (r + 1) % 3, 5);
  v.keeps(v.rank(0).threads[0].record, 1, 6);
  EXPECT_EQ(faults(v).size(), 2U);
  EXPECT_TRUE(says(v, "rank 0 waits for a message with tag 5, but"));
  EXPECT_TRUE(says(v, "That is why ranks 0 -> 1 -> 2 -> 0 wait for each other in a circle."));
  v.rank(1).threads.clear();
  v.rank(1).state = RankView::State::left;
  EXPECT_EQ(faults(v).size(), 1U);
}

TEST(Faults, ManyMismatches) {
  ViewOf v(100);
  for (int r = 0; r < 100; ++r) v.keeps(v.receives(r, (r + 1) % 100, 5), (r + 1) % 100, 6);
  EXPECT_EQ(faults(v).size(), 8U);
  EXPECT_TRUE(says(v, "94 more receives do not match what was sent."));
}

TEST(Faults, ReceiveFromItself) {
  ViewOf v(1);
  v.receives(0, 0);
  EXPECT_TRUE(says(v, "rank 0 waits for a message from itself, but has not sent one."));
}

TEST(Faults, SendToOneThatFinished) {
  ViewOf v(2);
  v.sends(0, 1, 9);
  v.rank(1).state = RankView::State::left;
  EXPECT_TRUE(says(v,
                   "rank 0 waits until rank 1 receives its message (tag 9), but rank 1 has "
                   "finished and receives nothing any more."));
}

TEST(Faults, SeveralRanksMissing) {
  ViewOf v(4);
  v.meets(0, "MPI_Allreduce", {1, 2, 3});
  v.meets(3, "MPI_Allreduce", {1, 2});
  v.receives(1, 2);
  v.receives(2, 1);
  EXPECT_TRUE(
      says(v,
           "MPI_Allreduce on MPI_COMM_WORLD needs all its ranks, but ranks 1 and 2 have not "
           "called it: they wait in MPI_Recv."));
}

TEST(Faults, ANonblockingCollectiveWasCalled) {
  ViewOf v(2);
  v.waits_for_collective(0, "MPI_Ibarrier", 7, {1});
  ViewOf::has_begun(v.receives(1, 0), 8);
  EXPECT_TRUE(never_says(v, "not called"));
  v.rank(1).threads[0].record.begun[0].operations = 7;
  EXPECT_TRUE(says(v,
                   "MPI_Ibarrier on MPI_COMM_WORLD needs all its ranks, but rank 1 has not called "
                   "it: it waits in MPI_Recv for a message from rank 0"));
}

// Rank 0 waits for rank 1, which has called it and waits, there, for rank 2.
TEST(Faults, AThirdRankIsMissing) {
  ViewOf v(3);
  v.waits_for_collective(0, "MPI_Ibarrier", 7, {1});
  ViewOf::has_begun(v.receives(1, 0), 8);
  ViewOf::has_begun(v.receives(2, 0), 7);
  EXPECT_TRUE(says(v, "MPI_Ibarrier on MPI_COMM_WORLD needs all its ranks, but rank 2 has not "));
  v.rank(2).threads[0].record.begun_count = 0;  // not known
  EXPECT_TRUE(never_says(v, "not called"));
}

TEST(Faults, APersistentCollectiveMayNotBeStarted) {
  ViewOf v(4);
  v.waits_for_collective(0, "MPI_Bcast_init", 7, {1, 2});
  v.waits_for_collective(3, "MPI_Bcast_init", 7, {0});
  for (const int r : {1, 2}) ViewOf::has_begun(v.receives(r, 0), 8);
  EXPECT_TRUE(says(v,
                   "MPI_Bcast_init on MPI_COMM_WORLD needs all its ranks, but ranks 1 and 2 do not "
                   "wait for it (was it started there?): they wait in MPI_Recv."));
}

TEST(Faults, AGeneralizedRequest) {
  ViewOf v(2);
  v.needs(v.waits(0, "MPI_Waitall"), What::program, 0);
  v.receives(1, 0);
  EXPECT_TRUE(says(v, "rank 0 waits in MPI_Waitall for a generalized request, but none of its "));
}

TEST(Faults, CollectivesOfDifferentNumber) {
  ViewOf v(4);
  v.meets(0, "MPI_Finalize", {2, 3});
  v.meets(1, "MPI_Finalize", {2, 3});
  v.rank(2).state = v.rank(3).state = RankView::State::left;
  EXPECT_TRUE(says(v,
                   "MPI_Finalize needs all its ranks, but ranks 2 and 3 have finished: ranks 0 "
                   "and 1 called more collectives than they."));
}

TEST(Faults, DifferentRoots) {
  ViewOf v(2);
  v.meets(0, "MPI_Bcast", {1});
  v.meets(1, "MPI_Bcast", {0});
  EXPECT_TRUE(says(v, "all who wait in MPI_Bcast on MPI_COMM_WORLD wait for each other"));
}

TEST(Faults, WaitsForNonblockingCollectivesAreNoDifferentCalls) {
  ViewOf v(3);
  v.waits_for_collective(0, "MPI_Ibcast", 4, {2});
  v.waits_for_collective(1, "MPI_Ibarrier", 5, {2});
  v.meets(2, "MPI_Finalize", {0, 1});
  EXPECT_EQ(faults(v), (Sentences{"MPI_Ibcast on MPI_COMM_WORLD needs all its ranks, but rank 2 "
                                  "has not called it: it is in MPI_Finalize.",
                                  "MPI_Ibarrier on MPI_COMM_WORLD needs all its ranks, but rank 2 "
                                  "has not called it: it is in MPI_Finalize."}));
}

TEST(Faults, ButTheSameOneMustBeTheSame) {
  ViewOf v(2);
  v.waits_for_collective(0, "MPI_Ibcast", 4, {1});
  v.waits_for_collective(1, "MPI_Ibarrier", 4, {0});
  EXPECT_TRUE(says(v, "different collectives: rank 0 in MPI_Ibcast, rank 1 in MPI_Ibarrier."));
}

TEST(Faults, AnyRank) {
  ViewOf v(2);
  v.receives(0, nobody);
  v.receives(1, nobody);
  EXPECT_TRUE(says(v, "ranks 0 and 1 wait for a message from any rank of MPI_COMM_WORLD"));
}

TEST(Faults, MixedCircle) {
  ViewOf v(2);
  v.receives(0, 1);
  v.sends(1, 0);
  EXPECT_TRUE(
      says(v, "ranks 0 and 1 wait for each other: none can go on before another one does."));
}

TEST(Report, RanksThatDoTheSameShareALine) {
  ViewOf v(1000);
  for (int r = 0; r < 1000; ++r)
    if (r != 500) v.meets(r, "MPI_Barrier", {500});
  v.rank(500).state = RankView::State::left;
  const std::string text = hang_report(v.view, analyse(v.view, limit),
                                       [](std::int32_t, std::uint64_t) { return "main (a.c:7)"; });
  EXPECT_EQ(
      text,
      "weft: the job hangs: for 20 s ranks 0-499 and 501-999 have been waiting for what cannot "
      "come\n"
      "  What is wrong:\n"
      "    MPI_Barrier on MPI_COMM_WORLD needs all its ranks, but rank 500 has finished: "
      "ranks 0-499 and 501-999 called more collectives than it.\n"
      "  Who waits for what:\n"
      "    ranks 0-499 and 501-999 wait in MPI_Barrier on MPI_COMM_WORLD, called in main "
      "(a.c:7) 20 s ago, for rank 500\n"
      "    rank 500 has finished");
}

}  // namespace
}  // namespace weft::hang
