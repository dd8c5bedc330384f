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

bool Lane::look(void (*arrived)(void* state, const wire::Cell& cell), void* state) {
  arrived_ = arrived;
  state_ = state;
  const Result<int> done = endpoint_->progress(*this);
  if (!done) plan_.lost(nobody, done.err);
  const bool posted = !waiting_.empty() && post_waiting();
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
