// SPDX-License-Identifier: Apache-2.0
//
// Walked prices against the numbers that the paper prints, its equations, what was measured, and
// what real runs count.
#include "coll/walk.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <mutex>
#include <string>

#include "coll/choose.h"
#include "coll/state.h"
#include "model/equations.h"
#include "object/op.h"
#include "unit/coll/ranks.h"
#include "unit/model/paper_machines.h"
#include "unit/sanitizer.h"

namespace weft::coll {
namespace {

using model::Machine;
using namespace model::paper;

/// Seconds of the parts that the equations have: no software, no flags.
double in_equations(const model::Prediction& price) {
  double sum = 0;
  for (const model::Part& part : price.parts())
    for (const char* what : {"reading of others", "copies", "folds"})
      if (std::strcmp(part.what, what) == 0) sum += part.seconds;
  return sum;
}
double walked(const Machine& x, Call call, const char* way, double lines, bool reach = false) {
  const auto bytes = static_cast<std::int64_t>(lines * model::line_bytes);
  return in_equations(Walk(x).price(*find_way(call, way), call, bytes, reach));
}

// Through areas, weft copies twice more than the paper: a leaf its line, and the root the result.
TEST(Walk, OneLineTakesWhatThePaperPrints) {
  EXPECT_NEAR(walked(westmere_latencies(), Call::allreduce, "tree_one_stage", 1) / ns,
              306.7 + 2 * westmere_ns.Rl, 1e-6);
  EXPECT_NEAR(walked(magny_cours_latencies(), Call::allreduce, "tree", 1) / ns,
              608.4 + 2 * magny_cours_ns.Rl, 1e-6);
}

// Beside (4) what is copied into an area takes the lines back from who has read them, b each.
TEST(Walk, BroadcastsAreTheEquations) {
  for (const Machine& x : {westmere(), magny_cours()})
    for (const double m : {16.0, 256.0}) {
      const double back = x.top().b * m;
      const double one = walked(x, Call::bcast, "one_stage", m) - back;
      const double two = walked(x, Call::bcast, "two_stage", m) - 2 * back;
      EXPECT_NEAR(one, model::bcast_one_stage(x, m), 1e-3 * one) << m;
      EXPECT_NEAR(two, model::bcast_staged(x, m), 1e-3 * two) << m;
    }
}

// What weft does is not all in them: areas (b per line put there), and who begins first reads
// alone.
TEST(Walk, ReductionsAreNearTheEquations) {
  for (const Machine& x : {westmere(), magny_cours()})
    for (const double m : {16.0, 256.0}) {
      const double tree = walked(x, Call::reduce, "tree", m) / model::reduce_tree(x, 2, m);
      const double tiled =
          walked(x, Call::reduce, "tiled_hierarchical", m) / model::tiled_reduce(x, m);
      const double all =
          walked(x, Call::allreduce, "dissemination", m) / model::dissemination(x, m);
      for (const double ratio : {tree, tiled, all}) {
        EXPECT_GT(ratio, 0.87) << m;
        EXPECT_LT(ratio, 1.3) << m;
      }
    }
}

// Section 3.2: one stage on two sockets, two on four; binary trees; hierarchical tiles.
TEST(Walk, AgreesWithWhatThePaperSaysInWords) {
  for (const double m : {16.0, 256.0}) {
    EXPECT_LT(walked(westmere(), Call::bcast, "one_stage", m),
              walked(westmere(), Call::bcast, "two_stage", m));
    EXPECT_LT(walked(magny_cours(), Call::bcast, "two_stage", m),
              walked(magny_cours(), Call::bcast, "one_stage", m));
    for (const Machine& x : {westmere(), magny_cours()})
      EXPECT_LT(walked(x, Call::reduce, "tree", m), walked(x, Call::reduce, "tree_8", m));
    EXPECT_LT(walked(magny_cours(), Call::reduce, "tiled_hierarchical", m),
              walked(magny_cours(), Call::reduce, "tiled_naive", m));
  }
}

/// Two or more even parts, with prices of usual size.
Machine machine(int inside, int parts) {
  Machine x;
  x.levels = parts > 1 ? 2 : 1;
  x.level[0] = {"L3Cache", 60 * ns, 0.5 * ns, 0.25 * ns, 0, 1 * ns};
  x.level[1] = {"Package", 310 * ns, 2.5 * ns, 1 * ns, 0, 8 * ns};
  x.fan[0] = inside;
  x.fan[1] = parts;
  x.copy = 0.6 * ns;
  x.reduce = 0.7 * ns;
  x.call = 60 * ns;
  x.message = 200 * ns;
  x.step = 80 * ns;
  return x;
}

TEST(Walk, OneRankStandsForAllThatDoTheSame) {
  for (const Call call : explained)
    for (const Way& way : ways_of(call)) {
      if (!way.alike) continue;
      Way each = way;
      each.alike = false;
      for (const auto& [inside, parts] : {std::pair{24, 1}, {4, 8}, {16, 2}})
        for (const std::int64_t bytes : {64, 4096, 65536})
          for (const bool reach : {false, true}) {
            Walk walk(machine(inside, parts));
            const double one = walk.price(way, call, bytes, reach).seconds();
            const double all = walk.price(each, call, bytes, reach).seconds();
            // Of messages rank 0 hears from the far end in most rounds, others do not.
            const double most = way.place == Place::board ? 1.3 : 3;
            EXPECT_LT(std::abs(std::log(one / all)), std::log(most))
                << call_name(call) << " " << way.name << " " << inside << "x" << parts << " "
                << bytes;
          }
    }
}

TEST(Walk, EveryWayCostsMoreForMore) {
  for (const Machine& x : {machine(2, 1), machine(4, 2)})
    for (const Call call : explained)
      for (const Way& way : ways_of(call))
        for (std::int64_t bytes = 4096; call != Call::barrier && bytes < 1 << 22; bytes *= 4)
          for (const bool reach : {false, true}) {
            Walk walk(x);
            EXPECT_LT(walk.price(way, call, bytes, reach).seconds(),
                      walk.price(way, call, 4 * bytes, reach).seconds())
                << call_name(call) << " " << way.name << " " << bytes;
          }
}

// Direct / block between 2 threads on a 2-core EPYC whose cores are near or far, bench collectives,
// 2026-11-22; 16, 64, 256 KiB and 1 MiB of a vector or block.
struct Measured {
  Call call;
  double near[4], far[4];
};
constexpr Measured measured[] = {
    {Call::allgather, {1.13, 0.98, 0.81, 0.78}, {1.71, 1.27, 1.06, 0.91}},
    {Call::alltoall, {1.03, 0.90, 0.78, 0.82}, {1.59, 1.20, 1.00, 0.95}},
    {Call::gather, {1.00, 0.88, 0.87, 0.93}, {1.47, 1.22, 1.17, 0.84}},
    {Call::scatter, {1.08, 1.15, 1.06, 0.98}, {1.64, 1.40, 1.35, 0.97}},
    {Call::bcast, {1.16, 1.06, 1.01, 1.00}, {1.82, 1.39, 1.39, 1.25}},
    {Call::allreduce, {1.30, 0.86, 0.82, 0.75}, {2.12, 1.36, 1.15, 1.00}},
    {Call::reduce_scatter, {0.87, 0.82, 0.79, 0.86}, {1.00, 0.92, 0.83, 0.81}}};

TEST(Walk, DirectAndBlockAreToEachOtherAsMeasured) {
  Machine near = machine(2, 1), far = near;
  far.level[0] = {"NUMANode", 290 * ns, 1.7 * ns, 0.8 * ns, 0, 7 * ns};
  near.memory = far.memory = {8 * ns, 3 * ns, 2.5 * ns};
  near.cache_lines = 16 << 14;
  far.cache_lines = 32 << 14;
  double off = 0;
  int count = 0;
  for (const Measured& m : measured)
    for (int i = 0; i < 4; ++i)
      for (const bool is_far : {false, true}) {
        const std::int64_t bytes = std::int64_t{16 << 10} << 2 * i;
        Walk walk(is_far ? far : near);
        const auto us = [&](Place place) {
          return walk
              .price(*way_at(m.call, place), m.call,
                     m.call == Call::reduce_scatter ? 2 * bytes : bytes, true)
              .seconds();
        };
        const double ratio = us(Place::direct) / us(Place::block);
        const double there = (is_far ? m.far : m.near)[i];
        off += std::abs(std::log(ratio / there));
        ++count;
        EXPECT_LT(std::abs(std::log(ratio / there)), std::log(1.75))
            << call_name(m.call) << (is_far ? " far " : " near ") << bytes << ": " << ratio
            << " for " << there;
      }
  EXPECT_LT(off / count, std::log(1.15)) << "on average";
}

/// What real ranks count in a call of that way, as Walk::count says.
Walk::Counts counted(int ranks, int parts, bool reach, Call call, const Way& way,
                     std::int64_t bytes) {
  Walk::Counts all;
  std::mutex mutex;
  const std::string variable = "WEFT_COLL_" + std::string(call == Call::bcast       ? "BCAST"
                                                          : call == Call::reduce    ? "REDUCE"
                                                          : call == Call::allreduce ? "ALLREDUCE"
                                                          : call == Call::gather    ? "GATHER"
                                                          : call == Call::scatter   ? "SCATTER"
                                                                                    : "SCAN");
  setenv(variable.c_str(), way.name, 1);
  run_ranks(
      ranks, true,
      [&](Comm& comm) {
        const auto n = static_cast<std::size_t>(bytes);
        std::vector<char> out(n * static_cast<std::size_t>(ranks)), in(out.size());
        const Operands x{out.data(), in.data(), bytes, &byte_type(),
                         object::predefined_op(MPI_BOR)};
        const Buffer one = as_bytes(in.data(), bytes);
        const Counters before = *comm.engine->counters;
        const How how;
        switch (call) {
          case Call::bcast:
            EXPECT_FALSE(bcast(one, 0, comm, how));
            break;
          case Call::reduce:
            EXPECT_FALSE(reduce(x, 0, comm, how));
            break;
          case Call::allreduce:
            EXPECT_FALSE(allreduce(x, comm, how));
            break;
          case Call::gather:
            EXPECT_FALSE(gather(as_bytes(out.data(), bytes), one, 0, comm, how));
            break;
          case Call::scatter:
            EXPECT_FALSE(scatter(as_bytes(out.data(), bytes), one, 0, comm, how));
            break;
          default:
            EXPECT_FALSE(scan(x, comm, how));
        }
        const Counters& now = *comm.engine->counters;
        const std::lock_guard guard(mutex);
        for (int l = 0; l < 2; ++l) {
          const int from_inside = parts > 1 ? 1 - l : 0;
          const auto at = static_cast<std::size_t>(from_inside);
          all.copied[at] +=
              static_cast<std::int64_t>(now.coll_lines_copied[l] - before.coll_lines_copied[l]);
          all.folded[at] +=
              static_cast<std::int64_t>(now.coll_lines_folded[l] - before.coll_lines_folded[l]);
        }
        all.copies += static_cast<std::int64_t>(now.coll_copies - before.coll_copies);
        all.most_steps =
            std::max(all.most_steps, static_cast<std::int64_t>(now.coll_steps - before.coll_steps));
      },
      {.reach = reach, .parts = parts, .in_rows = true});
  unsetenv(variable.c_str());
  return all;
}

TEST(Walk, CountsWhatRealRunsCount) {
  for (const auto& [inside, parts] : {std::pair{6, 2}, {4, 3}, {5, 1}}) {
    if (weft::test::under_thread_sanitizer && parts != 3) continue;
    for (const Call call :
         {Call::bcast, Call::reduce, Call::allreduce, Call::gather, Call::scatter, Call::scan})
      for (const Way& way : ways_of(call)) {
        if (way.place != Place::board) continue;
        for (const std::int64_t bytes : {64 * 96, 64 * 96 * 32})
          for (const bool reach : {false, true}) {
            const Walk::Counts real = counted(inside * parts, parts, reach, call, way, bytes);
            model::Machine x = machine(inside, parts);
            x.cpus = 1;
            const Walk::Counts here = Walk(x).count(way, call, bytes, reach);
            SCOPED_TRACE(std::string(call_name(call)) + " " + way.name + " " +
                         std::to_string(inside) + "x" + std::to_string(parts) + " " +
                         std::to_string(bytes) + (reach ? " direct" : " areas"));
            EXPECT_EQ(here.copied, real.copied);
            EXPECT_EQ(here.folded, real.folded);
            EXPECT_EQ(here.copies, real.copies);
            EXPECT_EQ(here.most_steps, real.most_steps);
          }
      }
  }
}

}  // namespace
}  // namespace weft::coll
