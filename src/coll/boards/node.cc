// SPDX-License-Identifier: Apache-2.0
#include "coll/boards/node.h"

#include "coll/nodes/phases.h"
#include "coll/state.h"

namespace weft::coll {

NodeState::NodeState(Comm& comm)
    : here(comm),
      ground(Levels(comm.engine->job->hierarchy(), here.world)),
      boards(comm.engine->params->integer(P::coll_shared_max) > 0 ? Boards::attach(comm, here, 0)
                                                                  : nullptr) {
  pt2pt::Engine& e = *comm.engine;
  const topo::Hierarchy node = e.job->hierarchy();
  if (boards != nullptr && boards->direct())
    ground.direct_strip = strip_for(model::cache_share(e.prices(), here.size()));
  for (const std::int32_t peer : here.world)
    level_with.push_back(static_cast<std::uint8_t>(node.deepest_common(e.world_rank, peer)));
  if (here.size() == comm.size()) return;
  model::Machine machine = model::machine_of(e.prices(), node, here.world);
  if (e.policy.crowded) machine.cpus = e.job->cpus();
  cluster = std::make_shared<Cluster>(nodes_of(comm), machine, choices_of(comm).machine,
                                      choices_of(comm).ledger);
}

}  // namespace weft::coll
