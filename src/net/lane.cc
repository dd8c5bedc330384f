// SPDX-License-Identifier: Apache-2.0
#include "net/lane.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <string_view>
#include <utility>

#include "base/clock.h"
#include "net/limits.h"

namespace weft::net {
namespace {

std::string as_text(const Address& address) {
  constexpr char digits[] = "0123456789abcdef";
  std::string text;
  for (const std::byte byte : address) {
    text += digits[static_cast<unsigned>(byte) >> 4];
    text += digits[static_cast<unsigned>(byte) & 15];
  }
  return text;
}

Address from_text(std::string_view text) {
  Address address(text.size() / 2);
  for (std::size_t i = 0; i < address.size(); ++i) {
    unsigned byte = 0;
    std::from_chars(text.data() + 2 * i, text.data() + 2 * i + 2, byte, 16);
    address[i] = static_cast<std::byte>(byte);
  }
  return address;
}

/// Number `n` of a list; "" if it has fewer.
std::string_view item(std::string_view list, int n) {
  for (; n > 0; --n) {
    const std::size_t comma = list.find(',');
    if (comma == list.npos) return "";
    list.remove_prefix(comma + 1);
  }
  return list.substr(0, list.find(','));
}

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

std::size_t padded(std::size_t bytes) {
  return (bytes + sizeof(wire::Cell) - 1) / sizeof(wire::Cell) * sizeof(wire::Cell);
}

/// With zeros behind.
void add(SipState& state, std::span<const std::byte> bytes) {
  for (std::size_t at = 0; at < bytes.size(); at += sizeof(std::uint64_t)) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data() + at, std::min(sizeof word, bytes.size() - at));
    state.add(word);
  }
}

/// Of a packet whose first cell is not sealed, and what is sent behind it from elsewhere: each cell
/// and the first bytes behind it. Any packet, also one that is shorter than its cells say.
std::uint64_t seal_of(const HashKey& key, std::span<const std::byte> packet, std::uint64_t number,
                      std::span<const std::byte> behind = {}) {
  SipState state(key);
  state.add(number);
  state.add(packet.size() + behind.size());
  do {
    const auto& cell = *reinterpret_cast<const wire::Cell*>(packet.data());
    const std::size_t bytes =
        packet.size() < sizeof cell ? packet.size() : sizeof cell + wire::payload_behind(cell);
    add(state, packet.first(std::min({bytes, packet.size(), sealed_bytes})));
    packet = packet.subspan(std::min(padded(bytes), packet.size()));
  } while (!packet.empty());
  add(state, behind.first(std::min(behind.size(), sealed_bytes - sizeof(wire::Cell))));
  return state.end() >> 16;
}

void set_seal(wire::Cell& cell, std::uint64_t seal) {
  cell.unit = static_cast<std::uint32_t>(seal);
  cell.units = static_cast<std::uint16_t>(seal >> 32);
}

/// The number of which only the low half travels: the nearest one to `next`.
std::uint64_t whole_number(std::uint32_t low, std::uint64_t next) {
  const auto ahead = static_cast<std::int32_t>(low - static_cast<std::uint32_t>(next));
  return next + static_cast<std::uint64_t>(std::int64_t{ahead});
}

}  // namespace

Lane::Lane(Plan plan)
    : plan_(std::move(plan)),
      cuts_(plan_.fabric.offer().is_paced ? paced_cuts : common_cuts),
      news_{[](void* self) {
              Lane& lane = *static_cast<Lane*>(self);
              lane.watched_.store(false, std::memory_order_seq_cst);
              lane.armed_.store(false, std::memory_order_seq_cst);
              lane.plan_.sleeper.wake(lane.plan_.sleeper.state);
            },
            this} {}

