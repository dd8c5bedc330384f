// SPDX-License-Identifier: Apache-2.0
//
// libc's own functions read libc's one environment (the time zone, the search path, the locale's
// name). For the lifetime of this object that is the calling rank's, and no other rank is inside
// such a function. What libc keeps of it afterwards, the caller puts right.
#pragma once

#include <unistd.h>

#include <mutex>

#include "host.h"

namespace weft::host {

class LibcEnvironment {
 public:
  explicit LibcEnvironment(char** variables) : guard_(the_host->libc_lock), saved_(environ) {
    environ = variables;
  }
  explicit LibcEnvironment(Rank& rank) : LibcEnvironment(rank.environ_array()) {}
  ~LibcEnvironment() { environ = saved_; }
  LibcEnvironment(const LibcEnvironment&) = delete;
  LibcEnvironment& operator=(const LibcEnvironment&) = delete;

 private:
  std::unique_lock<std::recursive_mutex> guard_;
  char** saved_;
};

}  // namespace weft::host
