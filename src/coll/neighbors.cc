// SPDX-License-Identifier: Apache-2.0
//
// Neighborhood collectives (MPI-5.0 §8.6-§8.9): ask the topology, emit, launch.
#include "coll/messages/algorithms.h"
#include "coll/state.h"

namespace weft::coll {
namespace {

template <class Send>
Err run(Call call, void (*emit)(Schedule&, const Send&, const Blocks&, const object::Neighbors&),
        const Send& send, const Blocks& recv, Comm& comm, const How& how) {
  object::Neighbors n;
  WEFT_TRY(object::neighbors(comm, &n));
  Schedule& s = take_schedule(comm, {call, how.what});
  emit(s, send, recv, n);
  return launch(s, comm, how);
}

}  // namespace

Err neighbor_allgather(const ConstBuffer& send, const Buffer& recv, Comm& comm, How how) {
  return run(Call::neighbor_allgather, neighbor_allgather_direct, send, Blocks(recv), comm, how);
}
Err neighbor_allgatherv(const ConstBuffer& send, const VBuffer& recv, Comm& comm, How how) {
  return run(Call::neighbor_allgatherv, neighbor_allgather_direct, send, Blocks(recv), comm, how);
}
Err neighbor_alltoall(const ConstBuffer& send, const Buffer& recv, Comm& comm, How how) {
  return run(Call::neighbor_alltoall, neighbor_alltoall_direct, Blocks(send), Blocks(recv), comm,
             how);
}
Err neighbor_alltoallv(const VBuffer& send, const VBuffer& recv, Comm& comm, How how) {
  return run(Call::neighbor_alltoallv, neighbor_alltoall_direct, Blocks(send), Blocks(recv), comm,
             how);
}
Err neighbor_alltoallw(const WBuffer& send, const WBuffer& recv, Comm& comm, How how) {
  return run(Call::neighbor_alltoallw, neighbor_alltoall_direct, Blocks(send), Blocks(recv), comm,
             how);
}

}  // namespace weft::coll
