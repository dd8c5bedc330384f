// SPDX-License-Identifier: Apache-2.0
#include "pt2pt/lane.h"

namespace weft::pt2pt {

bool Lane::claim_packet(std::uint32_t payload_bytes, shm::Claim* out) {
  wire::Cell* const cell = away_->network.take(world_rank_, payload_bytes);
  if (cell == nullptr) return false;
  cell->units = 0;
  cell->unit = wire::behind;
  *out = {.cell = cell,
          .payload = reinterpret_cast<std::byte*>(cell + 1),
          .units = 0,
          .turn = 0,
          .follows = false};
  return true;
}

void Lane::send(const shm::Claim& claim) {
  away_->network.send(claim.cell, wire::payload_behind(*claim.cell), world_rank_);
}

}  // namespace weft::pt2pt
