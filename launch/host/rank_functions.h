// SPDX-License-Identifier: Apache-2.0
//
// Functions that only ranks' own code finds in the place of libc's or libm's. The interposers
// (interpose_*.cc) are found by all libraries of the process. That would be wrong for getpid, by
// which libmpi_abi knows its process, slow for clock_gettime, and impossible for libm, which the
// process itself does not have. So references in ranks' images are turned one by one (fixups.cc).
#pragma once

#include <link.h>

#include <string_view>

namespace weft::host {

/// The address of the function that ranks find as `name`; 0: as everybody does.
ElfW(Addr) function_of_ranks(std::string_view name);

}  // namespace weft::host
