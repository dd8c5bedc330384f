// SPDX-License-Identifier: Apache-2.0
//
// The trace file is a JSON array without its closing bracket, which the format allows: so each rank
// only appends, under a file lock.
#include "base/trace.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

namespace weft {

bool Trace::begin_file(const char* path) {
  std::FILE* file = std::fopen(path, "we");
  if (file == nullptr) return false;
  std::fputs("[\n", file);
  return std::fclose(file) == 0;
}

bool Trace::write(const char* path, int world_rank) const {
  std::FILE* file = std::fopen(path, "ae");
  if (file == nullptr) return false;
  flock(fileno(file), LOCK_EX);
  const std::size_t kept = std::min(count_, capacity);
  for (std::size_t i = count_ - kept; i < count_; ++i) {
    const TraceEvent& e = events_[i % capacity];
    std::fprintf(file,
                 "{\"name\":\"%s\",\"ph\":\"X\",\"pid\":0,\"tid\":%d,\"ts\":%.3f,\"dur\":%.3f,"
                 "\"args\":{\"bytes\":%llu}},\n",
                 e.name, world_rank, static_cast<double>(e.begin_ns) / 1e3,
                 static_cast<double>(e.end_ns - e.begin_ns) / 1e3,
                 static_cast<unsigned long long>(e.bytes));
  }
  return std::fclose(file) == 0;  // releases the lock
}

}  // namespace weft