Result<std::unique_ptr<Lane>> Lane::open(Plan plan) {
  std::unique_ptr<Lane> lane(new Lane(std::move(plan)));
  const std::uint32_t payload_max = lane->plan_.payload_max;
  const bool may_borrow = !lane->plan_.fabric.offer().registers_own;
  Result<std::unique_ptr<Endpoint>> endpoint = lane->plan_.fabric.endpoint(
      {.receives = rooms_to_receive,
       .sends = rooms_to_send + rooms_to_greet,
       .room_bytes = sizeof(wire::Cell) + std::max(payload_max, may_borrow ? common_cuts.lent : 0),
       .send_bytes = std::max(sizeof(wire::Cell) + payload_max, may_borrow ? row_bytes : 0)});
  if (!endpoint) return endpoint.err;
  lane->endpoint_ = std::move(endpoint.value);
  lane->most_in_row_ =
      std::min(may_borrow ? row_bytes : short_row_bytes, lane->endpoint_->send_bytes());
  lane->joined_max_ = may_borrow ? sizeof(wire::Cell) + payload_max : short_bytes;
  if (lane->endpoint_->borrows()) lane->lent_max_ = lane->cuts_.lent;
  lane->address_ = as_text(lane->endpoint_->address());
  return lane;
}

Lane::~Lane() {
  leave_watcher();
}

/// "": it has told none yet.
std::string Lane::address_of(int world_rank) const {
  return std::string(item(plan_.find(world_rank), plan_.context));
}

/// Of what the peer sends, or of what is sent to it.
HashKey Lane::key_of(int peer, const std::optional<Guest>& guest, const std::string& its_address,
                     bool from_peer) const {
  const auto end = [](std::uint32_t name, std::uint32_t incarnation, const std::string& address) {
    return std::to_string(name) + "." + std::to_string(incarnation) + " " + address;
  };
  const auto incarnation = [&](int rank) { return guest ? 0 : plan_.incarnation(rank); };
  const HashKey& secret = guest ? guest->secret : plan_.secret;
  const std::string there = end(name_of(peer, guest), incarnation(peer), its_address);
  const std::string here = end(own_name(guest), incarnation(plan_.world_rank), address_);
  const std::string who = std::to_string(plan_.context) + " " + (from_peer ? there : here) + " " +
                          (from_peer ? here : there);
  return {{keyed_hash(secret, bytes_of("0 " + who)), keyed_hash(secret, bytes_of("1 " + who))}};
}

Result<Peer> Lane::introduce(Endpoint& endpoint, const std::string& address) {
  return endpoint.add_peer(from_text(address));
}

Lane::To* Lane::find(int world_rank) {
  if (world_rank == last_to_) return last_;
  if (const auto at = to_.find(world_rank); at != to_.end()) {
    last_to_ = world_rank;
    return last_ = &at->second;
  }
  const std::string text = address_of(world_rank);
  if (text.empty()) return nullptr;
  const Result<Peer> peer = introduce(*endpoint_, text);
  if (!peer) {
    plan_.lost(world_rank, peer.err);
    return nullptr;
  }
  To& to = to_[world_rank];
  to.peer = peer.value;
  to.incarnation = plan_.incarnation(world_rank);
  const std::optional<Guest> is_guest = guest(world_rank);
  to.key = key_of(world_rank, is_guest, text, false);
  to.own_name = own_name(is_guest);
  to.again_ns = plan_.again_ns;
  const auto from = from_.find(name_of(world_rank, is_guest));
  to.has_answered = !endpoint_->connects() || (from != from_.end() && from->second.is_heard);
  return &to;
}

/// Another one is to have its place, or has it and was heard already. It has left: nothing is under
/// way to it. The endpoint keeps its address: libfabric 1.17's net would give the next peer that
/// number, and with it the connection.
void Lane::forget(int world_rank) {
  const std::uint32_t now = plan_.incarnation(world_rank);
  const auto is_former = [world_rank, now](const auto& known) {
    return known.second.world_rank == world_rank && known.second.incarnation != now;
  };
  if (guest(world_rank))
    std::erase_if(from_, is_former);  // it had another name
  else if (const auto from = from_.find(name_of(world_rank, {}));
           from != from_.end() && is_former(*from))
    from_.erase(from);
  const auto at = to_.find(world_rank);
  if (at == to_.end() || at->second.incarnation == now) return;
  abandon(world_rank);
  std::erase(rows_, &at->second);
  std::erase(held_up_, &at->second);
  if (last_to_ == world_rank) last_to_ = nobody;
  to_.erase(at);
}

