// SPDX-License-Identifier: Apache-2.0
//
// Where the longer pieces of messages lie while they travel: fragments of shared memory. Each
// context owns a pool of them and lends them to its receivers.
//
// A sender writes a line the faster the farther it has gone from its reader's own caches, or if it
// has itself just read it. So a piece goes into a fragment that this context has just read: one
// that its receiver has lent (an answer, an exchange: the fragment goes home with it), or an own
// one that came home so. Else it goes into the own one that came home first, after as many others
// as the pool has: together these do not fit a reader's L2 (model::bulk_bytes). A receiver keeps a
// few of the fragments that it has read, to answer in, and gives the others back, several with one
// notice (wire::What::back).
//
// A fragment has one holder at a time: who may write it, or who is to read it. It changes hands by
// a cell, whose turn is stored with release and loaded with acquire (mailbox.h). So all of this is
// plain data, guarded by the context's lock.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "memory/job.h"
#include "shm/limits.h"

namespace weft::shm {

/// Where a context's fragments are, and how many there is room for: for whoever has the rank's
/// place after it, since memory that was added to the job stays.
struct Lasting {
  std::uint64_t *start = nullptr, *count = nullptr;
};

/// The fragments of a context. A fragment's name is the number of its first page in the job's
/// memory, the same in all processes; 0 is none.
class Fragments {
 public:
  static constexpr std::size_t bytes = fragment_bytes;

  /// `room`: bytes of all of them; memory is used as they are.
  void open(memory::Job& job, std::int64_t room, Lasting lasting = {}) {
    job_ = &job;
    lasting_ = lasting;
    count_ = static_cast<std::uint32_t>(room / static_cast<std::int64_t>(bytes));
  }
  std::uint32_t count() const { return count_; }
  bool is_own(std::uint32_t name) const { return name - first_ < home_.size() * pages; }
  std::byte* at(std::uint32_t name) const { return job_->at(std::uint64_t{name} * page); }

  /// Is one at home? The first question reserves them.
  bool has_one() {
    if (home_.empty() && count_ > 0) [[unlikely]]
      reserve();
    return at_home_ > 0;
  }
  std::uint32_t at_home() { return has_one() ? at_home_ : 0; }
  /// Is the next one in this core's caches? Has it never been used?
  bool is_warm() const { return warm_ > 0; }
  bool is_new() const { return warm_ == 0 && new_ > 0; }
  /// The one that was read here last, else the one that came home first.
  std::uint32_t take() {
    const std::uint32_t name = home_[next_];
    if (is_new()) --new_;
    if (warm_ > 0) --warm_;
    if (++next_ == count_) next_ = 0;
    --at_home_;
    return name;
  }
  /// It came home unread, or after an answer in it that was just read here.
  void give(std::uint32_t name) {
    const std::uint32_t end = next_ + at_home_++;
    home_[end < count_ ? end : end - count_] = name;
  }
  void give_warm(std::uint32_t name) {
    next_ = (next_ == 0 ? count_ : next_) - 1;
    home_[next_] = name;
    ++at_home_;
    warm_ = std::min(warm_ + 1, most_warm);
  }

 private:
  static constexpr std::uint32_t page = memory::page, pages = bytes / page;
  [[gnu::cold]] void reserve();

  memory::Job* job_ = nullptr;
  Lasting lasting_;
  std::uint32_t count_ = 0;
  std::uint32_t first_ = 0;  // the first one's name; all follow it
  // At home, in the order in which they are taken: a circle of `count_`, from `next_` on. Warm ones
  // come first, then new ones until all have been used.
  std::vector<std::uint32_t> home_;
  std::uint32_t next_ = 0, at_home_ = 0, warm_ = 0, new_ = 0;
};

/// A peer's fragments that this context has read.
class Borrowed {
 public:
  // Kept to answer in. Measured, 2-core EPYC (1 MiB L2), 2026-11-23, 16 and 64, messages of 1 MiB
  // there and back: 50 and 36 us (buffers untouched 33 and 20); shorter ones the same.
  static constexpr std::uint32_t most = 64;
  static constexpr std::uint32_t in_a_notice = 8;  // wire::Cell::fragments

  bool has_one() const { return kept_ > 0; }
  std::uint32_t kept() const { return kept_; }
  /// The one that was read last.
  std::uint32_t take() { return circle_[(first_ + --kept_) % most]; }
  /// Keep one that was just read, and no more than `limit`: the oldest go back.
  void keep(std::uint32_t name, std::uint32_t limit) {
    while (kept_ >= limit) drop_oldest();
    circle_[(first_ + kept_++) % most] = name;
  }
  void drop_all() {
    while (kept_ > 0) drop_oldest();
  }
  /// To be given back.
  std::vector<std::uint32_t> back;

 private:
  void drop_oldest() {
    back.push_back(circle_[first_]);
    first_ = (first_ + 1) % most;
    --kept_;
  }

  std::uint32_t circle_[most] = {};
  std::uint32_t first_ = 0, kept_ = 0;
};

}  // namespace weft::shm
