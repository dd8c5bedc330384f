// SPDX-License-Identifier: Apache-2.0
//
// Where ld.so would find a library. The rank host must know before ld.so does, because a private
// library is loaded from a copy: DT_RPATH, LD_LIBRARY_PATH, DT_RUNPATH, ld.so.cache and the
// standard directories, in that order. Processor-specific variants (glibc-hwcaps) are passed over:
// the plain library does the same work.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "image.h"

namespace weft::host {

class Search {
 public:
  Search();
  /// The file that `name`, needed by `by` in a job of `program`, stands for; empty if there is
  /// none.
  std::string find(const std::string& name, const Image& by, const Image& program);

 private:
  std::string in_directories(std::string_view list, const std::string& name, const Image& by) const;
  std::string in_cache(std::string_view name) const;

  std::string library_path_;
  std::vector<char> cache_;
};

}  // namespace weft::host
