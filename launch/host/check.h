// SPDX-License-Identifier: Apache-2.0
//
// May this program run with its ranks as threads? Looks at ELF files only, no side effects:
// mpiexec's `--ranks=auto` asks it before it decides.
#pragma once

#include <string>
#include <vector>

namespace weft::host {

/// What LD_PRELOAD names. Libraries that wrap MPI functions are tools: each rank gets a copy of its
/// own, as each process would. The rest is for the process.
struct Preload {
  std::vector<std::string> tools;  // paths
  std::string rest;                // a value of LD_PRELOAD
};
/// `program` is the path of the program, `directory` where it will start; empty: here.
Preload split_preload(const std::string& value, const std::string& program,
                      const std::string& directory);

/// Why the program at `path` cannot run as ranks-as-threads together with `tools`, and what to do,
/// or "" when it can.
std::string check(const std::string& path, const std::vector<std::string>& tools);

}  // namespace weft::host
