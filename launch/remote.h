// SPDX-License-Identifier: Apache-2.0
//
// The command by which mpiexec runs its agent on another host, and what became of it.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "child.h"
#include "hosts.h"
#include "options.h"

namespace weft::launch {

/// What stands in front of HOST: the user's choice, srun within a job of Slurm, else ssh.
std::string agent_command(const Options& options);

/// The words that run an agent on `host`. The user's command is a shell's, so that it may have
/// arguments; this machine needs none.
std::vector<std::string> words_for_agent(const Options& options, const Host& host);

/// A process and our ends of its streams.
struct Started {
  pid_t pid = -1;
  int in = -1, out = -1, err = -1;
};
/// Throws Failure with a sentence that names the host.
Started start_agent(const Options& options, const Host& host, const Lifeline& lifeline,
                    const sigset_t& mask);

/// "ssh ended with code 255" or "ssh was killed by signal 9 (Killed)", and the last line of what it
/// said.
std::string how_it_ended(const std::string& command, int status, const std::string& said);

}  // namespace weft::launch
