// SPDX-License-Identifier: Apache-2.0
//
// The command line. CLI11 holds the table of options, converts values and writes the help; here
// the words are brought into the form it expects: `-np 4` of MPICH and Open MPI becomes `--np 4`,
// and the options end where the program's name stands (its own arguments are never looked at).
#include "options.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <fstream>
#include <initializer_list>
#include <span>

#include "base/params.h"

namespace weft::launch {
namespace {

constexpr const char* examples = R"(Examples:
  mpiexec -n 4 ./app input.txt              4 ranks, one process each
  mpiexec --ranks=thread -n 4 ./app         the same binary, 4 ranks as threads of one process
  mpiexec -n 1 ./master : -n 7 ./worker     two programs, one job of 8 ranks
  mpiexec -n 4 -x OMP_NUM_THREADS=2 -l ./app   a variable for all ranks; lines tagged by rank
  mpiexec -n 2 --timeout 60 -v ./app        stop after a minute; show where ranks run

kill -USR1 on mpiexec shows what all ranks wait for.

Exit code: that of the first failing rank (128 + signal number when it was killed), 124 after
--timeout, 125 after --hang=abort, 127 or 126 when a program cannot be found or run, 2 for a mistake in the options.)";

constexpr int most_ranks = 1 << 16;

[[noreturn]] void mistake(const std::string& text) {
  throw Failure{2, "weft: " + text + "; `mpiexec --help` shows all options"};
}

/// Values of one `:` separated section, as CLI11 leaves them.
struct Section {
  std::string n, per_node, ranks, bind, timeout, hang, stack;
  Variables env, global_env;
  std::vector<std::string> exports, hosts, hostfiles, ignored_values;
  std::string directory, bind_to;
};

void add_job_options(CLI::App& app, Section& s, Options& o) {
  app.add_option("-n,--np,--n,-c", s.n, "number of ranks (default 1)")->option_text("N");
  app.add_option("--ranks", s.ranks,
                 "ranks as processes (default), as threads of one process, or threads if the "
                 "program can")
      ->option_text("process|thread|auto");
  app.add_option("-x", s.exports, "set a variable for the ranks (or pass on mpiexec's own)")
      ->option_text("NAME[=VALUE]");
  app.add_option("--env", s.env, "set a variable for this program")->option_text("NAME VALUE");
  app.add_option("--genv", s.global_env, "set a variable for all programs")
      ->option_text("NAME VALUE");
  app.add_option("-C,--wdir,--wd", s.directory, "start the program in this directory")
      ->option_text("DIR");
  app.add_flag("-l,--tag-output,--prepend-rank", o.tag_output, "put [rank] in front of each line");
  app.add_flag("--pty", o.terminals,
               "a terminal for each rank's output, where mpiexec has one; else rank 0 only");
  app.add_option("--timeout", s.timeout, "stop the job after so many seconds, exit code 124")
      ->option_text("SECONDS");
  app.add_option("--hang", s.hang,
                 "when ranks wait for what cannot come: say who waits for what (default), also end "
                 "the job with code 125, or also show with gdb where their threads are")
      ->option_text("report|abort|gdb");
  app.add_option("--bind", s.bind,
                 "CPUs of a rank: its slice of the machine (default), one core of it, or all")
      ->option_text("none|slice|core");
  app.add_flag("-v,--verbose", o.verbose, "one line on where ranks run");
  app.add_flag("--debug", o.debug,
               "ranks as threads: keep copies in files, so that gdb finds them");
  app.add_option("--stack", s.stack, "stack of a rank, e.g. 64M")->option_text("SIZE");
}

// Options of other launchers.
void add_foreign_options(CLI::App& app, Section& s, Options& o) {
  const std::string group = "Accepted from MPICH and Open MPI";
  app.add_option("--host,--hosts,-H", s.hosts, "only this machine")
      ->group(group)
      ->option_text("LIST");
  app.add_option("--hostfile,--machinefile,-f", s.hostfiles, "only with this machine in it")
      ->group(group)
      ->option_text("FILE");
  app.add_option("--ppn,--perhost,--npernode,--ranks-per-proc,-N", s.per_node,
                 "ranks on this machine, when -n is not given")
      ->group(group)
      ->option_text("N");
  app.add_option("--bind-to", s.bind_to, "none and core as --bind; others are --bind slice")
      ->group(group)
      ->option_text("WHAT");
  const auto ignore = [&](const char* names, int arguments) {
    CLI::Option* option = app.add_option(names, s.ignored_values)->group("");
    option->type_size(arguments)->expected(arguments == 0 ? 0 : 1)->take_all();
    option->each([&o, option](const std::string&) { o.ignored.push_back(option->get_name()); });
  };
  for (const char* name : {"--map-by", "--rank-by", "--launcher", "--rmk", "--iface"})
    ignore(name, 1);
  for (const char* name : {"--mca", "--prtemca", "--pmixmca"}) ignore(name, 2);
  for (const char* name : {"--oversubscribe", "--allow-run-as-root", "--use-hwthread-cpus",
                           "--genvall", "--envall", "--nolocal", "--report-bindings", "--quiet"})
    app.add_flag_callback(name, [&o, name] { o.ignored.emplace_back(name); })->group("");
}

std::unique_ptr<CLI::App> make_app(Section& s, Options& o) {
  auto app = std::make_unique<CLI::App>(
      "Run an MPI program on this machine:\n"
      "  mpiexec [options] program [arguments] [: [options] program [arguments]]...",
      "mpiexec");
  app->set_help_flag("-h,--help", "this text");
  app->set_version_flag("-V,--version", "mpiexec (weft) " WEFT_VERSION, "the version");
  add_job_options(*app, s, o);
  add_foreign_options(*app, s, o);
  app->footer(examples);
  // Every option may stand more than once; one value is taken each time, the last one wins where
  // there is one variable only.
  for (CLI::Option* option : app->get_options()) {
    option->allow_extra_args(false);
    if (option->get_expected_max() == 1) option->take_last();
  }
  return app;
}

CLI::Option* find(CLI::App& app, const std::string& word) {
  return app.get_option_no_throw(word);
}

[[noreturn]] void unknown(CLI::App& app, const std::string& word) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options())
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  std::vector<const char*> pointers;
  for (const std::string& name : names) pointers.push_back(name.c_str());
  const std::string dashed = word.rfind("--", 0) == 0 ? word : "-" + word;
  const char* near = nearest_name(dashed.c_str(), pointers);
  mistake("mpiexec has no option " + word +
          (near != nullptr ? "; did you mean " + std::string(near) + "?" : ""));
}

