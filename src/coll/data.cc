// SPDX-License-Identifier: Apache-2.0
//
// Barrier and the collectives that move data (MPI-5.0 §6.3-§6.8): through the shared block, or by a
// schedule.
#include "coll/block/shared.h"
#include "coll/messages/algorithms.h"
#include "coll/state.h"

namespace weft::coll {

Err copy_alone(const ConstBuffer& from, const Buffer& to) {
  if (is_in_place(from.data)) return ok;
  const std::int64_t sent = from.bytes(), room = to.bytes();
  if (sent > room) [[unlikely]]
    return fail(MPI_ERR_TRUNCATE,
                "%lld bytes to send to itself, but room for %lld in the receive buffer",
                static_cast<long long>(sent), static_cast<long long>(room));
  datatype::copy(from, to, sent);
  return ok;
}

namespace {

Err gather_blocks(Call call, const ConstBuffer& send, const Blocks& recv, int root, Comm& comm,
                  const How& how) {
  if (is_alone(comm, how)) return copy_alone(send, recv[0]);
  // Only the root knows all counts of gatherv, so nothing may depend on them.
  const bool uniform = recv.is_uniform();
  const bool is_root = comm.rank == root;
  const std::int64_t bytes =
      uniform && !comm.is_inter() ? (is_root ? recv[root] : send).bytes() : 0;
  Shared::Going going;
  if (Shared* shared = uniform ? shared_for(call, comm, how) : nullptr) {
    WEFT_TRY(shared->go(going, Call::gather, bytes));
    if (going.place < Place::board) return shared->gather(send, recv, root, bytes, going.place);
  }
  const Signature mine{call, how.what, root, uniform ? bytes : Signature::any_size};
  if (comm.is_inter())
    return run_emitted(comm, how, mine,
                       [&](Schedule& s) { gather_inter(s, send, recv, root, remote_size(comm)); });
  return run_schedule({.call = call, .root = root, .send = send, .to = &recv},
                      {.call = call, .bytes = bytes, .uniform = uniform}, comm, how, mine,
                      going.way);
}

Err scatter_blocks(Call call, const Blocks& send, const Buffer& recv, int root, Comm& comm,
                   const How& how) {
  if (is_alone(comm, how)) return is_in_place(recv.data) ? ok : copy_alone(send[0], recv);
  const bool uniform = send.is_uniform();
  const bool is_root = comm.rank == root;
  const std::int64_t bytes =
      uniform && !comm.is_inter() ? (is_root ? send[root] : recv).bytes() : 0;
  Shared::Going going;
  if (Shared* shared = uniform ? shared_for(call, comm, how) : nullptr) {
    WEFT_TRY(shared->go(going, Call::scatter, bytes));
    if (going.place < Place::board) return shared->scatter(send, recv, root, bytes, going.place);
  }
  const Signature mine{call, how.what, root, uniform ? bytes : Signature::any_size};
  if (comm.is_inter())
    return run_emitted(comm, how, mine,
                       [&](Schedule& s) { scatter_inter(s, send, recv, root, remote_size(comm)); });
  return run_schedule({.call = call, .root = root, .buffer = recv, .from = &send},
                      {.call = call, .bytes = bytes, .uniform = uniform}, comm, how, mine,
                      going.way);
}

Err allgather_blocks(Call call, const ConstBuffer& send, const Blocks& recv, Comm& comm,
                     const How& how) {
  if (is_alone(comm, how)) return copy_alone(send, recv[0]);
  const bool uniform = recv.is_uniform();
  const std::int64_t bytes = uniform ? recv[0].bytes() : 0;
  Shared::Going going;
  if (Shared* shared = uniform ? shared_for(call, comm, how) : nullptr) {
    WEFT_TRY(shared->go(going, Call::allgather, bytes));
    if (going.place < Place::board) return shared->allgather(send, recv, bytes, going.place);
  }
  Signature mine{call, how.what};
  if (uniform) mine.bytes = bytes;
  if (uniform && !is_in_place(send.data)) mine.sent = send.bytes();
  if (comm.is_inter())
    return run_emitted(comm, how, mine, [&](Schedule& s) {
      allgather_inter(s, send, recv, position(comm), remote_size(comm));
    });
  return run_schedule({.call = call, .send = send, .to = &recv},
                      {.call = call, .bytes = bytes, .uniform = uniform}, comm, how, mine,
                      going.way);
}

Err alltoall_blocks(Call call, const Blocks& send, const Blocks& recv, Comm& comm, const How& how) {
  if (is_alone(comm, how)) return send.in_place() ? ok : copy_alone(send[0], recv[0]);
  const bool uniform = recv.is_uniform();
  const std::int64_t bytes = uniform ? recv[0].bytes() : 0;
  Shared::Going going;
  if (Shared* shared = uniform ? shared_for(call, comm, how) : nullptr) {
    WEFT_TRY(shared->go(going, Call::alltoall, bytes, !send.in_place()));
    if (going.place < Place::board) return shared->alltoall(send, recv, bytes, going.place);
  }
  Signature mine{call, how.what};
  if (uniform) mine.bytes = bytes;
  if (uniform && !send.in_place()) mine.sent = send[0].bytes();
  if (comm.is_inter())
    return run_emitted(comm, how, mine, [&](Schedule& s) {
      alltoall_inter(s, send, recv, position(comm), remote_size(comm));
    });
  return run_schedule({.call = call, .from = &send, .to = &recv},
                      {.call = call, .bytes = bytes, .uniform = uniform}, comm, how, mine,
                      going.way);
}

}  // namespace

Err barrier(Comm& comm, How how) {
  if (is_alone(comm, how)) return ok;
  if (Shared* shared = shared_for(Call::barrier, comm, how)) return shared->barrier();
  const Signature mine{Call::barrier, how.what};
  if (comm.is_inter())
    return run_emitted(comm, how, mine,
                       [&](Schedule& s) { barrier_inter(s, position(comm), remote_size(comm)); });
  return run_schedule({.call = Call::barrier}, {.call = Call::barrier}, comm, how, mine);
}

Err bcast(const Buffer& buffer, int root, Comm& comm, How how) {
  if (is_alone(comm, how)) return ok;
  Shared::Going going;
  if (Shared* shared = shared_for(Call::bcast, comm, how)) {
    WEFT_TRY(shared->go(going, Call::bcast, buffer.bytes()));
    if (going.place < Place::board) return shared->bcast(buffer, root, going.place);
  }
  // Beside the root of an intercommunicator there may be no type.
  const std::int64_t bytes = comm.is_inter() ? 0 : buffer.bytes();
  const Signature mine{Call::bcast, how.what, root, bytes};
  if (comm.is_inter())
    return run_emitted(comm, how, mine,
                       [&](Schedule& s) { bcast_inter(s, buffer, root, remote_size(comm)); });
  return run_schedule({.call = Call::bcast, .root = root, .buffer = buffer},
                      {.call = Call::bcast, .bytes = bytes}, comm, how, mine, going.way);
}

Err gather(const ConstBuffer& send, const Buffer& recv, int root, Comm& comm, How how) {
  return gather_blocks(Call::gather, send, Blocks(recv), root, comm, how);
}
Err gatherv(const ConstBuffer& send, const VBuffer& recv, int root, Comm& comm, How how) {
  return gather_blocks(Call::gatherv, send, Blocks(recv), root, comm, how);
}
Err scatter(const ConstBuffer& send, const Buffer& recv, int root, Comm& comm, How how) {
  return scatter_blocks(Call::scatter, Blocks(send), recv, root, comm, how);
}
Err scatterv(const VBuffer& send, const Buffer& recv, int root, Comm& comm, How how) {
  return scatter_blocks(Call::scatterv, Blocks(send), recv, root, comm, how);
}
Err allgather(const ConstBuffer& send, const Buffer& recv, Comm& comm, How how) {
  return allgather_blocks(Call::allgather, send, Blocks(recv), comm, how);
}
Err allgatherv(const ConstBuffer& send, const VBuffer& recv, Comm& comm, How how) {
  return allgather_blocks(Call::allgatherv, send, Blocks(recv), comm, how);
}
Err alltoall(const ConstBuffer& send, const Buffer& recv, Comm& comm, How how) {
  return alltoall_blocks(Call::alltoall, Blocks(send), Blocks(recv), comm, how);
}
Err alltoallv(const VBuffer& send, const VBuffer& recv, Comm& comm, How how) {
  return alltoall_blocks(Call::alltoallv, Blocks(send), Blocks(recv), comm, how);
}
Err alltoallw(const WBuffer& send, const WBuffer& recv, Comm& comm, How how) {
  return alltoall_blocks(Call::alltoallw, Blocks(send), Blocks(recv), comm, how);
}

}  // namespace weft::coll
