// SPDX-License-Identifier: Apache-2.0
//
// A rank that ends without MPI_Init, in a job where another one calls it: the others would wait for
// it for ever, and nothing needs to be waited for to know that. A job in which no rank calls
// MPI_Init is none of our business.
#pragma once

#include <string>

#include "memory/job.h"

namespace weft::hang {

/// A rank ended without MPI_Init. By its launcher or host, which then asks absence().
void mark_absent(memory::Job& job, int world_rank);

/// One sentence that names those of `rank`'s world who have left and those who have called
/// MPI_Init;
/// "" while there are not both. A rank asks when its state says that it has called it: so of two
/// that do not go together the later one learns it. Costs a load while nobody is absent. With
/// `calls_init` the sentence is about the rank's call, else about those who have left.
std::string absence(memory::Job& job, int rank, bool calls_init = false);

}  // namespace weft::hang
