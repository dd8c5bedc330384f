// SPDX-License-Identifier: Apache-2.0
//
// Sessions (MPI-5.0 §11.3): users of the library beside the world model, as many as a program
// likes, one after the other or at once. A session names process sets; groups of these, and
// communicators made from the groups, belong to it. What it has not freed when it is finalized is
// freed then, without its callbacks, and its handles are no objects any more.
#pragma once

#include <mpi.h>

#include "base/err.h"
#include "object/objects.h"

namespace weft {
struct Rank;
}

namespace weft::world {

using object::Session;

/// mpi://WORLD, mpi://SELF, weft://node, weft://socket.
inline constexpr int pset_count = 4;

/// Under the object lock; `info` may be null. Its key "thread_level" asks for one.
Err session_init(Rank& rank, const object::Info* info, object::Errhandler& errhandler,
                 MPI_Session* out);
/// Takes no lock of its caller's. Waits only for what this rank has sent, if nobody else uses MPI.
Err session_finalize(Rank& rank, Session& session, MPI_Session* handle);
/// The thread level, and the kinds of memory.
Err session_info(Rank& rank, const Session& session, MPI_Info* out);

Err nth_pset(int n, int* length, char* name);
/// Its size, as "mpi_size".
Err pset_info(Rank& rank, const char* name, MPI_Info* out);
Err group_from_pset(Rank& rank, const Session& session, const char* name, MPI_Group* out);

const char* thread_level_name(int level);

}  // namespace weft::world
