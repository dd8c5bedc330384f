// SPDX-License-Identifier: Apache-2.0
//
// What a target does for ranks on other nodes, as their messages come. Nothing here waits. Elements
// are changed as by origins on this node (accumulate.cc), so both kinds may do so at once; locks
// are taken by the same tickets.
#include <algorithm>
#include <cstring>

#include "rma/messages.h"
#include "rma/races.h"

namespace weft::rma {
namespace {

/// Where the target's bytes begin as origins count them.
std::uint64_t base_of(const Window& win) {
  return win.flavor == MPI_WIN_FLAVOR_DYNAMIC ? 0 : reinterpret_cast<std::uint64_t>(win.base);
}

/// Of a window whose memory origins cannot know; of others they have asked themselves.
bool is_inside(Window& win, std::int64_t at, std::int64_t bytes) {
  if (win.flavor != MPI_WIN_FLAVOR_DYNAMIC)
    return at >= 0 && bytes >= 0 && at <= win.size && bytes <= win.size - at;
  const auto begin = static_cast<std::uint64_t>(at);
  return is_attached(*win.mine().words, begin, begin + static_cast<std::uint64_t>(bytes));
}

std::int32_t sender_of(const wire::Cell& cell) {
  return static_cast<std::int32_t>(cell.sender);
}

void answer(Window& win, const wire::Cell& cell, const Says& says,
            std::span<const std::byte> payload = {}) {
  send(win, sender_of(cell), says, payload, Order::urgent);
}

void refuse(Window& win, const wire::Cell& cell) {
  const Body body = body_of(cell);
  std::int64_t n = 0;
  for (std::uint32_t i = 0; i < body.head.runs; ++i) n += body.run(i).n;
  answer(win, cell,
         {.kind = Kind::refused,
          .number = MPI_ERR_RMA_RANGE,
          .cookie = cell.cookie,
          .name = static_cast<std::uint32_t>(n)});
}

/// Bytes that n units of a run have: bytes, or elements of so many.
bool are_inside(Window& win, const Body& body, std::int64_t unit, std::int64_t end_gap) {
  for (std::uint32_t i = 0; i < body.head.runs; ++i) {
    const Run run = body.run(i);
    if (!is_inside(win, run.at, run.n * unit - end_gap)) return false;
  }
  return true;
}

std::byte* place_of(const Window& win, const Run& run) {
  return reinterpret_cast<std::byte*>(base_of(win) + static_cast<std::uint64_t>(run.at));
}

void serve_put(Window& win, const wire::Cell& cell) {
  const Body body = body_of(cell);
  if (!are_inside(win, body, 1, 0)) return refuse(win, cell);
  const std::byte* from = body.rest.data();
  for (std::uint32_t i = 0; i < body.head.runs; ++i) {
    const Run run = body.run(i);
    store(place_of(win, run), from, run.n);
    from += run.n;
  }
}

void serve_get(Window& win, const wire::Cell& cell) {
  const Body body = body_of(cell);
  if (!are_inside(win, body, 1, 0)) return refuse(win, cell);
  pt2pt::Engine& e = win.engine();
  pt2pt::Peer& peer = e.peer(sender_of(cell));
  std::int64_t bytes = 0;
  for (std::uint32_t i = 0; i < body.head.runs; ++i) bytes += body.run(i).n;
  const Says says{.kind = Kind::data,
                  .number = static_cast<std::uint64_t>(body.head.first),
                  .cookie = cell.cookie};
  const auto read = [&](std::byte* to) {
    for (std::uint32_t i = 0; i < body.head.runs; ++i) {
      const Run run = body.run(i);
      store(to, place_of(win, run), run.n);
      to += run.n;
    }
  };
  shm::Claim room;
  if (peer.urgent.empty() && claim(e, peer, says, win, static_cast<std::uint32_t>(bytes), &room)) {
    read(reinterpret_cast<std::byte*>(room.cell + 1));
    peer.lane.commit(room);
    ++e.counters->rma_messages;
    return;
  }
  // Now, not when there is room: what the origin asks for next may change it.
  std::vector<std::byte> data(static_cast<std::size_t>(bytes));
  read(data.data());
  send_later(win, sender_of(cell), says, std::move(data), Order::urgent);
}

/// All elements of a message; the old ones go to `out`, unless it is null.
void change_all(Window& win, const Body& body, std::byte* out) {
  const std::int64_t stride = datatype::stride_of(body.head.basic);
  const bool takes = !body.rest.empty();
  const std::byte* in = takes ? body.rest.data() : nullptr;
  for (std::uint32_t i = 0; i < body.head.runs; ++i) {
    const Run run = body.run(i);
    change_own(win, body.head.operation, body.head.basic, place_of(win, run), in, out, run.n);
    if (takes) in += run.n * stride;
    if (out != nullptr) out += run.n * stride;
  }
}

void serve_accumulate(Window& win, const wire::Cell& cell) {
  const Body body = body_of(cell);
  const std::int64_t stride = datatype::stride_of(body.head.basic);
  if (!are_inside(win, body, stride, stride - datatype::span_of(body.head.basic)))
    return refuse(win, cell);
  if (!body.head.answers) return change_all(win, body, nullptr);
  std::int64_t n = 0;
  for (std::uint32_t i = 0; i < body.head.runs; ++i) n += body.run(i).n;
  const auto bytes = static_cast<std::size_t>(n * stride);
  const Says says{.kind = Kind::data,
                  .number = static_cast<std::uint64_t>(body.head.first),
                  .cookie = cell.cookie};
  pt2pt::Engine& e = win.engine();
  pt2pt::Peer& peer = e.peer(sender_of(cell));
  shm::Claim room;
  if (peer.urgent.empty() && claim(e, peer, says, win, static_cast<std::uint32_t>(bytes), &room)) {
    auto* const out = reinterpret_cast<std::byte*>(room.cell + 1);
    std::memset(out, 0, bytes);  // gaps of pairs, too
    change_all(win, body, out);
    peer.lane.commit(room);
    ++e.counters->rma_messages;
    return;
  }
  std::vector<std::byte> old(bytes);
  change_all(win, body, old.data());
  send_later(win, sender_of(cell), says, std::move(old), Order::urgent);
}

void serve_swap(Window& win, const wire::Cell& cell) {
  const Body body = body_of(cell);
  const std::int64_t bytes = datatype::data_bytes(body.head.basic);
  const Run run = body.run(0);
  if (!is_inside(win, run.at, bytes)) return refuse(win, cell);
  alignas(16) std::byte old[32];
  swap_own(win, body.head.basic, place_of(win, run), body.rest.data(), body.rest.data() + bytes,
           old);
  answer(win, cell, {.kind = Kind::data, .cookie = cell.cookie},
         {old, static_cast<std::size_t>(bytes)});
}

// --- long ones

wire::Place place_in(const Body& body) {
  wire::Place place{};
  std::memcpy(&place, body.rest.data(), sizeof place);
  return place;
}

void on_read(void* state) {
  auto& reading = *static_cast<Reading*>(state);
  Exchange& x = *reading.exchange;
  // The origin waits for the answer before it frees the window.
  const auto at = x.windows.find(reading.window);
  if (at != x.windows.end())
    send(*at->second, reading.world_rank, {.kind = Kind::done, .cookie = reading.cookie}, {},
         Order::urgent);
  x.readings.destroy(&reading);
}

void serve_put_long(Window& win, const wire::Cell& cell) {
  const Body body = body_of(cell);
  const Run run = body.run(0);
  if (!is_inside(win, run.at, run.n)) return refuse(win, cell);
  pt2pt::Engine& e = win.engine();
  Reading* reading = win.exchange->readings.create();
  reading->exchange = win.exchange;
  reading->window = {win.comm.context, win.number};
  reading->world_rank = sender_of(cell);
  reading->cookie = cell.cookie;
  if (e.network->read({place_of(win, run), static_cast<std::size_t>(run.n)}, sender_of(cell),
                      place_in(body), on_read, reading)) {
    ++e.counters->net_reads;
    e.counters->net_read_bytes += static_cast<std::uint64_t>(run.n);
    return;
  }
  win.exchange->readings.destroy(reading);
  answer(win, cell, {.kind = Kind::again, .cookie = cell.cookie});
}

void serve_get_long(Window& win, const wire::Cell& cell) {
  const Body body = body_of(cell);
  const Run run = body.run(0);
  if (!is_inside(win, run.at, run.n)) return refuse(win, cell);
  pt2pt::Engine& e = win.engine();
  const Says again{.kind = Kind::again, .cookie = cell.cookie};
  if (e.free_jobs.empty() && !e.add_job_block()) return answer(win, cell, again);
  const std::uint32_t name = e.free_jobs.back();
  wire::Place place{};
  if (!e.network->show(name, {place_of(win, run), static_cast<std::size_t>(run.n)}, &place))
    return answer(win, cell, again);
  e.free_jobs.pop_back();
  e.inbox.job(name).request = 0;  // of no message
  answer(win, cell, {.kind = Kind::shown, .cookie = cell.cookie, .name = name},
         std::as_bytes(std::span(&place, 1)));
}

}  // namespace

void serve(Window& win, Kind kind, const wire::Cell& cell) {
  pt2pt::Engine& e = win.engine();
  Words& mine = *win.mine().words;
  switch (kind) {
    case Kind::put:
      return serve_put(win, cell);
    case Kind::put_long:
      return serve_put_long(win, cell);
    case Kind::get:
      return serve_get(win, cell);
    case Kind::get_long:
      return serve_get_long(win, cell);
    case Kind::accumulate:
      return serve_accumulate(win, cell);
    case Kind::swap:
      return serve_swap(win, cell);
    case Kind::hide:
      return pt2pt::end_offer(e, e.peer(sender_of(cell)), cell.job);
    case Kind::flush:
      return answer(win, cell, {.kind = Kind::done, .number = cell.bytes});
    case Kind::lock:
      win.lock_requests.push_back({cell.envelope.source, cell.bytes != 0});
      if (!grant_locks(win)) poll_locks(win);
      return;
    case Kind::unlock:
      std::atomic_thread_fence(std::memory_order_seq_cst);
      give_lock_back(win, cell.bytes != 0);
      return answer(win, cell, {.kind = Kind::granted});
    case Kind::post:
      ++win.away(cell.envelope.source).posts;
      return;
    case Kind::complete:
      mine.completed.fetch_add(1);
      return;
    case Kind::visit:
      return serve_visit(win, cell);
    case Kind::forget:
      return serve_forget(win, cell);
    case Kind::arrive:
      mine.arrived[cell.job].store(static_cast<std::uint32_t>(cell.bytes));
      return;
    default:
      return;  // an answer
  }
}

}  // namespace weft::rma
