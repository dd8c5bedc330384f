// SPDX-License-Identifier: Apache-2.0
//
// A send and a receive as one operation (MPI-5.0 §3.10). The nonblocking forms are one request with
// two halves that complete it together.
#include <cstdlib>

#include "pt2pt/engine.h"

namespace weft::pt2pt {
namespace {

void init(P2p& half, Comm& comm, bool is_send, const Buffer& buffer,
          const wire::Envelope& envelope) {
  half.engine = comm.engine;
  half.comm = &comm;
  half.is_send = is_send;
  half.buffer = buffer;
  half.envelope = envelope;
}

void start_halves(P2p& send, int dest, P2p& recv, int source, Comm& comm) {
  Engine& e = *comm.engine;
  if (source == MPI_PROC_NULL) {
    recv.source = MPI_PROC_NULL;
    complete(recv, MPI_SUCCESS);
  } else {
    start_recv(e, recv);
  }
  if (dest == MPI_PROC_NULL) {
    complete(send, MPI_SUCCESS);
  } else {
    send.peer = comm.peers()[static_cast<std::size_t>(dest)];
    start_send(e, send);
  }
}

/// A packed copy of `buffer`, to be sent while the original is received into.
Result<Buffer> packed_copy(const ConstBuffer& buffer) {
  const std::int64_t bytes = buffer.bytes();
  void* copy = std::malloc(static_cast<std::size_t>(bytes > 0 ? bytes : 1));
  if (copy == nullptr)
    return fail(MPI_ERR_NO_MEM, "no memory for a copy of the %lld bytes to be replaced",
                static_cast<long long>(bytes));
  datatype::pack(buffer, 0, copy, bytes);
  return Buffer{copy, bytes, datatype::predefined(reinterpret_cast<std::uintptr_t>(MPI_BYTE))};
}

/// One half of a nonblocking pair is complete: tell the whole, which is `partner`.
void half_finished(P2p& half) {
  P2p& whole = *half.partner;
  if (!half.is_send) {
    whole.source = half.source;
    whole.tag = half.tag;
    whole.bytes = half.bytes;
  }
  if (half.error != MPI_SUCCESS) whole.error = half.error;
  if (--whole.halves == 0) complete(whole, whole.error);
}

void start_pair(const Buffer& sendbuf, bool owns, int dest, int sendtag, const Buffer& into,
                int source, int recvtag, Comm& comm, MPI_Request* out) {
  P2p* whole = new_request(comm, false, into);
  whole->halves = 2;
  *out = handle_of(whole);
  P2p* recv = new_request(comm, false, into);
  P2p* send = new_request(comm, true, sendbuf);
  send->owns_buffer = owns;
  recv->envelope = {comm.context, source, recvtag};
  send->envelope = envelope_of(comm, sendtag, Space::user);
  for (P2p* half : {recv, send}) {
    half->partner = whole;
    half->finished = half_finished;
    object::orphan(*half);
  }
  start_halves(*send, dest, *recv, source, comm);
}

}  // namespace

Err sendrecv(const ConstBuffer& what, int dest, int sendtag, const Buffer& into, int source,
             int recvtag, Comm& comm, MPI_Status* status) {
  Engine& e = *comm.engine;
  P2p send, recv;
  init(send, comm, true, writable(what), envelope_of(comm, sendtag, Space::user));
  init(recv, comm, false, into, {comm.context, source, recvtag});
  start_halves(send, dest, recv, source, comm);
  Request* const both[] = {&send, &recv};
  wait_until(e, [&] { return send.done && recv.done; }, {.requests = both});
  object::set_status(status, recv.source, recv.tag, recv.bytes, false);
  return Err{recv.error != MPI_SUCCESS ? recv.error : send.error};
}

Err sendrecv_replace(const Buffer& buffer, int dest, int sendtag, int source, int recvtag,
                     Comm& comm, MPI_Status* status) {
  const Result<Buffer> copy = packed_copy(buffer);
  if (copy.err) return copy.err;
  const Err err = sendrecv(copy.value, dest, sendtag, buffer, source, recvtag, comm, status);
  std::free(copy.value.data);
  return err;
}

Err isendrecv(const ConstBuffer& what, int dest, int sendtag, const Buffer& into, int source,
              int recvtag, Comm& comm, MPI_Request* out) {
  start_pair(writable(what), false, dest, sendtag, into, source, recvtag, comm, out);
  return ok;
}

Err isendrecv_replace(const Buffer& buffer, int dest, int sendtag, int source, int recvtag,
                      Comm& comm, MPI_Request* out) {
  const Result<Buffer> copy = packed_copy(buffer);
  if (copy.err) return copy.err;
  start_pair(copy.value, true, dest, sendtag, buffer, source, recvtag, comm, out);
  return ok;
}

}  // namespace weft::pt2pt
