// SPDX-License-Identifier: Apache-2.0
//
// Names that all ranks of a job know: its open ports, and what they published (MPI-5.0 §11.9.4).
// Where all nodes have one memory a name is a block of it. Where each has its own, mpiexec keeps
// the names, and is asked as it is to spawn (memory/spawning.h).
#pragma once

#include <optional>
#include <string>

#include "base/err.h"
#include "memory/spawning.h"

namespace weft {
struct Rank;
}

namespace weft::world {

/// No value: the name is there already (add), is not there (find), or is not there with this value
/// (remove). Any locks may be held: mpiexec answers by itself.
Result<std::optional<std::string>> ask_directory(Rank& rank, memory::Ask what,
                                                 const std::string& name,
                                                 const std::string& value = "");

}  // namespace weft::world
