// SPDX-License-Identifier: Apache-2.0
//
// Messages that idle threads help with: pieces filled and drained at once, chunks of single copies.
// Two ranks in one thread, each doing one step at a time, and threads that do nothing but help.
// Every job is offered, so what is counted does not depend on who is idle.
#include <gtest/gtest.h>

#include <vector>

#include "unit/datatype/arrayed.h"
#include "unit/parallel/helping.h"
#include "unit/pt2pt/test_job.h"
#include "unit/sanitizer.h"

namespace weft::pt2pt {
namespace {

using datatype::test::Arrayed;
using datatype::test::Bytes;
using parallel::test::AllJobsOffered;

const TestJob::Environment in_fragments = {{"WEFT_SHM_FRAGMENT_BYTES", "655360"},
                                           {"WEFT_SHM_RING_BYTES", "262144"},
                                           {"WEFT_PT2PT_EAGER_MAX", "1m"}};
const TestJob::Environment in_short_pieces = {{"WEFT_SHM_FRAGMENT_BYTES", "655360"},
                                              {"WEFT_SHM_RING_BYTES", "16384"},
                                              {"WEFT_PT2PT_EAGER_MAX", "1m"}};
const TestJob::Environment in_one_copy = {{"WEFT_PT2PT_EAGER_MAX", "0"},
                                          {"WEFT_PT2PT_COOPERATE_MIN", "0"}};

/// Rank 0 sends to rank 1.
struct Pair {
  TestJob job;
  Engine &from = job.ranks[0]->engine, &to = job.ranks[1]->engine;
  Counters &sender = job.ranks[0]->counters, &receiver = job.ranks[1]->counters;
  MPI_Request sent = MPI_REQUEST_NULL, received = MPI_REQUEST_NULL;

