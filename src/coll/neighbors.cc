// SPDX-License-Identifier: Apache-2.0
//
// Neighborhood collectives (MPI-5.0 §8.6-§8.9): ask the topology, emit, launch.
#include "coll/algorithms/algorithms.h"
#include "coll/state.h"

namespace weft::coll {
namespace {

Err allgather_blocks(Call call, const ConstBuffer& send, const Blocks& recv, Comm& comm,
                     const How& how) {
  object::Neighbors n;
  WEFT_TRY(object::neighbors(comm, &n));
  Schedule& s = take_schedule(comm, {call, how.what});
  neighbor_allgather_direct(s, send, recv, n);
  return launch(s, comm, how);
}

Err alltoall_blocks(Call call, const Blocks& send, const Blocks& recv, Comm& comm, const How& how) {
  object::Neighbors n;
  WEFT_TRY(object::neighbors(comm, &n));
  Schedule& s = take_schedule(comm, {call, how.what});
  neighbor_alltoall_direct(s, send, recv, n);
  return launch(s, comm, how);
}

}  // namespace

Err neighbor_allgather(const ConstBuffer& send, const Buffer& recv, Comm& comm, How how) {
  return allgather_blocks(Call::neighbor_allgather, send, Blocks(recv), comm, how);
}
Err neighbor_allgatherv(const ConstBuffer& send, const VBuffer& recv, Comm& comm, How how) {
  return allgather_blocks(Call::neighbor_allgatherv, send, Blocks(recv), comm, how);
}
Err neighbor_alltoall(const ConstBuffer& send, const Buffer& recv, Comm& comm, How how) {
  return alltoall_blocks(Call::neighbor_alltoall, Blocks(send), Blocks(recv), comm, how);
}
Err neighbor_alltoallv(const VBuffer& send, const VBuffer& recv, Comm& comm, How how) {
  return alltoall_blocks(Call::neighbor_alltoallv, Blocks(send), Blocks(recv), comm, how);
}
Err neighbor_alltoallw(const WBuffer& send, const WBuffer& recv, Comm& comm, How how) {
  return alltoall_blocks(Call::neighbor_alltoallw, Blocks(send), Blocks(recv), comm, how);
}

}  // namespace weft::coll
