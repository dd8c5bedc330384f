// SPDX-License-Identifier: Apache-2.0
//
// How far it is from one CPU to another, as the kernel lists it: for the counts of who handed a
// lock to whom. (topo knows the same of ranks, in the launcher; here it is about CPUs, in a rank.)
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace weft::sync {

enum class Distance : std::uint8_t { cluster, domain, far };

class CpuMap {
 public:
  /// From the kernel's tree. What cannot be read counts as near.
  static CpuMap read(const std::string& system = "/sys/devices/system");
  /// This node's, read once.
  static const CpuMap& of_node();
  /// `cluster`: the CPUs share a cache of the last level, or are the same; `domain`: a NUMA node.
  Distance between(int a, int b) const;

 private:
  struct Cpu {
    int cluster = 0;  // first CPU that shares the last cache
    int domain = 0;
  };
  Cpu at(int cpu) const;
  std::vector<Cpu> cpus_;
};

}  // namespace weft::sync
