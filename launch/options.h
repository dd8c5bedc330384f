// SPDX-License-Identifier: Apache-2.0
//
// What the user typed after `mpiexec`, understood: programs, their ranks and environment, and how
// to run them. Options of MPICH's and Open MPI's launchers that mean the same here, or nothing on
// one node, are accepted under their own names (options.cc).
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace weft::launch {

/// Thrown by whatever cannot go on before ranks run; main prints the text and exits.
struct Failure {
  int exit_code;
  std::string text;
};

enum class RankMode { process, thread, automatic };
enum class Bind { none, slice, core };
/// What to do about a job that hangs.
enum class OnHang { report, abort, debugger };

using Variables = std::vector<std::pair<std::string, std::string>>;

/// One of the `:` separated programs.
struct Program {
  int ranks = 1;
  std::vector<std::string> argv;
  Variables env;          // on top of Options::env, later entries win
  std::string directory;  // empty: where mpiexec runs
};

struct Options {
  std::vector<Program> programs;
  Variables env;
  RankMode mode = RankMode::process;
  Bind bind = Bind::slice;
  OnHang on_hang = OnHang::report;
  bool tag_output = false;
  bool terminals = false;  // for each rank, not only rank 0
  bool verbose = false;
  bool debug = false;
  double timeout_s = 0;              // 0: none
  std::size_t stack_bytes = 0;       // 0: as the system has it
  std::vector<std::string> ignored;  // accepted options without a meaning here, for -v

  int ranks() const;
};

/// Understand the arguments behind argv[0]. Throws Failure: exit code 2 and a sentence for a
/// mistake, exit code 0 and the text for --help and --version.
Options parse(const std::vector<std::string>& arguments);

}  // namespace weft::launch
