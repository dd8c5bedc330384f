// SPDX-License-Identifier: Apache-2.0
//
// Rows of operations in pieces between ranks that write and read at the same time (coll/block), as
// if each had a core of its own: a reader that sleeps finds what was written for it, however far
// the writers have run ahead.
#include <unistd.h>

#include "object/op.h"
#include "unit/coll/ranks.h"

namespace weft::coll {
namespace {

const Type& long_type() {
  return *datatype::predefined(reinterpret_cast<std::uintptr_t>(MPI_INT64_T));
}

std::vector<std::int64_t> data_of(int rank, int operation, std::int64_t count) {
  std::vector<std::int64_t> out(static_cast<std::size_t>(count));
  std::iota(out.begin(), out.end(), rank * 1'000'003LL + operation * 1009LL);
  return out;
}

void run_row(Comm& comm) {
  // One piece, two, three, eight.
  constexpr std::int64_t counts[] = {1500, 2500, 5000, 30000};
  const int p = comm.size();
  int wrong = 0;
  for (int operation = 0; operation < 80; ++operation) {
    const int root = operation / 20 % p, sleeper = (root + 1 + operation % (p - 1)) % p;
    const std::int64_t count = counts[(operation + operation / 7) % 4];
    if (comm.rank == sleeper && operation % 5 == 0) usleep(3000);
    std::vector<std::int64_t> mine = data_of(comm.rank, operation, count);
    if (operation % 3 < 2) {
      EXPECT_FALSE(bcast({mine.data(), count, &long_type()}, root, comm));
      wrong += mine != data_of(root, operation, count);
    } else {
      std::vector<std::int64_t> all(static_cast<std::size_t>(p * count));
      EXPECT_FALSE(gather({mine.data(), count, &long_type()}, {all.data(), count, &long_type()},
                          root, comm));
      for (int r = 0; r < p && comm.rank == root; ++r) {
        const auto begin = all.begin() + r * count;
        wrong += std::vector(begin, begin + count) != data_of(r, operation, count);
      }
    }
  }
  EXPECT_EQ(wrong, 0) << "rank " << comm.rank;
}

TEST(Pieces, AreReadBeforeTheyAreWrittenAgain) {
  for (const int p : {2, 3, 5, 8}) {
    SCOPED_TRACE(p);
    run_ranks(p, false, run_row);
  }
}

}  // namespace
}  // namespace weft::coll