  explicit Pair(const TestJob::Environment& environment) : job(2, false, environment) {}
  void send(const ConstBuffer& what) {
    ASSERT_FALSE(isend(what, 1, 0, job.ranks[0]->comm, Mode::standard, &sent));
  }
  void receive(const Buffer& into) {
    ASSERT_FALSE(irecv(into, 0, 0, job.ranks[1]->comm, &received));
  }
  /// Ends both; the error class of the receive.
  int finish() {
    const auto over = [](MPI_Request request) {
      return request == MPI_REQUEST_NULL || request_of(request)->done;
    };
    for (int looks = 0; looks < 100000 && !(over(sent) && over(received)); ++looks) {
      progress(to);
      progress(from);
    }
    EXPECT_TRUE(over(sent) && over(received));
    EXPECT_FALSE(wait(&sent, MPI_STATUS_IGNORE));
    return wait(&received, MPI_STATUS_IGNORE).cls;
  }
};

std::vector<std::byte> pattern(std::int64_t n) {
  std::vector<std::byte> out(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<std::byte>(i * 7 + i / 251);
  return out;
}

/// 300,000 bytes are 19 pieces, for which there is room: one job on either side, and two copies of
/// each byte as without idle threads.
TEST(Together, PiecesAreFilledAndDrainedInOneJob) {
  const AllJobsOffered offered(0);
  Pair pair(in_fragments);
  constexpr std::int64_t bytes = 300'000;
  constexpr std::uint64_t pieces = 19;
  const auto out = pattern(bytes);
  std::vector<std::byte> in(bytes);
  const auto jobs = [] { return parallel::jobs().done().jobs; };
  const std::uint64_t before = jobs();
  pair.receive({in.data(), bytes, byte_type()});
  pair.send({out.data(), bytes, byte_type()});
  EXPECT_EQ(pair.sender.pieces_together, pieces);
  EXPECT_EQ(jobs() - before, 1U);
  progress(pair.to);
  EXPECT_EQ(pair.receiver.pieces_together, pieces);
  EXPECT_EQ(jobs() - before, 2U);
  EXPECT_TRUE(request_of(pair.received)->done);
  EXPECT_EQ(in, out);
  EXPECT_EQ(pair.sender.copies + pair.receiver.copies, 2 * pieces);
  EXPECT_EQ(pair.sender.bytes_copied + pair.receiver.bytes_copied, std::uint64_t{2} * bytes);
  EXPECT_EQ(pair.sender.pieces_given + pair.receiver.pieces_given, 0U);
  EXPECT_EQ(pair.finish(), MPI_SUCCESS);
}

/// Without idle threads nothing is reserved in advance, and nothing is offered.
TEST(Together, NothingIsOfferedIfNobodyIsIdle) {
  for (const auto& way : {in_fragments, in_one_copy}) {
    Pair pair(way);
    constexpr std::int64_t bytes = 900'000;
    const auto out = pattern(bytes);
    std::vector<std::byte> in(bytes);
    parallel::jobs().configure({.most_helpers = 3});
    pair.receive({in.data(), bytes, byte_type()});
    pair.send({out.data(), bytes, byte_type()});
    EXPECT_EQ(pair.finish(), MPI_SUCCESS);
    EXPECT_EQ(in, out);
    EXPECT_EQ(pair.sender.pieces_together + pair.receiver.pieces_together, 0U);
    parallel::jobs().configure({});
  }
}

/// The receiver need not wait for the last piece of those that are filled at once: the caller's
/// own first piece is read while a helper is still in another.
TEST(Together, APieceIsPublishedByWhoFilledIt) {
  Pair pair(in_fragments);
  shm::Claim claim[2];
  ASSERT_TRUE(claim_piece(pair.from, pair.from.peer(1), long_piece, &claim[0]));
  ASSERT_TRUE(claim_piece(pair.from, pair.from.peer(1), long_piece, &claim[1]));
  EXPECT_EQ(pair.to.inbox.poll(), nullptr);
  pair.from.peer(1).lane.commit(claim[1]);
  EXPECT_EQ(pair.to.inbox.poll(), nullptr) << "in the order of claims";
  EXPECT_NE(pair.to.inbox.ahead(1), nullptr);
  pair.from.peer(1).lane.commit(claim[0]);
  EXPECT_NE(pair.to.inbox.poll(), nullptr);
}

/// Each chunk of one message is copied once, by either side.
TEST(Together, ChunksOfOneCopy) {
  const AllJobsOffered offered(0);
  Pair pair(in_one_copy);
  constexpr std::int64_t bytes = 300'000;
  const auto out = pattern(bytes);
  std::vector<std::byte> in(bytes);
  pair.to.peer(0).line_ns = -1e6f;  // near: both copy
  pair.receive({in.data(), bytes, byte_type()});
  pair.send({out.data(), bytes, byte_type()});
  EXPECT_EQ(pair.finish(), MPI_SUCCESS);
  EXPECT_EQ(in, out);
  EXPECT_GT(pair.sender.pieces_together + pair.receiver.pieces_together, 1U);
  EXPECT_EQ(pair.sender.copies + pair.receiver.copies,
            pair.sender.pieces_together + pair.receiver.pieces_together);
  EXPECT_EQ(pair.sender.bytes_copied + pair.receiver.bytes_copied, std::uint64_t{bytes});
}

TEST(Together, AReceiveWithTooLittleRoomGetsWhatFits) {
  const AllJobsOffered offered(1);
  for (const auto& way : {in_fragments, in_short_pieces, in_one_copy}) {
    Pair pair(way);
    constexpr std::int64_t bytes = 200'000, room = 70'001;
    const auto out = pattern(bytes);
    std::vector<std::byte> in(bytes);
    pair.receive({in.data(), room, byte_type()});
    pair.send({out.data(), bytes, byte_type()});
    EXPECT_EQ(pair.finish(), MPI_ERR_TRUNCATE);
    EXPECT_TRUE(std::equal(in.begin(), in.begin() + room, out.begin()));
    for (std::size_t i = room; i < in.size(); ++i) ASSERT_EQ(in[i], std::byte{0});
  }
}

/// A helper's chunk packs as the caller would, in pieces that begin anywhere in a layout.
struct Fuzz {
  datatype::Context context;
  Pair pairs[3] = {Pair(in_fragments), Pair(in_short_pieces), Pair(in_one_copy)};

  std::uint64_t given() const {
    std::uint64_t n = 0;
    for (const Pair& pair : pairs) n += pair.sender.pieces_given + pair.receiver.pieces_given;
    return n;
  }

  /// From one random layout to another; some receives have too little room.
  void message(unsigned seed) {
    datatype::test::RandomTypes random(context, seed);
    const auto make = [&](std::int64_t wanted) {
      const datatype::test::Modelled element = random.make(static_cast<int>(random.pick(0, 3)));
      datatype::commit(*element.type);
      const std::int64_t size = std::max<std::int64_t>(1, element.type->size);
      return Arrayed(element, std::max<std::int64_t>(1, wanted / size));
    };
    const std::int64_t wanted =
        random.pick(0, 3) == 0 ? random.pick(1, 150'000) : random.pick(1, 20'000);
    Arrayed a = make(wanted), b = make(wanted);
    a.memory = datatype::test::random_bytes(random, a.memory.size());
    const auto out = a.positions(), in = b.positions();
    const std::size_t n = std::min(out.size(), in.size());
    Bytes expected = b.memory;
    for (std::size_t i = 0; i < n; ++i) expected[in[i]] = a.memory[out[i]];
    // Not legal to receive into, or of elements that lie on each other.
    if (!b.map.overlaps()) {
      Pair& pair = pairs[seed % 3];
      const bool late = random.pick(0, 3) == 0;
      if (!late) pair.receive(b.buffer());
      pair.send(a.buffer());
      if (late) {
        progress(pair.to);  // the message is kept
        pair.receive(b.buffer());
      }
      ASSERT_EQ(pair.finish(), out.size() > in.size() ? MPI_ERR_TRUNCATE : MPI_SUCCESS);
      ASSERT_EQ(b.memory, expected);
    }
    random.give_up(a.element);
    random.give_up(b.element);
  }
};

TEST(Together, RandomMessagesByAnyThreads) {
  for (const int helpers : {0, 1, 3}) {
    if (weft::test::under_thread_sanitizer && helpers == 0) continue;
    const AllJobsOffered offered(helpers);
    Fuzz fuzz;
    const datatype::test::FuzzTime time;
    const auto start = std::chrono::steady_clock::now();
    // On a busy machine a helper may come late.
    const auto is_unhelped = [&] {
      return helpers > 0 && fuzz.given() == 0 &&
             std::chrono::steady_clock::now() - start < std::chrono::seconds(30);
    };
    for (unsigned seed = 1; seed <= 150 || time.is_left() || is_unhelped(); ++seed) {
      fuzz.message(seed);
      ASSERT_FALSE(testing::Test::HasFatalFailure()) << "seed " << seed << ", helpers " << helpers;
    }
    EXPECT_EQ(fuzz.given() > 0, helpers > 0);
  }
}

}  // namespace
}  // namespace weft::pt2pt
