// SPDX-License-Identifier: Apache-2.0
//
// Names of places in programs that run: from /proc/<pid>/maps to the file, and from its symbol
// table to the function; `addr2line`, if the machine has it, knows the line.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace weft::hang {

/// Paths that the command line of a process may have named; for a process whose ranks are threads,
/// which runs copies of its program.
std::vector<std::string> programs_of(std::int32_t pid);

class Symbols {
 public:
  /// `programs`: paths of programs whose copies run from memory (ranks as threads), beside those
  /// that a process names. `lines`: may start a process to find source lines.
  Symbols(std::vector<std::string> programs, bool lines)
      : programs_(std::move(programs)), lines_(lines) {}

  /// "main (ring.c:12)" for the call that returns to `address`; empty if nothing is known.
  std::string operator()(std::int32_t pid, std::uint64_t address);

 private:
  std::string find(std::int32_t pid, std::uint64_t address) const;
  std::string file_of(std::int32_t pid, const std::string& mapped) const;

  std::vector<std::string> programs_;
  bool lines_;
  std::map<std::pair<std::int32_t, std::uint64_t>, std::string> known_;
};

}  // namespace weft::hang
