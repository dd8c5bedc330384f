// SPDX-License-Identifier: Apache-2.0
//
// Engines of several ranks in the test's process, without launcher.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "pt2pt/engine.h"
#include "unit/pt2pt/wires.h"

namespace weft::pt2pt {

inline const datatype::Type* byte_type() {
  return datatype::predefined(reinterpret_cast<std::uintptr_t>(MPI_BYTE));
}

struct TestContext {
  Counters counters;
  Engine engine;
  object::Comm comm;  // of all ranks
};

struct TestRank : TestContext {
  Contexts contexts;
  std::vector<std::unique_ptr<TestContext>> more;
  object::Group group;

  TestContext& context(int i) { return i == 0 ? *this : *more[static_cast<std::size_t>(i) - 1]; }
};

/// A job of `n` ranks in this process, each with `contexts` communication contexts; or, `apart`,
/// each on a node of its own.
struct TestJob {
  Params params;
  std::vector<std::unique_ptr<memory::Job>> jobs;  // of each node
  std::unique_ptr<Wires> wires;
  std::vector<std::unique_ptr<TestRank>> ranks;

  using Environment = std::vector<std::pair<const char*, const char*>>;
  TestJob(int n, bool multiple, Environment environment = {}, int contexts = 1,
          bool apart = false) {
    environment.insert(environment.begin(), {{"WEFT_SHM_RING_CELLS", "64"},
                                             {"WEFT_SHM_RING_BYTES", "32768"},
                                             {"WEFT_PT2PT_EAGER_MAX", "2048"}});
    for (const auto& [name, value] : environment) setenv(name, value, 1);
    params = Params::from_env(false);
    for (const auto& [name, value] : environment) unsetenv(name);
    std::vector<std::int32_t> node_of;
    if (apart) {
      wires = std::make_unique<Wires>(n);
      node_of.resize(static_cast<std::size_t>(n));
      std::iota(node_of.begin(), node_of.end(), 0);
    }
    for (int r = 0; r < n; ++r) {
      if (r == 0 || apart) {
        const Result<memory::Job*> made = memory::Job::create(n, 8, params, node_of);
        EXPECT_FALSE(made.err);
        jobs.emplace_back(made.value);
      }
      ranks.push_back(std::make_unique<TestRank>());
      TestRank& rank = *ranks.back();
      jobs.back()->entry(r).pid = getpid();
      rank.group.members.resize(static_cast<std::size_t>(n));
      std::iota(rank.group.members.begin(), rank.group.members.end(), 0);
      for (int i = 0; i < contexts; ++i) {
        if (i > 0) rank.more.push_back(std::make_unique<TestContext>());
        open(rank.context(i), rank, r);
        if (multiple) rank.context(i).engine.share();
      }
    }
  }

  /// Take the lock of a rank's context as an entry point does.
  template <class Body>
  void as(int rank, Body body, int context = 0) {
    TestContext& at = ranks[static_cast<std::size_t>(rank)]->context(context);
    at.engine.lock.hold();
    body(at.comm);
    leave_context(at.engine);
    at.engine.lock.release();
  }

 private:
  void open(TestContext& context, TestRank& rank, int number) {
    context.engine.open(*jobs.back(), number, params, context.counters, rank.contexts);
    if (wires != nullptr) context.engine.open(std::make_unique<TestNetwork>(*wires, number));
    context.comm.group = &rank.group;
    context.comm.rank = number;
    context.comm.context = 4 + 4 * static_cast<std::uint32_t>(context.engine.context);
    context.comm.engine = &context.engine;
    context.comm.refs = 1;
  }
};

}  // namespace weft::pt2pt
