// SPDX-License-Identifier: Apache-2.0
//
// The CPUs that processes may use, by the operating system's numbers.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weft {

/// Those of the calling thread, in order; empty: the kernel does not say.
std::vector<int> allowed_cpus();

/// CPU time this process's control group may use, in whole CPUs rounded up; 0 when unlimited.
int cpu_quota();

/// How many a job may use that begins here: allowed ones, and no more than the quota; 1 at least.
int usable_cpus(int quota = cpu_quota());

/// "0-3,8" for {0,1,2,3,8}, the kernel's way to write CPU lists.
std::string cpu_list(std::span<const int> cpus);

/// What cpu_list() has written, in order; empty if it is something else.
std::vector<int> cpus_in(std::string_view list);

/// May processes with these CPUs, in order, run on the same one? Yes where one of them is not
/// known.
bool may_share_cpus(std::span<const int> some, std::span<const int> others);

}  // namespace weft
