// SPDX-License-Identifier: Apache-2.0
//
// Which limit of the system stands behind an error, and how to raise it: for sentences that end in
// strerror(errno).
#pragma once

#include <string>

namespace weft {

/// "" or " (a process may have 1024 files open: ...)" for EMFILE, ENFILE, EAGAIN (of fork and of
/// thread creation), ENOMEM and EFBIG. errno stays as it is.
std::string limit_behind(int error);

/// The line of /proc/self/cgroup `cgroup` made into the folder of the group that limits processes,
/// below `root`; "" where there is none. Apart for tests.
std::string pids_folder(const std::string& cgroup, const std::string& root);

}  // namespace weft
