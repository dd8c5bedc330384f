// SPDX-License-Identifier: Apache-2.0
//
// Probe and matched probe (MPI-5.0 §3.8.1, §3.8.2). A matched message leaves the queues with
// MPI_Mprobe and is the object behind MPI_Message until MPI_Mrecv.
#include "pt2pt/deaths.h"
#include "pt2pt/engine.h"

namespace weft::pt2pt {
namespace {

void message_status(const Arrived& m, MPI_Status* status) {
  object::set_status(status, m.envelope.source, m.envelope.tag, m.bytes, false);
}

void null_status(MPI_Status* status) {
  object::set_status(status, MPI_PROC_NULL, MPI_ANY_TAG, 0, false);
}

wire::Envelope wanted(int source, int tag, const Comm& comm) {
  return {comm.context, source, tag};
}

/// The first message that fits, after a look into the mailbox.
Arrived* look(int source, int tag, Comm& comm) {
  Engine& e = engine_for(comm, tag);
  progress(e);
  return find_message(e, wanted(source, tag, comm));
}

/// nullptr: it cannot come, who would send it is dead.
Arrived* wait_for_message(int source, int tag, Comm& comm) {
  Engine& e = engine_for(comm, tag);
  Arrived* m = nullptr;
  const About about{.what = hang::What::probe, .comm = &comm, .rank = source, .tag = tag};
  wait_until(
      e, [&] { return (m = find_message(e, wanted(source, tag, comm))) != nullptr; },
      {.about = &about}, [&] { return dead_source(comm, source) >= 0; });
  return m;
}

/// False: its sender has just cancelled it.
bool take(Arrived& m, Comm& comm, MPI_Message* message, MPI_Status* status) {
  Engine& e = engine_for(comm, m.envelope.tag);
  if (!claim_arrived(e, m)) return false;
  message_status(m, status);
  e.matcher.remove(m);
  m.comm = &comm;
  m.engine = &e;
  *message = reinterpret_cast<MPI_Message>(&m);
  return true;
}

}  // namespace

Err probe(int source, int tag, Comm& comm, MPI_Status* status) {
  if (source == MPI_PROC_NULL) {
    null_status(status);
    return ok;
  }
  const Arrived* m = wait_for_message(source, tag, comm);
  if (m == nullptr) [[unlikely]]
    return died(comm, dead_source(comm, source));
  message_status(*m, status);
  return ok;
}

Err iprobe(int source, int tag, Comm& comm, int* flag, MPI_Status* status) {
  *flag = 1;
  if (source == MPI_PROC_NULL) {
    null_status(status);
    return ok;
  }
  const Arrived* m = look(source, tag, comm);
  if (m == nullptr) {
    *flag = 0;
    looked_in_vain(engine_for(comm, tag));
    const std::int32_t dead = dead_source(comm, source);
    return dead < 0 ? ok : died(comm, dead);
  }
  message_status(*m, status);
  return ok;
}

Err mprobe(int source, int tag, Comm& comm, MPI_Message* message, MPI_Status* status) {
  if (source == MPI_PROC_NULL) {
    null_status(status);
    *message = MPI_MESSAGE_NO_PROC;
    return ok;
  }
  for (;;) {
    Arrived* m = wait_for_message(source, tag, comm);
    if (m == nullptr) [[unlikely]]
      return died(comm, dead_source(comm, source));
    if (take(*m, comm, message, status)) return ok;
  }
}

Err improbe(int source, int tag, Comm& comm, int* flag, MPI_Message* message, MPI_Status* status) {
  *flag = 1;
  if (source == MPI_PROC_NULL) {
    null_status(status);
    *message = MPI_MESSAGE_NO_PROC;
    return ok;
  }
  Arrived* m = look(source, tag, comm);
  if (m == nullptr || !take(*m, comm, message, status)) {
    *flag = 0;
    looked_in_vain(engine_for(comm, tag));
    if (const std::int32_t dead = dead_source(comm, source); dead >= 0) [[unlikely]]
      return died(comm, dead);
  }
  return ok;
}

Err mrecv(const Buffer& into, MPI_Message* message, MPI_Status* status) {
  if (*message == MPI_MESSAGE_NO_PROC) {
    *message = MPI_MESSAGE_NULL;
    null_status(status);
    return ok;
  }
  auto& m = *reinterpret_cast<Arrived*>(*message);
  *message = MPI_MESSAGE_NULL;
  Engine& e = *m.engine;
  P2p operation;
  operation.engine = &e;
  operation.comm = m.comm;
  operation.buffer = into;
  deliver(e, operation, m);
  wait_for(operation);
  object::set_status(status, operation.source, operation.tag, operation.bytes, false);
  return error_of(operation);
}

Err imrecv(Engine& e, const Buffer& into, MPI_Message* message, MPI_Request* out) {
  if (*message == MPI_MESSAGE_NO_PROC) {
    *message = MPI_MESSAGE_NULL;
    P2p* request = new_plain_request(e);
    request->source = MPI_PROC_NULL;
    *out = handle_of(request);
    complete(*request, MPI_SUCCESS);
    return ok;
  }
  auto& m = *reinterpret_cast<Arrived*>(*message);
  *message = MPI_MESSAGE_NULL;
  P2p* request = new_request(*m.engine, *m.comm, false, into);
  *out = handle_of(request);
  deliver(*m.engine, *request, m);
  return ok;
}

}  // namespace weft::pt2pt
