// SPDX-License-Identifier: Apache-2.0
#include <sys/socket.h>

#include "pt2pt/pt2pt.h"
#include "ranks.h"
#include "world/across.h"

namespace weft::world {
namespace {

// Leaders of two jobs tell each other at once who is in their groups, which no buffer need hold.
TEST(Talk, BothSidesMaySayMoreThanTheSocketHolds) {
  int ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
  run_ranks(2, [&](Rank& rank) {
    const auto me = static_cast<std::size_t>(rank.world_rank);
    SocketTalk talk{memory::Socket(ends[me])};
    const pt2pt::Inside inside(rank.engine);
    for (const std::size_t bytes : {std::size_t{8} << 20, std::size_t{5}}) {
      const std::string mine(bytes + me, static_cast<char>('a' + me));
      ASSERT_FALSE(talk.send(rank.engine, mine));
      const Result<std::string> theirs = talk.receive(rank.engine);
      ASSERT_TRUE(theirs);
      EXPECT_EQ(theirs.value, std::string(bytes + 1 - me, static_cast<char>('b' - me)));
    }
  });
}

}  // namespace
}  // namespace weft::world
