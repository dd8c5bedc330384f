// SPDX-License-Identifier: Apache-2.0
//
// What the kernel says in its files, and who it is.
#pragma once

#include <string>

namespace weft {

/// Without its end; "": there is none.
std::string first_line(const std::string& path);

/// Tells running kernels apart, and so machines, whose names may be equal. Never empty, no blanks.
std::string kernel_id();

/// Tells networks of one kernel apart: what one loopback reaches and who finds sockets by their
/// names in the kernel's memory. "": the kernel does not say.
std::string network_id();

}  // namespace weft
