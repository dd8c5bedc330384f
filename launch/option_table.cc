// SPDX-License-Identifier: Apache-2.0
//
// The rows in the order of --help, grouped. A row's function gets as many values as its `value` has
// words; it makes them into Options or refuses them (values.h).
#include "option_table.h"

#include <sys/resource.h>

#include <algorithm>
#include <cstring>
#include <sstream>

#include "option_takers.h"
#include "values.h"

namespace weft::launch {
namespace {

using S = Section;
using G = Given;

void take_rank_count(S& s, const G& g) {
  s.ranks = take_number(g.name, "a number of ranks", 1, most_ranks, g.value());
}

void take_ranks_per_node(S& s, const G& g) {
  s.per_host = take_number(g.name, "a number of ranks", 1, most_ranks, g.value());
}

void take_mode(S& s, const G& g) {
  s.options.mode = take_choice<RankMode>(g.name, g.value(),
                                         {{"process", RankMode::process},
                                          {"thread", RankMode::thread},
                                          {"auto", RankMode::automatic}});
}

void take_directory(S& s, const G& g) {
  if (g.value().empty()) unexpected(g.name, "a directory", "");
  s.program.directory = g.value();
}

void take_hang(S& s, const G& g) {
  s.options.on_hang = take_choice<OnHang>(
      g.name, g.value(),
      {{"report", OnHang::report}, {"abort", OnHang::abort}, {"gdb", OnHang::debugger}});
}

void take_stack(S& s, const G& g) {
  constexpr std::size_t least = 64 << 10, most = std::size_t{1} << 40;
  s.options.stack_bytes = take_bytes(g.name, least, most, g.value());
  rlimit limit{};
  if (getrlimit(RLIMIT_STACK, &limit) == 0 && s.options.stack_bytes > limit.rlim_max)
    mistake(g.name + " " + shown(g.value()) + " is more than this shell allows: " +
            std::to_string(limit.rlim_max >> 10) + "K (ulimit -Hs)");
}

void note_foreign_parameter(S& s, const G& g) {
  const std::string text = "weft: " + g.name + " " + shown(g.values[0]) +
                           " is a parameter of Open MPI and has no effect; weft's own are "
                           "variables (weft info)";
  s.options.notes.push_back(text);
}

// What is asked for is so anyway, or concerns other machines.
void take_nothing(S&, const G&) {}

constexpr OptionRow table[] = {
    {Group::ranks, "n np", "c ntasks", "N", "number of ranks (default 1)", take_rank_count},
    {Group::ranks, "ranks", "", "HOW",
     "process (default): a process per rank; thread: ranks are threads of one process; auto: "
     "threads if the program can",
     take_mode},
    {Group::ranks, "wdir C", "wd", "DIR", "start the program in this directory", take_directory},
    {Group::ranks, "configfile", "app", "FILE",
     "read options and programs from a file, one program a line", nullptr},
    {Group::variables, "x", "", "NAME[=VALUE]",
     "set a variable for this program (or pass on mpiexec's)", take_export},
    {Group::variables, "env", "", "NAME VALUE", "the same as -x NAME=VALUE", take_variable},
    {Group::variables, "genv", "", "NAME VALUE", "set a variable for all programs",
     take_global_variable},
    {Group::variables, "envlist", "", "NAMES",
     "of mpiexec's variables this program gets only these (A,B,C)", take_list_of_variables},
    {Group::variables, "envnone", "", nullptr, "this program gets none of mpiexec's variables",
     [](S& s, const G&) {
       s.program.inherit = Inherit{false, {}};
     }},
    {Group::variables, "genvlist", "", "NAMES", "as -envlist, for all programs",
     take_global_list_of_variables},
    {Group::variables, "genvnone", "", nullptr, "as -envnone, for all programs",
     [](S& s, const G&) {
       s.options.inherit = {false, {}};
     }},
    {Group::cpus, "bind-to", "bind", "WHAT",
     "CPUs of a rank: slice (default: its share of the machine), core, hwthread, l2cache, l3cache, "
     "numa, package, or none; core:2 for two cores",
     take_bind},
    {Group::cpus, "map-by", "", "WHAT",
     "place ranks one after the other on cores (core, slot), or in turn on each l3cache, numa or "
     "package; core:PE=4 gives each rank four cores",
     take_map},
    {Group::cpus, "rank-by", "", "ORDER",
     "with -map-by: span numbers ranks across the parts (default), fill part by part",
     take_rank_order},
    {Group::cpus, "report-bindings", "", nullptr, "print the CPUs of each rank",
     [](S& s, const G&) { s.options.report_bindings = true; }},
    {Group::streams, "l", "tag-output prepend-rank label", nullptr,
     "put [rank] in front of each line of output",
     [](S& s, const G&) { s.options.tag_output = true; }},
    {Group::streams, "pty", "", nullptr,
     "each rank's output is a terminal where mpiexec's is one, not only rank 0's (on one machine)",
     [](S& s, const G&) { s.options.terminals = true; }},
    {Group::streams, "outfile-pattern", "", "FILE",
     "write each rank's output to a file of its own; %r is the rank, %h the host", take_out_files},
    {Group::streams, "errfile-pattern", "", "FILE", "the same for standard error", take_err_files},
    {Group::streams, "output-filename", "", "NAME", "both, to NAME.rank.out and NAME.rank.err",
     take_file_names},
    {Group::streams, "merge-stderr-to-stdout", "", nullptr, "standard error goes where output goes",
     [](S& s, const G&) { s.options.merge_output = true; }},
    {Group::streams, "stdin", "s", "RANK",
     "who reads mpiexec's input: a rank (default 0), all, none", take_reader},
    {Group::end, "timeout", "", "SECONDS", "stop the job after so long (also MPIEXEC_TIMEOUT)",
     [](S& s, const G& g) { s.options.timeout_s = take_seconds(g.name, g.value()); }},
    {Group::end, "hang", "", "HOW",
     "when ranks wait for what cannot come: report says who waits for what (default), abort also "
     "ends the job, gdb also shows where their threads are",
     take_hang},
    {Group::other, "v", "verbose display-map", nullptr, "one line on where ranks run",
     [](S& s, const G&) { s.options.verbose = true; }},
    {Group::other, "stack", "", "SIZE", "stack of a rank, like 64M", take_stack},
    {Group::other, "pretend-nodes", "", "N",
     "treat this machine as N nodes, each with its part of the ranks: to try what a cluster does",
     [](S& s, const G& g) {
       s.options.pretended_nodes =
           take_number(g.name, "a number of nodes", 1, most_ranks, g.value());
     }},
    {Group::other, "debug", "", nullptr,
     "ranks as threads: keep their copies in files, so that gdb finds them",
     [](S& s, const G&) { s.options.debug = true; }},
    {Group::other, "h help", "", nullptr, "this text",
     [](S&, const G&) {
       throw Failure{0, help_text()};
     }},
    {Group::other, "V version", "", nullptr, "the version",
     [](S&, const G&) {
       throw Failure{0, "mpiexec (weft) " WEFT_VERSION};
     }},
    {Group::hosts, "host", "H hosts", "LIST",
     "run there: a:4,b:4 gives each four ranks (default: the batch job's hosts, or this machine)",
     take_hosts},
    {Group::hosts, "hostfile", "f machinefile", "FILE",
     "the same from a file: a line a host, \"a slots=4\" or \"a:4\"", take_host_file},
    {Group::hosts, "ppn", "N perhost npernode ranks-per-proc", "N", "ranks on each host",
     take_ranks_per_node},
    {Group::hosts, "tree-width", "", "N",
     "agents that one process starts (default 32); with more hosts, agents start others",
     [](S& s, const G& g) {
       s.options.tree_width = take_number(g.name, "a number of agents", 1, most_ranks, g.value());
     }},
    {Group::hosts, "host-timeout", "", "SECONDS",
     "a host that is silent for so long is lost, and the job ends (default 3)",
     [](S& s, const G& g) {
       s.options.host_timeout_s = take_number(g.name, "a number of seconds", 1, 86400, g.value());
     }},
    {Group::hosts, "launch-agent", "", "COMMAND",
     "runs a command on a host: COMMAND HOST COMMAND... (default ssh; srun inside Slurm)",
     take_launch_agent},
    // Not shown in --help.
    {Group::other, "display", "", "WHAT", nullptr, take_display},
    {Group::other, "output", "", "WHAT", nullptr, take_output},
    {Group::cpus, "use-hwthread-cpus", "", nullptr, nullptr,
     [](S& s, const G&) { take_hardware_threads(s); }},
    {Group::cpus, "cpus-per-task cpus-per-proc cpus-per-rank", "", "N", nullptr, take_width},
    {Group::variables, "envall", "", nullptr, nullptr,
     [](S& s, const G&) { s.program.inherit = Inherit{}; }},
    {Group::variables, "genvall", "", nullptr, nullptr,
     [](S& s, const G&) { s.options.inherit = {}; }},
    {Group::other, "mca gmca prtemca pmixmca gpmixmca", "", "NAME VALUE", nullptr,
     note_foreign_parameter},
    {Group::other, "oversubscribe allow-run-as-root quiet noprefix", "", nullptr, nullptr,
     take_nothing},
    {Group::other, "launcher launcher-exec rmk iface prefix personality", "", "WHAT", nullptr,
     take_nothing},
};

constexpr RefusedRow refused[] = {
    {"rankfile rf rankmap", "place ranks with --map-by and --bind-to"},
    {"cpu-set cpu-list slot-list", "start mpiexec under taskset: ranks share the CPUs it may use"},
    {"npersocket npernuma", "give -n and spread ranks with --map-by package or --map-by numa"},
    {"bynode bycore byslot bysocket", "use --map-by core or --map-by package"},
    {"membind", "memory follows the rank's CPUs (--bind-to numa)"},
    {"cpu-bind distribution", "use --bind-to and --map-by"},
    {"gpus-per-proc gpu-support", "weft does not divide GPUs; use -x CUDA_VISIBLE_DEVICES=..."},
    {"nolocal skip-launch-node", "name the hosts that are to run ranks with -H"},
    {"nodes", "name the hosts with -H; -n is the number of ranks"},
    {"nooversubscribe no-oversubscribe", "weft runs any number of ranks; leave it out"},
    {"path gpath", "use -x PATH=DIR:$PATH"},
    {"gwdir", "use -wdir in front of each program"},
    {"set-env unset-env append-env prepend-env", "use -x NAME=VALUE"},
    {"tune am", "weft has no files of parameters; its parameters are variables (weft info)"},
    {"usize pset", "weft cannot start more ranks later"},
    {"prepend-pattern timestamp-output xml output-proctable", "-l tags each line with its rank"},
    {"xterm", "use -outfile-pattern to keep ranks' output apart"},
    {"print-all-exitcodes report-child-jobs-separately",
     "mpiexec names the first rank that fails, and exits with its code"},
    {"disable-auto-cleanup enable-recovery continuous",
     "a rank that fails ends the job; MPI_ERRORS_RETURN is for errors that ranks handle"},
    {"stop-on-exec stop-in-init stop-in-app debugger tv",
     "use --debug and gdb -p, or -n 4 gdb ..."},
    {"get-stack-traces report-state-on-timeout", "use --hang=gdb"},
    {"do-not-launch", "use -v or --report-bindings with the program `true`"},
    {"info", "use `weft info`"},
    {"display-topo display-allocation display-devel-map", "use `weft info` and -v"},
    {"nameserver pmi-port demux dvm dvm-uri report-pid report-uri singleton",
     "weft starts ranks itself, without servers"},
    {"preload-binary preload-files", "ranks run here, where the program is"},
    {"time", "use --timeout SECONDS"},
    {"input", "use mpiexec ... < FILE"},
    {"error", "use -errfile-pattern FILE"},
    {"forward-signals", "mpiexec passes signals on (see how a job ends in the manual page)"},
};

bool names(const std::string& list, const std::string& name) {
  std::istringstream words(list);
  for (std::string word; words >> word;)
    if (word == name) return true;
  return false;
}

}  // namespace

std::string dashed(const std::string& name) {
  return (name.size() > 1 ? "--" : "-") + name;
}

std::string OptionRow::all_names() const {
  return std::string(names) + " " + also;
}

int OptionRow::values() const {
  return value == nullptr ? 0 : 1 + static_cast<int>(std::strchr(value, ' ') != nullptr);
}

std::span<const OptionRow> option_table() {
  return table;
}

const OptionRow* find_option(const std::string& name) {
  const auto row = std::find_if(std::begin(table), std::end(table),
                                [&](const OptionRow& r) { return names(r.all_names(), name); });
  return row != std::end(table) ? row : nullptr;
}

const char* why_refused(const std::string& name) {
  for (const RefusedRow& row : refused)
    if (names(row.names, name)) return row.instead;
  return nullptr;
}

std::vector<std::string> all_option_names() {
  std::vector<std::string> out;
  for (const OptionRow& row : table) {
    std::istringstream words(row.all_names());
    for (std::string word; words >> word;) out.push_back(dashed(word));
  }
  return out;
}

}  // namespace weft::launch
