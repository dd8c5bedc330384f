// SPDX-License-Identifier: Apache-2.0
//
// How cells and pieces reach a peer: through its mailbox, if it is on this node, else in packets of
// a network. A peer on another node has a mailbox here that is always full. So the way through
// shared memory asks for nothing that it would not ask for without a network: only a claim that
// finds no room looks whether there is one.
#pragma once

#include "memory/job.h"
#include "shm/mailbox.h"
#include "wire/network.h"

namespace weft::pt2pt {

/// What all lanes of a context to other nodes share.
struct Away {
  wire::Network& network;
  shm::Mailbox full{}, asking{};  // nobody writes them; this one says: ask first
  shm::CopyJob job{};             // of whom no memory is in reach
};

/// To one peer. Guarded by the context's lock.
class Lane {
 public:
  void open(memory::Job& job, int world_rank, int context) { here_.open(job, world_rank, context); }
  void open(Away& away, int world_rank) {
    here_.open_full(away.full);
    away_ = &away;
    world_rank_ = world_rank;
  }
  bool is_open() const { return here_.is_open(); }
  /// Is the peer on another node?
  bool is_away() const { return away_ != nullptr; }

  /// Claim a cell and room for `payload_bytes`. False if there is no room now.
  bool claim(std::uint32_t payload_bytes, shm::Claim* out) {
    return here_.claim(payload_bytes, out) ||
           (away_ != nullptr && claim_packet(payload_bytes, out));
  }
  /// Publish a filled cell, for the receiver's next look.
  void publish(const shm::Claim& claim) {
    if (away_ != nullptr) [[unlikely]]
      return send(claim);
    here_.publish(claim);
  }
  /// The same, and wake the receiver if it sleeps. Returns true if it did.
  bool commit(const shm::Claim& claim) {
    if (away_ != nullptr) [[unlikely]]
      return send(claim), false;
    return here_.commit(claim);
  }
  /// To another node: publish it with a payload that lies elsewhere (wire/network.h).
  void send_from(const shm::Claim& claim, std::span<const std::byte> payload,
                 void (*finished)(void* state), void* state) {
    away_->network.send_from(claim.cell, payload, world_rank_, finished, state);
  }
  /// Likewise: announce it, with room for a tag.
  void announce(const shm::Claim& claim, std::span<const std::byte> payload,
                void (*finished)(void* state), void* state) {
    away_->network.announce(claim.cell, payload, world_rank_, finished, state);
  }
  bool may_announce() const { return away_->network.may_announce(world_rank_); }
  /// Bytes of such a payload; 0: on this node, or it has to be copied.
  std::uint32_t lent_max() const { return away_ != nullptr ? away_->network.lent_max() : 0; }
  void fetch_ahead(const shm::Claim& last) { here_.fetch_ahead(last); }
  bool asks_first() const { return here_.asks_first(); }
  /// A rank on another node has told so.
  void ask_first(bool yes) { here_.open_full(yes ? away_->asking : away_->full); }
  bool is_in_wait() const { return here_.is_in_wait(); }
  bool ring() { return here_.ring(); }
  void knock() {
    if (away_ == nullptr) here_.knock();
  }
  shm::CopyJob& job(std::uint32_t index) {
    return away_ != nullptr ? away_->job : here_.job(index);
  }

 private:
  [[gnu::cold]] bool claim_packet(std::uint32_t payload_bytes, shm::Claim* out);
  [[gnu::cold]] void send(const shm::Claim& claim);

  shm::Outbox here_;
  Away* away_ = nullptr;
  int world_rank_ = -1;
};

}  // namespace weft::pt2pt