wire::Cell* Lane::take(int world_rank, std::uint32_t payload_bytes) {
  To* const to = find(world_rank);
  if (to == nullptr || to->waiting > 0) return nullptr;
  if (in_row_ && to->row == nullptr && keeps_packets()) {
    if (to->kept >= most_kept()) return nullptr;
    settle(*to, world_rank);
  }
  const std::size_t bytes = sizeof(wire::Cell) + payload_bytes;
  const bool may_join = bytes <= joined_max_;
  if (may_join && in_row_ && to->row != nullptr && !to->is_row_taken &&
      to->row_bytes + bytes <= most_in_row_) {
    to->is_row_taken = true;
    return new (to->row + to->row_bytes) wire::Cell;
  }
  if (std::exchange(to->look, looks_) != looks_) to->packets_since_look = to->bytes_since_look = 0;
  if (may_join && !in_row_ &&
      (to->packets_since_look >= packets_at_once || to->bytes_since_look >= bytes_at_once))
    return nullptr;
  std::byte* const room = endpoint_of(*to).reserve(to->outlet == nullptr ? rooms_to_greet : 0);
  return room != nullptr ? new (room) wire::Cell : nullptr;
}

void Lane::send(wire::Cell* cell, std::uint32_t payload_bytes, int world_rank) {
  To& to = *find(world_rank);
  auto* const at = reinterpret_cast<std::byte*>(cell);
  const std::size_t bytes = sizeof(wire::Cell) + payload_bytes;
  if (to.is_row_taken && at == to.row + to.row_bytes) {
    to.is_row_taken = false;
    to.row_bytes += padded(bytes);
    return;
  }
  post_row(to);
  if (!in_row_ || bytes > joined_max_) return seal_and_post(to, at, bytes);
  rows_.push_back(&to);
  to.row = at;
  to.row_bytes = padded(bytes);
}

void Lane::send_from(wire::Cell* cell, std::span<const std::byte> payload, int world_rank,
                     void (*finished)(void* state), void* state) {
  To& to = *find(world_rank);
  post_row(to);
  new (cell + 1) Lender{finished, state, &to};
  seal_and_post(to, reinterpret_cast<std::byte*>(cell), sizeof *cell, payload);
}

void Lane::announce(wire::Cell* cell, std::span<const std::byte> payload, int world_rank,
                    void (*finished)(void* state), void* state) {
  To& to = *find(world_rank);
  post_row(to);
  const std::uint64_t tag = endpoint_->next_tag();
  std::memcpy(static_cast<void*>(cell + 1), &tag, sizeof tag);
  to.following_bytes += payload.size();
  Transfer& data = begin({.way = Transfer::follow,
                          .memory = {const_cast<std::byte*>(payload.data()), payload.size()},
                          .there = {.key = tag},
                          .finished = finished,
                          .state = state},
                         to);
  seal_and_post(to, reinterpret_cast<std::byte*>(cell), sizeof *cell + sizeof tag, {}, &data);
}

/// Its announcement has been posted. Before that the data would find nobody who awaits it, and hold
/// up the announcement.
void Lane::follow(Transfer& data) {
  data.to->following.push_back(&data);
  ask(*data.to);
}

void Lane::await(std::span<std::byte> memory, int world_rank, std::uint64_t tag,
                 void (*finished)(void* state), void* state) {
  To& to = *find(world_rank);  // it has sent something, so it is known
  Transfer& data = begin({.way = Transfer::await,
                          .memory = memory,
                          .there = {.key = tag},
                          .finished = finished,
                          .state = state},
                         to);
  to.awaited.push_back(&data);
  ask(to);
}

void Lane::returned(std::byte* room) {
  const Lender lender = *reinterpret_cast<const Lender*>(room + sizeof(wire::Cell));
  if (!lender.to->is_dead) lender.finished(lender.state);
}

