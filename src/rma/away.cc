// SPDX-License-Identifier: Apache-2.0
//
// Operations on ranks of other nodes, at their origin: pieces that fit into packets, or, where both
// sides are one long block, one reads the other's memory. What finds no room waits in line for the
// peer, without a copy: the origin's buffer is the operation's until it is over here.
#include <sys/uio.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "object/objects.h"
#include "pt2pt/completion.h"
#include "pt2pt/deaths.h"
#include "rma/messages.h"
#include "rma/races.h"

namespace weft::rma {
namespace {

using pt2pt::Engine;
using pt2pt::Peer;

std::int64_t from_base(const void* at) {
  return static_cast<std::int64_t>(reinterpret_cast<std::uint64_t>(at) - far_base);
}

std::byte* behind(const shm::Claim& claim) {
  return reinterpret_cast<std::byte*>(claim.cell + 1);
}

/// Bytes of data, or elements in so many bytes, that a packet has room for beside n runs.
std::int64_t room_beside(const Engine& e, int runs) {
  return static_cast<std::int64_t>(e.network->payload_max()) -
         static_cast<std::int64_t>(sizeof(Head) + static_cast<std::size_t>(runs) * sizeof(Run));
}

// --- the life of a Pending

bool is_answered(const Pending& p) {
  return p.reaches || (p.what != Kind::put && (p.what != Kind::accumulate || p.answers));
}

void end(Pending& p, int error) {
  Engine& e = p.win->engine();
  if (p.name != Pending::none) pt2pt::end_offer(e, e.peer(p.to->world_rank), p.name);
  --p.to->pending;
  // Messages travel in order: what was asked for before an answered one is done, too, also before
  // one that was refused.
  if (is_answered(p) && !p.reaches) p.to->confirmed = std::max(p.to->confirmed, p.number);
  if (error != 0) p.to->error = error;
  if (p.from.type != nullptr) datatype::release(*p.from.type);
  if (p.result.type != nullptr) datatype::release(*p.result.type);
  datatype::release(*p.there.type);
  if (p.request != nullptr) pt2pt::complete(*p.request, error);
  p.win->exchange->pendings.destroy(&p);
  tell(e);
}

/// For longer than the call.
Pending* keep(const Pending& p) {
  Pending* kept = p.win->exchange->pendings.create(p);
  ++p.to->pending;
  if (p.from.type != nullptr) datatype::retain(*p.from.type);
  if (p.result.type != nullptr) datatype::retain(*p.result.type);
  datatype::retain(*p.there.type);
  return kept;
}

std::uint64_t cookie_of(const Pending& p) {
  return is_answered(p) ? reinterpret_cast<std::uint64_t>(&p) : 0;
}

struct Piece {
  Head head;
  Run runs[runs_max];
  std::size_t data_bytes = 0;  // behind the runs
  bool is_last = true;         // of the operation
  std::size_t before() const { return sizeof head + head.runs * sizeof(Run); }
};

bool claim_piece(Engine& e, Peer& peer, const Pending& p, const Piece& piece, shm::Claim* out) {
  const Says says{
      .kind = p.what, .number = p.asks && piece.is_last ? p.number : 0, .cookie = cookie_of(p)};
  if (!claim(e, peer, says, *p.win, static_cast<std::uint32_t>(piece.before() + piece.data_bytes),
             out))
    return false;
  std::memcpy(behind(*out), &piece.head, sizeof piece.head);
  std::memcpy(behind(*out) + sizeof piece.head, piece.runs, piece.head.runs * sizeof(Run));
  return true;
}

void commit_piece(Engine& e, Peer& peer, const shm::Claim& room) {
  peer.lane.commit(room);
  ++e.counters->rma_messages;
}

// --- pieces of puts and gets

/// The next bytes; those of a get have to fit into the answer.
Piece next_bytes(const Engine& e, const Pending& p, std::int64_t* bytes) {
  Piece piece;
  iovec found[runs_max];
  std::int64_t n = 0;
  const int count = datatype::runs(p.there, p.pushed, found, runs_max, &n);
  *bytes = std::min({n, p.total - p.pushed, room_beside(e, count)});
  std::int64_t left = *bytes;
  for (int i = 0; i < count && left > 0; ++i) {
    const std::int64_t now = std::min(left, static_cast<std::int64_t>(found[i].iov_len));
    piece.runs[piece.head.runs++] = {from_base(found[i].iov_base), now};
    left -= now;
  }
  piece.head.first = p.pushed;
  return piece;
}

bool push_bytes(Engine& e, Peer& peer, Pending& p) {
  const bool puts = p.what == Kind::put;
  while (p.pushed < p.total) {
    std::int64_t bytes = 0;
    Piece piece = next_bytes(e, p, &bytes);
    if (puts) piece.data_bytes = static_cast<std::size_t>(bytes);
    piece.is_last = p.pushed + bytes == p.total;
    shm::Claim room;
    if (!claim_piece(e, peer, p, piece, &room)) return false;
    if (puts) datatype::pack(p.from, p.pushed, behind(room) + piece.before(), bytes);
    commit_piece(e, peer, room);
    p.pushed += bytes;
  }
  return true;
}

// --- pieces of accumulations

/// Bytes of n elements as in a C array, up to the last one's data.
std::size_t bytes_of(datatype::Basic basic, std::int64_t n) {
  return static_cast<std::size_t>((n - 1) * datatype::stride_of(basic) + datatype::span_of(basic));
}

Piece next_elements(const Engine& e, const Pending& p, std::int64_t* elements) {
  Piece piece;
  piece.head.operation = p.operation;
  piece.head.basic = p.basic;
  piece.head.answers = p.answers;
  piece.head.first = p.pushed;
  const std::int64_t stride = datatype::stride_of(p.basic);
  std::int64_t k = p.pushed;
  while (k < p.total && piece.head.runs < runs_max) {
    const std::int64_t room =
        room_beside(e, static_cast<int>(piece.head.runs) + 1) / stride - (k - p.pushed);
    const Stretch s = stretch(p.there, p.basic, p.total, k);
    const std::int64_t now = std::min({s.n, p.total - k, room});
    if (now <= 0) break;
    piece.runs[piece.head.runs++] = {from_base(s.at), now};
    k += now;
  }
  *elements = k - p.pushed;
  if (p.from.type != nullptr) piece.data_bytes = static_cast<std::size_t>(*elements * stride);
  return piece;
}

/// n elements of the origin from the first one on, as in a C array.
void write_elements(const Pending& p, std::int64_t first, std::int64_t n, std::byte* to) {
  const std::int64_t stride = datatype::stride_of(p.basic);
  if (datatype::span_of(p.basic) != stride || datatype::data_bytes(p.basic) != stride)
    std::memset(to, 0, static_cast<std::size_t>(n * stride));  // gaps
  for (std::int64_t k = 0; k < n;) {
    const Stretch s = stretch(p.from, p.basic, p.total, first + k);
    const std::int64_t now = std::min(s.n, n - k);
    std::memcpy(to + k * stride, s.at, bytes_of(p.basic, now));
    k += now;
  }
}

bool push_elements(Engine& e, Peer& peer, Pending& p) {
  while (p.pushed < p.total) {
    std::int64_t n = 0;
    Piece piece = next_elements(e, p, &n);
    piece.is_last = p.pushed + n == p.total;
    shm::Claim room;
    if (!claim_piece(e, peer, p, piece, &room)) return false;
    if (p.from.type != nullptr) write_elements(p, p.pushed, n, behind(room) + piece.before());
    commit_piece(e, peer, room);
    p.pushed += n;
  }
  return true;
}

bool push_swap(Engine& e, Peer& peer, Pending& p) {
  Piece piece;
  const auto bytes = static_cast<std::size_t>(p.there.type->size);
  piece.head.basic = p.basic;
  piece.head.runs = 1;
  piece.runs[0] = {from_base(p.there.data), 1};
  piece.data_bytes = 2 * bytes;
  shm::Claim room;
  if (!claim_piece(e, peer, p, piece, &room)) return false;
  std::memcpy(behind(room) + piece.before(), p.from.data, bytes);
  std::memcpy(behind(room) + piece.before() + bytes, p.compare, bytes);
  commit_piece(e, peer, room);
  p.pushed = p.total;
  return true;
}

// --- by the network's own reads and writes

void on_reached(void* state) {
  end(*static_cast<Pending*>(state), 0);
}

/// Begin it; false: go by messages.
bool reach_memory(Pending& p, Pending** kept) {
  Engine& e = p.win->engine();
  Remote& to = *p.to;
  const auto at = static_cast<std::uint64_t>(from_base(datatype::block(p.there)));
  const auto bytes = static_cast<std::size_t>(p.total);
  const wire::Place there{.address = to.place.address + at, .key = to.place.key, .bytes = bytes};
  p.reaches = true;
  *kept = keep(p);
  const bool puts = p.what == Kind::put;
  const bool begun =
      puts ? e.network->write({static_cast<const std::byte*>(datatype::block(p.from)), bytes},
                              to.world_rank, there, on_reached, *kept)
           : e.network->read({static_cast<std::byte*>(datatype::block(p.result)), bytes},
                             to.world_rank, there, on_reached, *kept);
  if (begun) {
    ++e.counters->rma_reached;
    return true;
  }
  to.opens = Remote::Opens::no;
  end(**kept, 0);
  p.reaches = false;
  return false;
}

/// Does this put or get go from memory to memory, as far as it is known where the target's lies?
/// Asks with the first one, which goes by messages.
bool may_reach(const Pending& p, const Type& here, const Type& there) {
  Remote& to = *p.to;
  const bool fits = here.dense && there.dense && p.win->flavor != MPI_WIN_FLAVOR_DYNAMIC &&
                    p.total >= p.win->engine().network->reach_min();
  if (!fits) return false;
  if (to.opens == Remote::Opens::unknown) {
    to.opens = Remote::Opens::asked;
    send(*p.win, to.world_rank, {.kind = Kind::open});
  }
  return to.opens == Remote::Opens::yes;
}

bool push_in_pieces(Engine& e, Peer& peer, Pending& p) {
  p.what = Kind::put;
  return push_bytes(e, peer, p);
}

/// One block there, which is read from here, or reads what is here.
bool push_long(Engine& e, Peer& peer, Pending& p) {
  Piece piece;
  piece.head.runs = 1;
  piece.runs[0] = {from_base(datatype::block(p.there)), p.total};
  wire::Place place{};
  if (p.what == Kind::put_long) {
    piece.data_bytes = sizeof place;
    if (p.name == Pending::none) {
      if (e.free_jobs.empty() && !e.add_job_block()) return push_in_pieces(e, peer, p);
      const std::uint32_t name = e.free_jobs.back();
      if (!e.network->show(name, {datatype::block(p.from), static_cast<std::size_t>(p.total)},
                           &p.place))
        return push_in_pieces(e, peer, p);
      e.free_jobs.pop_back();
      e.inbox.job(name).request = 0;  // of no message
      p.name = name;
    }
  }
  shm::Claim room;
  if (!claim_piece(e, peer, p, piece, &room)) return false;
  if (p.what == Kind::put_long)
    std::memcpy(behind(room) + piece.before(), &p.place, sizeof p.place);
  commit_piece(e, peer, room);
  p.pushed = p.total;
  return true;
}

/// Is it one request, whatever its length?
bool is_whole(const Pending& p) {
  return p.what == Kind::put_long || p.what == Kind::get_long || p.what == Kind::swap;
}

/// As much as there is room for. True: all of it; the target's answers are what is left.
bool push(Engine& e, Peer& peer, Pending& p) {
  switch (p.what) {
    case Kind::put:
    case Kind::get:
      return push_bytes(e, peer, p);
    case Kind::accumulate:
      return push_elements(e, peer, p);
    case Kind::swap:
      return push_swap(e, peer, p);
    default:
      return push_long(e, peer, p);
  }
}

bool push_kept(Engine& e, Peer& peer, pt2pt::Outgoing& item) {
  auto& p = static_cast<Pending&>(item);
  if (!push(e, peer, p)) return false;
  if (!is_answered(p)) end(p, 0);
  return true;
}

/// Begin an operation that is checked. What needs no answer and finds room is over at once.
void start(Pending& p, MPI_Request* out) {
  Engine& e = p.win->engine();
  Peer& peer = e.peer(p.to->world_rank);
  ++e.counters->rma_away;
  if (p.what != Kind::get && p.what != Kind::get_long) ++p.to->issued;
  p.number = p.to->issued;
  p.asks = !is_answered(p) && ++p.to->since == p.to->usual;
  if (p.asks || is_answered(p)) p.to->asked_for = p.number;
  p.push = push_kept;
  const bool at_once = !is_answered(p) && peer.queue.empty() && push(e, peer, p);
  if (at_once) {
    if (out != nullptr) *out = pt2pt::handle_of(e.sent);
    return;
  }
  Pending* const kept = keep(p);
  if (out != nullptr) {
    kept->request = pt2pt::new_plain_request(e);
    *out = pt2pt::handle_of(kept->request);
  }
  if (peer.queue.empty() && push(e, peer, *kept)) {
    if (!is_answered(*kept)) end(*kept, 0);
    return;
  }
  pt2pt::enqueue(e, peer, peer.queue, *kept);
}

/// From memory to memory. False: it is still to be done.
bool start_reaching(Pending& p, MPI_Request* out) {
  Engine& e = p.win->engine();
  Pending* kept = nullptr;
  if (!reach_memory(p, &kept)) return false;
  ++e.counters->rma_away;
  if (out == nullptr) return true;
  kept->request = pt2pt::new_plain_request(e);
  *out = pt2pt::handle_of(kept->request);
  return true;
}

Err nothing_to_do(Window& win, MPI_Request* out) {
  if (out != nullptr) *out = pt2pt::handle_of(win.engine().sent);
  return ok;
}

bool is_long(const Window& win, std::int64_t bytes, const Type& here, const Type& there) {
  return bytes > const_cast<Window&>(win).engine().network->payload_max() && here.dense &&
         there.dense;
}

}  // namespace

Err put_away(const ConstBuffer& from, const Place& to, Window& win, MPI_Request* out) {
  const pt2pt::Inside inside(win.engine());
  Pending p;
  WEFT_TRY(reach_away(win, to, out != nullptr, &p));
  p.from = from;
  p.total = from.bytes();
  if (p.total > p.there.bytes()) return truncated(p.total, p.there.bytes(), "origin", "target");
  if (p.total == 0) return nothing_to_do(win, out);
  p.what = Kind::put;
  if (may_reach(p, *from.type, *to.type) && start_reaching(p, out)) return ok;
  if (is_long(win, p.total, *from.type, *to.type)) p.what = Kind::put_long;
  start(p, out);
  return ok;
}

Err get_away(const Buffer& to, const Place& from, Window& win, MPI_Request* out) {
  const pt2pt::Inside inside(win.engine());
  Pending p;
  WEFT_TRY(reach_away(win, from, out != nullptr, &p));
  p.result = to;
  p.total = p.there.bytes();
  if (p.total > to.bytes()) return truncated(p.total, to.bytes(), "target", "origin");
  if (p.total == 0) return nothing_to_do(win, out);
  p.what = Kind::get;
  if (may_reach(p, *to.type, *from.type) && start_reaching(p, out)) return ok;
  if (is_long(win, p.total, *to.type, *from.type)) p.what = Kind::get_long;
  start(p, out);
  return ok;
}

Err accumulate_away(const Accumulation& what, const Place& to, Window& win, MPI_Request* out) {
  const pt2pt::Inside inside(win.engine());
  Pending p;
  WEFT_TRY(reach_away(win, to, out != nullptr, &p));
  WEFT_TRY(check_lengths(what, p.there.bytes(), &p.total));
  if (p.total == 0) return nothing_to_do(win, out);
  p.what = Kind::accumulate;
  p.operation = what.operation;
  p.basic = what.basic;
  p.from = what.from;
  p.result = what.result;
  p.answers = what.result.type != nullptr;
  start(p, out);
  return ok;
}

Err swap_away(const void* from, const void* compare, void* result, const Place& to, Window& win) {
  const pt2pt::Inside inside(win.engine());
  Pending p;
  WEFT_TRY(reach_away(win, to, false, &p));
  p.what = Kind::swap;
  p.basic = to.type->basic;
  p.from = {from, 1, to.type};
  p.compare = compare;
  p.result = {result, 1, to.type};
  p.total = 1;
  start(p, nullptr);
  return ok;
}

// --- answers

namespace {

/// Elements that came back, from the first one on.
void read_elements(Pending& p, std::int64_t first, const std::byte* in, std::int64_t n) {
  const std::int64_t stride = datatype::stride_of(p.basic);
  const bool has_gaps = datatype::data_bytes(p.basic) != datatype::span_of(p.basic);
  for (std::int64_t k = 0; k < n;) {
    const Stretch s = stretch(p.result, p.basic, p.total, first + k);
    const std::int64_t now = std::min(s.n, n - k);
    // Not what is between an element's parts, or behind it: that is not this operation's.
    if (has_gaps || datatype::span_of(p.basic) != stride)
      for (std::int64_t i = 0; i < now; ++i)
        std::memcpy(s.at + i * stride, in + (k + i) * stride, bytes_of(p.basic, 1));
    else
      std::memcpy(s.at, in + k * stride, bytes_of(p.basic, now));
    k += now;
  }
}

void take_data(Pending& p, const wire::Cell& cell) {
  const auto* in = reinterpret_cast<const std::byte*>(&cell + 1);
  const auto first = static_cast<std::int64_t>(cell.bytes);
  if (p.what == Kind::swap) {
    std::memcpy(p.result.data, in, cell.piece);
    p.back = p.total;
  } else if (p.what == Kind::accumulate) {
    const std::int64_t n = cell.piece / datatype::stride_of(p.basic);
    read_elements(p, first, in, n);
    p.back += n;
  } else {
    datatype::unpack(p.result, first, in, cell.piece);
    p.back += cell.piece;
  }
  if (p.back == p.total) end(p, p.refused);
}

/// What could not be read from afar goes in pieces.
void begin_again(Pending& p) {
  Engine& e = p.win->engine();
  Peer& peer = e.peer(p.to->world_rank);
  if (p.name != Pending::none) pt2pt::end_offer(e, peer, std::exchange(p.name, Pending::none));
  p.what = p.what == Kind::put_long ? Kind::put : Kind::get;
  p.pushed = 0;
  if (p.what == Kind::put) {
    // Who waits for it has asked already.
    p.asks = true;
    p.number = p.to->asked_for = ++p.to->issued;
  }
  pt2pt::enqueue(e, peer, peer.queue, p);
}

void on_read(void* state) {
  auto& p = *static_cast<Pending*>(state);
  send(*p.win, p.to->world_rank, {.kind = Kind::hide, .name = p.shown});
  end(p, 0);
}

void take_shown(Pending& p, const wire::Cell& cell) {
  Engine& e = p.win->engine();
  wire::Place place{};
  std::memcpy(&place, &cell + 1, sizeof place);
  p.shown = cell.job;
  if (e.network->read({datatype::block(p.result), static_cast<std::size_t>(p.total)},
                      p.to->world_rank, place, on_read, &p)) {
    ++e.counters->net_reads;
    e.counters->net_read_bytes += static_cast<std::uint64_t>(p.total);
    return;
  }
  send(*p.win, p.to->world_rank, {.kind = Kind::hide, .name = p.shown});
  begin_again(p);
}

}  // namespace

void take_answer(Window& win, Kind kind, const wire::Cell& cell) {
  Remote& from = win.away(cell.envelope.source);
  auto* const p = reinterpret_cast<Pending*>(cell.cookie);
  switch (kind) {
    case Kind::data:
      return take_data(*p, cell);
    case Kind::shown:
      return take_shown(*p, cell);
    case Kind::opened:
      std::memcpy(&from.place, &cell + 1, sizeof from.place);
      from.opens = from.place.bytes > 0 ? Remote::Opens::yes : Remote::Opens::no;
      return;
    case Kind::again:
      return begin_again(*p);
    case Kind::done:
      if (p != nullptr) return end(*p, 0);
      from.confirmed = std::max(from.confirmed, cell.bytes);
      return;
    case Kind::granted:
      from.granted = true;
      return;
    case Kind::seen:
      return take_seen(cell);
    default:  // refused
      from.error = static_cast<int>(cell.bytes);
      if (p == nullptr) return;
      // Of one in pieces each is answered, one way or the other.
      p->refused = from.error;
      p->back += is_whole(*p) ? p->total : cell.job;
      if (p->back == p->total) end(*p, p->refused);
      return;
  }
}

void ask_whether_done(Window& win, Remote& remote) {
  if (remote.since > 0) remote.usual = std::exchange(remote.since, 0);
  if (std::max(remote.confirmed, remote.asked_for) == remote.issued) return;
  remote.asked_for = remote.issued;
  send(win, remote.world_rank, {.kind = Kind::flush, .number = remote.issued});
}

Err take_error(Window& win) {
  WEFT_TRY(pt2pt::died_if_any(win.comm));
  for (auto& [rank, remote] : win.remotes)
    if (const int error = std::exchange(remote.error, 0); error != 0)
      return fail(
          error,
          "an operation on rank %d of the window, which is on another node, left the memory "
          "that is attached there; what left it was not done",
          rank);
  return ok;
}

}  // namespace weft::rma
