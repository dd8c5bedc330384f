// SPDX-License-Identifier: Apache-2.0
#include "sync/cpu_map.h"

#include <dirent.h>

#include <cstdio>
#include <string>

namespace weft::sync {
namespace {

/// The first number in that file; -1 if there is none.
int first_number(const std::string& path) {
  FILE* file = std::fopen(path.c_str(), "re");
  if (file == nullptr) return -1;
  int number = -1;
  if (std::fscanf(file, "%d", &number) != 1) number = -1;
  std::fclose(file);
  return number;
}

int cluster_of(const std::string& folder) {
  int cluster = 0;
  for (int level = 0;; ++level) {
    const int first =
        first_number(folder + "/cache/index" + std::to_string(level) + "/shared_cpu_list");
    if (first < 0) return cluster;
    cluster = first;
  }
}

/// The folder of a CPU has a link named node<N>.
int domain_of(const std::string& folder) {
  DIR* files = opendir(folder.c_str());
  if (files == nullptr) return 0;
  int domain = 0;
  while (const dirent* file = readdir(files))
    if (std::sscanf(file->d_name, "node%d", &domain) == 1) break;
  closedir(files);
  return domain;
}

}  // namespace

CpuMap CpuMap::read(const std::string& system) {
  CpuMap map;
  for (int cpu = 0;; ++cpu) {
    const std::string path = system + "/cpu/cpu" + std::to_string(cpu);
    DIR* there = opendir(path.c_str());
    if (there == nullptr) return map;
    closedir(there);
    map.cpus_.push_back({cluster_of(path), domain_of(path)});
  }
}

const CpuMap& CpuMap::of_node() {
  static const CpuMap* const map = new CpuMap(read());
  return *map;
}

CpuMap::Cpu CpuMap::at(int cpu) const {
  const auto i = static_cast<std::size_t>(cpu);
  return i < cpus_.size() ? cpus_[i] : Cpu{};
}

Distance CpuMap::between(int a, int b) const {
  if (a == b) return Distance::cluster;
  const Cpu one = at(a), other = at(b);
  if (one.domain != other.domain) return Distance::far;
  return one.cluster == other.cluster ? Distance::cluster : Distance::domain;
}

}  // namespace weft::sync
