// SPDX-License-Identifier: Apache-2.0
//
// The attached buffer is a list of pieces in use, by address; a message takes the first gap that
// fits. A message that finds room in the receiver's ring at once needs no piece, but must fit the
// attached size all the same, so that a program's success does not depend on timing.
#include "pt2pt/buffered.h"

#include <algorithm>
#include <cstdlib>

namespace weft::pt2pt {
namespace {

constexpr std::int64_t alignment = 16;

/// The buffer of `owner`; create: make an entry for one without.
BufferPool* pool_for(Engine& e, const BufferOwner& owner, bool create) {
  Buffers& buffers = e.contexts->buffers;
  const sync::Guard guard(e.contexts->objects);
  if (owner.is_process()) return &buffers.own;
  for (auto& entry : buffers.of_others)
    if (entry.first == owner) return entry.second;
  if (!create) return nullptr;
  buffers.of_others.emplace_back(owner, new BufferPool);
  return buffers.of_others.back().second;
}

/// The buffer that sends on `comm` use: its own, its session's, the process's.
BufferPool* pool_of_sends(Engine& e, const Comm& comm) {
  if (BufferPool* pool = pool_for(e, &comm, false); pool != nullptr && pool->attached) return pool;
  if (comm.session != 0)
    if (BufferPool* pool = pool_for(e, BufferOwner(comm.session), false);
        pool != nullptr && pool->attached)
      return pool;
  return &e.contexts->buffers.own;
}

std::byte* take_piece(BufferPool& pool, std::int64_t bytes) {
  const std::int64_t need =
      (std::max<std::int64_t>(bytes, 1) + alignment - 1) / alignment * alignment;
  std::int64_t at = 0;
  auto next = pool.pieces.begin();
  for (; next != pool.pieces.end() && next->at - at < need; ++next) at = next->at + next->bytes;
  if (at + bytes > pool.size) return nullptr;
  pool.pieces.insert(next, {at, need});
  return pool.base + at;
}

/// The user's request may still be cancelled, by the copy's name, or waits for what became of it.
void tell_original(const P2p& copy) {
  P2p& original = *copy.pair[0];
  original.pair[0] = nullptr;
  original.order = copy.order;
  original.cancelled = copy.cancelled;
  if (!original.done) complete(original, MPI_SUCCESS);
}

void piece_sent(P2p& send) {
  if (send.pair[0] != nullptr) tell_original(send);
  BufferPool& pool = *send.pool;
  Contexts& all = *send.engine->contexts;
  if (!send.owns_buffer) {  // else automatic: destroy() frees it
    const sync::Guard guard(all.objects);
    const std::int64_t at = static_cast<std::byte*>(send.buffer.data) - pool.base;
    std::erase_if(pool.pieces, [at](const BufferPool::Piece& p) { return p.at == at; });
  }
  // release: the piece is free. pairs with is_out(). Who waits for that waits in the first context.
  if (pool.in_flight.fetch_sub(1, std::memory_order_release) == 1) all.engines[0]->inbox.wake();
}

bool is_out(const BufferPool& pool) {
  return pool.in_flight.load(std::memory_order_acquire) == 0;
}

/// Send `bytes` packed bytes at `data` in the background.
void send_piece(Engine& e, P2p& original, BufferPool& pool, std::byte* data, std::int64_t bytes) {
  datatype::pack(original.buffer, 0, data, bytes);
  P2p* copy = new_request(e, *original.comm, true, {data, bytes, &datatype::byte_type()});
  copy->envelope = original.envelope;
  copy->peer = original.peer;
  copy->pool = &pool;
  copy->owns_buffer = pool.automatic;
  copy->finished = piece_sent;
  copy->pair[0] = &original;
  original.pair[0] = copy;
  object::orphan(*copy);
  pool.in_flight.fetch_add(1, std::memory_order_relaxed);
  start_send(e, *copy);
}

/// The buffer that a message is for.
Err find_pool(Engine& e, const P2p& send, std::int64_t bytes, BufferPool** out) {
  const sync::Guard guard(e.contexts->objects);
  BufferPool* pool = pool_of_sends(e, *send.comm);
  if (!pool->attached)
    return fail(MPI_ERR_BUFFER,
                "no buffer is attached for a buffered send of %lld bytes; call "
                "MPI_Buffer_attach first (MPI_BUFFER_AUTOMATIC lets weft find the memory)",
                static_cast<long long>(bytes));
  if (!pool->automatic && bytes > pool->size)
    return fail(MPI_ERR_BUFFER,
                "a buffered send of %lld bytes does not fit the attached buffer of %lld "
                "bytes; attach at least MPI_Pack_size + MPI_BSEND_OVERHEAD bytes per message",
                static_cast<long long>(bytes), static_cast<long long>(pool->size));
  *out = pool;
  return ok;
}

/// Room for a message; nullptr: there is none now.
std::byte* room_in(Engine& e, BufferPool& pool, std::int64_t bytes) {
  const sync::Guard guard(e.contexts->objects);
  if (!pool.automatic) return take_piece(pool, bytes);
  return static_cast<std::byte*>(
      std::malloc(static_cast<std::size_t>(std::max<std::int64_t>(bytes, 1))));
}

struct Flush {
  P2p* request;
  BufferPool* pool;
};

bool poll_flush(void* state) {
  auto* flush = static_cast<Flush*>(state);
  if (!is_out(*flush->pool)) return false;
  complete(*flush->request, MPI_SUCCESS);
  delete flush;
  return true;
}

}  // namespace

void forget_copy(P2p& send) {
  if (send.pair[0] != nullptr) send.pair[0]->pair[0] = nullptr;
  send.pair[0] = nullptr;
}

Err start_buffered(Engine& e, P2p& send) {
  forget_copy(send);
  send.recalled = false;
  send.order = 0;
  const std::int64_t bytes = send.buffer.bytes();
  BufferPool* pool = nullptr;
  WEFT_TRY(find_pool(e, send, bytes, &pool));
  Peer& peer = e.peer(send.peer);
  const bool pushed = peer.queue.empty() && bytes <= std::min(peer.eager_max, e.piece_max) &&
                      !peer.lane.asks_first() &&
                      push_eager(e, peer, send.envelope, send.buffer, bytes);
  if (!pushed) {
    std::byte* piece = room_in(e, *pool, bytes);
    if (piece == nullptr) {
      progress(e);  // earlier messages may be out by now
      piece = room_in(e, *pool, bytes);
    }
    if (piece == nullptr)
      return fail(MPI_ERR_BUFFER,
                  "the attached buffer of %lld bytes has no room for %lld more bytes: "
                  "%lld earlier buffered messages are not received yet; attach a larger one",
                  static_cast<long long>(pool->size), static_cast<long long>(bytes),
                  static_cast<long long>(pool->in_flight.load(std::memory_order_relaxed)));
    send_piece(e, send, *pool, piece, bytes);
  }
  complete(send, MPI_SUCCESS);
  return ok;
}

Err buffer_attach(Engine& e, const BufferOwner& owner, void* buffer, std::int64_t size) {
  const sync::Guard guard(e.contexts->objects);
  BufferPool& pool = *pool_for(e, owner, true);
  if (pool.attached)
    return fail(MPI_ERR_BUFFER, "a buffer of %lld bytes is attached already; detach it first",
                static_cast<long long>(pool.size));
  pool.attached = true;
  pool.automatic = buffer == MPI_BUFFER_AUTOMATIC;
  pool.base = static_cast<std::byte*>(buffer);
  pool.size = pool.automatic ? 0 : size;
  return ok;
}

Err buffer_flush(Engine& e, const BufferOwner& owner) {
  if (BufferPool* pool = pool_for(e, owner, false))
    wait_until(e, [pool] { return is_out(*pool); }, {.about = &sent_messages});
  return ok;
}

Err buffer_iflush(Engine& e, const BufferOwner& owner, MPI_Request* out) {
  P2p* request = new_plain_request(e);
  *out = handle_of(request);
  BufferPool* pool = pool_for(e, owner, false);
  if (pool == nullptr || is_out(*pool)) {
    complete(*request, MPI_SUCCESS);
  } else {
    add_poller(e, {poll_flush, new Flush{request, pool}});
  }
  return ok;
}

Err buffer_detach(Engine& e, const BufferOwner& owner, void* buffer_address, std::int64_t* size) {
  WEFT_TRY(buffer_flush(e, owner));
  const sync::Guard guard(e.contexts->objects);
  BufferPool* pool = pool_for(e, owner, false);
  void* base = nullptr;
  *size = 0;
  if (pool != nullptr && pool->attached) {
    base = pool->base;
    *size = pool->size;
    pool->attached = pool->automatic = false;
  }
  *static_cast<void**>(buffer_address) = base;
  return ok;
}

void forget_buffer(Engine& e, const BufferOwner& owner) {
  Buffers& buffers = e.contexts->buffers;
  const sync::Guard guard(e.contexts->objects);
  std::erase_if(buffers.of_others, [&owner](const auto& entry) {
    if (!(entry.first == owner)) return false;
    delete entry.second;
    return true;
  });
}

}  // namespace weft::pt2pt
