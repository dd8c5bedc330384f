// SPDX-License-Identifier: Apache-2.0
//
// Messages in pieces that idle threads help with (parallel/transfer.h; MT-MPI, ICS'14, section
// 3.2.2). The sender claims as many pieces as have room and offers them as chunks of one job:
// whoever fills a piece publishes it, so the receiver reads the first while others are filled.
// Chunks are handed out in the order of the pieces. The receiver offers the pieces of one message
// that lie ready.
//
// Claims, headers and what is counted are the caller's, under the context's lock. A chunk touches
// its piece, the buffer, and the turn of the piece's cell.
#include "base/copy.h"
#include "model/machine.h"
#include "parallel/jobs.h"
#include "pt2pt/engine.h"

namespace weft::pt2pt {
namespace {

constexpr int most_pieces = 64;  // of a job: 1 MiB

std::int64_t worth_ns(std::int64_t bytes) {
  return parallel::jobs().worth_between_cores_ns(model::lines_of(bytes));
}

std::int64_t at_once(const Engine& e, std::int64_t peer, std::int64_t bytes, std::int64_t room) {
  return parallel::jobs().at_once(bytes, room, worth_ns(std::min(bytes, room)),
                                  e.hosts(static_cast<std::int32_t>(peer)));
}

/// Room for pieces, about: fragments that are here.
std::int64_t room_of(Engine& e, const Peer& peer) {
  const std::uint32_t kept = peer.borrowed != nullptr ? peer.borrowed->fragments.kept() : 0;
  return std::int64_t{kept + e.fragments.at_home()} * static_cast<int>(shm::Fragments::bytes);
}

void count(Engine& e, int pieces, std::uint32_t given, std::int64_t bytes) {
  e.counters->copies += static_cast<std::uint64_t>(pieces);
  e.counters->bytes_copied += static_cast<std::uint64_t>(bytes);
  e.counters->pieces_together += static_cast<std::uint64_t>(pieces);
  e.counters->pieces_given += given;
}

struct Filling {
  const ConstBuffer from;
  Lane& lane;
  const bool far;
  struct Piece {
    shm::Claim claim;
    std::int64_t at, bytes;
  } piece[most_pieces];
  std::atomic<std::uint32_t> wakes{0};

  static void chunk(void* context, std::uint32_t i) {
    auto& f = *static_cast<Filling*>(context);
    const Piece& p = f.piece[i];
    fill_piece(f.from, p.at, p.bytes, p.claim, f.far);
    if (f.lane.commit(p.claim)) f.wakes.fetch_add(1, std::memory_order_relaxed);
  }
};

struct Draining {
  const P2p& recv;
  struct Piece {
    const std::byte* data;
    std::int64_t at, bytes;  // of these, what the receive has room for
  } piece[most_pieces];

  static void chunk(void* context, std::uint32_t i) {
    const auto& d = *static_cast<Draining*>(context);
    const Piece& p = d.piece[i];
    if (p.bytes <= 0) return;
    if (d.recv.past_caches)
      stream_bytes(datatype::block(d.recv.buffer) + p.at, p.data,
                   static_cast<std::size_t>(p.bytes));
    else
      datatype::unpack_alone(d.recv.buffer, p.at, p.data, p.bytes);
  }
};

bool is_next_of(const wire::Cell& cell, const wire::Cell& first) {
  const bool staged = first.what == wire::What::staged_data;
  return cell.units == 0 &&
         cell.what == (staged ? wire::What::staged_data : wire::What::more_data) &&
         cell.sender == first.sender && cell.cookie == first.cookie;
}

/// Pieces of one message that lie ready in fragments, from the polled one on.
int count_ready(const Engine& e, const wire::Cell& first, std::int64_t* bytes) {
  int n = 1;
  *bytes = first.piece;
  for (; first.units == 0 && n < most_pieces; ++n) {
    const wire::Cell* cell = e.inbox.ahead(static_cast<std::uint32_t>(n));
    if (cell == nullptr || !is_next_of(*cell, first)) break;
    *bytes += cell->piece;
  }
  return n;
}

[[gnu::cold]] bool fill(Engine& e, Peer& peer, P2p& send, std::int64_t piece, std::int64_t bytes) {
  Filling f{send.buffer, peer.lane, is_far(e, peer), {}};
  const std::int64_t begin = send.moved;
  int n = 0;
  for (; n < most_pieces && send.moved - begin < bytes; ++n) {
    Filling::Piece& p = f.piece[n];
    p.at = send.moved;
    p.bytes = std::min(piece, send.total - send.moved);
    if (!claim_piece(e, peer, static_cast<std::uint32_t>(p.bytes), &p.claim)) break;
    begin_piece(e, send, p.claim, p.bytes);
  }
  if (n == 0) return false;
  const std::int64_t filled = send.moved - begin;
  const std::uint32_t given = parallel::jobs().offer(
      {Filling::chunk, &f, static_cast<std::uint32_t>(n), worth_ns(filled), true});
  count(e, n, given, filled);
  e.counters->wakes += f.wakes.load(std::memory_order_relaxed);
  return true;
}

[[gnu::cold]] bool drain(Engine& e, P2p& recv, const wire::Cell& first) {
  std::int64_t ready = 0;
  const int n = count_ready(e, first, &ready);
  if (n < 2 || at_once(e, first.sender, ready, ready) == 0) return false;
  Draining d{recv, {}};
  const wire::Cell* cell[most_pieces];
  std::int64_t at = recv.moved, there = 0;
  for (int i = 0; i < n; ++i, at += cell[i - 1]->piece) {
    cell[i] = e.inbox.ahead(static_cast<std::uint32_t>(i));
    d.piece[i] = {piece_at(e, *cell[i]), at,
                  std::min<std::int64_t>(cell[i]->piece, recv.bytes - at)};
    there += std::max<std::int64_t>(d.piece[i].bytes, 0);
  }
  const std::uint32_t given = parallel::jobs().offer(
      {Draining::chunk, &d, static_cast<std::uint32_t>(n), worth_ns(ready), true});
  count(e, n, given, there);
  if (recv.past_caches) e.counters->past_caches += static_cast<std::uint64_t>(there);
  for (int i = 0; i < n; ++i) piece_is_read(e, *cell[i]);
  e.inbox.skip(static_cast<std::uint32_t>(n) - 1);  // the caller frees the first, and these with it
  recv.moved = at;
  if (recv.moved == recv.total) complete(recv, recv.error);
  return true;
}

}  // namespace

bool fill_together(Engine& e, Peer& peer, P2p& send, std::int64_t piece) {
  if (peer.lane.is_away()) return false;
  const std::int64_t left = send.total - send.moved, room = room_of(e, peer);
  const std::int64_t bytes = at_once(e, peer.world_rank, left, room);
  return bytes > piece && fill(e, peer, send, piece, bytes);
}

bool drain_together(Engine& e, P2p& recv, const wire::Cell& first) {
  if (first.unit == wire::behind) return false;
  const std::int64_t left = recv.total - recv.moved;
  return at_once(e, first.sender, left, left) > 0 && drain(e, recv, first);
}

}  // namespace weft::pt2pt
