// SPDX-License-Identifier: Apache-2.0
#include "option_takers.h"

#include "values.h"

namespace weft::launch {
namespace {

std::string take_pattern(const Given& given, const std::string& pattern) {
  bool has_rank = false;
  for (std::size_t at = 0; (at = pattern.find('%', at)) != std::string::npos; at += 2) {
    const char letter = at + 1 < pattern.size() ? pattern[at + 1] : 0;
    has_rank = has_rank || letter == 'r';
    if (letter == 0 || std::string("rgph%").find(letter) == std::string::npos)
      unexpected(given.name, "a file name with %r (rank), %h (host) or %%", pattern);
  }
  if (!has_rank)
    unexpected(given.name,
               "a file name with %r, so that each rank has a file of its own (for one file: "
               "mpiexec ... > FILE)",
               pattern);
  return pattern;
}

std::string escaped(const std::string& name) {
  std::string out;
  for (const char c : name) out += c == '%' ? std::string("%%") : std::string(1, c);
  return out;
}

/// NAME[:QUALIFIER,...] of Open MPI, without the qualifiers.
std::string take_name(const Given& given, const std::string& text) {
  const std::size_t colon = text.find(':');
  if (colon != std::string::npos)
    for (const std::string& word : take_list(given.name, lower(text.substr(colon + 1))))
      if (word != "nocopy")
        unexpected(given.name, "after the colon nocopy (files are never copied)", text);
  const std::string name = text.substr(0, colon);
  if (name.empty() || name.back() == '/') unexpected(given.name, "a file name", text);
  return escaped(name);
}

void write_to(Section& section, const std::string& name, const char* out, const char* err) {
  section.options.out_files = name + out;
  section.options.err_files = name + err;
}

}  // namespace

void take_out_files(Section& section, const Given& given) {
  section.options.out_files = take_pattern(given, given.value());
}

void take_err_files(Section& section, const Given& given) {
  section.options.err_files = take_pattern(given, given.value());
}

void take_file_names(Section& section, const Given& given) {
  write_to(section, take_name(given, given.value()), ".%r.out", ".%r.err");
}

void take_reader(Section& section, const Given& given) {
  const std::string word = lower(given.value());
  int& rank = section.options.input.rank;
  if (word == "none") {
    rank = Reader::nobody;
  } else if (word == "all") {
    rank = Reader::everybody;
  } else {
    rank = take_number(given.name, "none, all or one rank,", 0, most_ranks - 1, word);
  }
}

void take_display(Section& section, const Given& given) {
  for (const std::string& word : take_list(given.name, lower(given.value()))) {
    if (word == "map" || word == "map-devel") {
      section.options.verbose = true;
    } else if (word == "bind" || word == "bindings") {
      section.options.report_bindings = true;
    } else {
      unexpected(given.name, "map or bindings (`weft info` shows the machine)", word);
    }
  }
}

void take_output(Section& section, const Given& given) {
  for (const std::string& word : take_list(given.name, given.value())) {
    const std::string what = lower(word.substr(0, word.find('=')));
    const std::string value = word.find('=') != word.npos ? word.substr(what.size() + 1) : "";
    if (what.rfind("tag", 0) == 0 || what == "rank") {
      section.options.tag_output = true;
    } else if (what.rfind("merge", 0) == 0) {
      section.options.merge_output = true;
    } else if (what == "file") {
      write_to(section, take_name(given, value), ".%r.out", ".%r.err");
    } else if (what == "dir" || what == "directory") {
      write_to(section, take_name(given, value), "/rank.%r/stdout", "/rank.%r/stderr");
    } else {
      unexpected(given.name, "tag, merge, file=NAME or dir=NAME", word);
    }
  }
}

}  // namespace weft::launch
