// SPDX-License-Identifier: Apache-2.0
//
// The grammar of the command line: sections separated by `:`, each options and then a program with
// its own arguments, which are never looked at. Long options may be written with one dash or two
// (MPICH writes -genv, Open MPI --genv), values behind a blank or an equals sign.
#include "options.h"

#include <algorithm>
#include <cstdlib>
#include <span>

#include "config_file.h"
#include "option_table.h"
#include "values.h"

namespace weft::launch {
namespace {

using Words = std::span<const std::string>;

constexpr int too_many = most_ranks + 1;

/// An option's word taken apart: --name, --name=value, -n4.
struct Word {
  const OptionRow* row = nullptr;
  std::string name;  // with its dashes
  std::optional<std::string> value;
};

std::string without_dashes(const std::string& name) {
  return name.substr(name.rfind("--", 0) == 0 ? 2 : 1);
}

[[noreturn]] void unknown(const std::string& name) {
  if (const char* instead = why_refused(without_dashes(name)))
    mistake("mpiexec has no option " + name + ": " + instead);
  const std::vector<std::string> all = all_option_names();
  std::vector<const char*> pointers;
  for (const std::string& one : all) pointers.push_back(one.c_str());
  const std::string dashed = name.rfind("--", 0) == 0 ? name : "-" + name;
  const char* near = nearest_name(dashed.c_str(), pointers);
  mistake("mpiexec has no option " + (name.size() < 80 ? name : shown(name)) +
          (near != nullptr ? "; did you mean " + std::string(near) + "?" : ""));
}

/// -n4 and -xNAME=VALUE. Other words that begin with a letter of ours are misspelt options.
bool has_attached_value(const std::string& word) {
  if (word.size() < 3 || word[1] == '-') return false;
  if (word[1] == 'x') return word.find('=') != std::string::npos;
  return std::string("ncN").find(word[1]) != std::string::npos &&
         word.find_first_not_of("0123456789", 2) == std::string::npos;
}

Word read_word(const std::string& word) {
  const std::size_t equals = word.find('=');
  Word out{nullptr, word.substr(0, equals), {}};
  if (equals != std::string::npos) out.value = word.substr(equals + 1);
  out.row = find_option(without_dashes(out.name));
  const bool one_letter_two_dashes =
      out.name.size() == 3 && out.name[1] == '-' && out.name != "--n";
  if (out.row != nullptr && !one_letter_two_dashes) return out;
  if (!has_attached_value(word)) unknown(out.name);
  return {find_option(word.substr(1, 1)), word.substr(0, 2), word.substr(2)};
}

/// The values of an option at `at`, which is moved behind them.
std::vector<std::string> take_values(const Word& word, Words words, std::size_t& at) {
  const auto wanted = static_cast<std::size_t>(word.row->values());
  if (word.value && wanted == 0) mistake("option " + word.name + " takes no value");
  std::vector<std::string> values;
  if (word.value) values.push_back(*word.value);
  while (values.size() < wanted) {
    if (at == words.size())
      mistake("option " + word.name + " needs " + (wanted == 1 ? "a value" : "two values"));
    values.push_back(words[at++]);
  }
  if (wanted == 1 && values[0].empty())
    mistake("option " + word.name + " needs a value, but it was given an empty one");
  return values;
}

bool is_option(const std::string& word) {
  return word.size() > 1 && word[0] == '-';
}

/// The slots of this machine are a number of ranks, those of others only tell how to share them
/// out.
void take_hosts_of(Section& section) {
  if (section.per_host) section.options.per_host = section.per_host;
  if (section.hosts.empty()) return;
  section.options.names_hosts = true;
  if (!are_all_here(section.hosts)) {
    if (!section.options.hosts.empty())
      mistake("hosts are named once, in front of the first program: all programs run on them");
    section.options.hosts = merged(section.hosts);
    return;
  }
  int slots = 0;
  for (const Host& host : section.hosts) slots += host.slots.value_or(0);
  if (slots == 0) return;
  section.program.ranks = slots;
  section.options.slots = std::max(section.options.slots, slots);
}

void finish(Section& section, Words words) {
  Program& program = section.program;
  program.argv.assign(words.begin(), words.end());
  if (program.argv.empty()) mistake("no program to run was given");
  if (program.argv[0].empty())
    mistake("the name of the program to run is empty (is a variable of the shell not set?)");
  take_hosts_of(section);
  if (section.per_host) {
    program.ranks = *section.per_host;
    program.count = Count::per_host;
  }
  if (section.ranks) {
    program.ranks = *section.ranks;
    program.count = Count::said;
  }
  section.options.programs.push_back(std::move(program));
}

enum class From { command_line, file };
void parse_words(Words words, Section& section, From from);

Section new_section(Options& options) {
  return {options, {}, {}, {}, {}};
}

/// The first line goes on with the options that stand in front of the file.
void parse_file(const std::string& path, Section& section) {
  const std::vector<std::vector<std::string>> lines = read_config_file(path);
  parse_words(lines[0], section, From::file);
  for (std::size_t i = 1; i < lines.size(); ++i) {
    Section next = new_section(section.options);
    parse_words(lines[i], next, From::file);
  }
}

void parse_words(Words words, Section& section, From from) {
  std::size_t at = 0;
  while (at < words.size() && is_option(words[at])) {
    if (words[at] == "--") {
      ++at;
      break;
    }
    const Word word = read_word(words[at++]);
    const std::vector<std::string> values = take_values(word, words, at);
    if (word.row->take != nullptr) {
      word.row->take(section, {word.name, values});
      continue;
    }
    if (from == From::file)
      mistake("a file of options cannot read another one (" + word.name + ")");
    if (at != words.size())
      mistake(shown(words[at]) + " stands behind " + word.name + " " + shown(values[0]) +
              ", whose lines name the programs; options go in front of it");
    return parse_file(values[0], section);
  }
  finish(section, words.subspan(at));
}

/// MPICH's variable; the option goes before it.
void take_timeout_from_environment(Options& options) {
  const char* text = std::getenv("MPIEXEC_TIMEOUT");
  const std::string value = text != nullptr ? text : "";
  if (options.timeout_s > 0 || value.empty() || value == "0" || value == "-1") return;
  options.timeout_from = "MPIEXEC_TIMEOUT";
  options.timeout_s = take_seconds("the variable MPIEXEC_TIMEOUT", value);
}

/// Where ranks run, if that is not this machine alone, and how many there are if nobody said.
void share_out_ranks(Options& options) {
  if (!options.names_hosts) {
    const std::vector<Host> allocated = allocated_hosts();
    if (!are_all_here(allocated)) options.hosts = merged(allocated);
  }
  if (options.hosts.empty()) return;
  if (options.per_host)
    for (Host& host : options.hosts) host.slots = options.per_host;
  options.slots = static_cast<int>(std::min<std::int64_t>(slots_of(options.hosts), too_many));
  const std::int64_t hosts = static_cast<std::int64_t>(options.hosts.size());
  for (Program& program : options.programs) {
    if (program.count == Count::per_host)
      program.ranks = static_cast<int>(std::min<std::int64_t>(program.ranks * hosts, too_many));
    else if (program.count == Count::unsaid && options.programs.size() == 1)
      program.ranks = options.slots;
  }
  if (options.ranks() > most_ranks) return;
  if (options.per_host && options.ranks() > *options.per_host * hosts)
    mistake("--ppn " + std::to_string(*options.per_host) + " on " + std::to_string(hosts) +
            " hosts is less than the " + std::to_string(options.ranks()) + " ranks of this job");
  share_out(options.hosts, options.ranks());
}

void check(const Options& options) {
  if (options.ranks() > most_ranks)
    mistake("a job has at most " + std::to_string(most_ranks) + " ranks");
  if (options.pretended_nodes > options.ranks())
    mistake("--pretend-nodes " + std::to_string(options.pretended_nodes) +
            " wants as many ranks, not " + std::to_string(options.ranks()));
  if (options.pretended_nodes > 1 && !options.hosts.empty())
    mistake("--pretend-nodes is for one machine, and this job runs on hosts that were named");
  if (options.input.rank >= options.ranks())
    mistake("-stdin " + std::to_string(options.input.rank) + " names no rank of a job of " +
            std::to_string(options.ranks()));
}

}  // namespace

void check_terminals(const Options& options) {
  if (options.terminals && !options.hosts.empty())
    mistake(
        "--pty is for one machine, and this job runs on other hosts, whose ranks get no terminals; "
        "leave it out, or use -l or --outfile-pattern to keep ranks' output apart");
}

int Options::ranks() const {
  int n = 0;
  for (const Program& program : programs) n += program.ranks;
  return n;
}

std::string Ranks::text() const {
  if (count == 0) return "no ranks";
  const std::string name = std::to_string(first);
  return count == 1 ? "rank " + name : "ranks " + name + "-" + std::to_string(end() - 1);
}

bool Options::has_idle_hosts() const {
  return std::any_of(hosts.begin(), hosts.end(), [](const Host& host) { return host.ranks == 0; });
}

void Options::leave_idle_hosts_out() {
  std::erase_if(hosts, [](const Host& host) { return host.ranks == 0; });
  if (are_all_here(hosts)) hosts.clear();
}

Ranks Options::ranks_on(int host) const {
  Ranks out;
  for (int i = 0; i < host; ++i) out.first += hosts[static_cast<std::size_t>(i)].ranks;
  out.count = hosts[static_cast<std::size_t>(host)].ranks;
  return out;
}

std::vector<std::int32_t> Options::node_of() const {
  std::vector<std::int32_t> out;
  for (std::size_t host = 0; hosts.size() > 1 && host < hosts.size(); ++host)
    out.insert(out.end(), static_cast<std::size_t>(hosts[host].ranks),
               static_cast<std::int32_t>(host));
  if (pretended_nodes == 1) return out;
  const int n = ranks();
  for (int rank = 0; rank < n; ++rank)
    out.push_back(static_cast<std::int32_t>(std::int64_t{rank} * pretended_nodes / n));
  return out;
}

Options parse(const std::vector<std::string>& arguments) {
  Options options;
  const Words all(arguments);
  for (std::size_t first = 0; first <= all.size();) {
    std::size_t last = first;
    while (last < all.size() && all[last] != ":") ++last;
    Section section = new_section(options);
    parse_words(all.subspan(first, last - first), section, From::command_line);
    first = last + 1;
  }
  take_timeout_from_environment(options);
  share_out_ranks(options);
  check(options);
  return options;
}

}  // namespace weft::launch