/// What the provider has of it stays there.
void Lane::abandon(int world_rank) {
  const auto at = to_.find(world_rank);
  if (at == to_.end()) return;
  To& to = at->second;
  to.is_dead = true;
  const auto is_its = [&to](const Waiting& packet) { return packet.to == &to; };
  Endpoint& endpoint = endpoint_of(to);
  for (const Waiting& packet : waiting_)
    if (is_its(packet)) endpoint.discard(reinterpret_cast<std::byte*>(packet.cell));
  for (const Waiting& packet : kept_)
    if (is_its(packet)) endpoint.discard(reinterpret_cast<std::byte*>(packet.cell));
  std::erase_if(waiting_, is_its);
  std::erase_if(kept_, is_its);
  to.waiting = to.kept = 0;
  has_answered(world_rank);  // nobody waits for that
  if (to.row != nullptr) endpoint.discard(to.row);
  to.row = nullptr;
  to.readings.clear();
  to.following.clear();
  to.awaited.clear();
  for (Piece& piece : pieces_)
    if (piece.transfer != nullptr && piece.to == &to && piece.transfer->way == Transfer::await)
      endpoint_->cancel(piece);
  for (auto next = transfers_.begin(); next != transfers_.end();) {
    Transfer& transfer = *next++;
    if (transfer.to != &to || transfer.way != Transfer::await) continue;
    transfer.memory = transfer.memory.first(transfer.asked_bytes);
    if (transfer.here_bytes == transfer.asked_bytes) end(transfer);
  }
}

/// What is there of it.
void Lane::post_row(To& to) {
  if (to.row == nullptr) return;
  const auto& first = *reinterpret_cast<const wire::Cell*>(to.row);
  const std::size_t alone = sizeof first + wire::payload_behind(first);
  seal_and_post(to, to.row, to.row_bytes > padded(alone) ? to.row_bytes : alone);
  to.row = nullptr;
}

void Lane::end_row() {
  for (To* to : rows_) post_row(*to);
  rows_.clear();
  in_row_ = is_timed_ = false;
  if (!kept_.empty()) post_kept();
}

void Lane::seal_and_post(To& to, std::byte* packet, std::size_t bytes,
                         std::span<const std::byte> behind, Transfer* data) {
  const Waiting filled{reinterpret_cast<wire::Cell*>(packet), bytes, &to, behind, data};
  if (in_row_ && keeps_packets()) return keep(filled);
  if (!in_row_) {
    ++to.packets_since_look;
    to.bytes_since_look += bytes;
  }
  post_alone(filled);
}

void Lane::post_alone(const Waiting& packet) {
  const std::int64_t begun = is_timed_ ? now_ns() : 0;
  seal(packet);
  const std::int64_t sealed = is_timed_ ? now_ns() : 0;
  if (packet.to->waiting > 0 || !post(packet)) return queue(packet);
  if (is_timed_) posted_in((plan_.may_post ? sealed : now_ns()) - begun);
}

void Lane::queue(const Waiting& packet) {
  ++packet.to->waiting;
  waiting_.push_back(packet);
}

/// Its peer's own state and the packet are all that is written.
void Lane::seal(const Waiting& packet) {
  To& to = *packet.to;
  wire::Cell& cell = *packet.cell;
  cell.sender = to.own_name;
  cell.turn.store(static_cast<std::uint32_t>(++to.sent), std::memory_order_relaxed);
  set_seal(cell, 0);
  set_seal(cell, seal_of(to.key, {reinterpret_cast<const std::byte*>(&cell), packet.bytes}, to.sent,
                         packet.behind));
}

/// Else it is greeted first.
bool Lane::may_send(To& to) {
  if (to.has_answered) [[likely]]
    return true;
  if (std::exchange(to.is_unanswered, true)) return false;
  unanswered_.push_back(&to);
  plan_.to_do_again.fetch_add(1, std::memory_order_relaxed);
  greet(to, false);
  return false;
}

/// If there is room for it now.
void Lane::greet(To& to, bool answers) {
  std::byte* const room = endpoint_->reserve();
  if (room == nullptr) return;
  auto& cell = *new (room) wire::Cell{};
  cell.what = wire::What::greeting;
  cell.sender = to.own_name;
  cell.bytes = answers ? 1 : 0;
  set_seal(cell, seal_of(to.key, {room, sizeof cell}, 0));
  unwatch();
  if (answers) return endpoint_->hint(room, sizeof cell, to.peer);
  const Result<bool> posted = endpoint_->commit(room, sizeof cell, to.peer);
  if (posted && posted.value) {
    to.greeted_ns = now_ns();
  } else {
    endpoint_->discard(room);
    if (!posted) lost(to.peer, posted.err);
  }
}

