// SPDX-License-Identifier: Apache-2.0
//
// WHAT[:QUALIFIER]... in either case of letters. MPICH and Open MPI agree on most words; where they
// differ docs/launching.md says which one is followed.
#include "option_takers.h"

#include <charconv>

#include "values.h"

namespace weft::launch {
namespace {

using topo::Unit;

constexpr int most_cores = 1 << 16;

/// The words between the colons, in small letters.
std::vector<std::string> split(const Given& given) {
  if (given.value().empty()) unexpected(given.name, "a word such as core or package", "");
  std::vector<std::string> out;
  std::string rest = lower(given.value());
  for (std::size_t colon = 0; (colon = rest.find(':')) != std::string::npos;) {
    out.push_back(rest.substr(0, colon));
    rest.erase(0, colon + 1);
  }
  out.push_back(rest);
  return out;
}

bool is_number(const std::string& word) {
  return !word.empty() && word.find_first_not_of("0123456789") == std::string::npos;
}

[[noreturn]] void refuse(const Given& given, const std::string& why) {
  mistake(given.name + " " + shown(given.value()) + " is not known here: " + why);
}

void take_bind_qualifier(Section& section, const Given& given, const std::string& word) {
  if (word == "overload" || word == "overload-allowed" || word == "if-supported") return;
  if (!is_number(word))
    refuse(given, "after the colon weft knows a number (core:2), overload and if-supported");
  section.options.place.width = take_number(given.name, "a number of parts", 1, most_cores, word);
}

/// ppr:N:node is a number of ranks; by other parts it would depend on the machine.
void take_ppr(Section& section, const Given& given, const std::vector<std::string>& words) {
  if (words.size() < 3 || words[2] != "node")
    refuse(given,
           "give the number of ranks with -n, and what to spread them over with "
           "--map-by package, numa or l3cache");
  section.per_host = take_number(given.name, "a number of ranks", 1, most_ranks, words[1]);
}

void take_map_qualifier(Section& section, const Given& given, const std::string& word) {
  topo::Placement& place = section.options.place;
  if (word.rfind("pe=", 0) == 0) {
    place.width =
        take_number(given.name, "after PE= a number of cores", 1, most_cores, word.substr(3));
    if (place.bind == Unit::slice) place.bind = Unit::core;
  } else if (word == "hwtcpus") {
    take_hardware_threads(section);
  } else if (word != "oversubscribe" && word != "span" && word != "corecpus" && word != "inherit" &&
             word != "noinherit" && word != "1") {
    refuse(given, "after the colon weft knows PE=n, HWTCPUS, OVERSUBSCRIBE and SPAN");
  }
}

}  // namespace

void take_bind(Section& section, const Given& given) {
  const std::vector<std::string> words = split(given);
  Options& o = section.options;
  if (words[0] == "user" || words[0] == "rr" || words[0] == "cpu-list")
    refuse(given,
           "name a part of the machine (core, l3cache, package), or give the ranks' CPUs to "
           "mpiexec with taskset");
  o.place.bind = take_choice<Unit>(given.name, words[0],
                                   {{"slice", Unit::slice},
                                    {"none", Unit::machine},
                                    {"hwthread", Unit::hwthread},
                                    {"core", Unit::core},
                                    {"l1cache", Unit::core},
                                    {"l2cache", Unit::l2cache},
                                    {"l3cache", Unit::l3cache},
                                    {"numa", Unit::numa},
                                    {"package", Unit::package},
                                    {"socket", Unit::package},
                                    {"machine", Unit::machine}});
  o.bind = words[0] != "none";
  for (std::size_t i = 1; i < words.size(); ++i) take_bind_qualifier(section, given, words[i]);
}

void take_map(Section& section, const Given& given) {
  const std::vector<std::string> words = split(given);
  if (words[0] == "ppr") return take_ppr(section, given, words);
  if (words[0] == "seq" || words[0] == "rankfile" || words[0].rfind("pe-list", 0) == 0 ||
      words[0] == "dist")
    refuse(given,
           "weft places ranks by core, l3cache, numa or package, or in slices of the "
           "machine when nothing is asked for");
  topo::Placement& place = section.options.place;
  if (!words[0].empty())  // Open MPI: --map-by :OVERSUBSCRIBE
    place.map = take_choice<Unit>(given.name, words[0],
                                  {{"slot", Unit::core},
                                   {"core", Unit::core},
                                   {"node", Unit::core},
                                   {"hwthread", Unit::hwthread},
                                   {"l1cache", Unit::core},
                                   {"l2cache", Unit::l2cache},
                                   {"l3cache", Unit::l3cache},
                                   {"numa", Unit::numa},
                                   {"package", Unit::package},
                                   {"socket", Unit::package},
                                   {"machine", Unit::machine}});
  for (std::size_t i = 1; i < words.size(); ++i) take_map_qualifier(section, given, words[i]);
}

void take_rank_order(Section& section, const Given& given) {
  section.options.place.fill = take_choice<bool>(given.name, split(given)[0],
                                                 {{"slot", true},
                                                  {"fill", true},
                                                  {"core", true},
                                                  {"hwthread", true},
                                                  {"span", false},
                                                  {"node", false},
                                                  {"l2cache", false},
                                                  {"l3cache", false},
                                                  {"numa", false},
                                                  {"package", false},
                                                  {"socket", false}});
}

void take_hardware_threads(Section& section) {
  topo::Placement& place = section.options.place;
  if (place.map == Unit::slice || place.map == Unit::core) place.map = Unit::hwthread;
  if (place.bind == Unit::core) place.bind = Unit::hwthread;
}

void take_width(Section& section, const Given& given) {
  topo::Placement& place = section.options.place;
  place.map = place.bind = Unit::core;
  place.width = take_number(given.name, "a number of cores", 1, most_cores, given.value());
}

}  // namespace weft::launch
