// SPDX-License-Identifier: Apache-2.0
//
// What one rank of a node has found out by the model, for the others, and for communicators to
// come: in the job's memory. To price the ways of a collective between hundreds of ranks takes
// milliseconds, and all find the same.
//
// An entry has two words. A rank claims it by its name, finds the value, and writes that; who comes
// meanwhile waits. Each word says all there is, so all accesses are relaxed. A rank that dies in
// between leaves a name without a value: who has waited long enough finds the value itself.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

namespace weft::coll {

class Ledger {
 public:
  Ledger() = default;
  /// `room`: all zero before anybody has written there.
  explicit Ledger(std::span<std::byte> room)
      : entries_(reinterpret_cast<Entry*>(room.data()), room.size() / sizeof(Entry)) {}

  /// What has `name` (neither is 0). `find` says it if nobody knows; the same on all ranks.
  template <class Find>
  std::uint64_t of(std::uint64_t name, Find&& find) const {
    Entry* entry = nullptr;
    if (const std::uint64_t known = look(name, &entry)) return known;
    const std::uint64_t found = find();
    if (entry != nullptr) entry->value.store(found, std::memory_order_relaxed);
    return found;
  }

 private:
  struct Entry {
    std::atomic<std::uint64_t> name, value;
  };
  /// 0: the caller has to find it, for `entry`, if there is room for one.
  std::uint64_t look(std::uint64_t name, Entry** entry) const;

  std::span<Entry> entries_;
};

}  // namespace weft::coll
