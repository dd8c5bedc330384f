// SPDX-License-Identifier: Apache-2.0
//
// Managers of processes that weft cannot join: a process that one of them started as one of several
// tasks would run as a job of one rank, n times, without a word.
#pragma once

#include <string>

namespace weft::world {

/// What the first of the tasks says about it; "" for the others, and where nobody or a launcher of
/// weft's own started this process. Reads the environment only.
std::string unjoined_manager();

}  // namespace weft::world