void Lane::greet_again() {
  const std::int64_t now = now_ns();
  for (To* const to : unanswered_) {
    if (to->greeted_ns != 0) {
      if (now - to->greeted_ns < to->again_ns) continue;
      to->again_ns = std::min(2 * to->again_ns, longest_again_ns);
    }
    greet(*to, false);
  }
}

void Lane::has_answered(int world_rank) {
  const auto at = to_.find(world_rank);
  if (at == to_.end()) return;
  To& to = at->second;
  to.has_answered = true;
  if (!std::exchange(to.is_unanswered, false)) return;
  std::erase(unanswered_, &to);
  plan_.to_do_again.fetch_sub(1, std::memory_order_relaxed);
}

void Lane::greeted(const From& from, const wire::Cell& greeting) {
  if (greeting.bytes != 0) return has_answered(from.world_rank);
  if (To* const to = find(from.world_rank)) greet(*to, true);
}

/// False: there is no space now.
bool Lane::post(const Waiting& packet) {
  auto* const room = reinterpret_cast<std::byte*>(packet.cell);
  if (!may_send(*packet.to)) return false;
  unwatch();
  Endpoint& endpoint = endpoint_of(*packet.to);
  const Result<bool> posted =
      endpoint.commit(room, packet.bytes, peer_of(*packet.to), packet.behind);
  if (packet.to->outlet != nullptr) note_outlets();
  tell_sleeper();
  if (posted && posted.value && packet.data != nullptr) follow(*packet.data);
  if (posted) return posted.value;
  endpoint.discard(room);
  lost(packet.to->peer, posted.err);
  return true;
}

/// What one peer cannot take yet does not hold up those of others.
bool Lane::post_waiting() {
  std::vector<To*> held_up;
  const std::size_t before = waiting_.size();
  std::erase_if(waiting_, [&](const Waiting& packet) {
    if (std::find(held_up.begin(), held_up.end(), packet.to) == held_up.end() && post(packet)) {
      --packet.to->waiting;
      return true;
    }
    held_up.push_back(packet.to);
    return false;
  });
  return waiting_.size() != before;
}

void Lane::unwatch() {
  // relaxed: only who has the lock sets it; the watcher may have taken it back
  if (!watched_.load(std::memory_order_relaxed)) return;
  watched_.store(false, std::memory_order_seq_cst);
  plan_.unwatched(plan_.sleeper.state);
}

/// Whoever sleeps until the descriptor is readable, where that does not say all.
void Lane::tell_sleeper() {
  if (!endpoint_->hides_news()) return;
  unwatch();
  if (!armed_.exchange(false, std::memory_order_seq_cst)) return;
  plan_.sleeper.wake(plan_.sleeper.state);
}

bool Lane::show(std::uint32_t name, std::span<const std::byte> memory, wire::Place* out) {
  if (!endpoint_->reaches_memory()) return false;
  // Nobody writes it: the registration says so.
  Result<Registration> made =
      endpoint_->enroll({const_cast<std::byte*>(memory.data()), memory.size()}, Use::shown);
  if (!made) return false;
  if (name >= shown_.size()) shown_.resize(name + 1);
  shown_[name] = std::move(made.value);
  const Remote place = shown_[name].remote();
  *out = {.address = place.address, .key = place.key, .bytes = memory.size()};
  return true;
}

void Lane::hide(std::uint32_t name) {
  if (name < shown_.size()) shown_[name] = Registration();
}

bool Lane::open_memory(std::span<std::byte> memory, wire::Place* out) {
  if (!endpoint_->reaches_memory()) return false;
  Result<Registration> made = endpoint_->enroll(memory, Use::peers);
  if (!made) return false;
  const Remote place = made.value.remote();
  *out = {.address = place.address, .key = place.key, .bytes = memory.size()};
  opened_.push_back(std::move(made.value));
  return true;
}

void Lane::close_memory(std::uint64_t key) {
  std::erase_if(opened_, [key](const Registration& r) { return r.remote().key == key; });
}

