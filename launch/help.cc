// SPDX-License-Identifier: Apache-2.0
//
// The text of --help, 80 columns wide. The manual page is made from this text (tools/manual), so
// its form matters: headings end with a colon at the margin, entries are indented by two.
#include <sstream>

#include "option_table.h"

namespace weft::launch {
namespace {

constexpr std::size_t width = 80, column = 26;

struct Heading {
  Group group;
  const char* text;
};
constexpr Heading headings[] = {
    {Group::ranks, "Ranks"},        {Group::variables, "Variables"},
    {Group::cpus, "CPUs"},          {Group::streams, "Input and output"},
    {Group::end, "End of the job"}, {Group::other, "Other"},
    {Group::hosts, "Hosts"},
};

struct Entry {
  const char* what;
  const char* meaning;
};
constexpr Entry exit_codes[] = {
    {"0", "all ranks returned 0"},
    {"1 to 255",
     "the first rank that failed returned it, or gave it to MPI_Abort; an MPI error "
     "that no handler took ends with its class (man mpiexec lists them)"},
    {"128 + N", "a rank was killed by signal N, or mpiexec was told to end by it"},
    {"1", "mpiexec could not start the job, and says why (a limit, no memory)"},
    {"2", "a mistake in the options"},
    {"90", "ranks cannot be threads: found only when they started (--ranks=process can)"},
    {"124", "the time of --timeout is over"},
    {"125", "--hang=abort ended the job"},
    {"126", "a program cannot be executed, or not as --ranks=thread wants"},
    {"127", "a program was not found"},
};
constexpr Entry examples[] = {
    {"mpiexec -n 4 ./app input.txt", "4 ranks, a process each"},
    {"mpiexec --ranks=thread -n 4 ./app", "the same program, ranks as threads"},
    {"mpiexec -n 1 ./master : -n 7 ./worker", "two programs, one job of 8 ranks"},
    {"mpiexec -n 4 -x OMP_NUM_THREADS=2 -l ./app", "a variable; lines tagged by rank"},
    {"mpiexec -n 8 -H a:4,b:4 ./app", "4 ranks on host a and 4 on b"},
    {"mpiexec -n 2 --timeout 60 -v ./app", "stop after a minute; show where"},
};

/// "-n, --np"
std::string list(const char* names) {
  std::string out;
  std::istringstream words(names);
  for (std::string word; words >> word;) out += (out.empty() ? "" : ", ") + dashed(word);
  return out;
}

/// "--wd: --wdir; ..."
std::string other_names() {
  std::string out;
  for (const OptionRow& row : option_table()) {
    if (row.help == nullptr || *row.also == 0) continue;
    const std::string names = list(row.names);
    out += (out.empty() ? "" : "; ") + list(row.also) + ": " + names.substr(0, names.find(','));
  }
  return out;
}

/// `left`, then `right` wrapped in its column, which begins a line of its own if `left` is long.
std::string entry(const std::string& left, const std::string& right, std::size_t indent) {
  std::string out = left.empty() ? "" : "  " + left;
  std::size_t at = out.size();
  const auto move_to = [&](std::size_t wanted) {
    out.append(wanted - at, ' ');
    at = wanted;
  };
  if (at > 0 && at + 2 > indent) {
    out += "\n";
    at = 0;
  }
  move_to(indent);
  std::istringstream words(right);
  for (std::string word; words >> word;) {
    if (at > indent && at + 1 + word.size() > width) {
      out += "\n";
      at = 0;
      move_to(indent);
    }
    out += (at > indent ? " " : "") + word;
    at += word.size() + (at > indent ? 1 : 0);
  }
  return out + "\n";
}

}  // namespace

std::string help_text() {
  std::string out =
      "Usage: mpiexec [options] program [arguments] [: [options] program [arguments]]...\n\n"
      "Run an MPI program here or on several hosts. Options may have one dash or two.\n";
  out += "\nExamples:\n";
  for (const Entry& example : examples) out += entry(example.what, example.meaning, 46);
  for (const Heading& heading : headings) {
    out += "\n" + std::string(heading.text) + ":\n";
    for (const OptionRow& row : option_table())
      if (row.group == heading.group && row.help != nullptr)
        out += entry(list(row.names) + (row.value != nullptr ? std::string(" ") + row.value : ""),
                     row.help, column);
  }
  out += "\nNames that other launchers have:\n" + entry("", other_names(), 2);
  out += "\nSignals:\n" + entry("SIGUSR1", "mpiexec shows what all ranks wait for", column);
  out += "\nExit status:\n";
  for (const Entry& code : exit_codes) out += entry(code.what, code.meaning, 14);
  return out;
}

}  // namespace weft::launch
