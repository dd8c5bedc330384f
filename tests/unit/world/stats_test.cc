// SPDX-License-Identifier: Apache-2.0
//
// The table of WEFT_STATS=1 from known counters.
#include "world/stats.h"

#include <gtest/gtest.h>

namespace weft::world {
namespace {

TEST(Stats, TableOfThreads) {
  Counters ranks[3];
  for (int r = 0; r < 3; ++r) {
    Counters& c = ranks[r];
    const auto n = static_cast<std::uint64_t>(r + 1);
    c.messages_received = 10 * n;
    c.polls = 25 * n;
    c.unexpected_peak_bytes = 100 * n;
    c.lock_taken = 200;
    c.lock_passed = 60;
    c.lock_passed_cluster = 50;
    c.lock_passed_far = 10;
    c.lock_longest_wait_ns = 7 * n;
    c.signals = 30;
    c.servers = 10;
    c.signals_in_vain = r == 0 ? 8 : 0;
    c.parks = 5;
    c.issue_ns = 1000000;
    c.sync_ns = 2700000;
    c.call_ns = 4000000;
  }
  EXPECT_EQ(stats_table(ranks), R"(weft: counters of 3 ranks
                                                     all   least of one         median    most of one
time in MPI calls [ms]                                12              4              4              4
  ISSUE: start, finish operations [%]                 25             25             25             25
  POLL: looks that found news [%]                      0              0              0              0
  EMPTY CS: looks that found none [%]                  0              0              0              0
  SYNC: lock, signal, between looks [%]            67.50          67.50          67.50          67.50
  together [%]                                     92.50          92.50          92.50          92.50
looks per message received                          2.50           2.50           2.50           2.50
lock: by the same thread again [%]                    70             70             70             70
lock: to a core of the same cache [%]                 25             25             25             25
lock: to one of the same NUMA domain [%]               0              0              0              0
lock: to another NUMA domain [%]                       5              5              5              5
lock: taken in vain [%]                                0              0              0              0
wake-ups of threads per completed wait              1.07           1.00           1.00           1.25
useless wake-ups per completed wait                 0.07           0.00           0.00           0.25
system calls: wait, wake, copy                        15              5              5              5
messages_received                                     60             10             20             30
unexpected_peak_bytes                                300            100            200            300
polls                                                150             25             50             75
parks                                                 15              5              5              5
lock_taken                                           600            200            200            200
lock_passed                                          180             60             60             60
lock_passed_cluster                                  150             50             50             50
lock_passed_far                                       30             10             10             10
lock_longest_wait_ns                                  21              7             14             21
signals                                               90             30             30             30
signals_in_vain                                        8              0              0              8
servers                                               30             10             10             10
)");
}

TEST(Stats, NothingCountedIsNotShown) {
  const Counters none[1];
  EXPECT_EQ(stats_table(none), R"(weft: counters of 1 rank
                                                     all   least of one         median    most of one
system calls: wait, wake, copy                         0              0              0              0
)");
}

}  // namespace
}  // namespace weft::world
