// SPDX-License-Identifier: Apache-2.0
//
// Point-to-point requests: making them, starting persistent ones (MPI-5.0 §3.9), cancelling
// (§3.8.4) and giving them back.
#include <cstdlib>

#include "pt2pt/buffered.h"
#include "pt2pt/engine.h"

namespace weft::pt2pt {
namespace {

P2p& p2p(Request& request) {
  return static_cast<P2p&>(request);
}

void destroy(P2p& request) {
  if (request.owns_buffer) std::free(request.buffer.data);
  if (request.mode == Mode::buffered) forget_copy(request);
  Engine& e = *request.engine;
  // MPI_Comm_disconnect waits in the communicator's own context.
  if (request.orphan && request.comm != nullptr && object::end_orphan(*request.comm) &&
      request.comm->engine != &e)
    request.comm->engine->inbox.wake();
  if (request.counted) {
    datatype::release(*request.buffer.type);
    object::release(*request.comm);
  }
  e.requests.destroy(&request);
}

Err start_p2p(Request& request) {
  P2p& p = p2p(request);
  p.active = true;
  p.cancelled = false;
  p.error = MPI_SUCCESS;
  if (p.peer == MPI_PROC_NULL) {
    complete_null(p);
    return ok;
  }
  if (!p.is_send) {
    start_recv(*p.engine, p);
  } else if (p.mode == Mode::buffered) {
    return start_buffered(*p.engine, p);
  } else {
    start_send(*p.engine, p);
  }
  return ok;
}

Err cancel_recv(Request& request) {
  P2p& p = p2p(request);
  if (p.done || !p.active) return ok;
  Engine& e = *p.engine;
  progress(e);
  // A receive that is matched completes as if it had not been cancelled.
  if (p.done || !p.posted) return ok;
  e.matcher.unpost(p);
  p.cancelled = true;
  p.source = MPI_ANY_SOURCE;
  p.tag = MPI_ANY_TAG;
  p.bytes = 0;
  complete(p, MPI_SUCCESS);
  return ok;
}

Err cancel_p2p_send(Request& request) {
  cancel_send(p2p(request));
  return ok;
}

Err release_p2p(Request& request) {
  P2p& p = p2p(request);
  if (p.done) {
    destroy(p);
  } else {
    object::orphan(p);  // complete() destroys it
  }
  return ok;
}

Err cancel_shared(Request&) {
  return ok;
}

Err release_shared(Request&) {
  return ok;
}

/// May the user cancel or free the request? The other ranks count on an active collective (§6.12).
Err give_up(const Request& request, const char* how) {
  if (request.done || request.ops->cancel != nullptr) return ok;
  return fail(MPI_ERR_REQUEST,
              "the %s is under way and cannot be %s; complete it with MPI_Wait or MPI_Test",
              request.ops->what, how);
}

constexpr object::RequestOps send_ops{"send", start_p2p, cancel_p2p_send, release_p2p, nullptr};
constexpr object::RequestOps recv_ops{"receive", start_p2p, cancel_recv, release_p2p, nullptr};
constexpr object::RequestOps sent_ops{"send", nullptr, cancel_shared, release_shared, nullptr};

}  // namespace

P2p* new_request(Engine& e, Comm& comm, bool is_send, const Buffer& buffer) {
  P2p* p = e.requests.create();
  p->ops = is_send ? &send_ops : &recv_ops;
  p->engine = &e;
  p->comm = &comm;
  p->is_send = is_send;
  p->buffer = buffer;
  p->counted = true;
  datatype::retain(*buffer.type);
  object::retain(comm);
  return p;
}

P2p* new_plain_request(Engine& e) {
  P2p* p = e.requests.create();
  p->ops = &recv_ops;
  p->engine = &e;
  return p;
}

void make_shared_request(Engine& e) {
  e.sent = e.requests.create();
  e.sent->ops = &sent_ops;
  e.sent->engine = &e;
  e.sent->is_send = true;
  e.sent->done = true;
}

void complete_null(P2p& request) {
  request.source = MPI_PROC_NULL;
  request.tag = MPI_ANY_TAG;
  request.done = true;
}

void complete(P2p& request, int error) {
  Engine& e = *request.engine;
  request.error = error;
  request.done = true;
  // Another thread of this rank may sleep until this very completion.
  if (e.waiters.blocked > 0) [[unlikely]]
    tell_waiters(e, request.waiting);
  if (request.finished != nullptr) [[unlikely]]
    request.finished(request);
  if (request.orphan) [[unlikely]]
    destroy(request);
}

Err send_init(const ConstBuffer& what, int dest, int tag, Comm& comm, Mode mode, MPI_Request* out) {
  P2p* p = new_request(engine_for(comm, tag), comm, true, writable(what));
  p->mode = mode;
  p->envelope = envelope_of(comm, tag, Space::user);
  p->peer = dest == MPI_PROC_NULL ? MPI_PROC_NULL : comm.peers()[static_cast<std::size_t>(dest)];
  p->persistent = true;
  p->active = false;
  p->done = true;
  *out = handle_of(p);
  return ok;
}

P2p* new_recv(const Buffer& into, int source, int tag, Comm& comm) {
  P2p* p = new_request(engine_for(comm, tag), comm, false, into);
  p->envelope = {comm.context, source, tag};
  if (source == MPI_PROC_NULL) p->peer = MPI_PROC_NULL;
  return p;
}

Err recv_init(const Buffer& into, int source, int tag, Comm& comm, MPI_Request* out) {
  P2p* p = new_recv(into, source, tag, comm);
  p->persistent = true;
  p->active = false;
  p->done = true;
  *out = handle_of(p);
  return ok;
}

Err start(MPI_Request* handle) {
  Request& request = *request_of(*handle);
  if (!request.persistent)
    return fail(MPI_ERR_REQUEST,
                "the %s is not persistent, so it cannot be started; requests for MPI_Start "
                "come from MPI_Send_init, MPI_Recv_init and their relatives",
                request.ops->what);
  if (request.active)
    return fail(MPI_ERR_REQUEST,
                "the persistent %s is active already; complete it with MPI_Wait or "
                "MPI_Test before it is started again",
                request.ops->what);
  return request.ops->start(request);
}

Err startall(std::span<MPI_Request> handles) {
  wire::Network* const network =
      handles.size() > 1 ? request_of(handles[0])->engine->network.get() : nullptr;
  if (network != nullptr) network->begin_row();
  Err err = ok;
  for (MPI_Request& handle : handles)
    if ((err = start(&handle))) break;
  if (network != nullptr) network->end_row();
  return err;
}

Err request_free(MPI_Request* handle) {
  Request& request = *request_of(*handle);
  WEFT_TRY(give_up(request, "freed"));
  *handle = MPI_REQUEST_NULL;
  return request.ops->release(request);
}

void give_up_receive(Request& request) {
  static_cast<void>(cancel_recv(request));
}

Err cancel(MPI_Request* handle) {
  Request& request = *request_of(*handle);
  WEFT_TRY(give_up(request, "cancelled"));
  return request.ops->cancel != nullptr ? request.ops->cancel(request) : ok;
}

}  // namespace weft::pt2pt
