// SPDX-License-Identifier: Apache-2.0
#include "net/lane.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <string_view>

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

}  // namespace

Result<std::unique_ptr<Lane>> Lane::open(Plan plan) {
  std::unique_ptr<Lane> lane(new Lane(std::move(plan)));
  Result<std::unique_ptr<Endpoint>> endpoint =
      lane->plan_.fabric.endpoint({.receives = rooms_to_receive,
                                   .sends = rooms_to_send,
                                   .room_bytes = sizeof(wire::Cell) + lane->plan_.payload_max});
  if (!endpoint) return endpoint.err;
  lane->endpoint_ = std::move(endpoint.value);
  const int fd = lane->endpoint_->wait_fd();
  if (fd >= 0) WEFT_TRY(lane->plan_.watcher.add(fd, lane->plan_.sleeper));
  return lane;
}

Lane::~Lane() {
  if (endpoint_ != nullptr && endpoint_->wait_fd() >= 0) plan_.watcher.remove(endpoint_->wait_fd());
}

std::string Lane::address() const {
  return as_text(endpoint_->address());
}

Lane::To* Lane::find(int world_rank) {
  if (const auto at = to_.find(world_rank); at != to_.end()) return &at->second;
  const std::string all = plan_.find(world_rank);
  const std::string_view text = item(all, plan_.context);
  if (text.empty()) return nullptr;
  const Result<Peer> peer = endpoint_->add_peer(from_text(text));
  if (!peer) {
    plan_.lost(world_rank, peer.err);
    return nullptr;
  }
  To& to = to_[world_rank];
  to.peer = peer.value;
  return &to;
}

wire::Cell* Lane::take(int world_rank) {
  if (!waiting_.empty() || find(world_rank) == nullptr) return nullptr;
  std::byte* const room = endpoint_->reserve();
  return room != nullptr ? new (room) wire::Cell : nullptr;
}

void Lane::send(wire::Cell* cell, std::uint32_t payload_bytes, int world_rank) {
  To& to = to_.find(world_rank)->second;
  cell->turn.store(++to.sent, std::memory_order_relaxed);
  cell->unit = static_cast<std::uint32_t>(plan_.secret);
  cell->units = static_cast<std::uint16_t>(plan_.secret >> 32);
  const Waiting packet{cell, sizeof(wire::Cell) + payload_bytes, to.peer};
  if (!waiting_.empty() || !post(packet)) waiting_.push_back(packet);
}

/// False: there is no space now.
bool Lane::post(const Waiting& packet) {
  auto* const room = reinterpret_cast<std::byte*>(packet.cell);
  const Result<bool> posted = endpoint_->commit(room, packet.bytes, packet.peer);
  if (posted) return posted.value;
  endpoint_->discard(room);
  lost(packet.peer, posted.err);
  return true;
}

