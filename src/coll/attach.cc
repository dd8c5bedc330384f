// SPDX-License-Identifier: Apache-2.0
//
// The collectives' state of a communicator, from its construction to its end.
#include <cstdio>

#include "coll/block/shared.h"
#include "coll/boards/node.h"
#include "coll/nodes/phases.h"
#include "coll/state.h"
#include "object/info.h"

namespace weft::coll {

void attach(Comm& comm) {
  comm.coll = new CommState;
  const sync::Guard guard(comm.engine->contexts->objects);
  comm.engine->contexts->comms.push_back(&comm);
  take_hints(comm);
}

void take_hints(Comm& comm) {
  const Params& params = *comm.engine->params;
  const auto value = [&](P id) {
    const ParamDef& def = param_table()[static_cast<std::size_t>(id)];
    std::int64_t wanted = params.integer(id);
    if (comm.hints != nullptr)
      if (const std::string* hint = object::info_find(comm.hints, param_hint_name(def).c_str()))
        param_parse(def, hint->c_str(), &wanted);
    return wanted;
  };
  forget_schedules(*comm.coll);
  Settings& s = comm.coll->settings;
  if (Choices* known = comm.coll->choices.get()) *known = {.machine = known->machine};
  if (comm.coll->shared != nullptr) comm.coll->shared->forget_ways();
  if (comm.spans_jobs()) {  // what all of them have in common
    s = {};
    s.reproducible = true;
    return;
  }
  s.compare = params.integer(P::abi_check) == 2;
  s.reproducible = value(P::coll_reproducible) != 0;
  s.user_ops_anywhere = value(P::progress_user_ops) != 0;
  s.explore = static_cast<double>(value(P::coll_explore)) / 100;
  s.explain = s.ways_matter = params.boolean(P::coll_explain);
  for (int i = 0; i < Settings::collectives; ++i) {
    s.ways[i] =
        static_cast<std::uint8_t>(value(static_cast<P>(static_cast<int>(P::coll_allgather) + i)));
    s.ways_matter |= s.ways[i] != 0;
  }
}

void detach(Comm& comm) {
  {
    const sync::Guard guard(comm.engine->contexts->objects);
    std::erase(comm.engine->contexts->comms, &comm);
  }
  CommState* state = comm.coll;
  comm.coll = nullptr;
  forget_schedules(*state);
  while (Schedule* schedule = state->idle) {
    state->idle = schedule->next_free;
    delete schedule;
  }
  delete state->shared;
  delete state->node;
  delete state;
}

NodeState& node_state(Comm& comm) {
  CommState& state = *comm.coll;
  if (state.node == nullptr) [[unlikely]]
    state.node = new NodeState(comm);
  return *state.node;
}

Choices& choices_of(Comm& comm) {
  std::unique_ptr<Choices>& choices = comm.coll->choices;
  if (choices != nullptr) [[likely]]
    return *choices;
  choices = std::make_unique<Choices>();
  if (comm.size() < 2) return *choices;
  pt2pt::Engine& e = *comm.engine;
  choices->ledger = Ledger(e.job->findings());
  const bool spans_jobs = comm.spans_jobs();
  if (spans_jobs || !e.reaches(comm.group->members)) {
    const Nodes nodes = nodes_of(comm);
    const model::Network network =
        spans_jobs ? model::usual_network() : model::network_of(*e.params);
    choices->machine = model::machine_across(nodes.count(), nodes.most(), network);
    return *choices;
  }
  choices->machine = model::machine_of(e.prices(), e.job->hierarchy(), comm.group->members);
  if (e.policy.crowded) choices->machine.cpus = e.job->cpus();
  return *choices;
}

const Way* way_asked_for(const Comm& comm, Call call) {
  const int collective = family(call);
  if (collective < 0) return nullptr;
  const std::uint8_t asked = comm.coll->settings.ways[collective];
  return asked == 0 ? nullptr : &ways_of(call)[asked - 1U];
}

void tell_once(Comm& comm, Call call, std::int64_t bytes, const Way& way) {
  if (comm.rank != 0) return;
  std::uint32_t& told = comm.coll->told[family(call)];
  const std::uint32_t bit = 1U << (&way - ways_of(call).data());
  if ((told & bit) != 0) return;
  told |= bit;
  const ParamDef& def = way_parameter(call);
  std::fprintf(stderr, "weft: %s: %s of %lld bytes between %d ranks goes by %s (%s=%s)\n",
               comm.name.c_str(), def.name + sizeof "coll", static_cast<long long>(bytes),
               comm.size(), way.name, param_env_name(def).c_str(), way.name);
}

void tell_change(const Comm& comm, Call call, std::int64_t bytes, const Way& before,
                 double before_ns, const Way& now, double now_ns) {
  if (comm.rank != 0) return;
  std::fprintf(stderr,
               "weft: %s: %s of %lld bytes between %d ranks takes %.2f us by %s, %.2f us by %s, "
               "which it goes by from now on (WEFT_COLL_EXPLORE=0: as the model says)\n",
               comm.name.c_str(), way_parameter(call).name + sizeof "coll",
               static_cast<long long>(bytes), comm.size(), before_ns / 1e3, before.name,
               now_ns / 1e3, now.name);
}

static void attach_shared(Comm& comm) {
  comm.coll->shared_tried = true;
  comm.coll->shared = Shared::attach(comm);
}

Shared* shared_for(Call call, Comm& comm, const How& how) {
  if (how.what != How::blocking || comm.is_inter() || comm.size() == 1 ||
      comm.size() > Shared::ranks_max || comm.coll->settings.compare)
    return nullptr;
  if (const Way* asked = asked_way(comm, call); asked != nullptr && asked->place >= Place::board)
      [[unlikely]]
    return nullptr;
  if (!comm.coll->shared_tried) [[unlikely]]
    attach_shared(comm);
  return comm.coll->shared;
}

Shared* shared_if_any(Comm& comm) {
  if (!comm.coll->shared_tried && comm.engine->job->has_shared_block(Shared::block_name(comm)))
    attach_shared(comm);
  return comm.coll->shared;
}

Boards* boards_if_any(Comm& comm) {
  const bool there =
      comm.coll->node != nullptr || comm.engine->job->has_shared_block(Boards::block_name(comm, 0));
  return there ? node_state(comm).boards : nullptr;
}

}  // namespace weft::coll
