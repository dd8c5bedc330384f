// SPDX-License-Identifier: Apache-2.0
//
// Processes that a rank starts and that are no child of it, so that a program's own waiting for
// children does not meet them.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace weft::world {

/// weft's mpiexec, beside this library as in the build tree and in an installed one; "": not there.
std::string own_mpiexec();

/// Of this process's files the new one has its streams, and one more (-1: none).
struct Apart {
  std::vector<std::string> words;  // the first is the program's path
  int in, out, err, inherited = -1;
};
/// The new process, or 0 and errno.
pid_t start_apart(Apart what);

}  // namespace weft::world