bool Lane::post_waiting() {
  bool any = false;
  while (!waiting_.empty() && post(waiting_.front())) {
    waiting_.pop_front();
    any = true;
  }
  return any;
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

bool Lane::read(std::span<std::byte> memory, int world_rank, const wire::Place& from,
                void (*finished)(void* state), void* state) {
  To* const to = find(world_rank);
  if (to == nullptr || !endpoint_->reaches_memory()) return false;
  Result<Registration> own = endpoint_->enroll(memory, Use::own);
  if (!own) return false;
  readings_.push_back({.memory = memory,
                       .from = {.address = from.address, .key = from.key},
                       .own = std::move(own.value),
                       .finished = finished,
                       .state = state});
  Reading& reading = readings_.back();
  reading.self = std::prev(readings_.end());
  to->readings.push_back(&reading);
  if (!to->is_held_up) ask(*to);
  return true;
}

/// Ask a peer for as much as may be on its way.
void Lane::ask(To& to) {
  while (!to.readings.empty() && to.ahead_bytes < reads_ahead_bytes) {
    if (ask_piece(to)) continue;
    to.is_held_up = true;
    held_up_.push_back(&to);
    return;
  }
}

/// False: there is no space now.
bool Lane::ask_piece(To& to) {
  Reading& reading = *to.readings.front();
  const std::size_t at = reading.asked_bytes;
  const std::size_t bytes =
      std::min({reading.memory.size() - at, read_piece_bytes, endpoint_->longest_transfer_bytes()});
  if (spare_.empty()) spare_.push_back(&pieces_.emplace_back());
  Piece& piece = *spare_.back();
  piece.reading = &reading;
  piece.to = &to;
  piece.bytes = bytes;
  const Result<bool> asked =
      endpoint_->read(piece, reading.memory.subspan(at, bytes), reading.own, to.peer,
                      {.address = reading.from.address + at, .key = reading.from.key});
  if (!asked) {
    to.readings.clear();
    lost(to.peer, asked.err);
    return true;
  }
  if (!asked.value) return false;
  spare_.pop_back();
  to.ahead_bytes += bytes;
  reading.asked_bytes += bytes;
  if (reading.asked_bytes == reading.memory.size()) to.readings.pop_front();
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
  Reading& reading = *piece.reading;
  To& to = *piece.to;
  spare_.push_back(&piece);
  to.ahead_bytes -= piece.bytes;
  if (err) return lost(to.peer, err);
  reading.here_bytes += piece.bytes;
  const bool is_all = reading.here_bytes == reading.memory.size();
  if (!to.is_held_up) ask(to);
  if (!is_all) return;
  void (*const tell)(void*) = reading.finished;
  void* const whom = reading.state;
  readings_.erase(reading.self);
  tell(whom);
}

bool Lane::look(void (*arrived)(void* state, const wire::Cell& cell), void* state) {
  arrived_ = arrived;
  state_ = state;
  const Result<int> done = endpoint_->progress(*this);
  if (!done) plan_.lost(nobody, done.err);
  const bool posted = !waiting_.empty() && post_waiting();
  if (!held_up_.empty()) ask_held_up();
  return posted || (done && done.value > 0);
}

bool Lane::is_of_the_job(const wire::Cell& cell, std::size_t bytes) const {
  return bytes >= sizeof cell && (std::uint64_t{cell.units} << 32 | cell.unit) == plan_.secret;
}

/// As Lane of pt2pt wrote it: its payload is behind it.
void Lane::hand_over(std::span<std::byte> packet) {
  auto& cell = *reinterpret_cast<wire::Cell*>(packet.data());
  cell.units = 0;
  cell.unit = wire::behind;
  arrived_(state_, cell);
}

void Lane::received(std::span<std::byte> packet) {
  ++come_;
  const auto& cell = *reinterpret_cast<const wire::Cell*>(packet.data());
  if (!is_of_the_job(cell, packet.size())) {
    ++plan_.dropped;
    return;
  }
  const std::uint32_t number = cell.turn.load(std::memory_order_relaxed);
  From& from = from_[static_cast<int>(cell.sender)];
  if (number != from.taken + 1) {
    Early early{std::make_unique<wire::Cell[]>(packet.size() / sizeof(wire::Cell) + 1),
                packet.size()};
    std::memcpy(static_cast<void*>(early.room.get()), packet.data(), packet.size());
    from.early.emplace(number, std::move(early));
    return;
  }
  ++from.taken;
  hand_over(packet);
  for (auto next = from.early.begin(); next != from.early.end() && next->first == from.taken + 1;
       next = from.early.erase(next)) {
    ++from.taken;
    hand_over({reinterpret_cast<std::byte*>(next->second.room.get()), next->second.bytes});
  }
}

void Lane::lost(Peer peer, Err err) {
  const auto at = std::find_if(to_.begin(), to_.end(),
                               [peer](const auto& known) { return known.second.peer == peer; });
  plan_.lost(at != to_.end() ? at->first : nobody, err);
}

bool Lane::naps() const {
  return endpoint_->wait_fd() < 0 || in_vain_ >= most_in_vain;
}

bool Lane::arm() {
  const std::int64_t now = now_ns();
  if (come_ != come_before_ || come_ns_ == 0) come_ns_ = now;
  come_before_ = come_;
  nap_ns_ = std::clamp((now - come_ns_) / naps_in_wait, first_nap_ns, longest_nap_ns);
  if (endpoint_->wait_fd() < 0) return true;
  if (!endpoint_->may_sleep()) return false;
  if (endpoint_->has_news()) return ++in_vain_ >= most_in_vain && !watch_another();
  in_vain_ = 0;
  plan_.watcher.arm(endpoint_->wait_fd(), plan_.sleeper);
  return true;
}

/// There is always news at this descriptor. False: at all that there are.
bool Lane::watch_another() {
  const int before = endpoint_->wait_fd();
  if (!endpoint_->find_other_fd()) return false;
  plan_.watcher.remove(before);
  if (plan_.watcher.add(endpoint_->wait_fd(), plan_.sleeper)) return false;
  in_vain_ = 0;
  return true;
}

}  // namespace weft::net
