// SPDX-License-Identifier: Apache-2.0
#include "coll/way.h"

#include <cstdio>

namespace weft::coll {
namespace {

constexpr int first = static_cast<int>(P::coll_allgather);

const ParamDef& definition(int parameter) {
  return param_table()[static_cast<std::size_t>(first + parameter)];
}

}  // namespace

model::Machine machine_between(const Comm& comm) {
  pt2pt::Engine& e = *comm.engine;
  model::Parameters prices = e.prices();
  if (prices.levels == 0) prices = model::built_in();
  model::Machine x = model::machine_of(prices, e.job->hierarchy(), comm.group->members);
  if (e.policy.crowded) x.cpus = static_cast<int>(e.job->header().cpus);
  return x;
}

int way_parameter(Call call) {
  const auto at = [](P id) { return static_cast<int>(id) - first; };
  switch (call) {
    case Call::barrier:
      return at(P::coll_barrier);
    case Call::bcast:
      return at(P::coll_bcast);
    case Call::gather:
    case Call::gatherv:
      return at(P::coll_gather);
    case Call::scatter:
    case Call::scatterv:
      return at(P::coll_scatter);
    case Call::allgather:
    case Call::allgatherv:
      return at(P::coll_allgather);
    case Call::alltoall:
    case Call::alltoallv:
    case Call::alltoallw:
      return at(P::coll_alltoall);
    case Call::reduce:
      return at(P::coll_reduce);
    case Call::allreduce:
      return at(P::coll_allreduce);
    case Call::reduce_scatter:
    case Call::reduce_scatter_block:
      return at(P::coll_reduce_scatter);
    case Call::scan:
    case Call::exscan:
      return at(P::coll_scan);
    default:
      return -1;
  }
}

const ParamDef& way_definition(Call call) {
  return definition(way_parameter(call));
}

std::string_view asked_way(const Comm& comm, Call call) {
  const int parameter = way_parameter(call);
  const std::uint8_t* ways = comm.coll->settings.ways;
  if (parameter < 0 || ways[parameter] == 0) return {};
  return param_word(definition(parameter), ways[parameter]);
}

Way asked_kind(const Comm& comm, Call call) {
  return kind_of(call, asked_way(comm, call));
}

Way kind_of(Call call, std::string_view name) {
  if (name.empty()) return Way::automatic;
  if (name == "slots") return Way::slots;
  if (name == "direct") return Way::direct;
  return name == block_name(call) ? Way::block : Way::schedule;
}

const char* block_name(Call call) {
  switch (call) {
    case Call::bcast:
    case Call::gather:
    case Call::gatherv:
    case Call::scatter:
    case Call::scatterv:
    case Call::scan:
    case Call::exscan:
      return "pieces";
    default:
      return "strips";
  }
}

const char* name_of(Call call, Way way) {
  return way == Way::slots ? "slots" : way == Way::direct ? "direct" : block_name(call);
}

void explain_way(Comm& comm, Call call, std::int64_t bytes, const char* name) {
  const int parameter = way_parameter(call);
  if (comm.rank != 0 || parameter < 0) return;
  const ParamDef& def = definition(parameter);
  int way = 1;
  while (way < def.max && param_word(def, way) != name) ++way;
  std::uint16_t& explained = comm.coll->explained[parameter];
  const auto bit = static_cast<std::uint16_t>(1u << way);
  if ((explained & bit) != 0) return;
  explained |= bit;
  std::fprintf(stderr, "weft: %s: %s of %lld bytes between %d ranks goes by %s (%s=%s)\n",
               comm.name.c_str(), def.name + sizeof "coll", static_cast<long long>(bytes),
               comm.size(), name, param_env_name(def).c_str(), name);
}

}  // namespace weft::coll
