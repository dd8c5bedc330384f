// SPDX-License-Identifier: Apache-2.0
//
// What the user typed after `mpiexec`, understood: programs, their ranks and environment, and how
// to run them. Options of MPICH's, Open MPI's and Slurm's launchers work under their own names,
// or are refused with weft's own way (option_table.cc).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "hosts.h"
#include "topo/placement.h"

namespace weft::launch {

/// Thrown by whatever cannot go on before ranks run; main prints the text and exits.
struct Failure {
  int exit_code;
  std::string text;
};

enum class RankMode { process, thread, automatic };
/// What to do about a job that hangs.
enum class OnHang { report, abort, debugger };

using Variables = std::vector<std::pair<std::string, std::string>>;

/// Which of mpiexec's own variables the ranks get.
struct Inherit {
  bool all = true;
  std::vector<std::string> names;  // unless all; NAME* stands for all that begin so
};

/// How a program's number of ranks came about.
enum class Count { unsaid, per_host, said };

/// One of the `:` separated programs.
struct Program {
  int ranks = 1;
  Count count = Count::unsaid;
  std::vector<std::string> argv;
  Variables env;                   // on top of Options::env, later entries win
  std::optional<Inherit> inherit;  // instead of Options::inherit
  std::string directory;           // empty: where mpiexec runs
};

/// Consecutive ranks of the job.
struct Ranks {
  int first = 0, count = 0;
  int end() const { return first + count; }
  bool has(int rank) const { return rank >= first && rank < end(); }
  /// "rank 3" or "ranks 0-3"; "no ranks"
  std::string text() const;
};

/// Who reads mpiexec's standard input.
struct Reader {
  static constexpr int nobody = -1, everybody = -2;
  int rank = 0;
  bool is_among(const Ranks& ranks) const {
    return ranks.count > 0 && (rank == everybody || ranks.has(rank));
  }
};

struct Options {
  std::vector<Program> programs;
  Variables env;
  Inherit inherit;
  RankMode mode = RankMode::process;
  bool bind = true;          // false: ranks may run where mpiexec may
  topo::Placement place;     // where ranks run
  int pretended_nodes = 1;   // as which this machine is treated
  std::vector<Host> hosts;   // with their ranks; empty: all are on this machine, without agents
  bool names_hosts = false;  // the user did
  int slots = 0;             // of all hosts, also of those without ranks; 0: nobody said
  std::optional<int> per_host;
  std::string launch_agent;  // the command; empty: the default
  int tree_width = 32;       // agents that one process starts
  int host_timeout_s = 3;    // of silence, until a host is lost
  int node = 0;              // in an agent: which of the hosts this is
  // Of each host: the path of its memory of the job, whose ranks others have started. Empty:
  // mpiexec starts them.
  std::vector<std::string> memories;
  bool shares_network = false;  // in an agent: all hosts turned out to be one
  OnHang on_hang = OnHang::report;
  Reader input;
  std::string out_files, err_files;  // file names with %r; empty: mpiexec's own stdout, stderr
  bool merge_output = false;         // stderr goes where stdout goes
  bool tag_output = false;
  bool terminals = false;  // for each rank, not only rank 0
  bool verbose = false;
  bool report_bindings = false;
  bool debug = false;
  double timeout_s = 0;                    // 0: none
  const char* timeout_from = "--timeout";  // who said so
  std::size_t stack_bytes = 0;             // 0: as the system has it
  std::vector<std::string> notes;          // one sentence each about what has no effect here

  int ranks() const;
  bool attends() const { return !memories.empty(); }
  /// Some hosts have no ranks of the start: only spawned ones can come there.
  bool has_idle_hosts() const;
  void leave_idle_hosts_out();
  /// All ranks are on this machine, although they are on several nodes.
  bool loopback() const { return pretended_nodes > 1 || shares_network; }
  /// Those that this mpiexec starts itself, or this agent.
  Ranks here() const { return hosts.empty() ? Ranks{0, ranks()} : ranks_on(node); }
  Ranks ranks_on(int host) const;
  const Host& host() const { return hosts[static_cast<std::size_t>(node)]; }
  /// Each rank's node; empty: there is one.
  std::vector<std::int32_t> node_of() const;
};

/// Understand the arguments behind argv[0]. Throws Failure: exit code 2 and a sentence for a
/// mistake, exit code 0 and the text for --help and --version.
Options parse(const std::vector<std::string>& arguments);
/// Once hosts without ranks are left out. Throws Failure (2): ranks get terminals on one machine.
void check_terminals(const Options& options);

}  // namespace weft::launch
