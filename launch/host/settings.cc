// SPDX-License-Identifier: Apache-2.0
//
// See settings.h.
#include "settings.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "launch/rank_variables.h"

namespace weft::host {
namespace {

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> out;
  while (!text.empty()) {
    const std::size_t end = text.find(separator);
    out.emplace_back(text.substr(0, end));
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  return out;
}

std::string value_of(const char* name) {
  const char* value = getenv(name);
  return value ? value : "";
}

std::string read_descriptors(const char* name, int count, std::vector<int>& out) {
  for (const std::string& s : split(value_of(name), ',')) out.push_back(std::atoi(s.c_str()));
  if (out.empty() || out.size() == static_cast<std::size_t>(count)) return {};
  return std::string(name) + " names " + std::to_string(out.size()) + " descriptors for " +
         std::to_string(count) + " ranks";
}

}  // namespace

std::string Settings::read(int argc, char** argv) {
  int i = 1;
  for (; i < argc && argv[i][0] == '-'; i++) {
    const std::string_view option = argv[i];
    if (option == "--") {
      i++;
      break;
    }
    if (option == "--debug") {
      debug = true;
    } else if (option == "--check") {
      check_only = true;
    } else if (option == "--or-processes") {
      or_processes = true;
    } else if (option == "--stack" && i + 1 < argc) {
      stack_bytes = std::strtoull(argv[++i], nullptr, 0);
      if (stack_bytes < 64 * 1024)
        return std::string("--stack ") + argv[i] + ": expected a number of bytes, at least 65536";
    } else {
      return "unknown option " + std::string(option) +
             "; usage: weft-rankhost [--check] [--debug] [--stack BYTES] [--] program argument...";
    }
  }
  arguments.assign(argv + i, argv + argc);
  if (arguments.empty()) return "no program given";

  if (const char* job = getenv("WEFT_JOB")) {
    if (std::sscanf(job, "%d,%d,%d", &job_descriptor, &first_rank, &rank_count) != 3 ||
        rank_count < 1 || first_rank < 0)
      return std::string("WEFT_JOB is '") + job + "', expected <descriptor>,<first rank>,<count>";
  }
  std::string error = read_descriptors("WEFT_HOST_STDOUT", rank_count, out);
  if (error.empty()) error = read_descriptors("WEFT_HOST_STDERR", rank_count, err);
  if (error.empty()) error = read_descriptors("WEFT_HOST_INPUTS", rank_count, in);
  cpus = split(value_of("WEFT_HOST_CPUS"), ';');
  if (error.empty() && !cpus.empty() && cpus.size() != static_cast<std::size_t>(rank_count))
    error = "WEFT_HOST_CPUS has " + std::to_string(cpus.size()) + " lists for " +
            std::to_string(rank_count) + " ranks";
  if (const std::string text = value_of("WEFT_HOST_STDIN"); !text.empty())
    reader = std::atoi(text.c_str());
  if (const std::string text = value_of("WEFT_HOST_LOCAL"); !text.empty())
    first_local = std::atoi(text.c_str());
  if (const std::string text = value_of("WEFT_HOST_WORLD"); !text.empty())
    first_of_world = std::atoi(text.c_str());
  openmp = value_of("WEFT_HOST_OMP") == "1";
  directory = value_of("WEFT_HOST_DIR");
  tools = split(value_of("WEFT_HOST_TOOLS"), ':');
  return error;
}

std::vector<int> parse_cpus(const std::string& list) {
  std::vector<int> out;
  for (const std::string& part : split(list, ',')) {
    int from = 0, to = 0;
    const int n = std::sscanf(part.c_str(), "%d-%d", &from, &to);
    if (n == 1) to = from;
    for (int c = from; n >= 1 && c <= to; c++) out.push_back(c);
  }
  return out;
}

std::vector<char*> rank_environment(const Settings& settings, int rank, const std::string& cpus) {
  std::vector<char*> out;
  for (char** e = environ; e && *e; e++)
    if (std::strncmp(*e, "WEFT_JOB=", 9) != 0) out.push_back(strdup(*e));
  const auto add = [&out](const char* name, int number) {
    out.push_back(strdup((std::string(name) + "=" + std::to_string(number)).c_str()));
  };
  if (settings.job_descriptor >= 0) {
    for (const char* name : launch::rank_variables) add(name, rank - settings.first_of_world);
    for (const char* name : launch::local_rank_variables) add(name, rank - settings.first_local);
  }
  const auto list = parse_cpus(cpus);
  if (settings.openmp && !list.empty()) {
    if (!getenv("OMP_NUM_THREADS"))
      out.push_back(strdup(("OMP_NUM_THREADS=" + std::to_string(list.size())).c_str()));
    if (!getenv("OMP_PLACES")) {
      std::string place;  // one for all its CPUs: see omp_places in src/topo/slices.h
      for (int cpu : list) place += (place.empty() ? "{" : ",") + std::to_string(cpu);
      out.push_back(strdup(("OMP_PLACES=" + place + "}").c_str()));
    }
  }
  out.push_back(nullptr);
  return out;
}

}  // namespace weft::host
