// SPDX-License-Identifier: Apache-2.0
//
// What mpiexec tells the rank host: the command line `weft-rankhost [--debug] [--stack BYTES]
// [--check] [--or-processes] -- program argument…` and the variables WEFT_JOB and WEFT_HOST_*.
// Ranks see none of it.
#pragma once

#include <string>
#include <vector>

namespace weft::host {

struct Settings {
  bool check_only = false;
  bool debug = false;
  bool or_processes = false;           // mpiexec starts processes if we cannot run the program
  std::size_t stack_bytes = 0;         // 0: as the process's limit says
  std::vector<std::string> arguments;  // [0] is the program as the user named it
  int job_descriptor = -1;             // WEFT_JOB=<fd>,<first>,<count>; -1: no launcher
  int first_rank = 0, rank_count = 1;
  int reader = 0;                  // WEFT_HOST_STDIN: the rank that reads stdin; -1: none, -2: all
  int first_of_world = 0;          // WEFT_HOST_WORLD: the first of the ranks' MPI_COMM_WORLD
  int first_local = 0;             // WEFT_HOST_LOCAL: the first rank of the job on this host
  std::vector<int> out, err;       // WEFT_HOST_STDOUT, _STDERR: one descriptor per rank, or none
  std::vector<int> in;             // WEFT_HOST_INPUTS: the same of what all read from
  std::vector<std::string> cpus;   // WEFT_HOST_CPUS: one cpulist per rank, or none
  bool openmp = false;             // WEFT_HOST_OMP=1: tell OpenMP about the rank's CPUs
  std::string directory;           // WEFT_HOST_DIR: where the copies go with --debug
  std::vector<std::string> tools;  // WEFT_HOST_TOOLS: libraries preloaded for each rank

  /// "" or what is wrong. The WEFT_HOST_ variables stay until restore_environment (restart.h).
  std::string read(int argc, char** argv);
};

/// The CPUs of a list such as "0-3,8".
std::vector<int> parse_cpus(const std::string& list);

/// The environment of one rank: the process's, less what only the rank host needs, plus the rank's
/// number (launch/rank_variables.h), and OpenMP's variables if they are wanted and the user has not
/// set them. Strings are new.
std::vector<char*> rank_environment(const Settings& settings, int rank, const std::string& cpus);

}  // namespace weft::host