bool Lane::read(std::span<std::byte> memory, int world_rank, const wire::Place& from,
                void (*finished)(void* state), void* state) {
  return reach({.way = Transfer::read,
                .memory = memory,
                .there = {.address = from.address, .key = from.key},
                .finished = finished,
                .state = state},
               world_rank);
}

bool Lane::write(std::span<const std::byte> memory, int world_rank, const wire::Place& to,
                 void (*finished)(void* state), void* state) {
  return reach({.way = Transfer::write,
                .memory = {const_cast<std::byte*>(memory.data()), memory.size()},
                .there = {.address = to.address, .key = to.key},
                .finished = finished,
                .state = state},
               world_rank);
}

Lane::Transfer& Lane::begin(Transfer&& what, To& to) {
  transfers_.push_back(std::move(what));
  Transfer& transfer = transfers_.back();
  transfer.self = std::prev(transfers_.end());
  transfer.to = &to;
  return transfer;
}

void Lane::end(Transfer& transfer) {
  void (*const tell)(void*) = transfer.finished;
  void* const whom = transfer.state;
  transfers_.erase(transfer.self);
  tell(whom);
}

bool Lane::reach(Transfer&& what, int world_rank) {
  To* const to = find(world_rank);
  if (to == nullptr || !endpoint_->reaches_memory()) return false;
  Result<Registration> own = endpoint_->enroll(what.memory, Use::own);
  if (!own) return false;
  what.own = std::move(own.value);
  to->readings.push_back(&begin(std::move(what), *to));
  if (!to->is_held_up) ask(*to);
  return true;
}

/// Ask a peer for as much as may be on its way; of what is announced, all.
void Lane::ask(To& to) {
  const auto ask_all = [&](std::deque<Transfer*>& of, std::size_t ahead_max) {
    while (!of.empty() && to.ahead_bytes < ahead_max)
      if (!may_send(to) || !ask_piece(to, of)) return false;
    return true;
  };
  const bool are_awaited = ask_all(to.awaited, SIZE_MAX), follow = ask_all(to.following, SIZE_MAX);
  if (ask_all(to.readings, cuts_.reads_ahead) && are_awaited && follow) return;
  if (!std::exchange(to.is_held_up, true)) held_up_.push_back(&to);
}

/// False: there is no space now.
bool Lane::ask_piece(To& to, std::deque<Transfer*>& of) {
  Transfer& transfer = *of.front();
  const std::size_t at = transfer.asked_bytes;
  const std::size_t most = &of == &to.readings ? cuts_.read_piece : announced_piece_bytes;
  const std::size_t bytes =
      std::min({transfer.memory.size() - at, most, endpoint_->longest_transfer_bytes()});
  if (spare_.empty()) spare_.push_back(&pieces_.emplace_back());
  Piece& piece = *spare_.back();
  piece.transfer = &transfer;
  piece.to = &to;
  piece.bytes = bytes;
  const std::span<std::byte> here = transfer.memory.subspan(at, bytes);
  const Remote there{.address = transfer.there.address + at, .key = transfer.there.key};
  unwatch();
  const auto post = [&]() -> Result<bool> {
    switch (transfer.way) {
      case Transfer::read:
        return endpoint_->read(piece, here, transfer.own, to.peer, there);
      case Transfer::write:
        return endpoint_->write(piece, here, transfer.own, to.peer, there);
      case Transfer::follow:
        return endpoint_->send_tagged(piece, here, to.peer, there.key);
      case Transfer::await:
        return endpoint_->await_tagged(piece, here, there.key);
    }
    return false;
  };
  const Result<bool> asked = post();
  if (!asked || !asked.value) piece.transfer = nullptr;
  if (!asked) {
    of.clear();
    lost(to.peer, asked.err);
    return true;
  }
  if (!asked.value) return false;
  tell_sleeper();
  spare_.pop_back();
  if (&of == &to.readings) to.ahead_bytes += bytes;
  transfer.asked_bytes += bytes;
  if (transfer.asked_bytes == transfer.memory.size()) of.pop_front();
  return true;
}