/// Split one word into the option's name as CLI11 knows it and an attached value, if any:
/// --name=value, -name, -n4.
struct Word {
  CLI::Option* option;
  std::string name, value;
  bool has_value;
};
Word read_word(CLI::App& app, const std::string& word) {
  const std::size_t equals = word.find('=');
  std::string name = word.substr(0, equals);
  std::string value = equals == std::string::npos ? "" : word.substr(equals + 1);
  if (name.size() > 2 && name[1] != '-') name.insert(0, "-");
  if (name.size() > 2 || equals == std::string::npos) {
    if (CLI::Option* option = find(app, name))
      return {option, name, value, equals != std::string::npos};
  }
  // -n4, -xNAME=VALUE
  CLI::Option* brief = word[1] == '-' ? nullptr : find(app, word.substr(0, 2));
  if (brief == nullptr || brief->get_items_expected_max() == 0)
    unknown(app, word.substr(0, word.find('=')));
  return {brief, word.substr(0, 2), word.substr(2), true};
}

/// Move the options at `at` and behind it into CLI11's form; `at` is then the program's name.
std::vector<std::string> take_options(CLI::App& app, std::span<const std::string> words,
                                      std::size_t& at) {
  std::vector<std::string> out;
  while (at < words.size() && words[at].size() > 1 && words[at][0] == '-') {
    if (words[at] == "--") {
      ++at;
      break;
    }
    const Word word = read_word(app, words[at++]);
    const int wanted = word.option->get_items_expected_min();
    out.push_back(word.name);
    if (word.has_value && wanted == 0) mistake("option " + word.name + " takes no value");
    if (word.has_value) out.push_back(word.value);
    for (int k = word.has_value ? 1 : 0; k < wanted; ++k) {
      if (at == words.size())
        mistake("option " + word.name + " needs " + (wanted == 1 ? "a value" : "two values"));
      out.push_back(words[at++]);
    }
  }
  return out;
}

