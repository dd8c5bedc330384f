// SPDX-License-Identifier: Apache-2.0
//
// What the frames between mpiexec and an agent carry: who the agent is, the job it gets to run,
// where ranks are in the network.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/keyed_hash.h"
#include "options.h"

namespace weft::launch {

/// An agent, of itself.
struct Hello {
  std::string version;  // only the same one will do
  std::string kernel;   // which is running: agents with the same are on one machine
  std::string network;  // and the same of it: these reach each other by loopback
  std::string cpus;     // that it may use there, a cpu_list()
};
Hello own_hello();

/// Of each agent, how many ranks may run on its CPUs; `ranks`: of each.
std::vector<std::int32_t> ranks_on_cpus(std::span<const Hello* const> agents,
                                        std::span<const int> ranks);

/// Is NAME=VALUE one of the variables that say where a process is? An agent keeps its own.
bool is_of_a_host(const std::string& variable);

/// The job, the same to all agents.
struct Order {
  Options options;                       // `node` is for the agent to fill in
  std::vector<std::string> environment;  // mpiexec's
  std::string directory;                 // and where it runs
  HashKey secret{};                      // that packets between hosts prove
  std::vector<std::int32_t> sharing;     // by node: ranks on its CPUs, of all agents there
};
/// From a payload, by the agent of a node; throws Failure for a job that cannot be.
Order read_order(std::string_view payload, int node);
std::string write_order(const Order& order);

/// Of ranks, by their number.
using Addresses = std::vector<std::pair<std::int32_t, std::string>>;

/// Of a sentence that a frame carries.
inline constexpr std::size_t longest_reason = 16 << 10;

/// Hosts that have begun what the order says, of those with an agent in a row of the tree.
struct Begun {
  std::int32_t hosts = 0;
  std::int32_t places = 0;  // in the memory of each of them, for ranks
  Begun and_also(const Begun& other) const {
    return {hosts + other.hosts, hosts == 0 ? other.places : std::min(places, other.places)};
  }
};

/// Why a job ends, and mpiexec's exit code.
struct Reason {
  std::int32_t exit_code = 0;
  std::string text;
  bool is_consequence = false;  // of what another host may have to say (outcome.h)
};

/// Ranks that died. Who does not want to go on without them says that the job fails, for the
/// reason.
struct Death {
  std::int32_t first = 0, count = 0;
  Reason reason;
};

template <class A>
void fields(A& a, Hello& h) {
  a(h.version, h.kernel, h.network, h.cpus);
}

template <class A>
void fields(A& a, Begun& b) {
  a(b.hosts, b.places);
}

template <class A>
void fields(A& a, Reason& r) {
  a(r.exit_code, r.text, r.is_consequence);
}

template <class A>
void fields(A& a, Death& d) {
  a(d.first, d.count, d.reason);
}

}  // namespace weft::launch
