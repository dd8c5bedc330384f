// SPDX-License-Identifier: Apache-2.0
//
// May this program run with its ranks as threads? Looks at ELF files only, no side effects:
// mpiexec's `--ranks=auto` asks it before it decides.
#pragma once

#include <string>

namespace weft::host {

/// Why the program at `path` cannot run as ranks-as-threads and what to do, or "" when it can.
std::string check(const std::string& path);

}  // namespace weft::host
