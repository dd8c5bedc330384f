// SPDX-License-Identifier: Apache-2.0
//
// Ranks that another process manager started find one job segment: they are threads of this test,
// the manager a table that they share.
#include "world/join.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <algorithm>
#include <barrier>
#include <map>
#include <mutex>
#include <thread>

#include "base/cpus.h"

namespace weft::world {
namespace {

struct Table {
  explicit Table(int size) : barrier(size) {}
  std::mutex mutex;
  std::map<std::string, std::string> values;
  std::barrier<> barrier;
};

class TableManager final : public wireup::Manager {
 public:
  TableManager(Table& table, int rank, std::vector<int> nodes)
      : table_(table), nodes_(std::move(nodes)) {
    rank_ = rank;
    size_ = static_cast<int>(nodes_.size());
    appnum_ = 2;
  }
  const char* protocol() const override { return "a table"; }
  Err put(const std::string& key, const std::string& value) override {
    const std::lock_guard guard(table_.mutex);
    table_.values[std::to_string(rank_) + key] = value;
    return ok;
  }
  Err fence() override {
    table_.barrier.arrive_and_wait();
    return ok;
  }
  Result<std::string> get(int rank, const std::string& key) override {
    const std::lock_guard guard(table_.mutex);
    return table_.values.at(std::to_string(rank) + key);
  }
  Result<std::vector<int>> nodes() override { return nodes_; }
  Err finalize() override { return ok; }
  void abort(int, const std::string&) override {}

 private:
  Table& table_;
  std::vector<int> nodes_;
};

TEST(Join, RanksOfANodeShareOneSegment) {
  constexpr int size = 3;
  Table table(size);
  std::vector<Placement> places(size);
  std::vector<std::thread> ranks;
  for (int r = 0; r < size; ++r)
    ranks.emplace_back([&, r] {
      TableManager manager(table, r, {5, 5, 5});
      Result<Placement> joined = join_job(manager, Params::from_env(false));
      ASSERT_TRUE(joined) << last_error_text(joined.err.cls);
      places[static_cast<std::size_t>(r)] = joined.value;
    });
  for (std::thread& rank : ranks) rank.join();
  for (int r = 0; r < size; ++r) {
    const Placement& place = places[static_cast<std::size_t>(r)];
    EXPECT_EQ(place.first, r);
    EXPECT_EQ(place.count, 1);
    ASSERT_EQ(place.job->size(), size);
    EXPECT_EQ(place.job->entry(r).appnum, 2);
    place.job->entry(r).pid.store(100 + r);
  }
  for (const Placement& place : places)
    for (int r = 0; r < size; ++r) EXPECT_EQ(place.job->entry(r).pid.load(), 100 + r);
  for (const Placement& place : places) delete place.job;
}

TEST(Join, OneRankNeedsNoFence) {
  Table table(2);  // a fence would wait for somebody else
  TableManager manager(table, 0, {0});
  Result<Placement> joined = join_job(manager, Params::from_env(false));
  ASSERT_TRUE(joined);
  EXPECT_EQ(joined.value.job->size(), 1);
  delete joined.value.job;
}

TEST(Join, EachNodeHasASegment) {
  const std::vector<int> nodes = {7, 9, 7, 9};
  const int size = static_cast<int>(nodes.size());
  Table table(size);
  std::vector<memory::Job*> jobs(nodes.size());
  std::vector<std::thread> ranks;
  for (int r = 0; r < size; ++r)
    ranks.emplace_back([&, r] {
      TableManager manager(table, r, nodes);
      Result<Placement> joined = join_job(manager, Params::from_env(false));
      ASSERT_TRUE(joined) << last_error_text(joined.err.cls);
      jobs[static_cast<std::size_t>(r)] = joined.value.job;
    });
  for (std::thread& rank : ranks) rank.join();
  for (int r = 0; r < size; ++r) {
    memory::Job& job = *jobs[static_cast<std::size_t>(r)];
    EXPECT_EQ(job.nodes(), 2);
    EXPECT_EQ(job.node_of(r), r % 2);
    EXPECT_EQ(job.sharing(), size);  // both nodes are this machine
    job.entry(r).pid.store(100 + r);
  }
  for (int r = 0; r < size; ++r)
    for (int peer = 0; peer < size; ++peer)
      EXPECT_EQ(jobs[static_cast<std::size_t>(r)]->entry(peer).pid.load(),
                r % 2 == peer % 2 ? 100 + peer : 0);
  for (const memory::Job* job : jobs) delete job;
}

/// As Hydra's -bind-to core, PRRTE, and Slurm do. On one node, and on one for each rank.
TEST(Join, BoundRanksHaveTheCpusOfAll) {
  const std::vector<int> cpus = allowed_cpus();
  const int bound = static_cast<int>(std::min<std::size_t>(cpus.size(), 2));
  const int quota = cpu_quota(), most = quota > 0 ? std::min(bound, quota) : bound;
  for (const std::vector<int>& nodes : {std::vector{0, 0}, std::vector{0, 1}}) {
    Table table(2);
    std::vector<memory::Job*> jobs(2);
    std::vector<std::thread> ranks;
    for (int r = 0; r < 2; ++r)
      ranks.emplace_back([&, r] {
        cpu_set_t one;
        CPU_ZERO(&one);
        CPU_SET(static_cast<std::size_t>(cpus[static_cast<std::size_t>(r % bound)]), &one);
        ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
        TableManager manager(table, r, nodes);
        Result<Placement> joined = join_job(manager, Params::from_env(false));
        ASSERT_TRUE(joined) << last_error_text(joined.err.cls);
        jobs[static_cast<std::size_t>(r)] = joined.value.job;
      });
    for (std::thread& rank : ranks) rank.join();
    const bool is_one_node = nodes[1] == 0;
    for (const memory::Job* job : jobs) {
      EXPECT_EQ(job->cpus(), is_one_node ? most : 1);
      EXPECT_EQ(job->sharing(), is_one_node || bound == 1 ? 2 : 1);
      delete job;
    }
  }
}

}  // namespace
}  // namespace weft::world
