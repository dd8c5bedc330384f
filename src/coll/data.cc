// SPDX-License-Identifier: Apache-2.0
//
// Barrier and the collectives that move data (MPI-5.0 §6.3-§6.8): pick an algorithm, emit, launch.
#include "coll/algorithms/algorithms.h"
#include "coll/select.h"
#include "coll/state.h"

namespace weft::coll {
namespace {

Err gather_blocks(const ConstBuffer& send, const Blocks& recv, int root, Comm& comm, const How& how) {
  Schedule& s = take_schedule(comm);
  if (comm.is_inter()) {
    gather_inter(s, send, recv, root, remote_size(comm));
  } else {
    // Only the root knows all counts of gatherv, so nothing of it may depend on them.
    const std::int64_t bytes =
        !recv.is_uniform() ? 0 : (comm.rank == root ? recv[root].bytes() : send.bytes());
    choose_gather({comm.size(), bytes, recv.is_uniform()})(s, send, recv, root, position(comm));
  }
  return launch(s, comm, how);
}

Err scatter_blocks(const Blocks& send, const Buffer& recv, int root, Comm& comm, const How& how) {
  Schedule& s = take_schedule(comm);
  if (comm.is_inter()) {
    scatter_inter(s, send, recv, root, remote_size(comm));
  } else {
    const std::int64_t bytes =
        !send.is_uniform() ? 0 : (comm.rank == root ? send[root].bytes() : recv.bytes());
    choose_scatter({comm.size(), bytes, send.is_uniform()})(s, send, recv, root, position(comm));
  }
  return launch(s, comm, how);
}

Err allgather_blocks(const ConstBuffer& send, const Blocks& recv, Comm& comm, const How& how) {
  Schedule& s = take_schedule(comm);
  if (comm.is_inter()) {
    allgather_inter(s, send, recv, position(comm), remote_size(comm));
  } else {
    choose_allgather({comm.size(), recv[0].bytes(), recv.is_uniform()})(s, send, recv, position(comm));
  }
  return launch(s, comm, how);
}

Err alltoall_blocks(const Blocks& send, const Blocks& recv, Comm& comm, const How& how) {
  Schedule& s = take_schedule(comm);
  if (comm.is_inter()) {
    alltoall_inter(s, send, recv, position(comm), remote_size(comm));
  } else {
    choose_alltoall({comm.size(), recv[0].bytes(), recv.is_uniform()})(s, send, recv, position(comm));
  }
  return launch(s, comm, how);
}

}  // namespace

Err barrier(Comm& comm, How how) {
  Schedule& s = take_schedule(comm);
  if (comm.is_inter())
    barrier_inter(s, position(comm), remote_size(comm));
  else
    barrier_dissemination(s, position(comm));
  return launch(s, comm, how);
}

Err bcast(const Buffer& buffer, int root, Comm& comm, How how) {
  Schedule& s = take_schedule(comm);
  if (comm.is_inter())
    bcast_inter(s, buffer, root, remote_size(comm));
  else
    choose_bcast({comm.size(), buffer.bytes()})(s, buffer, root, position(comm));
  return launch(s, comm, how);
}

Err gather(const ConstBuffer& send, const Buffer& recv, int root, Comm& comm, How how) {
  return gather_blocks(send, Blocks(recv), root, comm, how);
}
Err gatherv(const ConstBuffer& send, const VBuffer& recv, int root, Comm& comm, How how) {
  return gather_blocks(send, Blocks(recv), root, comm, how);
}
Err scatter(const ConstBuffer& send, const Buffer& recv, int root, Comm& comm, How how) {
  return scatter_blocks(Blocks(send), recv, root, comm, how);
}
Err scatterv(const VBuffer& send, const Buffer& recv, int root, Comm& comm, How how) {
  return scatter_blocks(Blocks(send), recv, root, comm, how);
}
Err allgather(const ConstBuffer& send, const Buffer& recv, Comm& comm, How how) {
  return allgather_blocks(send, Blocks(recv), comm, how);
}
Err allgatherv(const ConstBuffer& send, const VBuffer& recv, Comm& comm, How how) {
  return allgather_blocks(send, Blocks(recv), comm, how);
}
Err alltoall(const ConstBuffer& send, const Buffer& recv, Comm& comm, How how) {
  return alltoall_blocks(Blocks(send), Blocks(recv), comm, how);
}
Err alltoallv(const VBuffer& send, const VBuffer& recv, Comm& comm, How how) {
  return alltoall_blocks(Blocks(send), Blocks(recv), comm, how);
}
Err alltoallw(const WBuffer& send, const WBuffer& recv, Comm& comm, How how) {
  return alltoall_blocks(Blocks(send), Blocks(recv), comm, how);
}

}  // namespace weft::coll
