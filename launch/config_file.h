// SPDX-License-Identifier: Apache-2.0
//
// -configfile FILE (MPICH), --app FILE (Open MPI): each line is what stands between two colons of
// the command line. Quotes and backslashes mean what they mean to a shell; nothing is expanded.
#pragma once

#include <string>
#include <vector>

namespace weft::launch {

/// The words of each line; lines without a word and behind a # are left out. Throws Failure.
std::vector<std::vector<std::string>> read_config_file(const std::string& path);

/// One line's words; false where a quote is not closed.
bool split_words(const std::string& line, std::vector<std::string>* out);

}  // namespace weft::launch
