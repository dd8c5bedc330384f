// SPDX-License-Identifier: Apache-2.0
//
// Small blocking collectives inside a node, on shared flags and slots: no schedule, no allocation,
// no message. One object per communicator and rank.
//
// Streams (bcast, reduce, gather, scatter): who has data writes it to his seat and goes on; who
// needs it waits for the seat's turn. A writer waits for nobody unless he is a whole window ahead.
// Meetings (barrier, allreduce, allgather, alltoall): everybody waits for everybody. With few ranks
// on cores of their own each looks at all seats (one line each way). Otherwise each counts himself
// in at a node of a small tree and the last one to arrive does what remains, so a rank that waits
// is scheduled once per operation, to find it done (ours; the tree of counters is Yew, Tzeng,
// Lawrie, IEEE TC 36(4), 1987, with the last arriver going up).
//
// Reductions fold in rank order, c0 op (c1 op (c2 ...)), within a node's `fan` children and then
// over nodes, whoever does it; so the bits depend on neither the rank nor the mode.
#pragma once

#include <cstring>

#include "coll/blocks.h"
#include "coll/shared/block.h"
#include "pt2pt/engine.h"

namespace weft::coll {

class Shared {
 public:
  /// Make the block of `comm` (collective, over messages). Null if the job's heap is full or the
  /// parameter coll.shared_max is 0.
  static Shared* attach(Comm& comm);
  /// The last rank to leave gives the block back.
  ~Shared();

  /// Largest payload of one rank.
  std::int64_t max_bytes() const { return slot_bytes_; }

  void barrier();
  void allreduce(const Operands& x);
  void allgather(const ConstBuffer& send, const Blocks& recv, std::int64_t bytes);
  /// Legal if size * bytes <= max_bytes(); so is scatter.
  void alltoall(const Blocks& send, const Blocks& recv, std::int64_t bytes);

  void bcast(const Buffer& buffer, int root);
  void reduce(const Operands& x, int root);
  void gather(const ConstBuffer& send, const Blocks& recv, int root, std::int64_t bytes);
  void scatter(const Blocks& send, const Buffer& recv, int root, std::int64_t bytes);

 private:
  Shared(Comm& comm, std::byte* block, std::uint64_t offset);

  Seat& seat(int rank) const { return seats_[rank * window + static_cast<int>(now_ % window)]; }
  std::byte* slot(int rank, std::int64_t bytes) const {
    return bytes <= inline_max
               ? seat(rank).payload
               : slots_ + (rank * window + static_cast<std::int64_t>(now_ % window)) * slot_bytes_;
  }

  /// Begin the next operation; `reserve` also waits until this rank's seat is free.
  void begin() { ++now_; }
  void reserve() {
    begin();
    if (now_ - known_ > window) [[unlikely]]
      wait_for_room();
  }
  void wait_for_room();
  /// The operations that all ranks are known to have finished.
  void look_at_finished();
  /// Tell everybody that this rank's seat is filled.
  void publish();
  /// Wait for `rank`'s data.
  const std::byte* await(int rank, std::int64_t bytes);
  /// The end of a stream: this rank needs no seat of it any more.
  void finish();
  /// The end of a meeting: everybody came, so everybody has finished what was before.
  void met() { known_ = now_ - 1; }

  void meet(const Operands* x, std::int64_t bytes);
  /// Fill this rank's seat and wait until everybody has filled his.
  void come();
  /// value = child(0) op (child(1) op ...)
  template <class Child>
  static void fold(const Operands& x, int children, std::byte* value, Child&& child) {
    std::memcpy(value, child(children - 1), static_cast<std::size_t>(x.count * x.type->size));
    for (int i = children - 2; i >= 0; --i)
      datatype::reduce(x.op->operation, x.type->basic, child(i), value, x.count);
  }
  template <class Done>
  void wait(Done&& done);
  void wake(int rank);
  void wake_all();

  Comm& comm_;
  pt2pt::Engine& engine_;
  const int rank_, size_;
  const std::uint64_t offset_;
  BlockHeader& header_;
  const std::int64_t slot_bytes_;
  const bool flat_;
  Seat* meeting_;
  std::byte* meeting_slot_;
  Node* nodes_;
  std::byte* node_slots_;
  Seat* seats_;
  std::byte* finished_;  // a line per rank: the newest stream it has finished
  std::byte* slots_;
  std::uint64_t now_ = 0;       // number of the operation
  std::uint64_t known_ = 0;     // all ranks have finished operations up to this one
  std::uint32_t meetings_ = 0;  // at the nodes
};

}  // namespace weft::coll
