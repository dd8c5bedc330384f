// SPDX-License-Identifier: Apache-2.0
//
// weft tune --net: what messages between two nodes of a job cost, by LogGP (model::Network): this
// program is the job. Rank 0 and the first rank of another node measure, the others wait.
#pragma once

namespace weft::tool {

/// Measures, says what it found, and keeps it for jobs like this one; the exit code.
int tune_network();
/// Says what is kept, or forgets it.
int show_network();
int forget_network();

}  // namespace weft::tool
