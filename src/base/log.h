// SPDX-License-Identifier: Apache-2.0
//
// Messages for whoever looks for a cause: WEFT_LOG=pt2pt:debug,memory:info,info. Nothing is logged
// on a hot path; what happens there is counted (counters.h) or traced (trace.h).
#pragma once

#include <string>

namespace weft {

enum class LogLevel { error = 0, info = 1, debug = 2 };

class Log {
 public:
  /// `spec` is the value of WEFT_LOG: a list of folder:level; a level alone is for all folders.
  Log(std::string spec, int world_rank) : spec_(std::move(spec)), world_rank_(world_rank) {}
  bool is_on(const char* folder, LogLevel level) const;
  [[gnu::cold, gnu::format(printf, 4, 5)]] void write(const char* folder, LogLevel level,
                                                      const char* format, ...) const;

 private:
  std::string spec_;
  int world_rank_;
};

}  // namespace weft
