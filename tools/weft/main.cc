// SPDX-License-Identifier: Apache-2.0
//
// The `weft` command: what is installed and what it is like here (info), what this machine costs
// (tune), why a collective goes the way it does (explain), how weft compares (bench).
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
#include "explain.h"
#include "info.h"
#include "launch/tuning.h"
#include "tune.h"

namespace {

namespace fs = std::filesystem;

constexpr const char* examples =
    "examples:\n"
    "  weft info                            this build, this machine, all parameters\n"
    "  WEFT_SYNC_SPIN_US=0 weft info        what a variable changes\n"
    "  weft tune                            measure this machine once, for the cost model\n"
    "  weft explain allreduce --bytes 16k   ways it could go, their costs, and the one taken\n"
    "  weft explain bcast -n 32 --topology \"pack:4 core:8 pu:1\"\n"
    "  weft bench --quick                   compare with the MPI libraries that are there\n"
    "  mpicc hello.c -o hello && mpiexec -n 4 ./hello\n"
    "  mpiexec --ranks=thread -n 4 ./hello  the same program, ranks as threads\n";

/// The folder that has bin/weft, wherever it was moved.
fs::path prefix() {
  std::error_code error;
  return fs::read_symlink("/proc/self/exe", error).parent_path().parent_path();
}

int info(const std::string& form) {
  const auto collected = weft::tool::collect_info(prefix());
  if (form == "json")
    std::cout << collected.dump(2) << "\n";
  else if (form == "markdown")
    std::cout << weft::tool::params_as_markdown(collected);
  else
    std::cout << weft::tool::info_as_text(collected);
  return 0;
}

enum class Tune { measure, show, reset };

int tune(Tune what) {
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
int bench(const std::vector<std::string>& words) {
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

/// CLI11's message, and the nearest word that would have been right.
int complain(const CLI::App& app, const CLI::ParseError& error, int argc, char** argv) {
  if (error.get_exit_code() == 0) return app.exit(error);
  std::cerr << "weft: " << error.what() << "\n";
  constexpr const char* known[] = {"info",    "tune",       "explain",   "bench",
                                   "--json",  "--markdown", "--show",    "--reset",
                                   "--bytes", "--topology", "--measure", "--plot",
                                   "--ranks", "--cpus",     "--help",    "--version"};
  for (int i = 1; i < argc; ++i) {
    const char* near = weft::nearest_name(argv[i], known);
    if (near != nullptr && std::strcmp(near, argv[i]) != 0)
      std::cerr << "did you mean `" << near << "` instead of `" << argv[i] << "`?\n";
  }
  std::cerr << "try `weft --help`\n";
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"weft: an MPI library for many-core nodes", "weft"};
  app.set_version_flag("--version", "weft " WEFT_VERSION);
  app.footer(examples);
  app.require_subcommand(0, 1);

  CLI::App* info_command = app.add_subcommand("info", "show this build, this machine, parameters");
  bool json = false, markdown = false;
  CLI::Option* json_option = info_command->add_flag("--json", json, "everything, as JSON");
  info_command->add_flag("--markdown", markdown, "the parameters, as docs/params.md")
      ->excludes(json_option);

  CLI::App* tune_command = app.add_subcommand(
      "tune", "measure what memory accesses between this machine's cores cost (under a second)");
  bool show = false, reset = false;
  CLI::Option* show_option = tune_command->add_flag("--show", show, "the values in effect");
  tune_command->add_flag("--reset", reset, "forget what was measured")->excludes(show_option);

  CLI::App* explain_command = app.add_subcommand(
      "explain", "what a collective would cost in each way it could go, and which one weft takes");
  weft::tool::Question question;
  explain_command->add_option("collective", question.collective, "allreduce, bcast, ...")
      ->required();
  explain_command->add_option(
      "--bytes", question.bytes,
      "of a rank's vector or block; reduce_scatter: of the whole vector (1k)");
  explain_command->add_option("-n", question.ranks, "ranks (one per core)")
      ->check(CLI::Range(2, 4096));
  explain_command->add_option("--ranks", question.mode, "process or thread (process)")
      ->check(CLI::IsMember({"process", "thread"}));
  explain_command->add_option("--topology", question.topology,
                              "another machine, e.g. \"pack:4 core:8 pu:1\"");
  explain_command->add_option("--cpus", question.cpus, "that the ranks share (all there are)")
      ->check(CLI::Range(1, 4096));
  explain_command->add_flag("--measure", question.measure, "also run it here, size by size");
  explain_command->add_flag("--json", question.json, "everything, as JSON");
  explain_command->add_option("--plot", question.plot, "draw costs over size into this picture");

  CLI::App* bench_command =
      app.add_subcommand("bench", "compare with other MPI libraries (weft bench --help)");
  bench_command->set_help_flag();
  bench_command->prefix_command();

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return complain(app, error, argc, argv);
  }
  if (*info_command) return info(json ? "json" : markdown ? "markdown" : "text");
  if (*tune_command) return tune(show ? Tune::show : reset ? Tune::reset : Tune::measure);
  if (*explain_command) return weft::tool::explain(question, prefix());
  if (*bench_command) return bench(bench_command->remaining());
  std::cout << app.help();
  return 0;
}
