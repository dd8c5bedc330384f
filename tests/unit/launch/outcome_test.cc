// SPDX-License-Identifier: Apache-2.0
//
// What the end of a process means: every rule of judge(), on a job segment without processes.
#include "launch/outcome.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <stdio.h>

#include <memory>

#include "hang/absence.h"

namespace weft::launch {
namespace {

using memory::RankState;

constexpr int exited(int code) {
  return code << 8;
}
constexpr int killed(int signal) {
  return signal;
}

class OutcomeTest : public testing::Test {
 protected:
  void SetUp() override {
    Result<memory::Job*> made = memory::Job::create(4, 2, Params::from_env(false));
    ASSERT_TRUE(made);
    job.reset(made.value);
  }
  void set_all(RankState state) {
    for (int r = 0; r < 4; ++r) job->entry(r).state.store(state);
  }
  Outcome end_of(int rank, int status, bool others_running = true) {
    return judge(*job, {rank, 1, 123, "./app", status, others_running, ""});
  }
  std::unique_ptr<memory::Job> job;
};

TEST_F(OutcomeTest, ProgramsWithoutMpiMayEndAtAnyTime) {
  const Outcome o = end_of(1, exited(0));
  EXPECT_FALSE(o.end_job);
  EXPECT_EQ(o.exit_code, 0);
  EXPECT_EQ(o.message, "");
}

TEST_F(OutcomeTest, ARankWithoutMpiInitAmongOthersThatCalledItEndsTheJob) {
  job->entry(2).state.store(RankState::initialized);
  const Outcome o = end_of(1, exited(0));
  EXPECT_TRUE(o.end_job);
  EXPECT_EQ(o.exit_code, 1);
  EXPECT_EQ(
      o.message,
      "weft: rank 1 of 4 ended without calling MPI_Init, which rank 2 has called; all ranks of a "
      "job must call it (./app, pid 123)");
}

TEST_F(OutcomeTest, ALaterMpiInitFindsOutWhoHasLeft) {
  EXPECT_EQ(hang::absence(*job, 0), "");
  EXPECT_FALSE(end_of(1, exited(0)).end_job);
  EXPECT_FALSE(end_of(3, exited(0)).end_job);
  EXPECT_EQ(hang::absence(*job, 0), "");
  job->entry(0).state.store(RankState::initialized);
  job->entry(2).state.store(RankState::initialized);
  EXPECT_EQ(
      hang::absence(*job, 0),
      "weft: ranks 1 and 3 of 4 ended without calling MPI_Init, which ranks 0 and 2 have called; "
      "all ranks of a job must call it");
}

TEST_F(OutcomeTest, ASignalEndsTheJob) {
  set_all(RankState::initialized);
  const Outcome o = end_of(1, killed(SIGSEGV));
  EXPECT_TRUE(o.end_job);
  EXPECT_EQ(o.exit_code, 128 + SIGSEGV);
  EXPECT_EQ(o.message,
            "weft: rank 1 of 4 (./app, pid 123) was killed by signal 11 (Segmentation fault)");
}

TEST_F(OutcomeTest, ASignalAfterFinalizeIsStillAFailure) {
  set_all(RankState::finalized);
  EXPECT_EQ(end_of(0, killed(SIGABRT), false).exit_code, 128 + SIGABRT);
}

TEST_F(OutcomeTest, AnExitBeforeFinalizeEndsTheJob) {
  set_all(RankState::initialized);
  Outcome o = end_of(2, exited(0));
  EXPECT_TRUE(o.end_job);
  EXPECT_EQ(o.exit_code, 1);
  EXPECT_EQ(o.message,
            "weft: rank 2 of 4 (./app, pid 123) exited with code 0 before it called MPI_Finalize");
  o = end_of(2, exited(9), false);
  EXPECT_TRUE(o.end_job);
  EXPECT_EQ(o.exit_code, 9);
}

TEST_F(OutcomeTest, TheLastRankMayLeaveOutFinalize) {
  set_all(RankState::initialized);
  const Outcome o = end_of(0, exited(0), false);
  EXPECT_FALSE(o.end_job);
  EXPECT_EQ(o.exit_code, 0);
}

TEST_F(OutcomeTest, ACodeAfterFinalizeIsKeptButEndsNothing) {
  set_all(RankState::finalized);
  const Outcome o = end_of(3, exited(5));
  EXPECT_FALSE(o.end_job);
  EXPECT_EQ(o.exit_code, 5);
  EXPECT_EQ(o.message, "");
}

TEST_F(OutcomeTest, ACodeWithoutMpiEndsTheOthers) {
  const Outcome o = end_of(3, exited(5));
  EXPECT_TRUE(o.end_job);
  EXPECT_EQ(o.exit_code, 5);
  EXPECT_NE(o.message.find("rank 3 of 4"), std::string::npos);
  // Alone it is like in a shell: the code says it all.
  EXPECT_EQ(end_of(3, exited(5), false).message, "");
  EXPECT_EQ(end_of(3, exited(5), false).exit_code, 5);
}

TEST_F(OutcomeTest, AnAbortIsShownInTheRanksOwnWords) {
  set_all(RankState::initialized);
  memory::RankEntry& entry = job->entry(2);
  snprintf(job->message(2), sizeof(memory::Job::Message), "weft: rank 2: MPI_Abort with code 7\n");
  entry.abort_code.store(7);
  entry.aborted.store(1);
  const Outcome o = end_of(0, killed(SIGKILL));  // whoever is seen first
  EXPECT_TRUE(o.end_job);
  EXPECT_EQ(o.exit_code, 7);
  EXPECT_EQ(o.message, "weft: rank 2: MPI_Abort with code 7");
  EXPECT_EQ(end_of(2, exited(7)).message, "weft: rank 2: MPI_Abort with code 7 (./app, pid 123)");
}

TEST_F(OutcomeTest, AnAbortWithoutTextIsNamed) {
  job->entry(1).abort_code.store(256);
  job->entry(1).aborted.store(1);
  const Outcome o = end_of(1, exited(1));
  EXPECT_EQ(o.exit_code, 1);  // 256 would be success for a shell
  EXPECT_EQ(o.message, "weft: rank 1 of 4 (./app, pid 123) called MPI_Abort with code 256");
}

TEST_F(OutcomeTest, AnAbortTextWithoutEndIsBounded) {
  for (char& c : job->message(1)) c = 'x';
  job->entry(1).aborted.store(1);
  EXPECT_EQ(end_of(1, exited(1)).message.size(),
            sizeof(memory::Job::Message) + std::string("weft:  (./app, pid 123)").size());
}

TEST_F(OutcomeTest, AHostNamesTheRankThatDied) {
  set_all(RankState::initialized);
  const Ended host{0, 4, 123, "./app", killed(SIGSEGV), false, ""};
  EXPECT_EQ(judge(*job, host).message,
            "weft: the process of ranks 0-3 of 4 (./app, pid 123) was killed by signal 11 "
            "(Segmentation fault)");
  job->entry(2).signal.store(SIGFPE);
  const Outcome o = judge(*job, host);
  EXPECT_EQ(o.exit_code, 128 + SIGFPE);
  EXPECT_EQ(o.message,
            "weft: rank 2 of 4 (./app, pid 123) was killed by signal 8 (Floating point exception)");
}

}  // namespace
}  // namespace weft::launch
