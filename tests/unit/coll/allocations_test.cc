// SPDX-License-Identifier: Apache-2.0
//
// A repeated collective allocates nothing once schedules, scratch memory and requests are warm, on
// the shared path, as a schedule, and nonblocking.
#include "unit/allocations.h"

#include <algorithm>
#include <climits>

#include "coll/schedule.h"
#include "object/op.h"
#include "object/topology.h"
#include "unit/coll/ranks.h"

namespace weft::coll {
namespace {

TEST(CollectiveAllocations, NoneAfterWarmUp) {
  const Type& type = *datatype::predefined(reinterpret_cast<std::uintptr_t>(MPI_INT));
  const Op& op = *object::predefined_op(MPI_SUM);
  run_ranks(3, true, [&](Comm& comm) {
    object::Topology ring;
    ring.what = MPI_CART;
    ring.dims = {3};
    ring.periods = {1};
    object::settle(ring, comm.rank);
    comm.topology = &ring;
    for (const std::int64_t count : {1, 1000, 3000, 100'000}) {
      std::vector<int> in(static_cast<std::size_t>(count), comm.rank), out(3 * in.size());
      const auto round = [&] {
        const Operands x{in.data(), out.data(), count, &type, &op};
        const ConstBuffer send{in.data(), count, &type};
        const Buffer recv{out.data(), count, &type};
        EXPECT_FALSE(allreduce(x, comm));
        EXPECT_FALSE(reduce(x, 1, comm));
        EXPECT_FALSE(bcast(recv, 2, comm));
        EXPECT_FALSE(allgather(send, recv, comm));
        EXPECT_FALSE(scan(x, comm));
        EXPECT_FALSE(neighbor_allgather(send, recv, comm));
        MPI_Request requests[2];
        EXPECT_FALSE(gather(send, recv, 0, comm, {How::nonblocking, &requests[0]}));
        EXPECT_FALSE(barrier(comm, {How::nonblocking, &requests[1]}));
        EXPECT_FALSE(pt2pt::waitall(requests, MPI_STATUSES_IGNORE));
        EXPECT_FALSE(barrier(comm));
      };
      // Which of the idle schedules an operation takes, and how many messages are early, depends on
      // the order in which ranks run: now and then there is a new peak to prepare for. What is
      // allocated each time would show in every row of rounds.
      long fewest = LONG_MAX;
      for (int row = 0; row < 20; ++row) {
        const long before = test::allocations();
        for (int i = 0; i < 5; ++i) round();
        fewest = std::min(fewest, test::allocations() - before);
      }
      EXPECT_EQ(fewest, 0) << count << " elements, rank " << comm.rank;
    }
  });
  EXPECT_GT(test::allocations(), 0);  // they are counted at all
}

TEST(CollectiveAllocations, SharedBlocksAreGivenBack) {
  run_ranks(4, true, [&](Comm& comm) {
    const std::uint64_t& handed_out = comm.engine->job->header().heap_state[0];
    EXPECT_FALSE(barrier(comm));  // makes the first block; all of one size, so one more is enough
    std::uint64_t settled = 0;
    for (int i = 0; i < 50; ++i) {
      CommState* outer = comm.coll;
      comm.context += 4;  // another communicator
      attach(comm);
      EXPECT_FALSE(barrier(comm));
      EXPECT_FALSE(barrier(comm));
      detach(comm);
      comm.context -= 4;
      comm.coll = outer;
      EXPECT_FALSE(barrier(comm));  // everybody has left the inner block
      if (i == 0) settled = handed_out;
      EXPECT_EQ(handed_out, settled);
      EXPECT_FALSE(barrier(comm));
    }
  });
}

// What makes no block and no board goes by messages.
TEST(CollectiveAllocations, CollectivesWorkWithoutHeap) {
  const Type& type = *datatype::predefined(reinterpret_cast<std::uintptr_t>(MPI_INT));
  run_ranks(3, true, [&](Comm& comm) {
    memory::Job& job = *comm.engine->job;
    std::uint64_t name = static_cast<std::uint64_t>(comm.rank + 1) << 56;
    for (std::size_t bytes = std::size_t{1} << 30; bytes >= 4096; bytes /= 2)
      while (job.shared_block({++name, 0}, bytes - 64, 0, 1) != 0) continue;
    for (const std::int64_t count : {1, 100'000}) {
      std::vector<int> in(static_cast<std::size_t>(count), comm.rank), out(in.size());
      EXPECT_FALSE(
          allreduce({in.data(), out.data(), count, &type, object::predefined_op(MPI_SUM)}, comm));
      EXPECT_EQ(out, std::vector<int>(in.size(), 3));
    }
    EXPECT_GT(comm.engine->counters->messages_sent, 0U);
  });
}

TEST(CollectiveAllocations, ScratchIsReused) {
  Scratch scratch;
  std::byte* first = scratch.take(1000);
  std::byte* second = scratch.take(100'000);
  EXPECT_NE(first, second);
  scratch.clear();
  EXPECT_EQ(scratch.take(1000), first);
  EXPECT_EQ(scratch.take(100'000), second);
}

}  // namespace
}  // namespace weft::coll
