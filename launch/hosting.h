// SPDX-License-Identifier: Apache-2.0
//
// The launcher's side of ranks as threads: may a program run so, and how is the rank host started.
#pragma once

#include <string>

#include "plan.h"

namespace weft::launch {

/// "" when the program at `path` can run with ranks as threads, else one sentence why not.
/// `preload` is LD_PRELOAD's value in `directory`.
std::string why_not_threads(const std::string& path, const std::string& preload,
                            const std::string& directory);

/// Turn a process that would run the program into one that runs the rank host with it.
void make_host_command(Process& process, const Options& options,
                       const std::string& debug_directory);

}  // namespace weft::launch
