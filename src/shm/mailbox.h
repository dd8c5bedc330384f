// SPDX-License-Identifier: Apache-2.0
//
// The mailbox of a rank's communication context in the job segment: many senders, one receiver,
// both rank modes.
//
// Two rings: cells (one header each) and units (64-byte pieces of payload). A sender claims one
// cell and the units it needs with a single compare-and-swap of `tail`, fills them, and publishes
// the cell by writing its turn last. So the units are in the order of the cells, and the receiver
// frees both by counting. Polling looks at one line only, the next cell. A cell's turn is its lap
// number, so nothing is ever cleared.
//
// Lines: `tail` is written by senders only; `head`, `parked` and `asks_first` are written by the
// receiver, rarely (each quarter of a ring), so senders read them in their own cache. One message
// moves one line, plus its payload.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "memory/job.h"
#include "shm/fragments.h"
#include "shm/limits.h"
#include "sync/wait.h"
#include "wire/cell.h"

namespace weft::shm {

/// A single copy in the making, shared by sender and receiver (pt2pt/transfer.cc). It lives in the
/// sender's area, or in memory that the sender added to it (View::job); the sender owns it from
/// allocation until the last chunk is copied.
struct alignas(64) CopyJob {
  // line 0: written by the sender before `offer`, then by the receiver before `show`
  std::uint64_t from;     // address of the data in the sender, if it is one block
  std::uint64_t to;       // address in the receiver, or of its Buffer if `by_layout`
  std::uint64_t bytes;    // to copy
  std::uint64_t chunk;    // bytes of a chunk
  std::uint64_t request;  // the sender's request; for the receiver too if it is of the same process
  std::int32_t to_pid;
  bool typed;                        // the data is not one block
  bool waits;                        // the sender is in a blocking call
  bool by_layout;                    // one side is not one block
  bool past_caches;                  // more is under way than the sender's caches hold
  std::atomic<std::uint32_t> claim;  // who was first: the receiver's match or the sender's cancel
  // line 1: both
  // chunks handed out, above them (32 bits) the number of the offer: a receiver may come too late
  alignas(64) std::atomic<std::uint64_t> next;
  std::atomic<std::uint32_t> finished;  // chunks copied (release/acquire: carries the data)
  std::atomic<std::uint32_t> failed;    // errno of a chunk that could not be copied
};
static_assert(sizeof(CopyJob) == 128);

struct Mailbox {
  // line 0: receiver
  alignas(
      64) std::atomic<std::uint64_t> head;  // cells << 32 | units freed (release; pairs with claim)
  // Who sleeps until there is news here: 0 nobody; c + 1 a thread, on this word in the mailbox of
  // the rank's context c. It is this context itself, or one whose waiting thread looks after this
  // one (pt2pt/contexts.h).
  sync::ParkWord parked;
  std::atomic<std::uint32_t> asks_first;  // 1: too much unexpected data; offer, do not push
  std::atomic<std::uint32_t> knocked;     // a sender waits for room, or for an answer
  std::atomic<std::uint32_t> in_wait;     // its rank waits for messages that are past the caches
  std::atomic<std::uint32_t> watched;     // threads wait for news that is no message
  // line 1: senders
  alignas(64) std::atomic<std::uint64_t> tail;  // cells << 32 | units claimed
  // line 2: the owner, rarely. Where its added jobs are, as offsets in the job's memory. Plain: a
  // block is written before the first offer that names a job in it (Outbox::commit publishes it).
  static constexpr int job_blocks = 22;
  alignas(64) std::uint64_t added_jobs[job_blocks];
  // Where its fragments are, and how many. This line's memory is for the next owner, too.
  std::uint64_t fragments, fragment_count;
  // line 5: whoever has such news while the mailbox is watched
  alignas(64) std::atomic<std::uint32_t> rung;

  // Copy jobs of this rank as a sender. The first ones are in its area; each block that is added
  // has twice as many as the one before, so that any number of messages may be under way.
  static constexpr std::size_t jobs_at = jobs_begin;
  static constexpr std::uint32_t jobs = (memory::area_control_bytes - jobs_at) / sizeof(CopyJob);
  static constexpr std::uint32_t first_block = first_added_jobs;
  static constexpr std::uint32_t jobs_in_block(int block) { return first_block << block; }
};
static_assert(sizeof(Mailbox) <= Mailbox::jobs_at);
static_assert(offsetof(Mailbox, added_jobs) == memory::area_lasting_at &&
              offsetof(Mailbox, rung) == memory::area_lasting_at + memory::area_lasting_bytes);

/// Where a mailbox's parts are; the same arithmetic for its owner and for senders.
struct View {
  Mailbox* box = nullptr;
  wire::Cell* cells = nullptr;
  std::byte* units = nullptr;
  std::uint32_t cell_count = 0;  // power of two
  std::uint32_t cell_bits = 0;   // which one
  std::uint32_t unit_count = 0;  // power of two
  int context = 0;
  int contexts = 0;        // of this rank
  std::size_t stride = 0;  // from one context's mailbox to the next

