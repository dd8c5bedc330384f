// SPDX-License-Identifier: Apache-2.0
//
// Partitioned communication (MPI-5.0 chapter 4): one message whose parts several threads of the
// sender give away as they have them.
//
// A partitioned operation is a request made of ordinary messages. The sender decides how many: at
// its init call it groups neighbouring partitions until a group is worth a message, and sends the
// receiver a Plan. Plans are matched as messages are, in the order of the init calls with the same
// source, tag and communicator, in a space of their own (Space::plan). From then on both sides know
// all: message i of each round carries the bytes [i * chunk, (i + 1) * chunk) of the transfer with
// the tag first_tag + i in the space Space::partition, so that the receiver may have other
// partitions, even other types.
//
// Marking takes no lock: a partition's word gets the number of the round, the counter of its
// message goes down, and only the thread that marks a message's last partition takes the lock of
// the message's context and sends. Messages are of several contexts, so that such threads do not
// meet.
#pragma once

#include <mpi.h>

#include <span>

#include "pt2pt/pt2pt.h"

namespace weft::pt2pt {

// `each` is one partition. `peer` is a rank of the communicator or MPI_PROC_NULL. Local calls.
Err psend_init(const ConstBuffer& each, int partitions, int dest, int tag, Comm& comm,
               MPI_Request* out);
Err precv_init(const Buffer& each, int partitions, int source, int tag, Comm& comm,
               MPI_Request* out);

// By any thread, which holds no lock. Nothing is marked if there is an error.
Err pready(MPI_Request request, int first, int last);
Err pready_list(MPI_Request request, std::span<const int> partitions);
/// A null or inactive request: true.
Err parrived(MPI_Request request, int partition, int* flag);

}  // namespace weft::pt2pt
