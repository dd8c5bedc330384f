// SPDX-License-Identifier: Apache-2.0
//
// Communicator construction (MPI-5.0 §7.4, §7.6, §8.5). A new communicator needs one thing its
// members cannot know alone: its context. Rank 0 of the new group takes one from the job's counter
// and a binomial tree of messages tells the others; splitting gathers colors up the same tree
// first.
//
// These messages have two spaces of their own in every context, so they meet neither the user's
// nor the collectives': context + 2 for constructions that are collective over the parent (the tag
// is the number of the construction, counted alike at all members), context + 3 for those among
// some of its ranks (the tag is the user's).
//
// `*out` becomes MPI_COMM_NULL at ranks that are not part of the new communicator.
#pragma once

#include <span>

#include "base/err.h"
#include "object/objects.h"
#include "object/store.h"

namespace weft {
struct Rank;
}

namespace weft::world {

using object::Comm;
using object::Errhandler;
using object::Group;
using object::Info;

/// What objects know of the rank, before there are any.
void prepare_store(Rank& rank);
/// MPI_COMM_WORLD and MPI_COMM_SELF at MPI_Init, and their end.
Err make_predefined_comms(Rank& rank);
/// Of MPI_COMM_WORLD it says whether the rank goes on when others die (memory/job.h).
Err set_errhandler(Comm& comm, Errhandler& errhandler);
/// First thing in MPI_Finalize: the delete callbacks on MPI_COMM_SELF run while MPI still works.
Err delete_self_attributes(Rank& rank);
/// Last thing in MPI_Finalize.
void free_predefined_comms(Rank& rank);

// Collective over `comm`.
Err comm_dup(Comm& comm, MPI_Comm* out);
/// `info` may be null.
Err comm_dup_with_info(Comm& comm, const Info* info, MPI_Comm* out);
/// MPI_Comm_set_info; `info` may be null. Also collective for hints that say how collectives go.
Err adopt_hints(Comm& comm, const Info* info);
Err comm_idup(Comm& comm, const Info* info, MPI_Comm* out, MPI_Request* request);
Err comm_split(Comm& comm, int color, int key, MPI_Comm* out);
Err comm_split_type(Comm& comm, int split_type, int key, Info* info, MPI_Comm* out);
Err comm_create(Comm& comm, const Group& group, MPI_Comm* out);
Err intercomm_merge(Comm& comm, int high, MPI_Comm* out);

// Collective over `group`, a part of `comm`.
Err comm_create_group(Comm& comm, const Group& group, int tag, MPI_Comm* out);
/// From groups alone; `errhandler` belongs to the new communicator.
Err comm_create_from_group(Rank& rank, const Group& group, const char* stringtag, const Info* info,
                           Errhandler& errhandler, MPI_Comm* out);

/// `peer` and `remote_leader` matter at the local leader only; `peer` may be null elsewhere.
Err intercomm_create(Comm& local, int local_leader, Comm* peer, int remote_leader, int tag,
                     MPI_Comm* out);
struct FromGroups {
  const Group& local;
  int local_leader;
  const Group* remote;  // this and remote_leader matter at the local leader only
  int remote_leader;
  const char* stringtag;
  const Info* info;
  Errhandler& errhandler;
};
Err intercomm_create_from_groups(Rank& rank, const FromGroups& args, MPI_Comm* out);

/// MPI_Comm_free and MPI_Comm_disconnect; the handle becomes MPI_COMM_NULL.
Err comm_free(Comm& comm, MPI_Comm* handle);
Err comm_disconnect(Comm& comm, MPI_Comm* handle);

// Other worlds (comm_spawn.cc, comm_connect.cc).
/// What to spawn; significant at the root. `info` may be null.
struct Program {
  const char* command;
  char** argv;
  int maxprocs;
  const Info* info;
};
struct Programs {
  int count;
  char** commands;
  char*** argvs;
  const int* maxprocs;
  const MPI_Info* infos;
};
Err comm_spawn(Comm& comm, std::span<const Program> programs, int root, MPI_Comm* out,
               int* errcodes);
inline Err comm_spawn(Comm& comm, const Program& program, int root, MPI_Comm* out, int* errcodes) {
  return comm_spawn(comm, std::span(&program, 1), root, out, errcodes);
}
Err comm_spawn_multiple(Comm& comm, const Programs& programs, int root, MPI_Comm* out,
                        int* errcodes);
Err comm_get_parent(Rank& rank, MPI_Comm* out);
Err open_port(Rank& rank, char* name);
Err close_port(Rank& rank, const char* name);
/// In MPI_Finalize: those that are still open.
void close_ports(Rank& rank);
Err publish_name(Rank& rank, const char* service, const char* port);
Err lookup_name(Rank& rank, const char* service, char* port);
Err unpublish_name(Rank& rank, const char* service, const char* port);
Err comm_accept(Comm& comm, const char* port, int root, MPI_Comm* out);
Err comm_connect(Comm& comm, const char* port, int root, MPI_Comm* out);
Err comm_join(Rank& rank, int fd, MPI_Comm* out);

// With a topology (comm_topology.cc).
Err cart_create(Comm& comm, std::span<const int> dims, const int* periods, bool reorder,
                MPI_Comm* out);
/// MPI_Cart_map: where cart_create with `reorder` puts this rank. Local.
Err cart_map(Comm& comm, std::span<const int> dims, const int* periods, int* newrank);
Err cart_sub(Comm& comm, const int* remain_dims, MPI_Comm* out);
Err graph_create(Comm& comm, int nnodes, const int* index, const int* edges, MPI_Comm* out);
struct Edges {
  std::span<const int> ranks;
  const int* weights;  // or MPI_UNWEIGHTED, MPI_WEIGHTS_EMPTY
};
Err dist_graph_create_adjacent(Comm& comm, const Edges& sources, const Edges& destinations,
                               MPI_Comm* out);
/// Any rank may name any edges: sources[i] has degrees[i] of the `destinations`, in order.
Err dist_graph_create(Comm& comm, std::span<const int> sources, const int* degrees,
                      const int* destinations, const int* weights, MPI_Comm* out);

/// MPI_Get_hw_resource_info (§7.4.2): which resources of the node hold this rank alone.
Err hw_resource_info(Rank& rank, MPI_Info* out);

}  // namespace weft::world