  View() = default;
  View(memory::Job& job, int world_rank, int context);
  /// The mailbox of another context of the same rank.
  Mailbox& sibling(int other) const {
    auto* at =
        reinterpret_cast<std::byte*>(box) + (other - context) * static_cast<std::ptrdiff_t>(stride);
    return *reinterpret_cast<Mailbox*>(at);
  }
  /// Wake who sleeps until there is news, after publishing it. True if somebody did.
  bool wake() const {
    if (!sync::is_awaited(box->parked)) return false;
    wake_slow();
    return true;
  }
  /// The same for news that is no message, such as a flag in shared memory.
  bool ring() const {
    // relaxed: whoever is overlooked is asked a little later (pt2pt/waiting.cc)
    if (box->watched.load(std::memory_order_relaxed) != 0) [[unlikely]]
      box->rung.fetch_add(1, std::memory_order_release);  // pairs with Inbox::rings
    return wake();
  }
  /// What a cell's turn is to be; counters and turns begin anew after 2^32 cells.
  std::uint32_t turn(std::uint32_t cells_before) const { return (cells_before >> cell_bits) + 1; }
  /// A copy job of the mailbox's owner.
  CopyJob& job(std::uint32_t index) const {
    if (index >= Mailbox::jobs) [[unlikely]]
      return added_job(index - Mailbox::jobs);
    return reinterpret_cast<CopyJob*>(reinterpret_cast<std::byte*>(box) + Mailbox::jobs_at)[index];
  }
  /// See Inbox::add_jobs.
  bool add_jobs(int block) const;

 private:
  CopyJob& added_job(std::uint32_t index) const;
  [[gnu::cold]] void wake_slow() const;

  memory::Job* memory_ = nullptr;
};

/// A claimed place in a peer's rings, to be filled and committed.
struct Claim {
  static constexpr std::uint32_t payload_max = most_payload;
  wire::Cell* cell;
  std::byte* payload;
  std::uint32_t units;  // of the ring that the payload takes
  bool cold = false;    // the payload's lines have been read elsewhere since they were written here
  std::uint32_t turn;
  bool follows;  // the sender's claim before: nobody else sends here just now
};

/// A rank's view of one peer's mailbox, for sending. Guarded by the context's lock.
class Outbox {
 public:
  void open(memory::Job& job, int world_rank, int context = 0) {
    at_ = View(job, world_rank, context);
  }
  /// Of a rank whose mailbox is not in this memory: one that has no room, ever.
  void open_full(Mailbox& full) { at_.box = &full; }
  bool is_open() const { return at_.box != nullptr; }

  /// Claim a cell and room for `payload_bytes` in the ring. False if there is no room now.
  /// cost: one compare-and-swap on a line that is ours unless other ranks send to the same peer.
  bool claim(std::uint32_t payload_bytes, Claim* out);
  /// Publish a filled cell, for the receiver's next look.
  void publish(const Claim& claim) {
    // release: pairs with Inbox::poll
    claim.cell->turn.store(claim.turn, std::memory_order_release);
  }
  /// Publish a filled cell and wake the receiver if it sleeps. Returns true if it did.
  bool commit(const Claim& claim) {
    publish(claim);
    return wake();
  }
  /// After a message of a row: take the lines of a later one out of the receiver's cache. The
  /// compare-and-swap of claim() waits until all that was written before has its lines; so else
  /// each message takes as long as a line's way there and back.
  void fetch_ahead(const Claim& last);
  /// relaxed: a hint; a late reader pushes a few messages more
  bool asks_first() const { return at_.box->asks_first.load(std::memory_order_relaxed) != 0; }
  /// relaxed: a hint; see Inbox::say_waits
  bool is_in_wait() const { return at_.box->in_wait.load(std::memory_order_relaxed) != 0; }
  bool wake() { return at_.wake(); }
  bool ring() { return at_.ring(); }
  /// Whoever waits in the rank has to look here, in whatever context it sleeps: there was no room,
  /// or something here needs an answer.
  void knock();
  CopyJob& job(std::uint32_t index) { return at_.job(index); }

