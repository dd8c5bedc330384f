// SPDX-License-Identifier: Apache-2.0
//
// The variables in which a rank's scripts find its number and the number of ranks, in the job and
// among those of its host, with ranks as processes (set by mpiexec) and as threads (the rank's own
// are set by the rank host). docs/launching.md says who reads which.
//
// PMI_RANK and PMI_SIZE are not among them: other libraries take them for a process manager.
#pragma once

namespace weft::launch {

inline constexpr const char* rank_variables[] = {"WEFT_RANK", "OMPI_COMM_WORLD_RANK"};
inline constexpr const char* local_rank_variables[] = {
    "WEFT_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID"};
inline constexpr const char* size_variables[] = {"WEFT_SIZE", "OMPI_COMM_WORLD_SIZE"};
inline constexpr const char* local_size_variables[] = {
    "WEFT_LOCAL_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS"};

}  // namespace weft::launch
