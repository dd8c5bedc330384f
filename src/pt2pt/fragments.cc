// SPDX-License-Identifier: Apache-2.0
//
// Which fragment (shm/fragments.h) a piece travels in, and when fragments go back.
//
// Nobody waits for a fragment that does not come. A receiver need not give back those that it keeps
// to answer in (kept_of), and too few for a notice. While it has more, some are on their way, or
// come once it has read its pieces. A sender with
// nothing left waits for them then, else it takes the ring. A long piece in the ring tells the
// receiver that the sender is short of fragments, or does better without; it gives back all.
//
// A piece shorter than `long_piece` takes an own fragment only while the peer answers in them:
// one way the ring is faster. Measured, 2-core EPYC (512 KiB L2), 2026-11-23, 1 KiB: there and back
// in a fragment 0.97 of the time in the ring (far cores 0.78), one way 1.3 (far 1.2).
#include <algorithm>

#include "base/clock.h"
#include "base/copy.h"
#include "model/machine.h"
#include "pt2pt/engine.h"

namespace weft::pt2pt {
namespace {

/// What a rank keeps of each of so many lenders, who all have as many fragments as it has.
std::uint32_t kept_of(const Engine& e, std::uint32_t lenders) {
  return std::clamp(e.fragments.count() / (2 * lenders), 1U, shm::Borrowed::most);
}
/// A peer that has so many fragments does not answer in them.
constexpr std::uint32_t unanswered = 4;

/// Give fragments back; those that do not fill a notice wait for more unless `all` are wanted.
/// False: there is no room in the peer's ring. Nobody is woken: who waits for fragments looks.
bool give_back(Engine& e, Peer& peer, bool all) {
  std::vector<std::uint32_t>& back = peer.borrowed->fragments.back;
  const std::size_t least = all ? 1 : shm::Borrowed::in_a_notice;
  std::size_t given = 0;
  while (back.size() - given >= least) {
    shm::Claim claim;
    if (!peer.lane.claim(0, &claim)) break;
    wire::Cell& cell = *claim.cell;
    cell.what = wire::What::back;
    cell.sender = static_cast<std::uint32_t>(e.world_rank);
    for (std::uint32_t& name : cell.fragments) name = given < back.size() ? back[given++] : 0;
    peer.lane.publish(claim);
  }
  back.erase(back.begin(), back.begin() + static_cast<std::ptrdiff_t>(given));
  return back.size() < least;
}

bool push_back_notice(Engine& e, Peer& peer, Outgoing&) {
  peer.borrowed->queued = !give_back(e, peer, true);
  return !peer.borrowed->queued;
}

void give_back_or_queue(Engine& e, Peer& peer, bool all) {
  Borrowed& here = *peer.borrowed;
  if (here.queued || give_back(e, peer, all)) return;
  here.queued = true;
  enqueue(e, peer, peer.urgent, here);
}

/// Keep a peer's fragment to answer in. All peers together keep half as many as a pool has, so that
/// whoever sends to many ranks still has own ones.
void keep(Engine& e, Peer& peer, std::uint32_t name) {
  if (peer.borrowed == nullptr) {
    peer.borrowed = std::make_unique<Borrowed>();
    peer.borrowed->push = push_back_notice;
    ++e.lenders;
  }
  peer.borrowed->fragments.keep(name, kept_of(e, e.lenders));
  give_back_or_queue(e, peer, false);
}

}  // namespace

bool claim_long_piece(Engine& e, Peer& peer, std::uint32_t bytes, shm::Claim* out) {
  // A foreign rank may end before this one, with fragments that it has.
  if (peer.lane.is_away() || peer.is_foreign) return peer.lane.claim(bytes, out);
  const bool is_long = bytes >= long_piece;
  const bool answers = peer.borrowed != nullptr && peer.borrowed->fragments.has_one();
  const bool lends = (is_long || peer.lent < unanswered) && e.fragments.has_one();
  if (bytes > shm::Fragments::bytes || !(answers || lends)) {
    const bool waits = is_long && peer.lent > kept_of(e, 1) + shm::Borrowed::in_a_notice;
    return !waits && peer.lane.claim(bytes, out);
  }
  const bool cold = !answers && !e.fragments.is_warm() && !e.fragments.is_new();
  if (cold && is_long && peer.row.place() == RowTrial::ring) {
    if (!peer.lane.claim(bytes, out)) return false;
    return out->cold = true;
  }
  if (!peer.lane.claim(0, out)) return false;
  out->cold = cold;
  const std::uint32_t name = answers ? peer.borrowed->fragments.take() : e.fragments.take();
  if (!answers) ++peer.lent;
  out->cell->unit = name;
  out->payload = e.fragments.at(name);
  return true;
}

bool is_far(const Engine& e, const Peer& peer) {
  return peer.row.line_ns(peer.row.place()) > far_cold_line * e.memory_line_ns;
}

namespace {

/// Do its lines have to come from somewhere else, so that it matters where they are?
bool is_cold_row(const ConstBuffer& from, std::int64_t n, const shm::Claim& to) {
  return to.cold && n >= long_piece && from.type->dense;
}

}  // namespace

void fill_piece(const ConstBuffer& from, std::int64_t at, std::int64_t n, const shm::Claim& to,
                bool far) {
  if (far && is_cold_row(from, n, to))
    return stream_bytes(to.payload, datatype::block(from) + at, static_cast<std::size_t>(n));
  datatype::pack_alone(from, at, to.payload, n);
}

/// What a line of a cold fragment costs its writer is measured now and then. Where that is more
/// than copying it from memory to memory, the reader's core is far: then stores go past the caches,
/// and no line has to come from there first. Measured, 2-core EPYC (512 KiB L2), 2026-11-23, us for
/// messages of 64 KiB one way: far cores 18, past the caches 8; near 6.2 and 8.
void write_piece(Engine& e, Peer& peer, const ConstBuffer& from, std::int64_t at, std::int64_t n,
                 const shm::Claim& to) {
  if (!is_cold_row(from, n, to)) {
    datatype::pack(from, at, to.payload, n);
    return;
  }
  const std::byte* const data = datatype::block(from) + at;
  const auto bytes = static_cast<std::size_t>(n);
  const bool far = is_far(e, peer);
  if (!peer.row.count(far)) {
    (far ? stream_bytes : copy_bytes)(to.payload, data, bytes);
  } else {
    const std::int64_t start = now_ns();
    copy_bytes(to.payload, data, bytes);
    peer.row.took(static_cast<double>(now_ns() - start) / model::lines_of(n),
                  far_cold_line * e.memory_line_ns);
  }
  peer.row.next(is_far(e, peer));
}

const std::byte* piece_at(const Engine& e, const wire::Cell& cell) {
  if (cell.units != 0) return e.inbox.payload(cell);
  if (cell.unit == wire::behind) return reinterpret_cast<const std::byte*>(&cell + 1);
  return e.fragments.at(cell.unit);
}

void piece_is_read(Engine& e, const wire::Cell& cell) {
  Peer& peer = e.peer(static_cast<std::int32_t>(cell.sender));
  if (cell.units != 0) {
    const bool is_short_of_fragments = cell.piece >= long_piece && peer.borrowed != nullptr;
    if (!is_short_of_fragments) return;
    peer.borrowed->fragments.drop_all();
    give_back_or_queue(e, peer, true);
  } else if (cell.unit == wire::behind) {
    return;  // it goes with its packet
  } else if (e.fragments.is_own(cell.unit)) {
    --peer.lent;
    e.fragments.give_warm(cell.unit);
  } else {
    keep(e, peer, cell.unit);
  }
}

void on_back(Engine& e, const wire::Cell& cell) {
  Peer& peer = e.peer(static_cast<std::int32_t>(cell.sender));
  for (const std::uint32_t name : cell.fragments) {
    if (name == 0) break;
    --peer.lent;
    e.fragments.give(name);
  }
}

}  // namespace weft::pt2pt