 private:
  View at_;
  std::uint32_t head_cells_ = 0;  // the receiver's head as last seen
  std::uint32_t head_units_ = 0;
  std::uint32_t next_cell_ = 0;  // after the last that was claimed here
};

/// Where a mailbox's next message will be: for a thread that looks for it without the context's
/// lock. Another thread may take the message meanwhile; then there seem to be news until the next
/// glance.
class Glance {
 public:
  Glance(const wire::Cell* cell, std::uint32_t turn, const std::byte* payload)
      : cell_(cell), turn_(turn), payload_(payload) {}
  bool has_news() const {
    // relaxed: whoever takes it looks again
    if (cell_->turn.load(std::memory_order_relaxed) == turn_) return true;
    __builtin_prefetch(payload_);  // as Inbox::poll()
    return false;
  }

 private:
  const wire::Cell* cell_;
  std::uint32_t turn_;
  const std::byte* payload_;
};

/// The rank's own mailbox, for receiving. One thread at a time (the context's lock).
class Inbox {
 public:
  void open(memory::Job& job, int world_rank, int context = 0);

  /// The message after `n` others, or nullptr.
  const wire::Cell* ahead(std::uint32_t n) const {
    const std::uint32_t at = head_cells_ + n;
    const wire::Cell* cell = at_.cells + (at & (at_.cell_count - 1));
    // acquire: pairs with Outbox::commit
    return cell->turn.load(std::memory_order_acquire) == at_.turn(at) ? cell : nullptr;
  }
  /// The next message, or nullptr. It stays valid until consume().
  const wire::Cell* poll() const {
    const wire::Cell* cell = at_.cells + (head_cells_ & (at_.cell_count - 1));
    // acquire: pairs with Outbox::commit
    if (cell->turn.load(std::memory_order_acquire) == turn_) return cell;
    // Where its payload will lie: that line is on its way while the cell's still is.
    __builtin_prefetch(at_.units + std::size_t{head_units_ & (at_.unit_count - 1)} * 64);
    return nullptr;
  }
  Glance glance() const {
    return {at_.cells + (head_cells_ & (at_.cell_count - 1)), turn_,
            at_.units + std::size_t{head_units_ & (at_.unit_count - 1)} * 64};
  }
  const std::byte* payload(const wire::Cell& cell) const {
    return at_.units + std::size_t{cell.unit & (at_.unit_count - 1)} * 64;
  }
  /// Free the cell that poll() returned.
  void consume(const wire::Cell& cell) {
    head_units_ += cell.units;
    if ((++head_cells_ & (at_.cell_count - 1)) == 0) turn_ = at_.turn(head_cells_);
    if (head_cells_ - told_cells_ >= at_.cell_count / 4 ||
        head_units_ - told_units_ >= at_.unit_count / 4)
      tell();
  }
  /// Free `n` more cells with it, which take nothing of the ring's payload.
  void skip(std::uint32_t n) {
    head_cells_ += n;
    turn_ = at_.turn(head_cells_);
  }
  sync::ParkWord& parked() { return at_.box->parked; }
  bool wake() { return at_.wake(); }
  bool ring() { return at_.ring(); }
  /// Be told of news that is no message: rings() changes then, mostly.
  void watch(bool yes) { at_.box->watched.store(yes ? 1 : 0, std::memory_order_relaxed); }
  std::uint32_t rings() const {
    // acquire: what the news is about; pairs with View::ring
    return at_.box->rung.load(std::memory_order_acquire);
  }
  /// relaxed: what it asks for is looked at under the lock
  bool is_knocked() const { return at_.box->knocked.load(std::memory_order_relaxed) != 0; }
  void hear_knock() {
    // seq_cst: before the look; pairs with Outbox::knock
    if (is_knocked()) at_.box->knocked.exchange(0, std::memory_order_seq_cst);
  }
  void ask_first(bool yes) { at_.box->asks_first.store(yes ? 1 : 0, std::memory_order_relaxed); }
  /// This rank waits now, or does no longer.
  void say_waits(bool yes) { at_.box->in_wait.store(yes ? 1 : 0, std::memory_order_relaxed); }
  CopyJob& job(std::uint32_t index) { return at_.job(index); }
  /// Add block `block` to this rank's copy jobs: Mailbox::jobs_in_block(block) of them. False:
  /// there is no memory, errno says why.
  bool add_jobs(int block) { return at_.add_jobs(block); }
  /// Of the rank's context, as long as its place is there (Fragments::open).
  Lasting lasting() { return {&at_.box->fragments, &at_.box->fragment_count}; }
  /// Largest payload a single message may carry through the ring.
  std::uint32_t payload_max() const {
    return std::min(Claim::payload_max, at_.unit_count * 64 / 8);
  }

 private:
  void tell();

  View at_;
  std::uint32_t turn_ = 1;
  std::uint32_t head_cells_ = 0, head_units_ = 0;  // consumed
  std::uint32_t told_cells_ = 0, told_units_ = 0;  // consumed, as published
};

}  // namespace weft::shm
