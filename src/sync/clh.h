// SPDX-License-Identifier: Apache-2.0
//
// The queue lock of Craig (TR 93-02-02, 1993), Landin and Hagersten, which the queues of the other
// locks are made of. Each thread swaps a node of its own into the tail and waits on the node it
// got, which is its predecessor's; so a hand-over moves one line, and the order is first come,
// first served. The predecessor's node is then free for anybody.
//
// Nodes belong to the lock: a thread takes a free one where its own address hashes to, so it mostly
// finds those it used last. There are as many as threads waited at once, and a few more. The tail
// names its node by number and by how often the node was used, so that try_acquire() cannot take a
// reused node for the one it looked at.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "sync/spin.h"

namespace weft::sync {

class Clh {
 public:
  explicit Clh(const LockSettings& settings);
  ~Clh();
  Clh(const Clh&) = delete;
  Clh& operator=(const Clh&) = delete;

  void acquire();
  bool try_acquire();
  /// By whoever holds it; may be another thread than acquired it.
  void release();
  /// Has anybody come after the holder? For the holder. relaxed: who is missed comes later
  bool has_waiters() const { return tail_.load(std::memory_order_relaxed) != holder_; }
  std::uint64_t joined() const { return tail_.load(std::memory_order_relaxed); }

 private:
  enum State : std::uint32_t { unused, waiting, granted };
  struct alignas(64) Node {
    std::atomic<std::uint32_t> state{unused};
    std::uint32_t uses = 0;  // of whoever took the node
  };
  static constexpr std::uint32_t first_nodes = 8;  // chunk k has first_nodes << k
  static constexpr int most_chunks = 20;

  Node& node(std::uint64_t name) const;
  std::uint64_t take();
  std::uint32_t grow(std::uint32_t count);

  alignas(64) std::atomic<std::uint64_t> tail_;  // uses << 32 | number
  alignas(64) std::uint64_t holder_ = 0;         // the holder's node; the holder's
  const LockSettings settings_;
  std::atomic<std::uint32_t> count_{0};  // of nodes
  std::atomic<Node*> chunks_[most_chunks] = {};
};

}  // namespace weft::sync
