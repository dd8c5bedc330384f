// SPDX-License-Identifier: Apache-2.0
//
// coll.explain says of each call the way that it goes, and no other: also where the model sends it
// away from the shared block.
#include <map>
#include <regex>
#include <string>
#include <vector>

#include "coll/state.h"
#include "unit/coll/ranks.h"

namespace weft::coll {
namespace {

TEST(Explain, OneWayForOneCall) {
  const auto type = datatype::predefined(reinterpret_cast<std::uintptr_t>(MPI_DOUBLE));
  object::Op op{};
  op.operation = datatype::Operation::sum;
  testing::internal::CaptureStderr();
  run_ranks(12, false,
            [&](Comm& comm) {
              comm.coll->settings.explain = comm.coll->settings.ways_matter = true;
              for (std::int64_t n = 1; n <= 1 << 17; n *= 8) {
                std::vector<double> mine(static_cast<std::size_t>(n), 1.0), all(mine);
                EXPECT_FALSE(allreduce({mine.data(), all.data(), n, type, &op}, comm));
                EXPECT_EQ(all.back(), 12.0);
              }
            },
            {.reach = false, .parts = 2});
  const std::string said = testing::internal::GetCapturedStderr();
  const std::regex line("allreduce of (\\d+) bytes between 12 ranks goes by (\\w+)");
  std::map<std::string, std::string> way_of;
  bool leaves = false;
  for (std::sregex_iterator at(said.begin(), said.end(), line), end; at != end; ++at) {
    EXPECT_TRUE(way_of.emplace((*at)[1], (*at)[2]).second) << said;
    leaves |= find_way(Call::allreduce, (*at)[2].str())->place == Place::board;
  }
  EXPECT_EQ(way_of["8"], "slots");
  EXPECT_EQ(find_way(Call::allreduce, way_of["64"])->place, Place::board)
      << "also what a slot would hold leaves, and by no other way";
  EXPECT_TRUE(leaves) << "no size went along the levels, so nothing was tested:\n" << said;
}

}  // namespace
}  // namespace weft::coll
