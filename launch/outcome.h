// SPDX-License-Identifier: Apache-2.0
//
// What the end of one process means for the job: go on, or end it, with which exit code and which
// sentence. Looks at how the process ended and at what its ranks wrote in the job segment.
#pragma once

#include <sys/types.h>

#include <string>

#include "memory/job.h"

namespace weft::launch {

/// A process that ended, and the world ranks first .. first+count-1 it hosted.
struct Ended {
  int first = 0, count = 1;
  pid_t pid = 0;
  std::string program;
  int status = 0;  // as waitpid gave it
  bool others_running = false;
  std::string host;  // "": there is one only
};

struct Outcome {
  bool end_job = false;
  int exit_code = 0;
  std::string message;  // empty: nothing to say
  // A rank of another host did not answer any more: why, is known there, if anywhere.
  bool is_consequence = false;
  // Ranks died that nobody asked to end: others may go on without them (shm/deaths.h).
  bool is_death = false;
};

/// Judge the end of a process that nobody asked to end.
Outcome judge(memory::Job& job, const Ended& ended);

/// What others say of ranks that died there, from what mpiexec says: without its name, with the
/// host's.
std::string how_it_died(const std::string& message, const std::string& host);
/// Behind what mpiexec says, if they do.
inline constexpr const char* others_go_on = "; the others go on, as their errors return";

/// The exit code a shell would give for a waitpid status.
int exit_code_of(int status);

}  // namespace weft::launch
