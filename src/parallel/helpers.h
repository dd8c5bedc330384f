// SPDX-License-Identifier: Apache-2.0
//
// Threads of weft's own that only help (parameter parallel.helpers). They look for jobs for a
// moment, then sleep; a job that is worth it wakes them.
#pragma once

namespace weft::parallel {

/// As many as `n` in this process from now on; they end with it. Later calls with the same number
/// do nothing. Threads that cannot be made are missing, and nothing else.
void start_helpers(int n);

}  // namespace weft::parallel
