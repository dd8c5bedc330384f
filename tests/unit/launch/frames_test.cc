// SPDX-License-Identifier: Apache-2.0
#include "launch/frames.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <random>

#include "base/cpus.h"
#include "launch/order.h"
#include "launch/packing.h"

namespace weft::launch {
namespace {

std::string refused(std::string_view bytes) {
  try {
    FrameReader reader;
    reader.add(bytes);
    reader.next();
  } catch (const Failure& failure) {
    return failure.text;
  }
  return "";
}

TEST(Frames, ComeInAnyPieces) {
  const std::string big(100'000, 'x');
  const std::string all = framed(FrameKind::hello, "a") + framed(FrameKind::input_end) +
                          framed(FrameKind::order, big) + framed(FrameKind::finished, "1234");
  for (const std::size_t piece : {std::size_t{1}, std::size_t{7}, std::size_t{8}, all.size()}) {
    FrameReader reader;
    std::vector<Frame> got;
    for (std::size_t at = 0; at < all.size(); at += piece) {
      reader.add(std::string_view(all).substr(at, piece));
      while (std::optional<Frame> frame = reader.next()) got.push_back(*frame);
    }
    ASSERT_EQ(got.size(), 4u) << piece;
    EXPECT_EQ(got[0].kind, FrameKind::hello);
    EXPECT_EQ(got[0].payload, "a");
    EXPECT_EQ(got[1].kind, FrameKind::input_end);
    EXPECT_EQ(got[1].payload, "");
    EXPECT_EQ(got[2].payload, big);
    EXPECT_EQ(got[3].payload, "1234");
    EXPECT_TRUE(reader.is_empty());
  }
}

TEST(Frames, OthersAreRefused) {
  EXPECT_NE(refused("Welcome to node7\n").find("Welcome to node7"), std::string::npos);
  EXPECT_NE(refused("hi\r\n").find("hi"), std::string::npos);
  std::string frame = framed(FrameKind::end);
  EXPECT_EQ(refused(frame), "");
  for (std::size_t at = 4; at < 8; ++at) {  // kind and mark
    std::string broken = frame;
    broken[at] = 0;
    EXPECT_NE(refused(broken), "") << at;
  }
  frame[4] = last_frame_kind + 1;
  EXPECT_NE(refused(frame), "");
  // Longer than such a frame may be: before its payload comes.
  for (const FrameKind kind : {FrameKind::signal, FrameKind::input, FrameKind::order}) {
    const std::string most =
        framed(kind, std::string(std::min<std::size_t>(most_bytes(kind), piece_bytes), 'x'));
    EXPECT_EQ(refused(most), "");
    std::string longer = framed(kind);
    for (std::size_t rest = most_bytes(kind) + 1, i = 0; i < 4; ++i, rest >>= 8)
      longer[i] = static_cast<char>(rest & 255);
    EXPECT_NE(refused(longer), "");
  }
}

TEST(Frames, AnyBytesAreFramesOrRefused) {
  std::mt19937 random(1);
  for (int round = 0; round < 2000; ++round) {
    std::string bytes = framed(FrameKind{static_cast<std::uint8_t>(random() % 14 + 1)},
                               std::string(random() % 60, 'y')) +
                        framed(FrameKind::end);
    bytes[random() % bytes.size()] = static_cast<char>(random());
    try {
      FrameReader reader;
      reader.add(bytes);
      while (reader.next()) {
      }
    } catch (const Failure&) {
    }
  }
}

TEST(Frames, ChannelNeverBlocks) {
  int there[2];
  ASSERT_EQ(pipe2(there, O_CLOEXEC), 0);
  Channel from(open("/dev/null", O_RDONLY), there[1]);
  Channel to(there[0], open("/dev/null", O_WRONLY));
  const std::string piece(piece_bytes, 'z');
  for (int i = 0; i < 32; ++i) from.send(FrameKind::output, piece);
  EXPECT_GE(from.wants_write(), 0);
  int got = 0;
  for (int i = 0; i < 1000 && got < 32; ++i) {
    EXPECT_TRUE(to.read());
    while (const std::optional<Frame> frame = to.next()) got += frame->payload == piece;
    from.flush();
  }
  EXPECT_EQ(got, 32);
  EXPECT_EQ(from.wants_write(), -1);
  from.close_out();
  EXPECT_FALSE(to.read());
  EXPECT_FALSE(to.ended_within_frame());
}

Order some_order() {
  Order order;
  order.options.programs.resize(2);
  order.options.programs[0].argv = {"./app", "", "-x"};
  order.options.programs[0].ranks = 3;
  order.options.programs[0].inherit = Inherit{false, {"PATH"}};
  order.options.programs[1].argv = {"b"};
  order.options.programs[1].env = {{"A", "1=2"}};
  order.options.hosts = {{"one", 2, 2}, {"two", {}, 2}};
  order.options.mode = RankMode::thread;
  order.options.place.bind = topo::Unit::core;
  order.options.input.rank = Reader::nobody;
  order.environment = {"PATH=/bin", "EMPTY="};
  order.directory = "/tmp";
  order.secret = {{0x123456789abc, 7}};
  order.sharing = {4, 4};
  return order;
}

TEST(Orders, ArriveAsTheyWere) {
  const std::string bytes = write_order(some_order());
  const Order order = read_order(bytes, 1);
  EXPECT_EQ(write_order(order), bytes);
  EXPECT_EQ(order.options.programs[0].argv, (std::vector<std::string>{"./app", "", "-x"}));
  EXPECT_EQ(order.options.programs[0].inherit->names, std::vector<std::string>{"PATH"});
  EXPECT_FALSE(order.options.programs[1].inherit.has_value());
  EXPECT_EQ(order.options.here().first, 2);
  EXPECT_EQ(order.options.here().count, 2);
  EXPECT_EQ(order.options.node_of(), (std::vector<std::int32_t>{0, 0, 1, 1}));
  EXPECT_EQ(order.secret.half[0], 0x123456789abcu);
  EXPECT_EQ(order.secret.half[1], 7u);
}

TEST(Orders, AgentsOfAMachineShareItsCpusOrHaveTheirOwn) {
  const Hello agents[] = {{"", "k", "", "0-3"},
                          {"", "k", "", "4-7"},
                          {"", "other", "", "0-7"},
                          {"", "k", "", "3,4"},
                          {"", "k", "", ""}};
  const Hello* const all[] = {&agents[0], &agents[1], &agents[2], &agents[3], &agents[4]};
  EXPECT_EQ(ranks_on_cpus(all, std::vector{1, 20, 300, 4000, 50000}),
            (std::vector<std::int32_t>{54001, 54020, 300, 54021, 54021}));
  EXPECT_EQ(ranks_on_cpus(std::span(all).first(2), std::vector{1, 20}),
            (std::vector<std::int32_t>{1, 20}));
  EXPECT_EQ(cpus_in(own_hello().cpus), allowed_cpus());
}

TEST(Orders, ThoseThatCannotBeAreRefused) {
  const auto is_refused = [](const std::string& bytes, int node = 1) {
    try {
      read_order(bytes, node);
    } catch (const Failure&) {
      return true;
    }
    return false;
  };
  const std::string good = write_order(some_order());
  EXPECT_FALSE(is_refused(good));
  for (std::size_t n = 0; n < good.size(); ++n) EXPECT_TRUE(is_refused(good.substr(0, n))) << n;
  EXPECT_TRUE(is_refused(good + "x"));
  EXPECT_TRUE(is_refused(good, 2));
  EXPECT_TRUE(is_refused(good, -1));
  Order order = some_order();
  order.sharing.pop_back();
  EXPECT_TRUE(is_refused(write_order(order)));
  order = some_order();
  order.options.hosts[0].ranks = 7;
  EXPECT_TRUE(is_refused(write_order(order)));
  order = some_order();
  order.options.programs[1].argv.clear();
  EXPECT_TRUE(is_refused(write_order(order)));
  std::mt19937 random(1);  // whatever the bytes are: an order or a refusal
  for (int round = 0; round < 5000; ++round) {
    std::string bytes = good;
    bytes[random() % bytes.size()] = static_cast<char>(random());
    is_refused(bytes);
  }
}

}  // namespace
}  // namespace weft::launch