bool is_this_machine(const std::string& host) {
  char own[256] = "";
  gethostname(own, sizeof own - 1);
  const std::string name = host.substr(0, host.find(':'));
  const std::string own_short = std::string(own).substr(0, std::string(own).find('.'));
  return name == "localhost" || name == "127.0.0.1" || host == "::1" || name == own ||
         name.substr(0, name.find('.')) == own_short;
}

void check_hosts(const Section& s) {
  std::vector<std::string> hosts;
  const auto add = [&](const std::string& list) {
    std::string host;
    for (std::istringstream in(list); std::getline(in, host, ',');)
      if (!host.empty()) hosts.push_back(host);
  };
  for (const std::string& list : s.hosts) add(list);
  for (const std::string& file : s.hostfiles) {
    std::ifstream in(file);
    if (!in) mistake("cannot read the host file " + file);
    for (std::string line; std::getline(in, line);) {
      line = line.substr(0, line.find('#'));
      std::istringstream words(line);
      std::string host;
      if (words >> host) hosts.push_back(host);
    }
  }
  for (const std::string& host : hosts)
    if (!is_this_machine(host))
      mistake("weft runs on this machine only, and \"" + host +
              "\" is another one; leave the host options out");
}

void take_exports(const std::vector<std::string>& exports, Variables& env) {
  for (const std::string& word : exports) {
    const std::size_t equals = word.find('=');
    if (equals == 0 || word.empty())
      mistake("-x expects NAME or NAME=VALUE, but it was given \"" + word + "\"");
    if (equals != std::string::npos) {
      env.emplace_back(word.substr(0, equals), word.substr(equals + 1));
    } else if (const char* own = std::getenv(word.c_str())) {
      env.emplace_back(word, own);
    }
  }
}

void check_names(const Variables& env) {
  for (const auto& [name, value] : env)
    if (name.empty() || name.find('=') != std::string::npos)
      mistake("\"" + name + "\" is not a name of a variable; -env and -genv expect NAME VALUE");
}

int rank_count(const std::string& text) {
  char* end = nullptr;
  const long n = std::strtol(text.c_str(), &end, 10);
  if (end == text.c_str() || *end != 0 || n < 1 || n > most_ranks)
    mistake("-n expects a number of ranks from 1 to " + std::to_string(most_ranks) +
            ", but it was given \"" + text + "\"");
  return static_cast<int>(n);
}

template <class T>
void choose(const char* option, const std::string& word,
            std::initializer_list<std::pair<const char*, T>> choices, T& out) {
  if (word.empty()) return;
  std::vector<const char*> names;
  std::string list;
  for (const auto& [name, value] : choices) {
    if (word == name) {
      out = value;
      return;
    }
    names.push_back(name);
    list += (list.empty() ? "" : ", ") + std::string(name);
  }
  const char* near = nearest_name(word.c_str(), names);
  mistake(std::string(option) + " expects one of " + list + ", but it was given \"" + word + "\"" +
          (near != nullptr ? "; did you mean " + std::string(near) + "?" : ""));
}

