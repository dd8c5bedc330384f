// SPDX-License-Identifier: Apache-2.0
//
// `mpiexec --agent`: the ranks of one host of a job that runs on several. It is started by mpiexec
// (head.h) through ssh or another command, gets the job through its stdin and answers through its
// stdout (frames.h): no port is opened, and no secret stands in a command line.
//
// It stands in the supervisor's place: below it the same worker runs the ranks of this host (run.h)
// as if there were no others, and writes to pipes what mpiexec would show. If the agent dies the
// worker ends the ranks; if mpiexec or the connection dies, the agent sees the end of its stdin and
// does so. Where there are many hosts it starts agents on some of them (branches.h).
#pragma once

namespace weft::launch {

/// All of it; returns the exit code.
int agent();

}  // namespace weft::launch
