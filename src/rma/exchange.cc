// SPDX-License-Identifier: Apache-2.0
//
// Messages about windows: which window one is for, and what waits for room.
#include <algorithm>
#include <cstring>

#include "object/store.h"
#include "pt2pt/completion.h"
#include "rma/messages.h"

namespace weft::rma {
namespace {

bool is_answer(Kind kind) {
  return kind >= Kind::data;
}

void take(pt2pt::Engine& e, void* state, const wire::Cell& cell) {
  auto& exchange = *static_cast<Exchange*>(state);
  const auto at = exchange.windows.find(
      {cell.envelope.context,
       static_cast<std::uint64_t>(static_cast<std::uint32_t>(cell.envelope.tag))});
  // A window is freed by all members together, so only a program that left an epoch open (a post
  // without its start) has messages for one that is gone.
  if (at == exchange.windows.end()) return;
  ++e.counters->rma_served;
  const Kind kind{cell.inline_bytes};
  if (is_answer(kind))
    take_answer(*at->second, kind, cell);
  else
    serve(*at->second, kind, cell);
  tell(e);
}

bool grant_all(void* state) {
  auto& exchange = *static_cast<Exchange*>(state);
  std::erase_if(exchange.locking, [](Window* win) { return grant_locks(*win); });
  exchange.is_polled = !exchange.locking.empty();
  return !exchange.is_polled;
}

void fill(wire::Cell& cell, const pt2pt::Engine& e, const Name& window, int sender,
          const Says& says) {
  cell.what = wire::What::one_sided;
  cell.inline_bytes = static_cast<std::uint8_t>(says.kind);
  cell.envelope = {window.context, sender,
                   static_cast<std::int32_t>(static_cast<std::uint32_t>(window.number))};
  cell.sender = static_cast<std::uint32_t>(e.world_rank);
  cell.bytes = says.number;
  cell.cookie = says.cookie;
  cell.job = says.name;
}

std::byte* behind(const shm::Claim& claim) {
  return reinterpret_cast<std::byte*>(claim.cell + 1);
}

bool push_message(pt2pt::Engine& e, pt2pt::Peer& peer, pt2pt::Outgoing& item) {
  auto& m = static_cast<Message&>(item);
  const std::size_t bytes = m.payload.size();
  shm::Claim claim;
  if (!peer.lane.claim(static_cast<std::uint32_t>(bytes), &claim)) return false;
  fill(*claim.cell, e, m.window, m.sender, m.says);
  claim.cell->piece = static_cast<std::uint32_t>(bytes);
  if (bytes > 0) std::memcpy(behind(claim), m.payload.data(), bytes);
  peer.lane.commit(claim);
  ++e.counters->rma_messages;
  m.exchange->messages.destroy(&m);
  return true;
}

}  // namespace

void join_exchange(Windows& windows, Window& win) {
  pt2pt::Engine& e = win.engine();
  const auto context = static_cast<std::size_t>(e.context);
  {
    const sync::Guard guard(win.comm.store->lock);
    if (windows.exchanges.size() <= context) windows.exchanges.resize(context + 1);
    std::shared_ptr<Exchange>& mine = windows.exchanges[context];
    if (mine == nullptr) {
      mine = std::make_shared<Exchange>(e);
      e.one_sided.take = take;
      e.one_sided.state = mine.get();
    }
    win.exchange = mine.get();
  }
  win.exchange->windows[{win.comm.context, win.number}] = &win;
  e.one_sided.windows.fetch_add(1, std::memory_order_relaxed);
}

void leave_exchange(Window& win) {
  Exchange& x = *win.exchange;
  std::erase(x.locking, &win);
  x.windows.erase({win.comm.context, win.number});
  x.engine.one_sided.windows.fetch_sub(1, std::memory_order_relaxed);
  if (win.opened.bytes > 0) x.engine.network->close_memory(win.opened.key);
}

void poll_locks(Window& win) {
  Exchange& x = *win.exchange;
  if (std::find(x.locking.begin(), x.locking.end(), &win) != x.locking.end()) return;
  x.locking.push_back(&win);
  if (x.is_polled) return;
  x.is_polled = true;
  pt2pt::add_poller(x.engine, {grant_all, &x});
}

bool claim(pt2pt::Engine& e, pt2pt::Peer& peer, const Says& says, const Window& win,
           std::uint32_t payload_bytes, shm::Claim* out) {
  if (!peer.lane.claim(payload_bytes, out)) return false;
  fill(*out->cell, e, {win.comm.context, win.number}, win.comm.rank, says);
  out->cell->piece = payload_bytes;
  return true;
}

void send(Window& win, std::int32_t world_rank, const Says& says,
          std::span<const std::byte> payload, Order order) {
  pt2pt::Engine& e = win.engine();
  pt2pt::Peer& peer = e.peer(world_rank);
  pt2pt::OutgoingQueue& queue = order == Order::urgent ? peer.urgent : peer.queue;
  shm::Claim room;
  if (queue.empty() &&
      claim(e, peer, says, win, static_cast<std::uint32_t>(payload.size()), &room)) {
    if (!payload.empty()) std::memcpy(behind(room), payload.data(), payload.size());
    peer.lane.commit(room);
    ++e.counters->rma_messages;
    return;
  }
  send_later(win, world_rank, says, {payload.begin(), payload.end()}, order);
}

void send_later(Window& win, std::int32_t world_rank, const Says& says,
                std::vector<std::byte> payload, Order order) {
  pt2pt::Engine& e = win.engine();
  pt2pt::Peer& peer = e.peer(world_rank);
  Message* m = win.exchange->messages.create();
  m->push = push_message;
  m->exchange = win.exchange;
  m->window = {win.comm.context, win.number};
  m->sender = win.comm.rank;
  m->says = says;
  m->payload = std::move(payload);
  pt2pt::enqueue(e, peer, order == Order::urgent ? peer.urgent : peer.queue, *m);
}

void tell(pt2pt::Engine& e) {
  // Those that sleep on the mailbox, or watch it, ask again whether what they wait for has come.
  if (e.among_threads) e.inbox.ring();
}

}  // namespace weft::rma
