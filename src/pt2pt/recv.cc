// SPDX-License-Identifier: Apache-2.0
//
// Starting receives and handing matched messages over (MPI-5.0 §3.2.4, §3.5, §3.7).
#include <algorithm>
#include <cstring>

#include "base/copy.h"
#include "pt2pt/deaths.h"
#include "pt2pt/engine.h"

namespace weft::pt2pt {
namespace {

void init_recv(P2p& recv, Engine& e, const Buffer& into, int source, int tag, Comm& comm,
               Space space) {
  recv.engine = &e;
  recv.comm = &comm;
  recv.buffer = into;
  recv.envelope = {comm.context + static_cast<std::uint64_t>(space), source, tag};
}

[[gnu::cold]] void stream(Engine& e, P2p& recv, const void* piece, std::int64_t bytes) {
  stream_bytes(datatype::block(recv.buffer) + recv.moved, piece, static_cast<std::size_t>(bytes));
  e.counters->past_caches += static_cast<std::uint64_t>(bytes);
}

void let_push(Engine& e) {
  e.inbox.ask_first(false);
  for (Peer* peer : e.held_back) {
    peer->is_held_back = false;
    tell(e, *peer, {.what = wire::What::ask_first, .bytes = 0});
  }
  e.held_back.clear();
}

}  // namespace

void hold_back(Engine& e, Peer& sender) {
  e.inbox.ask_first(true);
  if (!sender.lane.is_away() || sender.is_held_back) return;
  sender.is_held_back = true;
  e.held_back.push_back(&sender);
  tell(e, sender, {.what = wire::What::ask_first, .bytes = 1});
}

Err truncated(const wire::Envelope& from, std::int64_t bytes, std::int64_t room) {
  return fail(MPI_ERR_TRUNCATE,
              "a message of %lld bytes (source %d, tag %d) was matched by a receive with room for "
              "%lld bytes; give the receive a larger count, or ask MPI_Probe for the size first",
              static_cast<long long>(bytes), from.source, from.tag, static_cast<long long>(room));
}

void begin_data(Engine& e, P2p& recv, const wire::Envelope& from, std::int64_t bytes) {
  const std::int64_t room = recv.buffer.bytes();
  recv.source = from.source;
  recv.tag = from.tag;
  recv.bytes = std::min(bytes, room);
  recv.total = bytes;
  recv.moved = 0;
  if (bytes > room) [[unlikely]]
    recv.error = truncated(from, bytes, room).cls;
  ++e.counters->messages_received;
}

void add_data(Engine& e, P2p& recv, const void* piece, std::int64_t bytes) {
  const std::int64_t n = std::min(bytes, recv.bytes - recv.moved);  // what has room
  if (n > 0) {
    if (recv.past_caches) [[unlikely]] {
      stream(e, recv, piece, n);
    } else if (recv.buffer.type->dense) [[likely]] {
      std::byte* const to = datatype::block(recv.buffer) + recv.moved;
      const auto* const from = static_cast<const std::byte*>(piece);
      const auto size = static_cast<std::size_t>(n);
      n <= wire::inline_max ? copy_few(to, from, size) : (void)std::memcpy(to, from, size);
    } else {
      datatype::unpack(recv.buffer, recv.moved, piece, n);
    }
    ++e.counters->copies;
    e.counters->bytes_copied += static_cast<std::uint64_t>(n);
  }
  recv.moved += bytes;
  if (recv.moved == recv.total) complete(recv, recv.error);
}

void deliver(Engine& e, P2p& recv, Arrived& message) {
  if (message.offer) {
    Offer offer{message.envelope, message.sender, message.job, message.bytes, {}};
    std::memcpy(&offer.place, message.small, sizeof offer.place);
    deliver_offer(e, recv, offer);
  } else if (message.coming != nullptr) {
    begin_data(e, recv, message.envelope, message.bytes);
    return match_announced(*message.coming, recv);
  } else {
    Peer& peer = e.peer(message.sender);
    if (message.here < message.bytes && peer.is_dead) [[unlikely]] {
      begin_data(e, recv, message.envelope, message.bytes);
      complete(recv, MPI_ERR_PROC_ABORTED);
      return free_kept(e, message);
    }
    if (message.here < message.bytes) {  // the other pieces go straight to the receive
      peer.incoming = &recv;
      peer.incoming_kept = nullptr;
    }
    begin_data(e, recv, message.envelope, message.bytes);
    add_data(e, recv, message.payload(), message.here);
  }
  free_kept(e, message);
}

namespace {

/// All of it is here; or it is void, and nothing is written there any more.
void announced_is_here(void* state) {
  auto& a = *static_cast<Announced*>(state);
  Engine& e = *a.engine;
  P2p* const recv = a.is_void ? nullptr : a.recv;
  Arrived* const kept = a.kept;
  const bool is_void = a.is_void;
  e.announced.destroy(&a);
  if (kept != nullptr) {
    kept->coming = nullptr;
    if (!is_void) kept->here = kept->bytes;
    if (recv != nullptr) add_data(e, *recv, kept->heap, kept->bytes);
    // Else it waits for its receive; or is taken out by MPI_Mprobe, and dead.
    if (recv != nullptr || (is_void && kept->engine == nullptr)) free_kept(e, *kept);
  } else if (recv != nullptr) {
    recv->moved = recv->total;
    complete(*recv, recv->error);
  }
}

/// The receive `recv`, or nobody yet, has it; it comes to `memory`.
Announced& await(Engine& e, const wire::Cell& cell, P2p* recv, Arrived* kept, std::byte* memory) {
  Announced& a = *e.announced.create();
  a.engine = &e;
  a.sender = static_cast<std::int32_t>(cell.sender);
  a.recv = recv;
  a.kept = kept;
  std::uint64_t tag = 0;
  std::memcpy(&tag, piece_at(e, cell), sizeof tag);
  e.network->await({memory, static_cast<std::size_t>(cell.bytes)}, a.sender, tag, announced_is_here,
                   &a);
  return a;
}

}  // namespace

void keep_announced(Engine& e, const wire::Cell& cell, Arrived& message) {
  message.bytes = static_cast<std::int64_t>(cell.bytes);
  message.heap = e.payloads.take(cell.bytes);
  message.order = cell.cookie;
  message.coming = &await(e, cell, nullptr, &message, message.heap);
}

void await_announced(Engine& e, const wire::Cell& cell, P2p& recv) {
  begin_data(e, recv, cell.envelope, static_cast<std::int64_t>(cell.bytes));
  recv.peer = static_cast<std::int32_t>(cell.sender);
  if (recv.buffer.type->dense && recv.bytes == recv.total) {
    await(e, cell, &recv, nullptr, datatype::block(recv.buffer));
    return;
  }
  Arrived& m = *e.arrived.create();
  m.envelope = cell.envelope;
  m.sender = recv.peer;
  e.unexpected_bytes += recv.total;
  keep_announced(e, cell, m);
  m.coming->recv = &recv;
}

void match_announced(Announced& coming, P2p& recv) {
  recv.peer = coming.sender;
  coming.kept->engine = nullptr;
  coming.recv = &recv;
  if (coming.is_void) complete(recv, MPI_ERR_PROC_ABORTED);
}

void free_kept(Engine& e, Arrived& message) {
  if (message.heap != nullptr) {
    e.payloads.give(message.heap, static_cast<std::size_t>(message.bytes));
    message.heap = nullptr;
    e.unexpected_bytes -= message.bytes;
    if (e.unexpected_bytes <= e.unexpected_max / 2) let_push(e);
  }
  e.arrived.destroy(&message);
}

void start_recv(Engine& e, P2p& recv) {
  recv.done = recv.past_caches = false;
  recv.error = MPI_SUCCESS;
  while (Arrived* message = e.matcher.find_arrived(recv.envelope)) {
    if (!claim_arrived(e, *message)) continue;
    e.matcher.remove(*message);
    deliver(e, recv, *message);
    return;
  }
  e.matcher.post(recv);
}

Err recv(const Buffer& into, int source, int tag, Comm& comm, MPI_Status* status) {
  Engine& e = engine_for(comm, tag);
  if (source == MPI_PROC_NULL) [[unlikely]] {
    object::set_status(status, MPI_PROC_NULL, MPI_ANY_TAG, 0, false);
    return ok;
  }
  P2p operation;
  init_recv(operation, e, into, source, tag, comm, Space::user);
  operation.in_call = true;
  start_recv(e, operation);
  if (!operation.done) {
    Request* const requests[] = {&operation};
    wait_until(e, [&operation] { return operation.done; },
               {.requests = requests, .receive = &operation});
  }
  object::set_status(status, operation.source, operation.tag, operation.bytes, false);
  return error_of(operation);
}

Err irecv(const Buffer& into, int source, int tag, Comm& comm, MPI_Request* out) {
  P2p* recv = new_recv(into, source, tag, comm);
  *out = handle_of(recv);
  if (source != MPI_PROC_NULL) [[likely]]
    start_recv(*recv->engine, *recv);
  else
    complete_null(*recv);
  return ok;
}

Request* post_recv(const Buffer& into, int source, int tag, Comm& comm) {
  Engine& e = *comm.engine;
  P2p* recv = e.requests.create();
  init_recv(*recv, e, into, source, tag, comm, Space::collective);
  start_recv(e, *recv);
  return recv;
}

}  // namespace weft::pt2pt
