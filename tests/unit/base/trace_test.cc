// SPDX-License-Identifier: Apache-2.0
// The trace file: JSON at any time, ranks in any order, and the newest events when there were too
// many.
#include "base/trace.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <fstream>
#include <nlohmann/json.hpp>

namespace weft {
namespace {

nlohmann::json read(const char* path) {
  std::ifstream file(path);
  return nlohmann::json::parse(file);
}

TEST(TraceFile, IsJsonAtAnyTime) {
  char path[] = "/tmp/trace-XXXXXX";
  close(mkstemp(path));
  ASSERT_TRUE(Trace::begin_file(path));
  EXPECT_EQ(read(path).size(), 1u);
  Trace few, many;
  few.add("MPI_Send", Trace::now_ns());
  { TraceSpan span(&few, "wait"); }
  { TraceSpan off(nullptr, "wait"); }
  ASSERT_TRUE(few.write(path, 1));
  auto json = read(path);
  ASSERT_EQ(json.size(), 4u);
  EXPECT_EQ(json[1]["args"]["name"], "rank 1");
  EXPECT_EQ(json[2]["name"], "MPI_Send");
  EXPECT_EQ(json[2]["pid"], 1);
  EXPECT_EQ(json[3]["name"], "wait");

  for (std::size_t i = 0; i < Trace::capacity + 5; ++i) many.add("MPI_Recv", 1000 * i);
  ASSERT_TRUE(many.write(path, 0));
  json = read(path);
  EXPECT_EQ(json.size(), 4 + 2 + Trace::capacity);
  EXPECT_EQ(json[5]["args"]["labels"], "older events left out: 5");
  EXPECT_EQ(json[6]["ts"], 5);
  unlink(path);
}

TEST(TraceFile, SaysThatItCannotBeWritten) {
  EXPECT_FALSE(Trace::begin_file("/nonexistent/trace"));
  EXPECT_FALSE(Trace().write("/nonexistent/trace", 0));
}

}  // namespace
}  // namespace weft