void Lane::ask_held_up() {
  std::vector<To*> all;
  all.swap(held_up_);
  for (To* to : all) {
    to->is_held_up = false;
    ask(*to);
  }
}

void Lane::finished(Operation& operation, Err err) {
  ++come_;
  auto& piece = static_cast<Piece&>(operation);
  Transfer& transfer = *std::exchange(piece.transfer, nullptr);
  To& to = *piece.to;
  spare_.push_back(&piece);
  const bool is_awaited = transfer.way == Transfer::await;
  if (transfer.way == Transfer::follow)
    to.following_bytes -= piece.bytes;
  else if (!is_awaited)
    to.ahead_bytes -= piece.bytes;
  if (to.is_dead && !is_awaited) return;
  transfer.here_bytes += piece.bytes;
  transfer.has_failed |= static_cast<bool>(err);
  if (err && !to.is_dead) return lost(to.peer, err);
  const bool is_all = transfer.here_bytes == transfer.memory.size();
  if (!to.is_dead && !to.is_held_up) ask(to);
  if (is_all && (to.is_dead || !transfer.has_failed)) end(transfer);
}

bool Lane::look(void (*arrived)(void* state, const wire::Cell& cell), void* state,
                bool in_passing) {
  arrived_ = arrived;
  state_ = state;
  if (!in_passing) ++looks_;
  if (is_at_watcher_ && looks_ - armed_at_ >= looks_before_leave &&
      !armed_.load(std::memory_order_seq_cst))
    leave_watcher();
  if (in_row_) end_row();  // who looks may wait for an answer
  const int left = progress_outlets();
  const Result<int> done = endpoint_->progress(*this);
  if (!done) plan_.lost(nobody, done.err);
  plan_.dropped += endpoint_->dropped() - too_long_;
  too_long_ = endpoint_->dropped();
  if (!unanswered_.empty()) greet_again();
  const bool posted = !waiting_.empty() && post_waiting();
  if (!held_up_.empty()) ask_held_up();
  tell_sleeper();
  return posted || left > 0 || (done && done.value > 0);
}

/// `nobody`: there is none of that name.
int Lane::rank_of(std::uint32_t name) const {
  if (name < static_cast<std::uint32_t>(plan_.ranks)) return static_cast<int>(name);
  return plan_.find_guest ? plan_.find_guest(name) : nobody;
}

/// Who has sealed it, and its number; nullptr: no rank of the job has. What a stranger sends is
/// not noted.
Lane::From* Lane::sender_of(std::span<std::byte> packet, std::uint64_t* number) {
  if (packet.size() < sizeof(wire::Cell)) return nullptr;
  auto& cell = *reinterpret_cast<wire::Cell*>(packet.data());
  const std::uint64_t seal = std::uint64_t{cell.units} << 32 | cell.unit;
  set_seal(cell, 0);
  const auto known = from_.find(cell.sender);
  if (known != from_.end() &&
      has_sealed(known->second.key, packet, known->second.taken, seal, number))
    return &known->second;
  // Nothing came from it before, or from the one that had its place.
  const int rank = rank_of(cell.sender);
  const std::string text = rank != nobody ? address_of(rank) : "";
  if (text.empty()) return nullptr;
  const HashKey key = key_of(rank, guest(rank), text, true);
  if (known != from_.end() && key == known->second.key) return nullptr;
  if (!has_sealed(key, packet, 0, seal, number)) return nullptr;
  forget(rank);
  From& from = from_[cell.sender];
  from.world_rank = rank;
  from.incarnation = plan_.incarnation(rank);
  from.key = key;
  return &from;
}

/// By this key, if `taken` came before? `packet` has no seal any more.
bool Lane::has_sealed(const HashKey& key, std::span<const std::byte> packet, std::uint64_t taken,
                      std::uint64_t seal, std::uint64_t* number) {
  const auto& cell = *reinterpret_cast<const wire::Cell*>(packet.data());
  *number = cell.what == wire::What::greeting
                ? 0
                : whole_number(cell.turn.load(std::memory_order_relaxed), taken + 1);
  return seal == seal_of(key, packet, *number);
}

