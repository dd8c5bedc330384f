// SPDX-License-Identifier: Apache-2.0
//
// Messages from rank 0 to rank 1, which is on another node: two ranks in one thread, each doing one
// step at a time.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "datatype/api.h"
#include "unit/pt2pt/test_job.h"

namespace weft::pt2pt {

struct OneWay : testing::Test {
  TestJob job{2, false, {}, 1, true};
  Engine &from = job.ranks[0]->engine, &to = job.ranks[1]->engine;
  TestNetwork& network = static_cast<TestNetwork&>(*from.network);
  TestNetwork& there = static_cast<TestNetwork&>(*to.network);
  std::vector<std::byte> out, in;
  MPI_Request sending = MPI_REQUEST_NULL, receiving = MPI_REQUEST_NULL;

  explicit OneWay(std::size_t longest) : out(longest), in(longest) {
    for (std::size_t i = 0; i < longest; ++i) out[i] = static_cast<std::byte>(i * 7 + i / 251);
  }
  void send(std::int64_t n) {
    ASSERT_FALSE(
        isend({out.data(), n, byte_type()}, 1, 1, job.ranks[0]->comm, Mode::standard, &sending));
  }
  void receive(std::int64_t n) {
    ASSERT_FALSE(irecv({in.data(), n, byte_type()}, 0, 1, job.ranks[1]->comm, &receiving));
  }
  void turns() {
    for (int i = 0; i < 20; ++i) {
      progress(to);
      progress(from);
    }
  }
  bool is_done(MPI_Request request) { return request_of(request)->done; }
  bool is_there(std::int64_t n) const {
    return std::equal(out.begin(), out.begin() + n, in.begin());
  }
  void expect_nothing_kept() {
    EXPECT_EQ(to.matcher.first_arrived(), nullptr);
    EXPECT_EQ(to.unexpected_bytes, 0);
  }
};

}  // namespace weft::pt2pt
