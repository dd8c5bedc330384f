// SPDX-License-Identifier: Apache-2.0
//
// From options to processes: find each program, decide whether its ranks are processes or threads,
// give every rank its CPUs, and write down what each process is started with. Nothing runs yet.
#pragma once

#include <string>
#include <vector>

#include "environment.h"
#include "memory/job.h"
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

/// One process to start: one rank, or all ranks of a program as threads.
struct Process {
  int first = 0, count = 1;
  std::string name;  // as the user wrote it
  std::string path;
  std::string program;  // the program's file; as `path` unless that is the host
  std::vector<std::string> argv;
  std::string directory;
  Environment env;
  std::vector<int> cpus;  // empty: not bound
  bool is_host = false;   // of ranks as threads
};

struct Plan {
  std::vector<Process> processes;
  std::string map;  // the line that -v prints
};

/// CPUs the job may use: allowed ones, and no more than the control group's quota.
int usable_cpus();

/// `debug_directory` is where a rank host keeps its files with --debug, else empty.
Plan make_plan(const Options& options, const std::vector<Runnable>& runnables, memory::Job& job,
               const std::string& debug_directory);

}  // namespace weft::launch
