// SPDX-License-Identifier: Apache-2.0
#include "base/cpus.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstring>

namespace weft {

std::vector<int> allowed_cpus() {
  constexpr int word_bits = 64;
  constexpr std::size_t first_words = 16, most_words = 1 << 14;
  // The kernel tells how large its masks are by refusing smaller ones; a sandbox refuses them all.
  for (std::size_t words = first_words; words <= most_words; words *= 2) {
    std::vector<std::uint64_t> mask(words);
    if (syscall(SYS_sched_getaffinity, 0, words * sizeof mask[0], mask.data()) < 0) continue;
    std::vector<int> cpus;
    for (int cpu = 0; cpu < static_cast<int>(words) * word_bits; ++cpu)
      if ((mask[static_cast<std::size_t>(cpu / word_bits)] >> (cpu % word_bits) & 1) != 0)
        cpus.push_back(cpu);
    return cpus;
  }
  return {};
}

int cpu_quota() {
  // Version 2 control groups; inside a container the group's own file is at the root.
  char path[512] = "/sys/fs/cgroup/cpu.max";
  long quota = 0, period = 0;
  if (std::FILE* own = std::fopen("/proc/self/cgroup", "re")) {
    char line[400];
    if (std::fgets(line, sizeof line, own) != nullptr && std::strncmp(line, "0::/", 4) == 0) {
      line[std::strcspn(line, "\n")] = 0;
      std::snprintf(path, sizeof path, "/sys/fs/cgroup%s/cpu.max", line + 3);
    }
    std::fclose(own);
  }
  std::FILE* file = std::fopen(path, "re");
  if (file == nullptr) file = std::fopen("/sys/fs/cgroup/cpu.max", "re");
  if (file == nullptr) return 0;
  const int got = std::fscanf(file, "%ld %ld", &quota, &period);
  std::fclose(file);
  return got == 2 && period > 0 && quota > 0 ? static_cast<int>((quota + period - 1) / period) : 0;
}

int usable_cpus(int quota) {
  const std::vector<int> allowed = allowed_cpus();
  const long all = allowed.empty() ? sysconf(_SC_NPROCESSORS_ONLN) : std::ssize(allowed);
  const int cpus = std::max(1, static_cast<int>(all));
  return quota > 0 ? std::min(cpus, quota) : cpus;
}

std::string cpu_list(std::span<const int> cpus) {
  std::vector<int> sorted(cpus.begin(), cpus.end());
  std::sort(sorted.begin(), sorted.end());
  std::string text;
  for (std::size_t i = 0; i < sorted.size();) {
    std::size_t last = i;
    while (last + 1 < sorted.size() && sorted[last + 1] == sorted[last] + 1) ++last;
    if (!text.empty()) text += ',';
    text += std::to_string(sorted[i]);
    if (last > i) text += (last == i + 1 ? ',' : '-') + std::to_string(sorted[last]);
    i = last + 1;
  }
  return text;
}

std::vector<int> cpus_in(std::string_view list) {
  constexpr int most = 1 << 20;
  const char* at = list.data();
  const char* const end = at + list.size();
  std::vector<int> cpus;
  const auto number = [&at, end](int* out) {
    const auto [behind, error] = std::from_chars(at, end, *out);
    at = behind;
    return error == std::errc() && *out >= 0 && *out < most;
  };
  while (at != end) {
    int first = 0;
    if ((!cpus.empty() && *at++ != ',') || !number(&first)) return {};
    int last = first;
    if (at != end && *at == '-' && (++at, !number(&last))) return {};
    if (last < first || (!cpus.empty() && first <= cpus.back())) return {};
    for (int cpu = first; cpu <= last; ++cpu) cpus.push_back(cpu);
  }
  return cpus;
}

bool may_share_cpus(std::span<const int> some, std::span<const int> others) {
  if (some.empty() || others.empty()) return true;
  return std::any_of(some.begin(), some.end(), [others](int cpu) {
    return std::binary_search(others.begin(), others.end(), cpu);
  });
}

}  // namespace weft
