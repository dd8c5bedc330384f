// SPDX-License-Identifier: Apache-2.0
//
// Every option of mpiexec, in one table: its names, its value, one sentence, and what it does to
// Options. --help and the manual page are written from it. A second table holds the options of
// other launchers that weft refuses, with what to type instead.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "options.h"

namespace weft::launch {

inline constexpr int most_ranks = 1 << 16;

/// An option as the user typed it.
struct Given {
  std::string name;  // with its dashes
  std::span<const std::string> values;
  const std::string& value() const { return values[0]; }
};

/// What the options in front of one program have said so far.
struct Section {
  Options& options;
  Program program;
  std::optional<int> ranks, per_host;
  std::vector<Host> hosts;
};

/// A heading of --help.
enum class Group { ranks, variables, cpus, streams, end, other, hosts };

struct OptionRow {
  Group group;
  const char* names;  // without dashes, separated by blanks
  const char* also;   // what other launchers call it
  const char* value;  // what help calls it: "N", "NAME VALUE" for two; nullptr: none
  const char* help;   // nullptr: not shown
  void (*take)(Section& section, const Given& given);

  int values() const;
  std::string all_names() const;
};

struct RefusedRow {
  const char* names;
  const char* instead;
};

std::span<const OptionRow> option_table();
const OptionRow* find_option(const std::string& name);

/// Why an option of another launcher is refused; nullptr for a name that nobody has.
const char* why_refused(const std::string& name);
/// -n, --np
std::string dashed(const std::string& name);
/// All names with their dashes, for the nearest one.
std::vector<std::string> all_option_names();

/// The text of --help.
std::string help_text();

}  // namespace weft::launch
