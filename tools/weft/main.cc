// SPDX-License-Identifier: Apache-2.0
//
// The `weft` command: what is installed and what it is like here (info, docs), what this machine
// costs (tune), why a collective goes the way it does (explain), what it would take on a cluster
// (simulate), how weft compares (bench), modules for a Fortran compiler (fortran).
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <string>
#include <vector>

#include "base/params.h"
#include "docs.h"
#include "explain.h"
#include "info.h"
#include "launch/tuning.h"
#include "simulate.h"
#include "tune.h"
#include "tune_net.h"

namespace {

namespace fs = std::filesystem;

constexpr const char* examples =
    "Examples:\n"
    "  weft info                            this build, this machine, all parameters\n"
    "  WEFT_SYNC_SPIN_US=0 weft info        what a variable changes\n"
    "  weft info --net                      its networks, and the one that several nodes would "
    "take\n"
    "  weft docs hangs                      what to do when nobody moves\n"
    "  weft tune                            measure this machine once, for the cost model\n"
    "  mpiexec -H a:8,b:8 weft tune --net   and what messages between two hosts cost\n"
    "  weft explain allreduce --bytes 16k   ways it could go, their costs, and the one taken\n"
    "  weft explain bcast -n 32 --topology \"pack:4 core:8 pu:1\"\n"
    "  weft simulate allreduce --nodes 1024 --ppn 16   what it would take on such a cluster\n"
    "  weft fortran --compiler ifx          build MPI's modules for that compiler\n"
    "  weft bench --quick                   compare with the MPI libraries that are there\n"
    "  mpicc hello.c -o hello && mpiexec -n 4 ./hello\n"
    "  mpiexec --ranks=thread -n 4 ./hello  the same program, ranks as threads\n";

/// The folder that has bin/weft, wherever it was moved.
fs::path prefix() {
  std::error_code error;
  return fs::read_symlink("/proc/self/exe", error).parent_path().parent_path();
}

int show_info(const std::string& form) {
  const auto collected = weft::tool::collect_info(prefix());
  if (form == "json")
    std::cout << weft::tool::json_text(collected) << "\n";
  else if (form == "markdown")
    std::cout << weft::tool::params_as_markdown(collected);
  else
    std::cout << weft::tool::info_as_text(collected);
  return 0;
}

/// 1 where there is none to take.
int show_networks(bool json) {
  const auto networks = weft::tool::collect_networks();
  std::cout << (json ? weft::tool::json_text(networks) + "\n"
                     : weft::tool::networks_as_text(networks));
  return networks.contains("error") || networks["taken"].contains("error") ? 1 : 0;
}

enum class Tune { measure, show, reset };

int run_tune_net(Tune what) {
  using namespace weft::tool;
  return what == Tune::show    ? show_network()
         : what == Tune::reset ? forget_network()
                               : tune_network();
}

int run_tune(Tune what) {
  using namespace weft;
  const auto node = topo::Topology::this_node();
  if (!node || !node.value.is_here()) {
    const char* why = node ? "a declared machine cannot be measured; unset HWLOC_SYNTHETIC and "
                             "HWLOC_XMLFILE"
                           : last_error_text(node.err.cls);
    std::cerr << "weft tune: " << (why != nullptr ? why : "hwloc could not read this machine")
              << "\n";
    return 1;
  }
  const fs::path path = launch::tuning_path(node.value);
  if (what == Tune::reset) {
    std::error_code error;
    const bool was_there = fs::remove(path, error);
    if (error) {
      std::cerr << "weft tune: " << path.string() << ": " << error.message() << "\n";
      return 1;
    }
    std::cout << (was_there ? "removed " : "there is no ") << path.string() << "\n";
    return 0;
  }
  if (what == Tune::show) {
    const launch::Tuning tuning = launch::read_tuning(node.value);
    if (!tuning.complaint.empty()) std::cerr << "weft tune: " << tuning.complaint << "\n";
    std::cout << (tuning.prices.measured
                      ? "measured " + tuning.when + ", " + path.string()
                      : "built in; `weft tune` measures this machine, for " + path.string())
              << "\nmachine:  " << launch::tuning_key(node.value) << "\n"
              << tool::prices_as_text(tuning.prices);
    return 0;
  }
  std::string problem, doubt;
  const model::Parameters prices = tool::measure(node.value, &problem, &doubt);
  if (!problem.empty()) std::cerr << "weft tune: " << problem << "\n";
  std::cout << launch::tuning_key(node.value) << "\n" << tool::prices_as_text(prices);
  if (!doubt.empty()) {
    const launch::Tuning kept = launch::read_tuning(node.value);
    std::cout << "not kept: " << doubt << " (is this machine busy?); "
              << (kept.prices.measured ? "what was measured " + kept.when : "the built-in prices")
              << " serve\n";
    return 0;
  }
  if (const std::string why = launch::write_tuning(node.value, prices); !why.empty()) {
    std::cerr << "weft tune: the results are not kept: " << why << "\n";
    return 1;
  }
  std::cout << "kept in " << path.string() << "\n";
  return 0;
}

/// Becomes bench/run.py, with this installation as the weft to measure.
int run_bench(const std::vector<std::string>& words) {
  const std::string script = (prefix() / "share/weft/bench/run.py").string();
  const std::string here = prefix().string();
  std::vector<const char*> argv = {"python3", script.c_str(), "--weft", here.c_str()};
  for (const std::string& word : words) argv.push_back(word.c_str());
  argv.push_back(nullptr);
  std::cout.flush();
  execvp("python3", const_cast<char* const*>(argv.data()));
  std::fprintf(stderr, "weft bench needs python3: %s; try apt-get install python3\n",
               std::strerror(errno));
  return 1;
}

/// Becomes mpifort, which builds what is not there and says where it is.
int run_fortran(const std::string& compiler, bool integer_8) {
  const std::string mpifort = (prefix() / "bin/mpifort").string(), choice = "-fc=" + compiler;
  std::vector<const char*> argv = {mpifort.c_str(), "-showme:modules"};
  if (!compiler.empty()) argv.push_back(choice.c_str());
  if (integer_8) argv.push_back("-i8");
  argv.push_back(nullptr);
  std::cout.flush();
  execv(mpifort.c_str(), const_cast<char* const*>(argv.data()));
  std::fprintf(stderr, "weft fortran needs %s: %s\n", mpifort.c_str(), std::strerror(errno));
  return 1;
}

/// The options of all commands, and what was chosen.
struct Commands {
  CLI::App app{"weft: an MPI library for many-core nodes", "weft"};
  CLI::App *info, *docs, *tune, *explain, *simulate, *bench, *fortran;
  bool json = false, markdown = false, net = false, show = false, reset = false;
  bool integer_8 = false;
  std::string page, compiler;
  weft::tool::Question question;
  weft::tool::Experiment experiment;

