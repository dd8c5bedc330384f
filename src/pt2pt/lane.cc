// SPDX-License-Identifier: Apache-2.0
#include "pt2pt/lane.h"

namespace weft::pt2pt {

using wire::What;

bool Lane::claim_packet(shm::Claim* out) {
  wire::Cell* const cell = away_->network.take(world_rank_);
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
  const What what = claim.cell->what;
  const bool has_payload = what == What::ring_data || what == What::more_data ||
                           what == What::staged_data || what == What::offer;
  away_->network.send(claim.cell, has_payload ? claim.cell->piece : 0, world_rank_);
}

}  // namespace weft::pt2pt
