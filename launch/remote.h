// SPDX-License-Identifier: Apache-2.0
//
// The command by which mpiexec runs its agent on another host, and what became of it.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "child.h"
#include "options.h"

namespace weft::launch {

/// What stands in front of HOST: the user's choice, srun within a job of Slurm, else ssh.
std::string agent_command(const Options& options);
/// How many agents one process starts: within Slurm all, as srun within a task of srun would wait.
int tree_width(const Options& options);

/// The words that run an agent on `host`. The user's command is a shell's, so that it may have
/// arguments; this machine needs none.
std::vector<std::string> words_for_agent(const std::string& command, const std::string& host);

/// A process and our ends of its streams.
struct Started {
  pid_t pid = -1;
  int in = -1, out = -1, err = -1;
};
/// Throws Failure with the reason.
Started start_agent(const std::string& command, const std::string& host, const Lifeline& lifeline,
                    const sigset_t& mask);

/// "ssh ended with code 255" or "ssh was killed by signal 9 (Killed)", and the last line of what it
/// said.
std::string how_it_ended(const std::string& command, int status, const std::string& said);

}  // namespace weft::launch
