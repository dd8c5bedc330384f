// SPDX-License-Identifier: Apache-2.0
//
// PMI_process_mapping, by which managers of PMI say where ranks run: "(vector,(0,2,8),(2,1,4))" is
// 8 ranks on each of 2 nodes from node 0, and 4 on node 2. Hydra of MPICH 5 also writes
// "[(0,2,1)]x2" for what is there twice. It begins anew until all ranks have a node.
#pragma once

#include <string>
#include <vector>

#include "base/err.h"

namespace weft::wireup {

/// The node of each of `size` ranks.
Result<std::vector<int>> nodes_of_mapping(const std::string& mapping, int size);

}  // namespace weft::wireup
