// SPDX-License-Identifier: Apache-2.0
//
// How ranks that another process manager started (wireup) come together: those of a node share one
// job segment, which the first of them makes and publishes and the others open through /proc.
#pragma once

#include "base/err.h"
#include "base/params.h"
#include "memory/job.h"
#include "wireup/manager.h"

namespace weft::world {

/// The world ranks first .. first+count-1 of `job` live in this process.
struct Placement {
  memory::Job* job = nullptr;
  int first = 0;
  int count = 0;
};

/// The path of the memory of the job on the node whose first rank this is, on that node.
Result<std::string> memory_of(wireup::Manager& manager, int first);
/// Find or make the job segment of this node through `manager`.
Result<Placement> join_job(wireup::Manager& manager, const Params& params);

}  // namespace weft::world
