// SPDX-License-Identifier: Apache-2.0
//
// The environment of a process that is to be started: a list of NAME=VALUE strings without
// duplicates, in the form execve takes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "options.h"

namespace weft::launch {

class Environment {
 public:
  /// What ranks get of mpiexec's own, never variables that belong to another job (a launcher above
  /// this one).
  static Environment inherited(const Inherit& which);

  void set(std::string_view name, std::string_view value);
  void unset(std::string_view name);
  /// The value of `name`, or nullptr.
  const char* get(std::string_view name) const;
  /// For execve; valid until the next change.
  std::vector<char*> block();

 private:
  std::vector<std::string>::iterator find(std::string_view name);
  std::vector<std::string> entries_;
};

}  // namespace weft::launch
