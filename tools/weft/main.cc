// SPDX-License-Identifier: Apache-2.0
//
// The `weft` command: what is installed and what it is like here (info), how it compares (bench).
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
#include "info.h"

namespace {

namespace fs = std::filesystem;

constexpr const char* examples =
    "examples:\n"
    "  weft info                            this build, this machine, all parameters\n"
    "  WEFT_SYNC_SPIN_US=0 weft info        what a variable changes\n"
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
  constexpr const char* known[] = {"info", "bench", "--json", "--markdown", "--help", "--version"};
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
  if (*bench_command) return bench(bench_command->remaining());
  std::cout << app.help();
  return 0;
}
