// SPDX-License-Identifier: Apache-2.0
//
// Threads of a rank's process that are not in MPI: can any of them still do something? The kernel
// tells (/proc/<pid>/task/<tid>/syscall). A thread that sleeps on a futex without a time limit
// needs another thread of its process to wake it; everything else (runs, reads, sleeps for a time)
// counts as able to go on.
#pragma once

#include "hang/view.h"

namespace weft::hang {

/// Fill in `sleepers` and `others_can_move` of the ranks that use MPI_THREAD_MULTIPLE.
void find_sleepers(JobView& view);

}  // namespace weft::hang
