// SPDX-License-Identifier: Apache-2.0
// Spawned ranks get places in a row, and nodes where room is.
#include "launch/seats.h"

#include <gtest/gtest.h>

namespace weft::launch {
namespace {

using Nodes = std::vector<std::int32_t>;

memory::Command command(int ranks, const std::string& hosts = "") {
  memory::Command out;
  out.argv = {"program"};
  out.ranks = ranks;
  out.hosts = hosts;
  return out;
}

Options on_hosts() {
  Options options;
  options.hosts = {{"a", 4, 2}, {"b", 1, 1}};
  return options;
}

std::string why(Seating& seating, const memory::Command& command) {
  try {
    seating.reserve({command});
  } catch (const Failure& failure) {
    return failure.text;
  }
  return "";
}

TEST(Seats, are_where_most_room_is) {
  const Options options = on_hosts();
  Seating seating(options, 3, 13);
  const Seats first = seating.reserve({command(3)});
  EXPECT_EQ(first.node_of, (Nodes{0, 0, 0}));  // the third: both are full, and a is first
  EXPECT_EQ(first.world, (memory::World{3, 3}));
  EXPECT_EQ(seating.reserve({command(2)}).node_of, (Nodes{0, 1}));
  seating.free(first);
  EXPECT_EQ(seating.reserve({command(3)}).world, (memory::World{3, 3}));
}

TEST(Seats, fill_the_hosts_in_their_order) {
  Options options;
  options.hosts = {{"a", 2, 1}, {"b", 4, 0}, {"c", 8, 0}};
  Seating seating(options, 1, 101);
  EXPECT_EQ(seating.reserve({command(3)}).node_of, (Nodes{0, 1, 1}));
  EXPECT_EQ(seating.reserve({command(2, "c")}).node_of, (Nodes{2, 2}));
  EXPECT_EQ(seating.reserve({command(8)}).node_of, (Nodes{1, 1, 2, 2, 2, 2, 2, 2}));
  EXPECT_EQ(seating.reserve({command(4)}).node_of, (Nodes{0, 0, 1, 2}));  // all are full
}

TEST(Seats, of_each_command_are_on_the_hosts_it_names) {
  const Options options = on_hosts();
  Seating seating(options, 3, 13);
  EXPECT_EQ(seating.reserve({command(2, "b"), command(2, "a,b"), command(1, "a")}).node_of,
            (Nodes{1, 1, 0, 0, 0}));
  EXPECT_NE(why(seating, command(1, "c")).find("the job's hosts (a, b)"), std::string::npos);
  EXPECT_NE(why(seating, command(6)).find("WEFT_SPAWN_PLACES"), std::string::npos);
  EXPECT_EQ(why(seating, command(5)), "");
}

TEST(Seats, are_on_all_pretended_nodes) {
  Options options;
  options.programs.resize(1);
  options.programs[0].ranks = 3;
  options.pretended_nodes = 3;
  Seating seating(options, 3, 67);
  EXPECT_EQ(seating.reserve({command(4)}).node_of, (Nodes{0, 0, 1, 2}));
  EXPECT_EQ(seating.reserve({command(2, "localhost")}).node_of, (Nodes{1, 2}));
}

}  // namespace
}  // namespace weft::launch
