// SPDX-License-Identifier: Apache-2.0
//
// The clients of PMI-1 and PMI-2 against a manager of the test; and against the one that started
// this process, if one did: mpiexec.hydra -n 3 weft_unit --gtest_filter='Manager.*'
#include "wireup/pmi.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <set>
#include <thread>

#include "unit/wireup/server.h"
#include "wireup/mapping.h"

namespace weft::wireup {
namespace {

using namespace std::string_literals;

std::string words(Err e) {
  const char* text = last_error_text(e.cls);
  return text != nullptr ? text : "";
}

std::unique_ptr<Manager> joined(const Server& server, int rank, int size, bool newest = false) {
  Result<std::unique_ptr<Manager>> made = join_pmi(server.fd(rank), {rank, size, "7"}, newest);
  EXPECT_TRUE(made) << words(made.err);
  return std::move(made.value);
}

/// What any manager has to do for a rank.
void exchange(Manager& manager) {
  const std::string own = "binary \0\n;= of "s + std::to_string(manager.rank());
  ASSERT_FALSE(manager.put("name", own));
  ASSERT_FALSE(manager.fence());
  for (int rank = 0; rank < manager.size(); ++rank) {
    const Result<std::string> got = manager.get(rank, "name");
    ASSERT_TRUE(got) << words(got.err);
    EXPECT_EQ(got.value, "binary \0\n;= of "s + std::to_string(rank));
  }
  const Result<std::vector<int>> nodes = manager.nodes();
  ASSERT_TRUE(nodes) << words(nodes.err);
  EXPECT_EQ(nodes.value.size(), static_cast<std::size_t>(manager.size()));
  ASSERT_FALSE(manager.fence());
  EXPECT_FALSE(manager.finalize());
}

class Pmi : public testing::TestWithParam<int> {
 protected:
  bool newest() const { return GetParam() == 2; }
};

TEST_P(Pmi, RanksReadWhatOthersPut) {
  constexpr int size = 3;
  Server server(size, "(vector,(0,1,3))");
  std::vector<std::thread> ranks;
  for (int r = 0; r < size; ++r)
    ranks.emplace_back([&, r] {
      const std::unique_ptr<Manager> manager = joined(server, r, size, newest());
      EXPECT_STREQ(manager->protocol(), newest() ? "PMI-2" : "PMI-1");
      EXPECT_EQ(manager->rank(), r);
      EXPECT_EQ(manager->size(), size);
      EXPECT_EQ(manager->appnum(), 2);
      EXPECT_EQ(manager->universe(), 16);
      exchange(*manager);
    });
  for (std::thread& rank : ranks) rank.join();
  EXPECT_EQ(server.finalized, size);
}

TEST_P(Pmi, WhatNobodyPutIsAnError) {
  Server server(1, "");
  const std::unique_ptr<Manager> manager = joined(server, 0, 1, newest());
  const Result<std::string> missing = manager->get(0, "other");
  ASSERT_FALSE(missing);
  EXPECT_NE(words(missing.err).find("the process manager"), std::string::npos);
  EXPECT_FALSE(manager->nodes());
}

TEST_P(Pmi, AUniverseWithoutBoundIsNotKnown) {
  Server server(1, "");
  server.universe = "-1";
  EXPECT_EQ(joined(server, 0, 1, newest())->universe(), 0);
}

TEST_P(Pmi, AbortTellsTheManager) {
  int code = 0;
  std::string message;
  {
    Server server(1, "");
    const std::unique_ptr<Manager> manager = joined(server, 0, 1, newest());
    manager->abort(7, "out of; luck");
    ASSERT_FALSE(manager->fence());  // answered after the abort was read
    code = server.abort_code;
    message = server.abort_message;
  }
  if (newest())
    EXPECT_EQ(message, "out of, luck");
  else
    EXPECT_EQ(code, 7);
}

INSTANTIATE_TEST_SUITE_P(Both, Pmi, testing::Values(1, 2));

TEST(PmiAlone, AManagerThatOnlySpeaksPmi2IsSpokenToInPmi2) {
  Server server(1, "", 2);
  EXPECT_STREQ(joined(server, 0, 1)->protocol(), "PMI-2");
}

TEST(PmiAlone, ValuesAreNotLongerThanTheManagerSays) {
  Server server(1, "");
  const std::unique_ptr<Manager> manager = joined(server, 0, 1);
  EXPECT_FALSE(manager->put("short", std::string(63, 'x')));
  EXPECT_TRUE(manager->put("long", std::string(64, 'x')));
}

TEST(PmiAlone, IdentifyLearnsRankAndSize) {
  Server server(1, "");
  const Result<Identity> who = identify(server.fd(0), 3);
  ASSERT_TRUE(who) << words(who.err);
  EXPECT_EQ(who.value.rank, 3);
  EXPECT_EQ(who.value.size, 4);
}

TEST(PmiAlone, ALostManagerIsAnError) {
  int ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
  close(ends[0]);
  const auto made = join_pmi(ends[1], {});
  ASSERT_FALSE(made);
  EXPECT_NE(words(made.err).find("process manager"), std::string::npos);
  close(ends[1]);
}

TEST(PmiAlone, ARankThatIsNoneIsAnError) {
  Server server(1, "");
  const auto made = join_pmi(server.fd(0), {3, 2, ""});
  ASSERT_FALSE(made);
  EXPECT_EQ(words(made.err), "the process manager says rank 3 of 2 (PMI-1)");
}

TEST(Mapping, NamesTheNodeOfEachRank) {
  const auto nodes = [](const char* mapping, int size) {
    return nodes_of_mapping(mapping, size).value;
  };
  using Nodes = std::vector<int>;
  EXPECT_EQ(nodes("(vector,(0,1,8))", 3), (Nodes{0, 0, 0}));
  EXPECT_EQ(nodes("(vector,(0,3,2))", 6), (Nodes{0, 0, 1, 1, 2, 2}));
  EXPECT_EQ(nodes("(vector,(0,3,2))", 3), (Nodes{0, 0, 1}));
  EXPECT_EQ(nodes("(vector,(0,1,2),(1,1,1))", 3), (Nodes{0, 0, 1}));
  EXPECT_EQ(nodes("(vector,(0,2,1))", 4), (Nodes{0, 1, 0, 1}));  // and round again
  EXPECT_EQ(nodes("(vector,[(0,2,1)]x2)", 4), (Nodes{0, 1, 0, 1}));
  EXPECT_EQ(nodes("(vector,[(0,2,1),(3,1,1)]x2,(4,1,9))", 8), (Nodes{0, 1, 3, 0, 1, 3, 4, 4}));
  EXPECT_EQ(nodes("(vector,[[(0,1,1)]x2,(1,1,1)]x1000000)", 7), (Nodes{0, 0, 1, 0, 0, 1, 0}));
  for (const char* bad : {"", "(vector,(0,1,0))", "(vector,)", "(block,(0,1,1))", "(vector,(0,1,1)",
                          "(vector,[(0,1,1)]x", "(vector,[(0,1,1)"})
    EXPECT_FALSE(nodes_of_mapping(bad, 4)) << bad;
}

TEST(Manager, OfThisProcess) {
  Result<std::unique_ptr<Manager>> made = join_manager();
  ASSERT_TRUE(made) << words(made.err);
  if (made.value == nullptr) GTEST_SKIP() << "nobody started this process as a rank";
  std::printf("%s: rank %d of %d, program %d\n", made.value->protocol(), made.value->rank(),
              made.value->size(), made.value->appnum());
  exchange(*made.value);
}

TEST(Manager, OfThisProcessByPmi2) {
  const char* fd = std::getenv("PMI_FD");
  if (fd == nullptr) GTEST_SKIP() << "nobody started this process as a rank of PMI";
  const char* job = std::getenv("PMI_JOBID");
  Result<std::unique_ptr<Manager>> made = join_pmi(
      std::atoi(fd), {std::atoi(std::getenv("PMI_RANK")), 1, job != nullptr ? job : ""}, true);
  ASSERT_TRUE(made) << words(made.err);
  std::printf("%s: rank %d of %d, program %d\n", made.value->protocol(), made.value->rank(),
              made.value->size(), made.value->appnum());
  exchange(*made.value);
}

}  // namespace
}  // namespace weft::wireup
