// SPDX-License-Identifier: Apache-2.0
//
// Starting sends (MPI-5.0 §3.2, §3.4, §3.7). A small message is pushed to the receiver (inline in
// the header's cell, beside it, or in a fragment), a large one is offered (transfer.cc). What finds
// no room waits in the peer's queue, in order.
#include <algorithm>
#include <cstring>
#include <utility>

#include "base/clock.h"
#include "base/copy.h"
#include "model/machine.h"
#include "pt2pt/deaths.h"
#include "pt2pt/engine.h"

namespace weft::pt2pt {
namespace {

/// Longer than a packet: may it follow its announcement?
bool is_announced(const Peer& peer, const P2p& send, std::int64_t bytes) {
  return bytes <= peer.announced_max && bytes > peer.lane.lent_max() && send.buffer.type->dense;
}

bool may_push(const Engine& e, const Peer& peer, Mode mode, std::int64_t bytes,
              const P2p* send = nullptr) {
  if (mode == Mode::synchronous) return false;
  if (bytes > e.eager_max && bytes > peer.eager_max &&
      (send == nullptr || !(send->pushes || is_announced(peer, *send, bytes))))
    return false;
  return bytes <= wire::inline_max || !peer.lane.asks_first();
}

/// Is a message of so many bytes, of a blocking send, faster pushed, as far as one knows?
bool is_faster_pushed(Peer& peer, Mode mode, std::int64_t bytes) {
  if (!peer.tries_push || mode == Mode::synchronous || bytes <= peer.eager_max ||
      bytes > pushed_in_process)
    return false;
  if (peer.trials == nullptr) peer.trials = std::make_unique<PushTrials>();
  return peer.trials->of(bytes).next(bytes, now_ns);
}

/// Push (more of it) or offer; false if there is no room now.
bool try_send(Engine& e, Peer& peer, P2p& send) {
  if (send.moved > 0 || send.cookie != 0) return push_pieces(e, peer, send);
  const std::int64_t bytes = send.buffer.bytes();
  if (!may_push(e, peer, send.mode, bytes, &send)) return push_offer(e, peer, send);
  if (bytes > e.piece_max) {
    send.total = bytes;
    return push_pieces(e, peer, send);
  }
  if (!push_eager(e, peer, send.envelope, send.buffer, bytes)) return false;
  complete(send, MPI_SUCCESS);
  return true;
}

/// Has the rank a thread of its own that is told about what begins now? It is as the call ends, if
/// it rests (say_what_has_begun), or it has been told of what is queued.
bool is_somebody_told(const Engine& e) {
  // relaxed: a guess; if it is wrong the rank pushes the message itself, later
  return e.contexts->background_rests.load(std::memory_order_relaxed) != Contexts::Rests::no ||
         (e.contexts->background != nullptr && !e.busy.empty());
}

/// Does the call gain, as its receiver has to wait longer? What a line takes its writer is known
/// where pieces are long (write_piece), else what the cost model says.
bool is_worth_telling(const Engine& e, const Peer& peer, std::int64_t bytes) {
  const double measured = peer.row.line_ns(peer.row.place());
  const double line_ns = measured > 0 ? measured : e.memory_line_ns;
  return model::lines_of(bytes) * line_ns >
         copies_for_telling * e.contexts->tell_ns.load(std::memory_order_relaxed);  // a guess
}

/// Is it left to that thread, or to whoever waits in MPI before? If it would be copied now.
bool is_delegated(const Engine& e, const Peer& peer, const P2p& send) {
  const std::int64_t bytes = send.buffer.bytes();
  return bytes >= e.delegate_min && !send.in_call && send.ops != nullptr &&
         may_push(e, peer, send.mode, bytes, &send) && is_somebody_told(e) &&
         (e.delegates_always || is_worth_telling(e, peer, bytes));
}

}  // namespace

bool leave_to_thread(Engine& e, std::int64_t bytes) {
  if (bytes < e.delegate_min || !is_somebody_told(e) ||
      !e.contexts->background_gains.load(std::memory_order_relaxed))
    return false;
  const double tell_ns = e.contexts->tell_ns.load(std::memory_order_relaxed);  // a guess
  if (!e.delegates_always &&
      model::lines_of(bytes) * e.memory_line_ns < copies_for_telling * tell_ns)
    return false;
  e.contexts->delegated.store(true, std::memory_order_relaxed);  // before the thread is told
  return true;
}

bool push_queued(Engine& e, Peer& peer, Outgoing& item) {
  auto& send = static_cast<P2p&>(item);
  const bool first = std::exchange(send.delegated, false);
  if (try_send(e, peer, send)) return true;
  if (first && e.contexts->several()) peer.lane.knock();  // as enqueue()
  return false;
}

wire::Envelope envelope_of(const Comm& comm, int tag, Space space) {
  return {comm.context + static_cast<std::uint64_t>(space), comm.rank, tag};
}

bool push_eager(Engine& e, Peer& peer, const wire::Envelope& envelope, const ConstBuffer& what,
                std::int64_t bytes) {
  shm::Claim claim;
  const bool is_inline = bytes <= wire::inline_max;
  const std::uint32_t in_ring = is_inline ? 0 : static_cast<std::uint32_t>(bytes);
  if (!claim_piece(e, peer, in_ring, &claim)) return false;
  wire::Cell& cell = *claim.cell;
  std::byte* to = is_inline ? cell.payload : claim.payload;
  if (!what.type->dense) [[unlikely]] {
    datatype::pack(what, 0, to, bytes);
  } else if (is_inline) {
    copy_few(to, datatype::block(what), static_cast<std::size_t>(bytes));
  } else if (bytes < long_piece) {
    std::memcpy(to, datatype::block(what), static_cast<std::size_t>(bytes));
  } else {
    write_piece(e, peer, what, 0, bytes, claim);
  }
  cell.envelope = envelope;
  cell.sender = static_cast<std::uint32_t>(e.world_rank);
  if (is_inline) {
    cell.what = wire::What::inline_data;
    cell.inline_bytes = static_cast<std::uint8_t>(bytes);
  } else {
    cell.what = wire::What::ring_data;
    cell.bytes = static_cast<std::uint64_t>(bytes);
    cell.piece = in_ring;
  }
  ++e.counters->messages_sent;
  ++e.counters->copies;
  e.counters->bytes_copied += static_cast<std::uint64_t>(bytes);
  if (peer.lane.commit(claim)) [[unlikely]]
    ++e.counters->wakes;
  // Who answers messages does not send in a row: it would only take lines that nobody needs soon.
  if (peer.received == e.counters->messages_received) peer.lane.fetch_ahead(claim);
  peer.received = e.counters->messages_received;
  return true;
}

void begin_piece(Engine& e, P2p& send, const shm::Claim& claim, std::int64_t n) {
  wire::Cell& cell = *claim.cell;
  if (send.cookie != 0) {
    cell.what = wire::What::staged_data;
    cell.cookie = send.cookie;
  } else {
    if (send.moved == 0) send.order = ++e.pushed;
    cell.what = send.moved == 0 ? wire::What::ring_data : wire::What::more_data;
    cell.cookie = send.order;
    cell.envelope = send.envelope;
    cell.bytes = static_cast<std::uint64_t>(send.total);
  }
  cell.sender = static_cast<std::uint32_t>(e.world_rank);
  cell.piece = static_cast<std::uint32_t>(n);
  send.moved += n;
}

namespace {

/// In as few pieces as may be, all about as long; whole lines.
std::int64_t piece_of(std::int64_t bytes, std::int64_t most) {
  const std::int64_t pieces = (bytes + most - 1) / most;
  return ((bytes + pieces - 1) / pieces + 63) / 64 * 64;
}

void end_push(Engine& e, Peer& peer, P2p& send) {
  if (send.cookie != 0) {
    end_offer(e, peer, send.job);
  } else {
    ++e.counters->messages_sent;
  }
  if (!send.recalled) [[likely]]
    complete(send, MPI_SUCCESS);
  else if (!std::exchange(send.offered, false))  // else the answer is on its way
    recall(e, peer, send);
}

void piece_has_left(void* state) {
  auto& send = *static_cast<P2p*>(state);
  if (--send.lent > 0 || send.moved < send.total) return;
  end_push(*send.engine, send.engine->peer(send.peer), send);
}

/// To another node, in one go.
[[gnu::cold]] bool push_announced(Engine& e, Peer& peer, P2p& send) {
  shm::Claim claim;
  if (!peer.lane.may_announce() || !peer.lane.claim(peer.lane.lent_max(), &claim)) return false;
  begin_piece(e, send, claim, send.total);
  claim.cell->what = wire::What::announced;
  claim.cell->piece = sizeof(std::uint64_t);
  ++send.lent;
  const auto bytes = static_cast<std::size_t>(send.total);
  peer.lane.announce(claim, {datatype::block(send.buffer), bytes}, piece_has_left, &send);
  return true;
}

/// To another node, from where it lies.
[[gnu::cold]] bool push_from_memory(Engine& e, Peer& peer, P2p& send) {
  if (send.cookie == 0 && send.moved == 0 && is_announced(peer, send, send.total))
    return push_announced(e, peer, send);
  const std::int64_t piece = peer.lane.lent_max();
  while (send.moved < send.total) {
    if (e.visited && e.contexts->sole.is_wanted()) return false;  // its rank goes on
    const std::byte* const from = datatype::block(send.buffer) + send.moved;
    const std::int64_t n = std::min(piece, send.total - send.moved);
    shm::Claim claim;
    if (!peer.lane.claim(peer.lane.lent_max(), &claim)) return false;
    begin_piece(e, send, claim, n);
    ++send.lent;
    peer.lane.send_from(claim, {from, static_cast<std::size_t>(n)}, piece_has_left, &send);
  }
  return true;
}

}  // namespace

bool push_pieces(Engine& e, Peer& peer, P2p& send) {
  if (peer.lane.lent_max() > 0 && send.buffer.type->dense) [[unlikely]]
    return push_from_memory(e, peer, send);
  const std::int64_t piece = piece_of(send.total, e.piece_max);
  while (send.moved < send.total) {
    if (e.visited && e.contexts->sole.is_wanted()) return false;  // its rank goes on
    const std::int64_t left = send.total - send.moved;
    if (left >= e.together_min && fill_together(e, peer, send, piece)) [[unlikely]]
      continue;
    const std::int64_t n = std::min(piece, left);
    shm::Claim claim;
    if (!claim_piece(e, peer, static_cast<std::uint32_t>(n), &claim)) {
      if (send.recalled) peer.lane.knock();  // a wait for the receiver, wherever it waits
      return false;
    }
    write_piece(e, peer, send.buffer, send.moved, n, claim);
    begin_piece(e, send, claim, n);
    ++e.counters->copies;
    e.counters->bytes_copied += static_cast<std::uint64_t>(n);
    if (peer.lane.commit(claim)) ++e.counters->wakes;
  }
  end_push(e, peer, send);
  return true;
}

void start_send(Engine& e, P2p& send) {
  Peer& peer = e.peer(send.peer);
  send.done = send.offered = send.recalled = send.delegated = false;
  send.moved = 0;
  send.cookie = send.order = 0;
  send.push = push_queued;
  if (is_delegated(e, peer, send)) [[unlikely]] {
    ++e.counters->sends_delegated;
    send.delegated = true;
    e.contexts->delegated.store(true, std::memory_order_relaxed);  // before the thread is told
    return add_outgoing(e, peer, peer.queue, send);
  }
  if (peer.queue.empty() && try_send(e, peer, send)) return;
  if (peer.is_dead) [[unlikely]]
    return complete(send, died(*send.comm, send.peer).cls);
  enqueue(e, peer, peer.queue, send);
}

Err send(const ConstBuffer& what, int dest, int tag, Comm& comm, Mode mode) {
  if (dest == MPI_PROC_NULL) [[unlikely]]
    return ok;
  if (mode == Mode::buffered) [[unlikely]] {
    MPI_Request request = MPI_REQUEST_NULL;
    WEFT_TRY(isend(what, dest, tag, comm, mode, &request));
    return request_free(&request);
  }
  Engine& e = engine_for(comm, tag);
  const std::int32_t world = comm.peers()[static_cast<std::size_t>(dest)];
  Peer& peer = e.peer(world);
  const std::int64_t bytes = what.bytes();
  const wire::Envelope envelope = envelope_of(comm, tag, Space::user);
  if (bytes <= e.piece_max && peer.queue.empty() && may_push(e, peer, mode, bytes) &&
      push_eager(e, peer, envelope, what, bytes)) [[likely]]
    return ok;
  P2p operation;
  operation.engine = &e;
  operation.comm = &comm;
  operation.is_send = true;
  operation.mode = mode;
  operation.buffer = writable(what);
  operation.in_call = true;
  operation.pushes = is_faster_pushed(peer, mode, bytes);
  operation.envelope = envelope;
  operation.peer = world;
  start_send(e, operation);
  wait_for(operation);
  return error_of(operation);
}

Err isend(const ConstBuffer& what, int dest, int tag, Comm& comm, Mode mode, MPI_Request* out) {
  Engine& e = engine_for(comm, tag);
  if (dest != MPI_PROC_NULL && mode != Mode::buffered) [[likely]] {
    Peer& peer = e.peer(comm.peers()[static_cast<std::size_t>(dest)]);
    const std::int64_t bytes = what.bytes();
    const std::int64_t most = std::min(e.piece_max, e.delegate_min - 1);
    if (bytes <= most && peer.queue.empty() && may_push(e, peer, mode, bytes) &&
        push_eager(e, peer, envelope_of(comm, tag, Space::user), what, bytes)) [[likely]] {
      *out = reinterpret_cast<MPI_Request>(static_cast<Request*>(e.sent));
      return ok;
    }
  }
  WEFT_TRY(send_init(what, dest, tag, comm, mode, out));
  Request* request = reinterpret_cast<Request*>(*out);
  const Err err = start(out);
  request->persistent = false;
  // Of a row of large messages that are left to this rank, or that another node asks for: the ones
  // before.
  const auto& send = static_cast<const P2p&>(*request);
  if (!send.offered || is_somebody_told(e)) return err;
  const Peer& peer = e.peer(send.peer);
  if (peer.leaves || peer.lane.is_away()) progress(e);
  return err;
}

Request* post_send(const ConstBuffer& what, int dest, int tag, Comm& comm) {
  Engine& e = *comm.engine;
  P2p* send = e.requests.create();
  send->engine = &e;
  send->comm = &comm;
  send->is_send = true;
  send->buffer = writable(what);
  send->envelope = envelope_of(comm, tag, Space::collective);
  send->peer = comm.peers()[static_cast<std::size_t>(dest)];
  start_send(e, *send);
  return send;
}

void free_request(Request* request) {
  auto* p2p = static_cast<P2p*>(request);
  p2p->engine->requests.destroy(p2p);
}

}  // namespace weft::pt2pt
