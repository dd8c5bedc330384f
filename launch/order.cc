// SPDX-License-Identifier: Apache-2.0
#include "order.h"

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <map>

#include "base/cpus.h"
#include "base/kernel.h"
#include "option_table.h"
#include "packing.h"

namespace weft::launch {
namespace {

constexpr const char* of_a_host[] = {
    "HOSTNAME=",        "HOST=",          "SSH_CLIENT=",      "SSH_CONNECTION=",
    "SSH_TTY=",         "SSH_AUTH_SOCK=", "XDG_RUNTIME_DIR=", "XDG_SESSION_ID=",
    "SLURMD_NODENAME=", "SLURM_NODEID="};

[[noreturn]] void impossible() {
  throw Failure{1, "an order for a job that cannot be"};
}

void check(const Options& o) {
  std::int64_t ranks = 0, placed = 0;
  for (const Program& program : o.programs) {
    if (program.argv.empty() || program.ranks < 0) impossible();
    ranks += program.ranks;
  }
  for (const Host& host : o.hosts) {
    if (host.ranks < 0) impossible();
    placed += host.ranks;
  }
  if (ranks < 1 || ranks > most_ranks || ranks != placed || o.slots < 0 || o.node < 0 ||
      static_cast<std::size_t>(o.node) >= o.hosts.size() || o.mode > RankMode::automatic ||
      (o.attends() && o.memories.size() != o.hosts.size()) || o.place.map > topo::Unit::machine ||
      o.place.bind > topo::Unit::machine)
    impossible();
}

}  // namespace

// What is not here is mpiexec's own business: -v's list of hosts, --timeout, notes.
template <class A>
void fields(A& a, Host& h) {
  a(h.name, h.slots, h.ranks);
}

template <class A>
void fields(A& a, Inherit& i) {
  a(i.all, i.names);
}

template <class A>
void fields(A& a, Program& p) {
  a(p.ranks, p.argv, p.env, p.inherit, p.directory);
}

template <class A>
void fields(A& a, topo::Placement& p) {
  a(p.map, p.bind, p.width, p.fill);
}

template <class A>
void fields(A& a, Options& o) {
  a(o.programs, o.env, o.inherit, o.mode, o.bind, o.place, o.hosts, o.slots, o.shares_network,
    o.memories);
  a(o.input.rank, o.out_files, o.err_files, o.merge_output, o.tag_output, o.verbose);
  a(o.report_bindings, o.debug, o.stack_bytes, o.host_timeout_s, o.launch_agent);
}

template <class A>
void fields(A& a, Order& o) {
  a(o.options, o.environment, o.directory, o.secret.half[0], o.secret.half[1], o.sharing);
}

bool is_of_a_host(const std::string& variable) {
  return std::any_of(std::begin(of_a_host), std::end(of_a_host),
                     [&](const char* name) { return variable.rfind(name, 0) == 0; });
}

Hello own_hello() {
  return {WEFT_VERSION, kernel_id(), kernel_id() + network_id(), cpu_list(allowed_cpus())};
}

std::vector<std::int32_t> ranks_on_cpus(std::span<const Hello* const> agents,
                                        std::span<const int> ranks) {
  struct Here {
    std::size_t agent;
    std::vector<int> cpus;
  };
  std::map<std::string_view, std::vector<Here>> by_kernel;
  for (std::size_t i = 0; i < agents.size(); ++i)
    by_kernel[agents[i]->kernel].push_back({i, cpus_in(agents[i]->cpus)});
  std::vector<std::int32_t> out(agents.size());
  for (const auto& [kernel, all] : by_kernel)
    for (const Here& one : all)
      for (const Here& other : all)
        if (one.agent == other.agent || may_share_cpus(one.cpus, other.cpus))
          out[one.agent] += ranks[other.agent];
  return out;
}

Order read_order(std::string_view payload, int node) {
  Order order = unpacked<Order>(payload);
  order.options.node = node;
  check(order.options);
  if (order.sharing.size() != order.options.hosts.size()) impossible();
  return order;
}

std::string write_order(const Order& order) {
  return packed(order);
}

}  // namespace weft::launch
