// SPDX-License-Identifier: Apache-2.0
//
// weft docs: the pages of the documentation that are installed beside it, in share/doc/weft of the
// build tree as of the installed one; messages name them so, because they know no folder.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace weft::tool {

/// Print a page, or the list of all without a name; the exit code.
int show_docs(const std::filesystem::path& prefix, const std::string& page);

/// What the coverage page says of the standard; empty where it is not installed.
struct Coverage {
  int works = 0, not_yet = 0;        // functions
  std::vector<std::string> missing;  // what no function stands for: languages
};
Coverage read_coverage(const std::filesystem::path& prefix);

}  // namespace weft::tool
