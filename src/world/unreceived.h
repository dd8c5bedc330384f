// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "world/rank.h"

namespace weft::world {

/// At the end of MPI_Finalize, when all that was ever sent to this rank is here: name on stderr the
/// messages that it never received. A program that leaves none says nothing.
void name_unreceived(Rank& rank);

}  // namespace weft::world
