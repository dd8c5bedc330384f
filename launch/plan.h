// SPDX-License-Identifier: Apache-2.0
//
// From options and found programs to processes: give every rank its CPUs and variables, and write
// down what each process is started with. Nothing runs yet.
#pragma once

#include <string>
#include <vector>

#include "environment.h"
#include "memory/job.h"
#include "options.h"
#include "programs.h"

namespace weft::launch {

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
  bool is_spawned = false;
};

struct Plan {
  std::vector<Process> processes;
  std::string map;  // what -v and --report-bindings print
};

/// `debug_directory` is where a rank host keeps its files with --debug, else empty.
Plan make_plan(const Options& options, const std::vector<Runnable>& runnables, memory::Job& job,
               const std::string& debug_directory);

/// Ranks that a rank spawns: the first one's place, the world they belong to, which of its programs
/// theirs is. Of those on several hosts this one's are planned.
struct Spawn {
  int first = 0;
  memory::World world;
  int appnum = 0;
};
Plan make_spawned_plan(const Options& options, const Runnable& runnable, const Spawn& spawn,
                       memory::Job& job, const std::string& debug_directory);

/// The ranks of `host`, a process of a plan that was made with the same options, as processes.
std::vector<Process> as_processes(const Options& options, const Process& host, memory::Job& job);

}  // namespace weft::launch
