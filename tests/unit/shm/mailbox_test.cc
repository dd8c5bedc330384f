// SPDX-License-Identifier: Apache-2.0
//
// The mailbox with real threads: order per sender, whole payloads, wrap-around of both rings, and a
// full ring that is refused and gets free again.
#include "shm/mailbox.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

namespace weft::shm {
namespace {

struct SmallJob {
  std::unique_ptr<memory::Job> job;
  explicit SmallJob(int ranks) {
    setenv("WEFT_SHM_RING_CELLS", "64", 1);
    setenv("WEFT_SHM_RING_BYTES", "16384", 1);
    const Params params = Params::from_env(false);
    unsetenv("WEFT_SHM_RING_CELLS");
    unsetenv("WEFT_SHM_RING_BYTES");
    const Result<memory::Job*> made = memory::Job::create(ranks, 2, params);
    EXPECT_FALSE(made.err);
    job.reset(made.value);
  }
};

TEST(Mailbox, refuses_when_full_and_recovers) {
  SmallJob small(2);
  Outbox out;
  Inbox in;
  out.open(*small.job, 1);
  in.open(*small.job, 1);
  Claim claim;
  int sent = 0;
  while (out.claim(0, &claim)) {
    claim.cell->what = wire::What::inline_data;
    claim.cell->envelope.tag = sent++;
    out.commit(claim);
  }
  EXPECT_EQ(sent, 64);
  for (int i = 0; i < sent; ++i) {
    const wire::Cell* cell = in.poll();
    ASSERT_NE(cell, nullptr);
    EXPECT_EQ(cell->envelope.tag, i);
    in.consume(*cell);
  }
  EXPECT_EQ(in.poll(), nullptr);
  EXPECT_TRUE(out.claim(0, &claim));
}

TEST(Mailbox, refuses_payload_that_has_no_room) {
  SmallJob small(2);
  Outbox out;
  Inbox in;
  out.open(*small.job, 1);
  in.open(*small.job, 1);
  const std::uint32_t bytes = in.payload_max();
  Claim claim;
  int sent = 0;
  for (; out.claim(bytes, &claim); ++sent) out.commit(claim);
  EXPECT_EQ(sent, 7);  // each is an eighth of the ring, behind one unit that is left free
  while (const wire::Cell* cell = in.poll()) in.consume(*cell);
  EXPECT_TRUE(out.claim(bytes, &claim));
}

TEST(Mailbox, knows_a_row_of_one_sender) {
  SmallJob small(3);
  Outbox one, other;
  one.open(*small.job, 2);
  other.open(*small.job, 2);
  const auto follows = [](Outbox& out) {
    Claim claim;
    EXPECT_TRUE(out.claim(64, &claim));
    out.commit(claim);
    out.fetch_ahead(claim, 64);
    return claim.follows;
  };
  follows(one);
  for (int i = 0; i < 16; ++i) EXPECT_TRUE(follows(one));
  EXPECT_FALSE(follows(other));
  EXPECT_FALSE(follows(one));
  EXPECT_TRUE(follows(one));
}

TEST(Mailbox, keeps_order_and_payloads_of_concurrent_senders) {
  constexpr int senders = 3;
  constexpr int messages = 20000;
  SmallJob small(senders + 1);
  const auto send_all = [&](int me) {
    Outbox out;
    out.open(*small.job, 0);
    unsigned seed = 17 + static_cast<unsigned>(me);
    for (int i = 0; i < messages; ++i) {
      const auto bytes = static_cast<std::uint32_t>(rand_r(&seed)) % 2000;
      Claim claim;
      while (!out.claim(bytes, &claim)) std::this_thread::yield();
      std::memset(claim.payload, (me * 31 + i) & 0xff, bytes);
      claim.cell->what = wire::What::ring_data;
      claim.cell->sender = static_cast<std::uint32_t>(me);
      claim.cell->envelope.tag = i;
      claim.cell->bytes = bytes;
      out.commit(claim);
    }
  };
  std::vector<std::thread> threads;
  for (int s = 0; s < senders; ++s) threads.emplace_back(send_all, s);
  Inbox in;
  in.open(*small.job, 0);
  int next[senders] = {};
  for (int left = senders * messages; left > 0;) {
    const wire::Cell* cell = in.poll();
    if (cell == nullptr) {
      std::this_thread::yield();
      continue;
    }
    const auto s = static_cast<int>(cell->sender);
    ASSERT_EQ(cell->envelope.tag, next[s]);
    const std::byte want{static_cast<unsigned char>((s * 31 + next[s]) & 0xff)};
    const std::byte* payload = in.payload(*cell);
    for (std::uint64_t i = 0; i < cell->bytes; ++i) ASSERT_EQ(payload[i], want);
    ++next[s];
    in.consume(*cell);
    --left;
  }
  for (std::thread& t : threads) t.join();
}

}  // namespace
}  // namespace weft::shm
