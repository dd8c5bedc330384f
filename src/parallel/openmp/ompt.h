// SPDX-License-Identifier: Apache-2.0
//
// weft as a tool of OpenMP (OpenMP 5.2 chapter 19, OMPT): how libomp and libiomp5 tell what their
// threads do.
#pragma once

namespace weft::parallel::openmp {

/// Ask all runtimes that know weft as a tool to tell of barriers, mutual exclusion and tasks.
void watch_by_tools();
/// Has a runtime taken weft for its tool? Then what libgomp's entry points would say is said twice,
/// and only the tool counts.
bool is_told_by_tool();
/// Is a teams construct running on the host, as far as runtimes tell?
bool has_league();

}  // namespace weft::parallel::openmp
