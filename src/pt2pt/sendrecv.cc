// SPDX-License-Identifier: Apache-2.0
//
// A send and a receive as one operation (MPI-5.0 §3.10). The nonblocking forms are one request with
// two halves that complete it together. Where a communicator's messages go to contexts by tag the
// two may be of different ones: then the caller holds no context's lock.
#include <cstdlib>

#include "pt2pt/completion.h"
#include "pt2pt/several_contexts.h"

namespace weft::pt2pt {
namespace {

void init(P2p& half, Comm& comm, bool is_send, const Buffer& buffer,
          const wire::Envelope& envelope) {
  half.engine = &engine_for(comm, envelope.tag);
  half.comm = &comm;
  half.is_send = is_send;
  half.buffer = buffer;
  half.envelope = envelope;
}

void start_receiving(P2p& recv, int source) {
  if (source == MPI_PROC_NULL) {
    recv.source = MPI_PROC_NULL;
    complete(recv, MPI_SUCCESS);
  } else {
    start_recv(*recv.engine, recv);
  }
}

void start_sending(P2p& send, int dest, Comm& comm) {
  if (dest == MPI_PROC_NULL) {
    complete(send, MPI_SUCCESS);
  } else {
    send.peer = comm.peers()[static_cast<std::size_t>(dest)];
    start_send(*send.engine, send);
  }
}

/// Are a send and a receive with these tags of different contexts?
bool is_across(Comm& comm, int sendtag, int recvtag) {
  return comm.by_tag && &engine_for(comm, sendtag) != &engine_for(comm, recvtag);
}

/// A packed copy of `buffer`, to be sent while the original is received into.
Result<Buffer> packed_copy(const ConstBuffer& buffer) {
  const std::int64_t bytes = buffer.bytes();
  void* copy = std::malloc(static_cast<std::size_t>(bytes > 0 ? bytes : 1));
  if (copy == nullptr)
    return fail(MPI_ERR_NO_MEM, "no memory for a copy of the %lld bytes to be replaced",
                static_cast<long long>(bytes));
  datatype::pack(buffer, 0, copy, bytes);
  return Buffer{copy, bytes, &datatype::byte_type()};
}

/// One half of a nonblocking pair is complete: tell the whole.
/// The whole is of the receive's context.
void half_finished(P2p& half) {
  P2p& whole = *half.pair[0];
  if (!half.is_send) {
    whole.source = half.source;
    whole.tag = half.tag;
    whole.bytes = half.bytes;
  }
  if (half.error != MPI_SUCCESS)
    std::atomic_ref(whole.error).store(half.error, std::memory_order_relaxed);
  Engine& home = *whole.engine;
  if (half.engine == &home) whole.pair[half.is_send] = nullptr;
  // acq_rel: the second sees what the first has done; pairs with itself and with poll_whole()
  const bool last = std::atomic_ref(whole.halves).fetch_sub(1, std::memory_order_acq_rel) == 1;
  if (!whole.polled) {
    if (last) complete(whole, whole.error);
  } else if (last) {
    home.inbox.wake();
  }
}

/// For halves of different contexts, whose locks are not held together.
bool poll_whole(void* state) {
  auto& whole = *static_cast<P2p*>(state);
  if (std::atomic_ref(whole.halves).load(std::memory_order_acquire) > 0) return false;
  complete(whole, whole.error);
  return true;
}

P2p* new_half(Engine& e, Comm& comm, bool is_send, const Buffer& buffer, P2p& whole) {
  P2p* half = new_request(e, comm, is_send, buffer);
  half->pair[0] = &whole;
  if (whole.engine == &e) whole.pair[is_send] = half;
  half->finished = half_finished;
  object::orphan(*half);
  return half;
}

template <class Scope>
void start_pair(const Buffer& sendbuf, bool owns, int dest, int sendtag, const Buffer& into,
                int source, int recvtag, Comm& comm, MPI_Request* out) {
  Engine& receiving = engine_for(comm, recvtag);
  Engine& sending = engine_for(comm, sendtag);
  P2p* whole = nullptr;
  {
    const Scope scope(receiving);
    whole = new_request(receiving, comm, false, into);
    whole->halves = 2;
    *out = handle_of(whole);
    whole->polled = &receiving != &sending;
    if (whole->polled) add_poller(receiving, {poll_whole, whole});
    P2p* recv = new_half(receiving, comm, false, into, *whole);
    recv->envelope = {comm.context, source, recvtag};
    start_receiving(*recv, source);
  }
  const Scope scope(sending);
  P2p* send = new_half(sending, comm, true, sendbuf, *whole);
  send->owns_buffer = owns;
  send->envelope = envelope_of(comm, sendtag, Space::user);
  start_sending(*send, dest, comm);
}

void start_pair(const Buffer& sendbuf, bool owns, int dest, int sendtag, const Buffer& into,
                int source, int recvtag, Comm& comm, MPI_Request* out) {
  const auto start = is_across(comm, sendtag, recvtag) ? start_pair<Inside> : start_pair<Held>;
  start(sendbuf, owns, dest, sendtag, into, source, recvtag, comm, out);
}

/// MPI_Sendrecv with halves of different contexts.
Err sendrecv_across(const ConstBuffer& what, int dest, int sendtag, const Buffer& into, int source,
                    int recvtag, Comm& comm, MPI_Status* status) {
  MPI_Request both[2];
  MPI_Status statuses[2];
  {
    const Inside inside(engine_for(comm, recvtag));
    WEFT_TRY(irecv(into, source, recvtag, comm, &both[0]));
  }
  {
    const Inside inside(engine_for(comm, sendtag));
    WEFT_TRY(isend(what, dest, sendtag, comm, Mode::standard, &both[1]));
  }
  const Err err = several_contexts::waitall(both, statuses);
  const int failed =
      statuses[0].MPI_ERROR != MPI_SUCCESS ? statuses[0].MPI_ERROR : statuses[1].MPI_ERROR;
  if (status != MPI_STATUS_IGNORE) {
    statuses[0].MPI_ERROR = status->MPI_ERROR;  // not this call's to set
    *status = statuses[0];
  }
  return err ? Err{failed} : ok;
}

}  // namespace

Err sendrecv(const ConstBuffer& what, int dest, int sendtag, const Buffer& into, int source,
             int recvtag, Comm& comm, MPI_Status* status) {
  if (is_across(comm, sendtag, recvtag))
    return sendrecv_across(what, dest, sendtag, into, source, recvtag, comm, status);
  P2p send, recv;
  init(send, comm, true, writable(what), envelope_of(comm, sendtag, Space::user));
  init(recv, comm, false, into, {comm.context, source, recvtag});
  start_receiving(recv, source);
  start_sending(send, dest, comm);
  Request* const both[] = {&send, &recv};
  wait_until(*recv.engine, [&] { return send.done && recv.done; }, {.requests = both});
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
