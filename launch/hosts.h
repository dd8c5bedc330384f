// SPDX-License-Identifier: Apache-2.0
//
// The hosts of a job: read from a list or a file, or taken from the allocation of a batch system
// (allocation.cc), and the ranks shared out among them. Each has consecutive ranks.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace weft::launch {

struct Host {
  std::string name;
  std::optional<int> slots;  // ranks it is meant for, if somebody said
  int ranks = 0;             // that it gets, behind those of the hosts before it
};

/// By its name or one of its addresses.
bool is_this_machine(const std::string& name);

/// "node", "node:4"; an address of IPv6 has colons of its own. `option` is for what a mistake is
/// called.
Host read_host(const std::string& option, const std::string& text);
/// "a:4,b"
std::vector<Host> read_hosts(const std::string& option, const std::string& text);
/// Lines of "node slots=4" (Open MPI) or "node:4" (MPICH); # begins a comment.
std::vector<Host> read_host_file(const std::string& option, const std::string& path);

/// Those of the batch job in which mpiexec runs (Slurm, PBS, LSF, Grid Engine); empty: there is
/// none. A sentence about variables that cannot be understood is thrown as a Failure.
std::vector<Host> allocated_hosts();

/// Each host once, where it is named first; this machine is one, whatever it is called.
std::vector<Host> merged(const std::vector<Host>& hosts);
bool are_all_here(const std::vector<Host>& hosts);
/// A host nobody gave a number for has one.
std::int64_t slots_of(const std::vector<Host>& hosts);

/// Give `ranks` ranks to the hosts: each as many as it has slots, in their order, and again from
/// the first one while ranks are left. The last ones may get none.
void share_out(std::vector<Host>& hosts, int ranks);

}  // namespace weft::launch
