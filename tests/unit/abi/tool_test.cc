// SPDX-License-Identifier: Apache-2.0
// Performance variables: a handle counts from start to stop; wrong handles are told from right
// ones.
#include "abi/tool.h"

#include "unit/world/ranks.h"

namespace weft::abi::tool {
namespace {

class Tools : public testing::Test {
 protected:
  Tools() {
    int provided = 0;
    EXPECT_FALSE(init(rank, MPI_THREAD_SINGLE, &provided));
    EXPECT_FALSE(pvar_session_create(rank, &session));
    int count = 0, index = -1;
    EXPECT_FALSE(pvar_index(rank, "messages_sent", MPI_T_PVAR_CLASS_COUNTER, &index));
    EXPECT_FALSE(pvar_alloc(rank, session, index, &handle, &count));
    EXPECT_EQ(count, 1);
  }
  long read(MPI_T_pvar_handle of) {
    std::uint64_t value = 999;
    EXPECT_FALSE(pvar_read(rank, session, of, &value));
    return static_cast<long>(value);
  }

  Rank rank;
  MPI_T_pvar_session session = nullptr;
  MPI_T_pvar_handle handle = nullptr;
};

TEST_F(Tools, HandlesCountWhileTheyRun) {
  rank.counters.messages_sent = 100;
  EXPECT_EQ(read(handle), 0);
  ASSERT_FALSE(pvar_start(rank, session, handle));
  rank.counters.messages_sent += 5;
  EXPECT_EQ(read(handle), 5);
  ASSERT_FALSE(pvar_start(rank, session, handle));  // again: no effect
  rank.counters.messages_sent += 1;
  ASSERT_FALSE(pvar_stop(rank, session, handle));
  rank.counters.messages_sent += 50;
  EXPECT_EQ(read(handle), 6);
  ASSERT_FALSE(pvar_start(rank, session, MPI_T_PVAR_ALL_HANDLES));
  rank.counters.messages_sent += 4;
  std::uint64_t value = 0;
  ASSERT_FALSE(pvar_readreset(rank, session, handle, &value));
  EXPECT_EQ(value, 10u);
  rank.counters.messages_sent += 2;
  EXPECT_EQ(read(handle), 2);
  value = 1000;
  ASSERT_FALSE(pvar_write(rank, session, handle, &value));
  rank.counters.messages_sent += 3;
  EXPECT_EQ(read(handle), 1003);
  ASSERT_FALSE(pvar_reset(rank, session, handle));
  EXPECT_EQ(read(handle), 0);
}

TEST_F(Tools, HighWaterMarksAreReadOnly) {
  int index = -1, count = 0;
  ASSERT_FALSE(pvar_index(rank, "unexpected_peak_bytes", MPI_T_PVAR_CLASS_HIGHWATERMARK, &index));
  MPI_T_pvar_handle mark = nullptr;
  ASSERT_FALSE(pvar_alloc(rank, session, index, &mark, &count));
  rank.counters.unexpected_peak_bytes = 77;
  std::uint64_t value = 0;
  EXPECT_EQ(read(mark), 77);
  EXPECT_EQ(pvar_start(rank, session, mark).cls, MPI_T_ERR_PVAR_NO_STARTSTOP);
  EXPECT_EQ(pvar_stop(rank, session, mark).cls, MPI_T_ERR_PVAR_NO_STARTSTOP);
  EXPECT_EQ(pvar_reset(rank, session, mark).cls, MPI_T_ERR_PVAR_NO_WRITE);
  EXPECT_EQ(pvar_write(rank, session, mark, &value).cls, MPI_T_ERR_PVAR_NO_WRITE);
  EXPECT_EQ(pvar_readreset(rank, session, mark, &value).cls, MPI_T_ERR_PVAR_NO_ATOMIC);
  EXPECT_FALSE(pvar_start(rank, session, MPI_T_PVAR_ALL_HANDLES)) << "marks are left alone";
}

TEST_F(Tools, WrongHandlesAndSessionsAreRefused) {
  std::uint64_t value = 0;
  MPI_T_pvar_session other = nullptr;
  ASSERT_FALSE(pvar_session_create(rank, &other));
  EXPECT_EQ(pvar_read(rank, other, handle, &value).cls, MPI_T_ERR_INVALID_HANDLE)
      << "of another session";
  const auto garbage = reinterpret_cast<MPI_T_pvar_handle>(&value);
  EXPECT_EQ(pvar_read(rank, session, garbage, &value).cls, MPI_T_ERR_INVALID_HANDLE);
  MPI_T_pvar_handle copy = handle;
  ASSERT_FALSE(pvar_free(rank, session, &handle));
  EXPECT_EQ(handle, MPI_T_PVAR_HANDLE_NULL);
  EXPECT_EQ(pvar_free(rank, session, &copy).cls, MPI_T_ERR_INVALID_HANDLE) << "freed twice";
  MPI_T_pvar_session gone = other;
  ASSERT_FALSE(pvar_session_free(rank, &other));
  EXPECT_EQ(pvar_session_free(rank, &gone).cls, MPI_T_ERR_INVALID_SESSION) << "freed twice";
  EXPECT_EQ(rank.store.tools.sessions.live(), 1u);
  EXPECT_EQ(rank.store.tools.pvars.live(), 0u);
}

}  // namespace
}  // namespace weft::abi::tool