/// As Lane of pt2pt wrote them: the payload of each is behind it.
void Lane::hand_over(const From& from, std::span<std::byte> packet) {
  while (packet.size() >= sizeof(wire::Cell)) {
    auto& cell = *reinterpret_cast<wire::Cell*>(packet.data());
    const std::size_t bytes = sizeof cell + wire::payload_behind(cell);
    if (bytes > packet.size()) return;  // no rank of this version sends that
    cell.sender = static_cast<std::uint32_t>(from.world_rank);
    cell.units = 0;
    cell.unit = wire::behind;
    arrived_(state_, cell);
    packet = packet.subspan(std::min(padded(bytes), packet.size()));
  }
}

void Lane::received(std::span<std::byte> packet) {
  ++come_;
  std::uint64_t number = 0;
  From* const sender = sender_of(packet, &number);
  if (sender != nullptr && number == 0)
    return greeted(*sender, *reinterpret_cast<const wire::Cell*>(packet.data()));
  if (sender == nullptr || number <= sender->taken || sender->early.count(number) != 0) {
    ++plan_.dropped;
    return;
  }
  From& from = *sender;
  if (!std::exchange(from.is_heard, true)) has_answered(from.world_rank);
  if (number != from.taken + 1) {
    Early early{std::make_unique<wire::Cell[]>(packet.size() / sizeof(wire::Cell) + 1),
                packet.size()};
    std::memcpy(static_cast<void*>(early.room.get()), packet.data(), packet.size());
    from.early.emplace(number, std::move(early));
    return;
  }
  ++from.taken;
  hand_over(from, packet);
  for (auto next = from.early.begin(); next != from.early.end() && next->first == from.taken + 1;
       next = from.early.erase(next)) {
    ++from.taken;
    hand_over(from, {reinterpret_cast<std::byte*>(next->second.room.get()), next->second.bytes});
  }
}

void Lane::lost(Peer peer, Err err) {
  const auto at = std::find_if(to_.begin(), to_.end(),
                               [peer](const auto& known) { return known.second.peer == peer; });
  if (at != to_.end() && !at->second.is_dead) plan_.lost(at->first, err);  // else forgotten
}

bool Lane::naps() const {
  return endpoint_->wait_fds().empty() || in_vain_ >= most_in_vain || busy_outlets_;
}

std::int64_t Lane::nap_ns() const {
  const std::int64_t nap = naps() ? nap_ns_ : 0;
  if (plan_.to_do_again.load(std::memory_order_relaxed) == 0) return nap;
  return nap == 0 ? plan_.again_ns : std::min(nap, plan_.again_ns);
}

/// What has to be done again after a while, without news, is not watched.
bool Lane::arm() {
  const std::int64_t now = now_ns();
  if (come_ != come_before_ || come_ns_ == 0) come_ns_ = now;
  come_before_ = come_;
  nap_ns_ = std::clamp((now - come_ns_) / naps_in_wait, first_nap_ns, longest_nap_ns);
  if (endpoint_->wait_fds().empty()) return true;
  if (!endpoint_->may_sleep()) return false;
  if (endpoint_->has_news()) return ++in_vain_ >= most_in_vain && !watch_others();
  in_vain_ = 0;
  armed_.store(true, std::memory_order_seq_cst);
  if (unanswered_.empty() && !busy_outlets_) watched_.store(true, std::memory_order_seq_cst);
  armed_at_ = looks_;
  for (const int fd : endpoint_->wait_fds()) {
    if (!plan_.watcher.arm(fd, news_)) {
      unwatch();
      in_vain_ = most_in_vain;  // it naps
      break;
    }
    is_at_watcher_ = true;
  }
  return true;
}

/// There is always news at one of the descriptors. False: at all that there are.
bool Lane::watch_others() {
  const std::vector<int> before(endpoint_->wait_fds().begin(), endpoint_->wait_fds().end());
  if (!endpoint_->leave_out_readable()) return false;
  for (const int fd : before) plan_.watcher.remove(fd);
  is_at_watcher_ = false;
  in_vain_ = 0;
  return true;
}

void Lane::leave_watcher() {
  if (!std::exchange(is_at_watcher_, false)) return;
  for (const int fd : endpoint_->wait_fds()) plan_.watcher.remove(fd);
}

}  // namespace weft::net
