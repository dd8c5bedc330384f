// SPDX-License-Identifier: Apache-2.0
//
// Finding the programs of a job and refusing, before anything runs, what cannot be executed: with
// the cause that execve would only hint at.
#pragma once

#include <string>
#include <vector>

#include "options.h"

namespace weft::launch {

/// A program that was found and may run.
struct Runnable {
  std::string path;
  bool as_threads = false;
  std::string note;  // why ranks are processes although threads were asked for
};

/// Find the programs and decide on the rank mode. Throws Failure (126, 127).
std::vector<Runnable> find_programs(const Options& options);

/// Can ranks of the job spawn others, as far as the programs' files tell? Not if they are linked
/// with MPI and do not name MPI_Comm_spawn. Of scripts and interpreters nobody knows.
bool may_spawn(const Options& options);

/// "" or why the kernel would not execute this file, although it is there and may be executed: the
/// interpreter of a script is missing, the file is for another processor.
std::string why_not_executable(const std::string& path);

}  // namespace weft::launch
