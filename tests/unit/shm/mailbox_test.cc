// SPDX-License-Identifier: Apache-2.0
//
// The mailbox with real threads: order per sender, whole payloads, wrap-around of both rings, and a
// full ring that is refused and gets free again.
#include "shm/mailbox.h"

#include <gtest/gtest.h>
#include <unistd.h>

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
    out.fetch_ahead(claim);
    return claim.follows;
  };
  follows(one);
  for (int i = 0; i < 16; ++i) EXPECT_TRUE(follows(one));
  EXPECT_FALSE(follows(other));
  EXPECT_FALSE(follows(one));
  EXPECT_TRUE(follows(one));
}

TEST(Mailbox, counts_on_when_its_counters_begin_anew) {
  SmallJob small(1);
  // As if 2^32 - 100 cells and units had passed.
  const View at(*small.job, 0, 0);
  const std::uint64_t before = std::uint64_t{0xffffffff - 99} << 32 | (0xffffffff - 99);
  at.box->head = before;
  at.box->tail = before;
  Outbox out;
  Inbox in;
  out.open(*small.job, 0);
  in.open(*small.job, 0);
  for (int i = 0; i < 1000; ++i) {
    Claim claim;
    ASSERT_TRUE(out.claim(100, &claim)) << i;
    claim.cell->envelope.tag = i;
    std::memset(claim.payload, i & 0xff, 100);
    EXPECT_EQ(in.poll(), nullptr);
    out.commit(claim);
    const wire::Cell* cell = in.poll();
    ASSERT_NE(cell, nullptr) << i;
    EXPECT_EQ(cell->envelope.tag, i);
    EXPECT_EQ(in.payload(*cell)[99], static_cast<std::byte>(i & 0xff));
    in.consume(*cell);
  }
}

TEST(Mailbox, has_as_many_copy_jobs_as_are_added) {
  SmallJob small(2);
  Inbox owner;
  owner.open(*small.job, 1);
  std::uint32_t count = Mailbox::jobs;
  for (int block = 0; block < 6; ++block) {
    ASSERT_TRUE(owner.add_jobs(block));
    count += Mailbox::jobs_in_block(block);
  }
  for (std::uint32_t i = 0; i < count; ++i) owner.job(i).bytes = i + 1;
  // Another process.
  const Result<memory::Job*> opened = memory::Job::open(dup(small.job->fd()));
  ASSERT_FALSE(opened.err);
  const std::unique_ptr<memory::Job> other(opened.value);
  Outbox peer;
  peer.open(*other, 1);
  for (std::uint32_t i = 0; i < count; ++i) ASSERT_EQ(peer.job(i).bytes, i + 1);
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