void take_timeout(const std::string& text, double& seconds) {
  if (text.empty()) return;
  char* end = nullptr;
  seconds = std::strtod(text.c_str(), &end);
  if (end == text.c_str() || *end != 0 || !(seconds > 0) || seconds > 1e9)
    mistake("--timeout expects a number of seconds, but it was given \"" + text + "\"");
}

void take_stack(const std::string& text, std::size_t& bytes) {
  if (text.empty()) return;
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  const std::string unit = end;
  const int shift = unit.empty()                       ? 0
                    : unit[0] == 'k' || unit[0] == 'K' ? 10
                    : unit[0] == 'm' || unit[0] == 'M' ? 20
                    : unit[0] == 'g' || unit[0] == 'G' ? 30
                                                       : -1;
  if (end == text.c_str() || shift < 0 || unit.size() > 1 || !(value > 0) || value > 1e12)
    mistake("--stack expects a size like 512K, 64M or 1G, but it was given \"" + text + "\"");
  bytes = static_cast<std::size_t>(value * static_cast<double>(std::size_t{1} << shift));
}

void take_values(const Section& s, Options& options) {
  choose<RankMode>(
      "--ranks", s.ranks,
      {{"process", RankMode::process}, {"thread", RankMode::thread}, {"auto", RankMode::automatic}},
      options.mode);
  choose<Bind>("--bind", s.bind,
               {{"none", Bind::none}, {"slice", Bind::slice}, {"core", Bind::core}}, options.bind);
  if (!s.bind_to.empty())
    options.bind = s.bind_to == "none"   ? Bind::none
                   : s.bind_to == "core" ? Bind::core
                                         : Bind::slice;
  choose<OnHang>("--hang", s.hang,
                 {{"report", OnHang::report}, {"abort", OnHang::abort}, {"gdb", OnHang::debugger}},
                 options.on_hang);
  take_timeout(s.timeout, options.timeout_s);
  take_stack(s.stack, options.stack_bytes);
}

void parse_section(std::span<const std::string> words, Options& options) {
  Section s;
  const std::unique_ptr<CLI::App> app = make_app(s, options);
  std::size_t at = 0;
  std::vector<std::string> own = take_options(*app, words, at);
  std::reverse(own.begin(), own.end());  // CLI11 takes them from the back
  try {
    app->parse(own);
  } catch (const CLI::CallForHelp&) {
    throw Failure{0, app->help()};
  } catch (const CLI::CallForVersion& version) {
    throw Failure{0, version.what()};
  } catch (const CLI::ParseError& error) {
    mistake(error.what());
  }
  check_hosts(s);
  check_names(s.env);
  check_names(s.global_env);
  Program program;
  program.ranks = !s.n.empty() ? rank_count(s.n) : s.per_node.empty() ? 1 : rank_count(s.per_node);
  take_values(s, options);
  options.env.insert(options.env.end(), s.global_env.begin(), s.global_env.end());
  take_exports(s.exports, program.env);
  program.env.insert(program.env.end(), s.env.begin(), s.env.end());
  program.directory = s.directory;
  program.argv.assign(words.begin() + static_cast<std::ptrdiff_t>(at), words.end());
  if (program.argv.empty()) mistake("no program to run was given");
  options.programs.push_back(std::move(program));
}

}  // namespace

int Options::ranks() const {
  int n = 0;
  for (const Program& program : programs) n += program.ranks;
  return n;
}

Options parse(const std::vector<std::string>& arguments) {
  Options options;
  const std::span<const std::string> all(arguments);
  for (std::size_t first = 0; first <= all.size();) {
    std::size_t last = first;
    while (last < all.size() && all[last] != ":") ++last;
    parse_section(all.subspan(first, last - first), options);
    first = last + 1;
  }
  if (options.ranks() > most_ranks)
    mistake("a job has at most " + std::to_string(most_ranks) + " ranks");
  return options;
}

}  // namespace weft::launch