  Commands();
  void add_explain();
  void add_simulate();
  /// What CLI11 cannot see; throws as it does.
  void check() const;
  int run();
};

Commands::Commands() {
  app.set_help_flag("-h,--help", "this text");
  app.set_version_flag("--version", "weft " WEFT_VERSION, "the version");
  app.require_subcommand(0, 1);
  info = app.add_subcommand("info", "show this build, this machine, what works, all parameters");
  info->add_flag("--json", json, "everything, as JSON");
  info->add_flag("--markdown", markdown, "the parameters, as a page");
  info->add_flag("--net", net, "the networks of this machine, and which one is taken");
  docs = app.add_subcommand("docs", "show a page of the documentation, or list all");
  docs->add_option("page", page, "such as launching, hangs, coverage")->option_text(" ");
  tune = app.add_subcommand(
      "tune", "measure what memory accesses between this machine's cores cost (under a second)");
  tune->add_flag("--net", net,
                 "what messages between nodes cost: mpiexec -H a:8,b:8 weft tune --net");
  tune->add_flag("--show", show, "the values in effect");
  tune->add_flag("--reset", reset, "forget what was measured");
  add_explain();
  add_simulate();
  fortran = app.add_subcommand(
      "fortran", "build the modules mpi and mpi_f08 for a Fortran compiler, say where they are");
  fortran->add_option("--compiler", compiler, "such as ifx (default: mpifort's)")
      ->option_text("NAME");
  fortran->add_flag("--integer-8", integer_8, "for default integers of 8 bytes");
  bench = app.add_subcommand("bench", "compare with other MPI libraries (weft bench --help)");
  bench->set_help_flag();
  bench->prefix_command();
  app.footer(examples);  // of this help, not of the commands'
}

void Commands::add_explain() {
  explain = app.add_subcommand(
      "explain", "what a collective would cost in each way it could go, and which one weft takes");
  const auto text = [&](const char* name, std::string& value, const char* what, const char* help) {
    return explain->add_option(name, value, help)->option_text(what);
  };
  text("collective", question.collective, " ", "allreduce, bcast, ...")->required();
  text("--bytes", question.bytes, "SIZE",
       "of a rank's vector or block; reduce_scatter: of the whole vector (1k)");
  explain
      ->add_option("-n", question.ranks,
                   "ranks, 2 to 4096, of several nodes to 1048576 (one per core)")
      ->option_text("N")
      ->check(CLI::Range(2, 1 << 20));
  explain
      ->add_option("--nodes", question.nodes,
                   "over which the ranks are spread, each with as many (1)")
      ->option_text("N")
      ->check(CLI::Range(1, 65536));
  text("--ranks", question.mode, "HOW", "process or thread (process)")
      ->check(CLI::IsMember({"process", "thread"}));
  text("--topology", question.topology, "MACHINE", "another machine, e.g. \"pack:4 core:8 pu:1\"");
  explain->add_option("--cpus", question.cpus, "that the ranks share, 1 to 4096 (all there are)")
      ->option_text("N")
      ->check(CLI::Range(1, 4096));
  explain->add_flag("--measure", question.measure, "also run it here, size by size");
  explain->add_flag("--json", question.json, "everything, as JSON");
  text("--plot", question.plot, "FILE", "draw costs over size into this picture");
}

void Commands::add_simulate() {
  simulate = app.add_subcommand(
      "simulate", "what collectives would take on a cluster of which there is only a description");
  weft::tool::Experiment& e = experiment;
  const auto text = [&](const char* name, std::string& value, const char* what, const char* help) {
    return simulate->add_option(name, value, help)->option_text(what);
  };
  text("collective", e.collective, " ", "allreduce, or several: bcast,reduce; or all")->required();
  simulate->add_option("--nodes", e.nodes, "nodes of the cluster (2)")
      ->option_text("N")
      ->check(CLI::Range(1, 65536));
  simulate->add_option("--ppn", e.each, "ranks on each, 1 to 4096 (one per core)")
      ->option_text("N")
      ->check(CLI::Range(1, 4096));
  text("--bytes", e.bytes, "SIZES", "as for explain, several (8,64KiB,1MiB)");
  text("--machine", e.machine, "MACHINE", "a node, e.g. \"pack:2 core:8 pu:1\" (this machine)");
  text(
      "--network", e.network, "PRICES",
      "latency=12us,gap=3us,bandwidth=1000MB/s,pairs=1,hop=100ns (as a job here; weft tune --net)");
  text("--fabric", e.fabric, "LINKS",
       "full, fat-tree:radix=36,taper=2 or dragonfly:radix=64 (full)");
  simulate->add_option("--tree-width", e.tree_width, "agents that one process starts (32)")
      ->option_text("N")
      ->check(CLI::Range(1, 65536));
  text("--ranks", e.mode, "HOW", "process or thread (process)")
      ->check(CLI::IsMember({"process", "thread"}));
  text("--way", e.way, "WAY", "this way only (all that weft considers)");
  text("--on-node", e.on_node, "WAY",
       "of the phases on nodes, where it can be gone (the cheapest)");
  simulate->add_flag("--compare", e.compare,
                     "also run it, on pretended nodes of this machine, size by size");
  simulate->add_flag("--json", e.json, "everything, as JSON");
}

void Commands::check() const {
  if (json && markdown) throw CLI::ValidationError("--json and --markdown exclude each other");
  if (net && markdown) throw CLI::ValidationError("--net and --markdown exclude each other");
  if (show && reset) throw CLI::ValidationError("--show and --reset exclude each other");
  const auto refuse_empty = [](const CLI::App& command, std::initializer_list<const char*> names) {
    for (const char* name : names)
      if (const CLI::Option* option = command.get_option(name);
          option->count() > 0 && option->as<std::string>().empty())
        throw CLI::ValidationError(std::string(name) +
                                   " needs a value, but it was given an empty one");
  };
  refuse_empty(*explain, {"--bytes", "--topology", "--plot", "collective"});
  refuse_empty(*simulate, {"--bytes", "--machine", "--network", "--fabric", "--way", "--on-node",
                           "collective"});
}

int Commands::run() {
  if (*info && net) return show_networks(json);
  if (*info) return show_info(json ? "json" : markdown ? "markdown" : "text");
  if (*docs) return weft::tool::show_docs(prefix(), page);
  if (*tune) {
    const Tune what = show ? Tune::show : reset ? Tune::reset : Tune::measure;
    return net ? run_tune_net(what) : run_tune(what);
  }
  if (*explain) return weft::tool::explain(question, prefix());
  if (*simulate) return weft::tool::simulate(experiment, prefix());
  if (*fortran) return run_fortran(compiler, integer_8);
  if (*bench) return run_bench(bench->remaining());
  std::cout << app.help();
  return 0;
}

/// All names that may stand at a place of the command line, of this command or of all.
std::vector<std::string> names(const CLI::App& app) {
  std::vector<std::string> out;
  for (const CLI::Option* option : app.get_options())
    for (const std::string& name : option->get_lnames()) out.push_back("--" + name);
  for (const CLI::App* command : app.get_subcommands({})) {
    out.push_back(command->get_name());
    for (const std::string& name : names(*command)) out.push_back(name);
  }
  return out;
}

/// CLI11's message, and the nearest word that would have been right.
int complain(const CLI::App& app, const CLI::ParseError& error, int argc, char** argv) {
  if (error.get_exit_code() == 0) return app.exit(error);
  std::cerr << "weft: " << error.what() << "\n";
  const std::vector<std::string> known = names(app);
  std::vector<const char*> pointers;
  for (const std::string& name : known) pointers.push_back(name.c_str());
  for (int i = 1; i < argc; ++i) {
    const std::string word(argv[i], std::strcspn(argv[i], "="));
    const char* near = weft::nearest_name(word.c_str(), pointers);
    if (near != nullptr && word != near)
      std::cerr << "did you mean `" << near << "` instead of `" << word << "`?\n";
  }
  std::cerr << "try `weft --help`\n";
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  Commands commands;
  try {
    commands.app.parse(argc, argv);
    commands.check();
  } catch (const CLI::ParseError& error) {
    return complain(commands.app, error, argc, argv);
  }
  try {
    return commands.run();
  } catch (const std::exception& trouble) {  // no memory, a library's error
    std::cerr << "weft: cannot go on: " << trouble.what() << "\n";
    return 1;
  }
}
