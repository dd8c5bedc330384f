// SPDX-License-Identifier: Apache-2.0
//
// What batch systems tell a job about its hosts: Slurm and LSF in variables, PBS and Grid Engine in
// files that variables name. The number of hosts and the length of numbers are bounded: variables
// may be anybody's.
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "allocation.h"
#include "option_table.h"
#include "values.h"

namespace weft::launch {
namespace {

constexpr std::size_t most_hosts = most_ranks;

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

[[noreturn]] void not_understood(const std::string& name, const std::string& text) {
  mistake("the variable " + name + " of the batch system is not understood: " + shown(text) +
          "; name the hosts with -H");
}

/// The items of a list; commas within brackets belong to an item.
std::vector<std::string> items_of(const std::string& list) {
  std::vector<std::string> out(1);
  int depth = 0;
  for (const char c : list) {
    depth += c == '[' ? 1 : c == ']' ? -1 : 0;
    if (c == ',' && depth == 0)
      out.emplace_back();
    else
      out.back() += c;
  }
  return out;
}

bool is_number(const std::string& text) {
  return !text.empty() && text.size() < 10 &&
         text.find_first_not_of("0123456789") == std::string::npos;
}

/// "01-03" as 01, 02, 03; empty: it is neither a number nor a range.
std::vector<std::string> numbers_of(const std::string& range) {
  const std::size_t dash = range.find('-');
  const std::string first = range.substr(0, dash);
  const std::string last = dash == range.npos ? first : range.substr(dash + 1);
  std::vector<std::string> out;
  if (!is_number(first) || !is_number(last)) return out;
  const int begin = std::atoi(first.c_str()), end = std::atoi(last.c_str());
  if (end < begin || static_cast<std::size_t>(end - begin) >= most_hosts) return out;
  for (int n = begin; n <= end; ++n) {
    std::string digits = std::to_string(n);
    if (digits.size() < first.size()) digits.insert(0, first.size() - digits.size(), '0');
    out.push_back(digits);
  }
  return out;
}

/// "rack[1-2]n[01-03]"; false: it is none.
bool expand(const std::string& item, std::vector<std::string>& out) {
  const std::size_t open = item.find('[');
  if (open == item.npos) {
    out.push_back(item);
    return !item.empty() && item.find(']') == item.npos && out.size() <= most_hosts;
  }
  const std::size_t close = item.find(']', open);
  if (close == item.npos) return false;
  for (const std::string& range : items_of(item.substr(open + 1, close - open - 1))) {
    const std::vector<std::string> numbers = numbers_of(range);
    if (numbers.empty()) return false;
    for (const std::string& number : numbers)
      if (!expand(item.substr(0, open) + number + item.substr(close + 1), out)) return false;
  }
  return true;
}

std::vector<Host> hosts_of_pbs(const std::string& path) {
  std::vector<Host> out;
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line);
    std::string name;
    if (words >> name) out.push_back({name, 1, 0});
  }
  if (out.empty()) not_understood("PBS_NODEFILE", path);
  return out;
}

std::vector<Host> hosts_of_grid_engine(const std::string& path) {
  std::vector<Host> out;
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line);
    std::string name, slots;
    if (!(words >> name)) continue;
    if (!(words >> slots) || !is_number(slots)) not_understood("PE_HOSTFILE", line);
    out.push_back({name, std::atoi(slots.c_str()), 0});
  }
  if (out.empty()) not_understood("PE_HOSTFILE", path);
  return out;
}

}  // namespace

std::vector<Host> hosts_of_slurm(const std::string& names, const std::string& tasks) {
  std::vector<std::string> all;
  for (const std::string& item : items_of(names))
    if (!expand(item, all)) not_understood("SLURM_JOB_NODELIST", names);
  std::vector<Host> out;
  for (const std::string& name : all) out.push_back({name, {}, 0});
  std::size_t at = 0;
  if (!tasks.empty())
    for (const std::string& item : items_of(tasks)) {
      const std::size_t bracket = item.find('(');
      const std::string number = item.substr(0, bracket);
      const bool repeated = bracket != item.npos && item.size() > bracket + 3 &&
                            item[bracket + 1] == 'x' && item.back() == ')';
      const std::string times =
          repeated ? item.substr(bracket + 2, item.size() - bracket - 3) : "1";
      if (!is_number(number) || !is_number(times) || (bracket != item.npos && !repeated))
        not_understood("SLURM_TASKS_PER_NODE", tasks);
      for (int i = std::atoi(times.c_str()); i > 0 && at < out.size(); --i)
        out[at++].slots = std::atoi(number.c_str());
    }
  return out;
}

std::vector<Host> hosts_of_lsf(const std::string& text) {
  std::vector<Host> out;
  std::istringstream words(text);
  for (std::string name, slots; words >> name;) {
    if (!(words >> slots) || !is_number(slots)) not_understood("LSB_MCPU_HOSTS", text);
    out.push_back({name, std::atoi(slots.c_str()), 0});
  }
  return out;
}

std::vector<Host> allocated_hosts() {
  std::vector<Host> out;
  if (const std::string names = variable("SLURM_JOB_NODELIST"); !names.empty())
    out = hosts_of_slurm(names, variable("SLURM_TASKS_PER_NODE"));
  else if (const std::string file = variable("PBS_NODEFILE"); !file.empty())
    out = hosts_of_pbs(file);
  else if (const std::string list = variable("LSB_MCPU_HOSTS"); !list.empty())
    out = hosts_of_lsf(list);
  else if (const std::string own = variable("PE_HOSTFILE"); !own.empty())
    out = hosts_of_grid_engine(own);
  for (Host& host : out)
    if (host.slots && *host.slots == 0) host.slots.reset();
  return out;
}

}  // namespace weft::launch
