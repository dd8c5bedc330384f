// SPDX-License-Identifier: Apache-2.0
//
// What one rank has found out is known to all others; who finds it is waited for, but not for ever.
#include "coll/ledger.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "coll/choose.h"
#include "coll/limits.h"
#include "model/machine.h"
#include "object/op.h"
#include "unit/coll/ranks.h"

namespace weft::coll {
namespace {

struct Room {
  alignas(64) std::uint64_t words[1024] = {};
  std::span<std::byte> bytes() { return std::as_writable_bytes(std::span(words)); }
};

TEST(Ledger, OneRankFindsForAll) {
  Room room;
  std::atomic<int> found = 0;
  std::vector<std::thread> ranks;
  for (int i = 0; i < 8; ++i)
    ranks.emplace_back([&] {
      const Ledger ledger(room.bytes());
      for (std::uint64_t name = 1; name <= 40; ++name)
        EXPECT_EQ(ledger.of(name * 0x9e3779b97f4a7c15,
                            [&] {
                              ++found;
                              std::this_thread::yield();
                              return 7 * name;
                            }),
                  7 * name);
    });
  for (std::thread& rank : ranks) rank.join();
  EXPECT_EQ(found, 40);
}

TEST(Ledger, WithoutRoomEveryRankFindsForItself) {
  Room room;
  int found = 0;
  const auto count = [&] { return static_cast<std::uint64_t>(++found); };
  for (std::uint64_t name = 1; name <= 1000; ++name) Ledger(room.bytes()).of(name, count);
  EXPECT_EQ(found, 1000);
  const int before = found;
  Ledger(room.bytes()).of(1, count);
  EXPECT_EQ(found, before);
  Ledger(room.bytes()).of(1000, count);
  Ledger().of(1, count);
  EXPECT_EQ(found, before + 2);
}

TEST(Ledger, WhoDiedFindingIsNotAwaitedForEver) {
  Room room;
  room.words[2 * 128] = 128;  // the name at its place, and no value
  const std::int64_t begin = now_ns();
  const Ledger ledger(room.bytes());
  EXPECT_EQ(ledger.of(128, [] { return std::uint64_t{5}; }), 5U);
  EXPECT_GE(now_ns() - begin, 1000 * std::int64_t{ledger_patience_us});
  EXPECT_EQ(ledger.of(128, [] { return std::uint64_t{6}; }), 5U);
}

TEST(Ledger, ChoicesComeFromIt) {
  Room room;
  const model::Machine x = model::machine_across(1, 8, {});
  const Case c{.call = Call::bcast, .bytes = 4096};
  Choices first{.machine = x, .ledger = Ledger(room.bytes())}, second = first;
  const Way& way = choose(first, c);
  const std::uint64_t number = static_cast<std::uint64_t>(&way - ways_of(c.call).data()) + 1;
  std::uint64_t* const value = std::find(room.words, room.words + 1024, number);
  ASSERT_NE(value, room.words + 1024);
  *value = number > 1 ? number - 1 : number + 1;
  EXPECT_NE(&choose(second, c), &way);
}

TEST(Ledger, RanksOfAJobShareOne) {
  std::atomic<int> names = 0;
  run_ranks(4, true, [&](Comm& comm) {
    std::vector<double> from(1 << 15), to(1 << 15);
    const object::Op& sum = *object::predefined_op(MPI_SUM);
    const auto& type = *datatype::predefined(reinterpret_cast<std::uintptr_t>(MPI_DOUBLE));
    EXPECT_FALSE(allreduce({from.data(), to.data(), 1 << 15, &type, &sum}, comm));
    EXPECT_FALSE(barrier(comm));
    if (comm.rank != 0) return;
    const auto bytes = comm.engine->job->findings();
    for (std::size_t at = 0; at < bytes.size(); at += 16) {
      std::uint64_t name = 0;
      std::memcpy(&name, &bytes[at], sizeof name);
      names += name != 0;
    }
  });
  EXPECT_EQ(names, 2);  // the way, and those close to it; of all ranks
}

// What is not in its name would be answered as if it were the same.
TEST(Ledger, NamesTellMachinesAndCallsApart) {
  Room room;
  const auto chosen = [&](const model::Machine& x, const Case& c) {
    Choices known{.machine = x, .ledger = Ledger(room.bytes())}, alone{.machine = x};
    const Way& way = choose(alone, c);
    EXPECT_EQ(&choose(known, c), &way);
    return &way;
  };
  const model::Network network{.latency = 12e-6, .gap = 3e-6, .line = 64e-9};
  for (const int nodes : {1, 2, 5})
    for (const int each : {2, 4, 16})
      for (const int cpus : {0, 1}) {
        model::Machine x = model::machine_across(nodes, each, network);
        x.cpus = cpus;
        for (const Call call : {Call::allreduce, Call::alltoall, Call::bcast})
          for (const std::int64_t bytes : {8, 8192, 1 << 20})
            for (const bool plain : {false, true})
              chosen(x, {.call = call,
                         .bytes = bytes,
                         .plain = plain,
                         .boards = nodes == 1,
                         .across = nodes > 1,
                         .rows = true,
                         .even = true,
                         .ranks = x.all_ranks(),
                         .most_here = each});
      }
}

}  // namespace
}  // namespace weft::coll
