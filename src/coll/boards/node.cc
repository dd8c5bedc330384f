// SPDX-License-Identifier: Apache-2.0
#include "coll/boards/node.h"

#include "coll/state.h"

namespace weft::coll {

NodeState::NodeState(Comm& comm)
    : ground(Levels(comm.engine->job->hierarchy(), comm.group->members)),
      boards(comm.engine->params->integer(P::coll_shared_max) > 0 ? Boards::attach(comm, 0)
                                                                  : nullptr) {
  if (boards != nullptr && boards->direct())
    ground.direct_strip = strip_for(choices_of(comm).machine.cache_lines);
  const topo::Hierarchy node = comm.engine->job->hierarchy();
  for (const std::int32_t peer : comm.group->members)
    level_with.push_back(
        static_cast<std::uint8_t>(node.deepest_common(comm.engine->world_rank, peer)));
}

}  // namespace weft::coll
