// SPDX-License-Identifier: Apache-2.0
#include "sync/clh.h"

#include <pthread.h>

#include <bit>
#include <cstdlib>

namespace weft::sync {

Clh::Clh(const LockSettings& settings) : settings_(settings) {
  chunks_[0].store(new Node[first_nodes], std::memory_order_relaxed);
  count_.store(first_nodes, std::memory_order_relaxed);
  tail_.store(take(), std::memory_order_relaxed);
  node(tail_.load(std::memory_order_relaxed)).state.store(granted, std::memory_order_relaxed);
}

Clh::~Clh() {
  for (auto& chunk : chunks_) delete[] chunk.load(std::memory_order_relaxed);
}

Clh::Node& Clh::node(std::uint64_t name) const {
  const auto number = static_cast<std::uint32_t>(name);
  const int chunk = std::bit_width(number / first_nodes + 1) - 1;
  // acquire: the chunk's nodes are made; pairs with grow()
  Node* nodes = chunks_[chunk].load(std::memory_order_acquire);
  return nodes[number - first_nodes * ((1U << chunk) - 1)];
}

/// More nodes than `count`; returns how many there are.
std::uint32_t Clh::grow(std::uint32_t count) {
  const int chunk = std::bit_width(count / first_nodes + 1) - 1;
  if (chunk == most_chunks) std::abort();  // millions of threads wait
  const std::uint32_t size = first_nodes << chunk;
  Node* none = nullptr;
  auto* made = new Node[size];
  // release: pairs with node(); the loser of the race uses the winner's
  if (!chunks_[chunk].compare_exchange_strong(none, made, std::memory_order_release,
                                              std::memory_order_relaxed))
    delete[] made;
  // release: pairs with take(), which looks at as many nodes
  count_.compare_exchange_strong(count, count + size, std::memory_order_release,
                                 std::memory_order_relaxed);
  return count_.load(std::memory_order_acquire);
}

/// A node for the calling thread, waiting; its name.
std::uint64_t Clh::take() {
  const auto thread = static_cast<std::uint64_t>(pthread_self()) >> 12;
  const auto hash = static_cast<std::uint32_t>(thread * 0x9e3779b97f4a7c15U >> 40);
  std::uint32_t count = count_.load(std::memory_order_acquire);
  for (;;) {
    for (std::uint32_t i = 0; i < count; ++i) {
      const std::uint32_t number = (hash + i) % count;
      Node& n = node(number);
      std::uint32_t free = unused;
      // acquire: the last user is done with the node; pairs with acquire()'s last store
      if (n.state.load(std::memory_order_relaxed) == unused &&
          n.state.compare_exchange_strong(free, waiting, std::memory_order_acquire,
                                          std::memory_order_relaxed))
        return static_cast<std::uint64_t>(++n.uses) << 32 | number;
    }
    count = grow(count);
  }
}

void Clh::acquire() {
  const std::uint64_t mine = take();
  // release: my node says `waiting`; acquire: so does the predecessor's
  Node& before = node(tail_.exchange(mine, std::memory_order_acq_rel));
  // acquire: what the last holder did; pairs with release()
  for (Spin spin(settings_); before.state.load(std::memory_order_acquire) != granted;) spin.look();
  before.state.store(unused, std::memory_order_release);  // pairs with take()
  holder_ = mine;
}

bool Clh::try_acquire() {
  // acquire: the tail's node says `waiting` unless it is granted; pairs with both exchanges
  std::uint64_t last = tail_.load(std::memory_order_acquire);
  Node& before = node(last);
  if (before.state.load(std::memory_order_acquire) != granted) return false;
  const std::uint64_t mine = take();
  // If the name is the same, nobody has joined since, and granted it stays.
  if (!tail_.compare_exchange_strong(last, mine, std::memory_order_acq_rel,
                                     std::memory_order_relaxed)) {
    node(mine).state.store(unused, std::memory_order_release);
    return false;
  }
  before.state.store(unused, std::memory_order_release);
  holder_ = mine;
  return true;
}

void Clh::release() {
  node(holder_).state.store(granted, std::memory_order_release);  // pairs with acquire()
}

}  // namespace weft::sync
