// SPDX-License-Identifier: Apache-2.0
//
// Barrier and the collectives that move data (MPI-5.0 §6.3-§6.8): pick an algorithm, emit, launch.
#include "coll/algorithms/algorithms.h"
#include "coll/select.h"
#include "coll/shared/shared.h"
#include "coll/state.h"

namespace weft::coll {
namespace {

constexpr std::int64_t never_shared = INT64_MAX;  // sizes that only some ranks know

Err gather_blocks(const ConstBuffer& send, const Blocks& recv, int root, Comm& comm,
                  const How& how) {
  // Only the root knows all counts of gatherv, so nothing may depend on them.
  const bool uniform = recv.is_uniform();
  const bool is_root = comm.rank == root;
  const std::int64_t bytes =
      uniform && !comm.is_inter() ? (is_root ? recv[root] : send).bytes() : 0;
  if (Shared* shared = shared_for(comm, how, uniform ? bytes : never_shared)) {
    shared->gather(send, recv, root, bytes);
    return ok;
  }
  Schedule& s = take_schedule(comm);
  if (comm.is_inter())
    gather_inter(s, send, recv, root, remote_size(comm));
  else
    choose_gather({comm.size(), bytes, uniform})(s, send, recv, root, position(comm));
  return launch(s, comm, how);
}

Err scatter_blocks(const Blocks& send, const Buffer& recv, int root, Comm& comm, const How& how) {
  const bool uniform = send.is_uniform();
  const bool is_root = comm.rank == root;
  const std::int64_t bytes =
      uniform && !comm.is_inter() ? (is_root ? send[root] : recv).bytes() : 0;
  if (Shared* shared = shared_for(comm, how, uniform ? bytes * comm.size() : never_shared)) {
    shared->scatter(send, recv, root, bytes);
    return ok;
  }
  Schedule& s = take_schedule(comm);
  if (comm.is_inter())
    scatter_inter(s, send, recv, root, remote_size(comm));
  else
    choose_scatter({comm.size(), bytes, uniform})(s, send, recv, root, position(comm));
  return launch(s, comm, how);
}

Err allgather_blocks(const ConstBuffer& send, const Blocks& recv, Comm& comm, const How& how) {
  const bool uniform = recv.is_uniform();
  const std::int64_t bytes = uniform ? recv[0].bytes() : 0;
  if (Shared* shared = shared_for(comm, how, uniform ? bytes : never_shared)) {
    shared->allgather(send, recv, bytes);
    return ok;
  }
  Schedule& s = take_schedule(comm);
  if (comm.is_inter())
    allgather_inter(s, send, recv, position(comm), remote_size(comm));
  else
    choose_allgather({comm.size(), bytes, uniform})(s, send, recv, position(comm));
  return launch(s, comm, how);
}

Err alltoall_blocks(const Blocks& send, const Blocks& recv, Comm& comm, const How& how) {
  const bool uniform = recv.is_uniform();
  const std::int64_t bytes = uniform ? recv[0].bytes() : 0;
  if (Shared* shared = shared_for(comm, how, uniform ? bytes * comm.size() : never_shared)) {
    shared->alltoall(send, recv, bytes);
    return ok;
  }
  Schedule& s = take_schedule(comm);
  if (comm.is_inter())
    alltoall_inter(s, send, recv, position(comm), remote_size(comm));
  else
    choose_alltoall({comm.size(), bytes, uniform})(s, send, recv, position(comm));
  return launch(s, comm, how);
}

}  // namespace

Err barrier(Comm& comm, How how) {
  if (Shared* shared = shared_for(comm, how, 0)) {
    shared->barrier();
    return ok;
  }
  Schedule& s = take_schedule(comm);
  if (comm.is_inter())
    barrier_inter(s, position(comm), remote_size(comm));
  else
    barrier_dissemination(s, position(comm));
  return launch(s, comm, how);
}

Err bcast(const Buffer& buffer, int root, Comm& comm, How how) {
  if (Shared* shared = shared_for(comm, how, buffer.bytes())) {
    shared->bcast(buffer, root);
    return ok;
  }
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
