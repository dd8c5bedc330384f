// SPDX-License-Identifier: Apache-2.0
//
// Claiming room in a peer's rings, and giving back what was consumed.
//
// The receiver publishes its head each quarter of a ring, and one claim takes at most an eighth, or
// a quarter with the padding at the ring's end: so a sender that waits for room always gets it once
// the receiver has consumed what it was sent.
#include "shm/mailbox.h"

#include <errno.h>

#include <bit>

#include "base/assert.h"
#include "base/copy.h"

namespace weft::shm {
namespace {

std::uint64_t pack(std::uint32_t cells, std::uint32_t units) {
  return std::uint64_t{cells} << 32 | units;
}

std::uint32_t units_for(std::uint32_t payload_bytes) {
  return (payload_bytes + 63) / 64;
}

// A receiver that waits fetches the next unit over and over (Inbox::poll). A payload of a few lines
// arrives sooner that way; in a longer one the first line would only be torn from its writer, so it
// begins behind it.
std::uint32_t units_before(std::uint32_t need) {
  return need > 2 ? 1 : 0;
}

}  // namespace

View::View(memory::Job& job, int world_rank, int the_context) {
  std::byte* area = job.area(world_rank, the_context);
  const memory::JobHeader& h = job.header();
  box = reinterpret_cast<Mailbox*>(area);
  cells = reinterpret_cast<wire::Cell*>(area + memory::area_control_bytes);
  cell_count = h.ring_cells;
  cell_bits = static_cast<std::uint32_t>(std::countr_zero(cell_count));
  units = area + memory::area_control_bytes + std::size_t{cell_count} * sizeof(wire::Cell);
  unit_count = h.ring_bytes / 64;
  context = the_context;
  contexts = static_cast<int>(h.contexts);
  stride = h.area_bytes;
  memory_ = &job;
}

CopyJob& View::added_job(std::uint32_t index) const {
  const int block = std::bit_width(index / Mailbox::first_block + 1) - 1;
  const std::uint32_t first = Mailbox::jobs_in_block(block) - Mailbox::first_block;
  auto* at = reinterpret_cast<CopyJob*>(memory_->at(box->added_jobs[block]));
  return at[index - first];
}

bool View::add_jobs(int block) const {
  if (block >= Mailbox::job_blocks) return errno = ENOMEM, false;
  if (box->added_jobs[block] != 0) return true;  // by who had this place before
  const std::uint64_t at =
      memory_->extend(std::size_t{Mailbox::jobs_in_block(block)} * sizeof(CopyJob));
  box->added_jobs[block] = at;
  return at != 0;
}

void View::wake_slow() const {
  // seq_cst: in order with the sleeper's announcement (pt2pt/waiting.cc)
  std::uint32_t who = box->parked.exchange(0, std::memory_order_seq_cst);
  if (who == 0) return;
  sync::ParkWord& word = sibling(static_cast<int>(who) - 1).parked;
  const sync::ParkWord* const mine = &box->parked;
  // Not if it names somebody else meanwhile.
  if (&word != mine) word.compare_exchange_strong(who, 0, std::memory_order_seq_cst);
  sync::wake_all(word);
}

void Outbox::knock() {
  // seq_cst: before the looks at the words; pairs with the barrier of who sleeps
  if (at_.box->knocked.exchange(1, std::memory_order_seq_cst) != 0) return;
  for (int c = 0; c < at_.contexts; ++c) {
    sync::ParkWord& word = at_.sibling(c).parked;
    std::uint32_t itself = static_cast<std::uint32_t>(c) + 1;
    if (word.compare_exchange_strong(itself, 0, std::memory_order_seq_cst)) sync::wake_all(word);
  }
}

bool Outbox::claim(std::uint32_t payload_bytes, Claim* out) {
  const std::uint32_t need = units_for(payload_bytes);
  WEFT_ASSERT(payload_bytes <= Claim::payload_max);
  std::uint64_t tail = at_.box->tail.load(std::memory_order_relaxed);
  for (;;) {
    const auto cells = static_cast<std::uint32_t>(tail >> 32);
    const auto units = static_cast<std::uint32_t>(tail);
    // A payload is one piece: skip the end of the ring if it does not fit there.
    const std::uint32_t to_end = at_.unit_count - (units & (at_.unit_count - 1));
    const std::uint32_t ahead = units_before(need);
    const std::uint32_t skip = need + ahead > to_end ? to_end : ahead;
    const auto full = [&] {
      return cells - head_cells_ >= at_.cell_count ||
             units + need + skip - head_units_ > at_.unit_count;
    };
    if (__builtin_expect(full(), 0)) {
      // acquire: the receiver has read what it frees. pairs with Inbox::tell
      const std::uint64_t head = at_.box->head.load(std::memory_order_acquire);
      head_cells_ = static_cast<std::uint32_t>(head >> 32);
      head_units_ = static_cast<std::uint32_t>(head);
      if (full()) return false;
    }
    // relaxed: the claim carries no data, commit() publishes. On failure `tail` is the newest
    // value.
    if (at_.box->tail.compare_exchange_weak(tail, pack(cells + 1, units + need + skip),
                                            std::memory_order_relaxed)) {
      wire::Cell* cell = at_.cells + (cells & (at_.cell_count - 1));
      cell->units = static_cast<std::uint16_t>(need + skip);
      cell->unit = units + skip;
      out->cell = cell;
      out->units = need;
      out->payload = at_.units + std::size_t{(units + skip) & (at_.unit_count - 1)} * 64;
      out->turn = at_.turn(cells);
      out->follows = cells == next_cell_;
      next_cell_ = cells + 1;
      return true;
    }
  }
}

void Outbox::fetch_ahead(const Claim& last) {
  // Measured, 2-core EPYC, 2026-11-22, 200 ns a trip: 2 is less, 8 is not more. Longer payloads
  // memcpy writes with `rep movsb`, which claims whole lines; that is faster.
  constexpr std::uint32_t messages = 4, units_max = 32;
  const std::uint32_t need = last.units;
  if (!last.follows || need > units_max) return;
  fetch_to_write(at_.cells + ((next_cell_ - 1 + messages) & (at_.cell_count - 1)));
  const auto unit = static_cast<std::uint32_t>((last.payload - at_.units) / 64);
  const std::uint32_t first = unit + messages * (need + units_before(need));
  for (std::uint32_t i = 0; i < need; ++i)
    fetch_to_write(at_.units + std::size_t{(first + i) & (at_.unit_count - 1)} * 64);
}

void Inbox::open(memory::Job& job, int world_rank, int context) {
  at_ = View(job, world_rank, context);
  const std::uint64_t head = at_.box->head.load(std::memory_order_relaxed);
  head_cells_ = told_cells_ = static_cast<std::uint32_t>(head >> 32);
  head_units_ = told_units_ = static_cast<std::uint32_t>(head);
  turn_ = at_.turn(head_cells_);
}

void Inbox::tell() {
  told_cells_ = head_cells_;
  told_units_ = head_units_;
  // release: what is freed has been read. pairs with Outbox::claim
  at_.box->head.store(pack(head_cells_, head_units_), std::memory_order_release);
}

}  // namespace weft::shm
