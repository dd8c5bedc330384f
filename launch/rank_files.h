// SPDX-License-Identifier: Apache-2.0
//
// Files that ranks write their output to instead of a pipe: one for each rank, by a pattern.
#pragma once

#include <string>

namespace weft::launch {

/// %r: the rank, %h: this machine's name, %%: a percent sign.
std::string file_of_rank(const std::string& pattern, int rank);

/// The rank's file, empty and open for writing, with folders that were missing; -1 and errno.
int open_file_of_rank(const std::string& pattern, int rank);

}  // namespace weft::launch
