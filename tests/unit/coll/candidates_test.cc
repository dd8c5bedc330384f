// SPDX-License-Identifier: Apache-2.0
//
// What `weft explain` knows: costs of the shared ways against sums by hand, and which way is taken,
// as tables of sizes.
#include "coll/candidates.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "coll/choose.h"

namespace weft::coll {
namespace {

using model::Machine;

Machine machine(int inside, int parts) {
  Machine x;
  x.levels = parts > 1 ? 2 : 1;
  x.level[0] = {"L3Cache", 50e-9, 4e-9, 1e-9};
  x.level[1] = {"Machine", 180e-9, 10e-9, 3e-9};
  x.fan[0] = inside;
  x.fan[1] = parts;
  x.copy = 1e-9;
  x.reduce = 2e-9;
  x.call = 50e-9;
  x.message = 100e-9;
  return x;
}

Setting setting(Call call, std::int64_t bytes, bool threads = false) {
  return {.call = call, .bytes = bytes, .threads = threads, .shared_max = 4096};
}

TEST(Candidates, TheChosenOneIsAmongThem) {
  for (const Call call : explained) {
    const std::string name(call_name(call));
    Setting s;
    ASSERT_TRUE(find_call(name, &s.call));
    for (const Machine& x : {machine(2, 1), machine(6, 2), machine(8, 4)})
      for (const bool threads : {false, true})
        for (const std::int64_t shared_max : {0, 4096})
          for (const std::int64_t bytes : {0, 8, 4096, 4097, 1 << 20}) {
            s.bytes = bytes;
            s.threads = threads;
            s.shared_max = shared_max;
            const Way* taken = &chosen(x, s);
            const auto all = candidates(x, s);
            EXPECT_TRUE(std::any_of(
                all.begin(), all.end(),
                [&](const Candidate& c) { return c.way == taken && c.cost.seconds() > 0; }))
                << name << " " << bytes << " " << taken->name;
          }
  }
}

/// "slots:0 strips:4097": what is taken from which size on.
std::string choices(const Machine& x, Setting s) {
  std::string text;
  for (const auto& range : model::ranges(0, 64 << 20, [&](std::int64_t bytes) {
         s.bytes = bytes;
         return std::string(chosen(x, s).name);
       }))
    text += (text.empty() ? "" : " ") + range.name + ":" + std::to_string(range.from_bytes);
  return text;
}

TEST(Candidates, ChoicesOverSize) {
  const Machine two = machine(2, 1), many = machine(8, 4);
  EXPECT_EQ(choices(two, setting(Call::allreduce, 0)), "slots:0 strips:2049");
  EXPECT_EQ(choices(two, setting(Call::allreduce, 0, true)), "slots:0 strips:2049");
  EXPECT_EQ(choices(two, setting(Call::bcast, 0, true)), "slots:0 pieces:2049");
  EXPECT_EQ(choices(two, setting(Call::alltoall, 0)), "slots:0 strips:1025");
  EXPECT_EQ(choices(two, setting(Call::alltoall, 0, true)), "slots:0 strips:1025");
  EXPECT_EQ(choices(many, setting(Call::scatter, 0)), "slots:0 pieces:129");
  EXPECT_EQ(choices(many, setting(Call::scan, 0)), "slots:0 pieces:1");
  EXPECT_EQ(choices(two, setting(Call::scan, 0)), "slots:0 pieces:2049");
  // Trees pay on one level for the root of many.
  const Machine flat = machine(16, 1);
  EXPECT_EQ(choices(flat, setting(Call::reduce, 0)),
            "slots:0 tree:4097 tiled_hierarchical:16385 tree:131073");
  EXPECT_EQ(choices(flat, setting(Call::allreduce, 0)), "slots:0 strips:4097");
  EXPECT_EQ(choices(machine(8, 1), setting(Call::reduce, 0)), "slots:0 strips:2049");
  Setting messages = setting(Call::allreduce, 0);
  messages.shared_max = 0;
  EXPECT_EQ(choices(many, messages), "recursive_doubling:0 rabenseifner:2049");
  messages.call = Call::scatter;
  EXPECT_EQ(choices(many, messages), "binomial:0 linear:65");
  messages.call = Call::allreduce;
  messages.commutative = false;
  EXPECT_EQ(choices(many, messages), "recursive_doubling:0 ordered:16385");
}

TEST(Candidates, TheCheapestIsTaken) {
  for (const Machine& x : {machine(8, 1), machine(4, 2)})
    for (const Call call : {Call::bcast, Call::reduce, Call::allreduce, Call::gather, Call::scatter,
                            Call::allgather, Call::alltoall, Call::reduce_scatter, Call::scan})
      for (const bool threads : {false, true})
        for (std::int64_t bytes = 8192; bytes <= 1 << 24; bytes *= 2) {
          const Setting s = setting(call, bytes, threads);
          const Way& taken = chosen(x, s);
          double best = 1e9, cost = 0;
          for (const Candidate& c : candidates(x, s)) {
            if (c.way->place == Place::direct || c.way->place == Place::block)
              best = std::min(best, c.cost.seconds());
            if (c.way == &taken) cost = c.cost.seconds();
          }
          // Along the levels only if that is much better than through the block.
          if (taken.place == Place::board) {
            EXPECT_GT(x.levels, 1);
            EXPECT_LT(cost, 0.8 * best) << call_name(call) << " " << bytes;
          } else {
            EXPECT_EQ(cost, best) << call_name(call) << " " << bytes;
          }
          // Sizes between two powers of two go as the next one.
          EXPECT_EQ(&chosen(x, setting(call, bytes - bytes / 4, threads)), &taken);
        }
}

TEST(Candidates, MoreRanksThanCpusPayForTurns) {
  Machine x = machine(8, 1);
  Setting s = setting(Call::allreduce, 1 << 20, true);
  const auto cost = [&](const char* name) {
    for (const Candidate& c : candidates(x, s))
      if (std::strcmp(c.name(), name) == 0) return c.cost;
    return model::Prediction();
  };
  const auto us = [&](const char* name) { return cost(name).seconds() * 1e6; };
  const auto on = [&](int cpus, const char* name) {
    x.cpus = cpus;
    return us(name);
  };
  // What all do at once is done p/CPUs times in a row.
  const double more = on(2, "direct") - on(4, "direct");
  EXPECT_GT(more, 0);
  EXPECT_NEAR(on(1, "direct") - on(2, "direct"), 2 * more, 1e-6);
  // Each of 2 meetings (of 4 strips: one for each, and one more) lets 8 ranks on 2 CPUs run.
  const double direct = on(2, "direct"), strips = on(2, "strips");
  x.turn = 1e-6;
  EXPECT_NEAR(us("direct"), direct + 2 * 4, 1e-6);
  EXPECT_NEAR(us("strips"), strips + 5 * 4, 1e-6);
}

TEST(Candidates, WaysThatAreAskedFor) {
  const Machine x = machine(4, 2);
  const auto way = [&](Call call, const char* asked, std::int64_t bytes, bool threads = false) {
    Setting s = setting(call, bytes, threads);
    s.asked = asked;
    return std::string(chosen(x, s).name);
  };
  EXPECT_EQ(way(Call::bcast, "binomial", 8), "binomial");
  EXPECT_EQ(way(Call::bcast, "pieces", 8), "pieces");
  EXPECT_EQ(way(Call::bcast, "direct", 8, true), "direct");
  EXPECT_EQ(way(Call::bcast, "direct", 8), "slots") << "processes do not reach each other";
  EXPECT_EQ(way(Call::bcast, "slots", 1 << 20), "pieces") << "a slot does not hold it";
  EXPECT_EQ(way(Call::allreduce, "rabenseifner", 8), "rabenseifner");
  EXPECT_EQ(way(Call::barrier, "dissemination", 0), "dissemination");
  EXPECT_EQ(way(Call::scan, "recursive_doubling", 8), "recursive_doubling");
}

std::string by_messages(Case c) {
  Choices choices{.machine = machine(8, 1)};
  c.boards = false;
  return choose(choices, c).name;
}

TEST(Choose, TakesWhatIsAskedForIfItIsLegal) {
  const Way* rabenseifner = find_way(Call::allreduce, "rabenseifner");
  const Way* bruck = find_way(Call::allgather, "bruck");
  EXPECT_EQ(by_messages({.call = Call::allreduce, .bytes = 8, .asked = rabenseifner}),
            "rabenseifner");
  EXPECT_NE(
      by_messages(
          {.call = Call::allreduce, .bytes = 1 << 20, .commutative = false, .asked = rabenseifner}),
      "rabenseifner");
  EXPECT_EQ(by_messages({.call = Call::allgather, .bytes = 1 << 20, .asked = bruck}), "bruck");
  EXPECT_EQ(
      by_messages({.call = Call::allgatherv, .bytes = 1 << 20, .uniform = false, .asked = bruck}),
      "ring");
  EXPECT_EQ(find_way(Call::gather, "ring"), nullptr);
}

TEST(Choose, ReproducibleReductionsGoInTheOrderOfRanks) {
  for (const Call call : {Call::reduce, Call::allreduce, Call::reduce_scatter, Call::scan,
                          Call::exscan, Call::reduce_scatter_block})
    for (const bool boards : {false, true})
      for (std::int64_t bytes = 8; bytes <= 1 << 22; bytes *= 8) {
        Choices choices{.machine = machine(8, 2)};
        const Case c{.call = call, .bytes = bytes, .reproducible = true, .boards = boards};
        EXPECT_TRUE(choose(choices, c).in_rank_order) << call_name(call) << " " << bytes;
      }
}

TEST(Ways, AreTheWordsOfTheirParameters) {
  for (const Call call : explained) {
    const ParamDef& def = way_parameter(call);
    EXPECT_EQ("coll." + std::string(call_name(call)), def.name);
    EXPECT_EQ(param_word(def, 0), "auto");
    EXPECT_EQ(static_cast<std::size_t>(def.max), ways_of(call).size()) << def.name;
    for (int i = 1; i <= def.max; ++i)
      EXPECT_EQ(param_word(def, i), ways_of(call)[static_cast<std::size_t>(i - 1)].name)
          << def.name;
    EXPECT_EQ(param_word(def, def.max + 1), "");
  }
}

TEST(Ways, EveryOneIsACandidate) {
  for (const Call call : explained) {
    const Setting s = setting(call, call == Call::barrier ? 0 : 8, true);
    const auto here = candidates(machine(2, 1), s);
    const auto across = candidates(model::machine_across(2, 2, {12e-6, 3e-6, 64e-9}), s);
    for (const Way& way : ways_of(call)) {
      const auto is_it = [&](const Candidate& c) { return c.way == &way; };
      const bool here_too = std::any_of(here.begin(), here.end(), is_it);
      EXPECT_EQ(here_too, way.place != Place::nodes) << call_name(call) << " " << way.name;
      const bool on_nodes = way.place == Place::nodes || way.place == Place::messages;
      EXPECT_EQ(std::any_of(across.begin(), across.end(), is_it), on_nodes) << way.name;
    }
  }
}

TEST(Candidates, RangesAreExact) {
  for (const std::int64_t border : {1, 2, 7, 4097, 1 << 20}) {
    const auto found = model::ranges(0, 64 << 20, [&](std::int64_t n) { return n >= border; });
    ASSERT_EQ(found.size(), 2U) << border;
    EXPECT_EQ(found[1].from_bytes, border);
  }
}

TEST(Candidates, UnknownNames) {
  Call call;
  EXPECT_FALSE(find_call("alreduce", &call));
  EXPECT_TRUE(find_call("scan", &call));
  EXPECT_EQ(call, Call::scan);
}

}  // namespace
}  // namespace weft::coll
