// SPDX-License-Identifier: Apache-2.0
//
// Blocking collectives inside a node, on shared flags and memory: no schedule, no allocation, no
// message. One object per communicator and rank.
//
// Streams (bcast, reduce, gather, scatter of little): who has data writes it to his seat and goes
// on; who needs it waits for the seat's turn. A writer waits for nobody unless he is a whole window
// ahead. Meetings (everything else): everybody waits for everybody. With few ranks on cores of
// their own each looks at all seats (one line each way). Otherwise each counts himself in at a node
// of a small tree and the last one to arrive does what remains, so a rank that waits is scheduled
// once per operation, to find it done (ours; the tree of counters is Yew, Tzeng, Lawrie, IEEE TC
// 36(4), 1987, with the last arriver going up).
//
// Where data is:
//   slot     up to coll.shared_max: a copy in the block, in the flag's own line if it fits there
//   direct   longer, ranks of one process, where it is worth it: the users' own buffers; the seat
//            tells where (direct.cc)
//   block    longer, else: a copy in the block, in pieces or strips (strips.cc)
// way.h decides.
// Large reductions are tiled: rank i reduces part i of the vector for all (naive tiled
// reduce-broadcast; Li, Hoefler, Snir: NUMA-Aware Shared-Memory Collective Communication for MPI,
// HPDC 2013, section 2.4).
//
// Reductions fold in rank order, c0 op (c1 op (c2 ...)); for little data `fan` near ranks at a node
// and then nodes, whoever does it. So the bits depend on neither rank nor mode.
#pragma once

#include <cstring>
#include <deque>
#include <optional>
#include <vector>

#include "base/clock.h"
#include "coll/block/block.h"
#include "coll/block/tile.h"
#include "coll/blocks.h"
#include "coll/boards/board.h"
#include "coll/explore.h"
#include "coll/signature.h"
#include "coll/state.h"
#include "pt2pt/deaths.h"
#include "pt2pt/engine.h"

namespace weft::coll {

class Shared {
 public:
  /// Find the block of `comm`, without a message. Null, for all its ranks, if the job's heap is
  /// full or the parameter coll.shared_max is 0.
  static Shared* attach(Comm& comm);
  static memory::BlockName block_name(const Comm& comm);
  /// The last rank to leave gives the block back.
  ~Shared();

  /// A strip has a line for each of them.
  static constexpr int ranks_max = Cuts(false, false).strip_max / 64;

  /// Has `rank` filled its seat of an operation that this rank has not begun? Then what it does.
  std::optional<std::uint64_t> ahead(int rank) const {
    const Seat& theirs = seat(rank, now_ + 1);
    if (theirs.turn.load(std::memory_order_acquire) <= now_) return {};
    return theirs.what;
  }

  /// The communicator's settings have changed.
  void forget_ways() {
    for (auto& calls : known_ways_)
      for (auto& sizes : calls) std::fill(std::begin(sizes), std::end(sizes), Known{});
    trials_.clear();
    looking_ = nullptr;
  }

  /// The way of a blocking call, and of one that is timed (explore.h), until its end.
  struct Going {
    Place place = Place::slots;
    const Way* way = nullptr;  // if several are tried
    Trial* timed = nullptr;
    std::int64_t bytes = 0;

    Going() = default;
    Going(const Going&) = delete;
    ~Going() {
      if (timed != nullptr) [[unlikely]]
        timed->ended(now_ns(), bytes);
    }
  };
  /// The next call's. `reach`: may it go direct? An error if ranks that compare their times find
  /// that they do not do the same.
  Err go(Going& out, Call call, std::int64_t bytes, bool reach = true) {
    const Known known = known_way(call, bytes, reach);
    out.place = known.place;
    if (known.trial == 0) [[likely]]
      return ok;
    return try_ways(out, trials_[known.trial - 1U], call, bytes);
  }

  // All return MPI_ERR_TRUNCATE or MPI_ERR_OTHER if this rank sees that another one called
  // something else, or for another number of bytes.
  Err barrier();
  /// `to`: where go() has said.
  Err bcast(const Buffer& buffer, int root, Place to);
  Err reduce(const Operands& x, int root, Place to);
  Err allreduce(const Operands& x, Place to);
  /// Of ranks 0 to ours, or to the one before (exscan).
  Err scan(Call call, const Operands& x, Place to);
  /// `total`: bytes of the whole vector.
  Err reduce_scatter(Call call, const Operands& x, const Parts& parts, std::int64_t total,
                     Place to);
  Err allgather(const ConstBuffer& send, const Blocks& recv, std::int64_t bytes, Place to);
  Err alltoall(const Blocks& send, const Blocks& recv, std::int64_t bytes, Place to);
  Err gather(const ConstBuffer& send, const Blocks& recv, int root, std::int64_t bytes, Place to);
  Err scatter(const Blocks& send, const Buffer& recv, int root, std::int64_t bytes, Place to);

 private:
  Shared(Comm& comm, std::uint64_t offset, std::int64_t slot_bytes);

  Seat& seat(int rank) const { return seat(rank, now_); }
  Seat& seat(int rank, std::uint64_t number) const {
    const auto turn =
        static_cast<std::uint32_t>(number) & (static_cast<std::uint32_t>(seats_each_) - 1);
    return seats_[rank * seats_each_ + static_cast<int>(turn)];
  }
  /// The places of an operation, for slots and pieces, are counted from the rank `first_`.
  int place(int rank) const {
    const int n = rank - first_;
    return n < 0 ? n + size_ : n;
  }
  std::byte* slot(int rank, std::int64_t bytes) const {
    if (bytes <= inline_max) return seat(rank).payload;
    const std::int64_t first = std::int64_t{place(rank)} * slots_for(crowded_);
    const std::uint64_t turn = crowded_ ? now_ % slots_in_crowd : now_ % places;
    return slots_ + (first + static_cast<std::int64_t>(turn)) * slot_room(slot_bytes_);
  }
  /// Which of the parts for all others in the slot or strip of `of` is that for `to`.
  static int part(int of, int to) { return to < of ? to : to - 1; }
  std::byte* piece(int rank) const {
    return pieces_ + place(rank) * cuts_.piece_room() + piece_at_;
  }
  std::byte* strip(int rank) const {
    const std::uint64_t turn = strips_used_ / strips_each, k = strips_used_ % strips_each;
    const auto place =
        (static_cast<std::uint64_t>(rank) + turn) % static_cast<std::uint64_t>(size_);
    return strips_ + static_cast<std::int64_t>(place * strips_each + k) * cuts_.strip_max;
  }

  /// Where the data of operations of a size goes, and whether several ways are tried: 1 and the
  /// place in trials_, or 0.
  struct Known {
    bool is_known = false;
    Place place = Place::slots;
    std::uint16_t trial = 0;
  };
  Known known_way(Call call, std::int64_t bytes, bool reach) {
    const bool in_line = held_by_slot(call, bytes, size_) <= inline_max;
    if (comm_.coll->settings.ways_matter) [[unlikely]] {
      if (in_line || asked_way(comm_, call) != nullptr) return find_way(call, bytes, reach);
    } else if (in_line) {
      return {};
    }
    const int column = column_of(bytes);
    if (column >= Choices::sizes) [[unlikely]]
      return find_way(call, bytes, reach);
    Known& known = known_ways_[reach][family(call)][column];
    if (!known.is_known) [[unlikely]]
      known = find_way(call, bytes, reach);
    return known;
  }
  /// Where the data of an operation goes; direct only where it may (`reach`).
  Place place_of(Call call, std::int64_t bytes, bool reach = true) {
    return known_way(call, bytes, reach).place;
  }
  Known find_way(Call call, std::int64_t bytes, bool reach);
  Err try_ways(Going& out, Trial& trial, Call call, std::int64_t bytes);
  /// A meeting about the times of a look.
  Err decide(Trial& trial, Call call, std::int64_t bytes);

  // --- the moves that all operations are made of (shared.cc)
  /// What this rank is about to do, and expects of the others: a word that they compare with
  /// theirs. What it sends may be wrong, too.
  void note(Call call, std::int64_t bytes) { note(call, bytes, bytes); }
  void note(Call call, std::int64_t bytes, std::int64_t sent) {
    what_ = note_of(call, sent);
    other_ = expected_ = note_of(call, bytes);
    parted_ = dead_ >= 0;
  }
  /// The first place is that of `rank`: of a root that writes, or of the rank behind a root that
  /// does not.
  void count_from(int rank, std::int64_t held) {
    first_ = held > look_ahead_max && rank < size_ ? rank : 0;
  }
  /// Of a meeting, where all write: everybody moves on after `places` operations.
  void count_by_turns(std::int64_t held) {
    const auto ranks = static_cast<std::uint64_t>(size_);
    first_ = held > look_ahead_max ? static_cast<int>((now_ + 1) / places % ranks) : 0;
  }
  bool all_agree() const { return other_ == expected_ && !parted_; }
  /// Remember it if `rank` does something else than we. Its seat is filled.
  void compare(int rank) {
    if (parted_) [[unlikely]]
      return;
    // Others have taken the own seat's line.
    const std::uint64_t what = rank == rank_ ? what_ : seat(rank).what;
    if (what == expected_) [[likely]]
      return;
    other_ = what;
    other_rank_ = rank;
  }
  /// Begin the next operation; make sure that this rank's seat of it is free, and its slot if it
  /// writes more `bytes` than the seat's line holds; both; the same with its place for a piece.
  void begin() { ++now_; }
  void reserve(std::int64_t bytes) {
    begin();
    make_room(bytes);
  }
  void make_room(std::int64_t bytes) {
    wait_if_ahead(bytes > inline_max ? slots_for(crowded_) - 1 : seats_each_);
  }
  void reserve_piece() {
    begin();
    wait_if_ahead(window);
  }
  void wait_if_ahead(int by) {
    const auto ahead = static_cast<std::uint64_t>(by);
    if (now_ - known_ > ahead) [[unlikely]]
      wait_until_finished(now_ - ahead);
  }
  /// Whose part a wait is for: one rank's, or that of all who lack it. For who asks why nobody
  /// moves.
  struct Missing {
    const Shared* shared;
    int rank = 0;
    std::uint64_t number = 0;
    bool (*lacks)(const void* missing, int rank) = nullptr;
  };
  /// Wait until all ranks have finished operation `number`, a stream.
  void wait_until_finished(std::uint64_t number);
  /// The operations that all ranks are known to have finished.
  void look_at_finished();
  /// Tell everybody that this rank's seat is filled.
  void publish();
  /// Wait for `rank`'s seat.
  const std::byte* await(int rank, std::int64_t bytes) {
    // acquire: pairs with publish()
    if (seat(rank).turn.load(std::memory_order_acquire) != now_) wait_for_seat(rank, bytes);
    compare(rank);
    // Whoever goes another way may write his yet.
    return slot(parted_ ? rank_ : rank, bytes);
  }
  void wait_for_seat(int rank, std::int64_t bytes);
  /// The end of a stream: this rank needs no seat of it any more.
  void finish();
  /// The end of a meeting: everybody came, so everybody has finished what was before.
  void met() { known_ = now_ - 1; }
  /// Everybody waits for everybody; with operands their fold is in the meeting's payload then.
  void meet(const Operands* x, std::int64_t bytes);
  /// Everybody waits until everybody has filled his seat. In two steps: what a rank does between
  /// them costs nothing while flags travel.
  void come();
  void arrive();
  void await_all();
  /// Everybody has come: do all do the same?
  bool do_all_agree();
  bool come_and_agree() {
    come();
    return do_all_agree();
  }
  /// A whole meeting without data. Ranks that come together would look at each other's seats while
  /// the old lines are still in their caches: a look too early costs more than a pause (a barrier
  /// 67 ns, with the pause 45; 2 near cores, 2026-11-22).
  void meet_again() {
    reserve(0);
    arrive();
    if (flat_) sync::pause();
    await_all();
    met();
  }
  bool meet_and_agree() {
    reserve(0);
    const bool agree = come_and_agree();
    met();
    return agree;
  }
  template <class Done>
  void wait(Done&& done, const Missing& missing);
  /// Has somebody who is awaited gone another way: ended this operation, begun one at a board that
  /// this rank does not know of, or called something else and waits itself? Then all waits of this
  /// operation are over.
  template <class Done>
  [[gnu::cold]] bool has_parted(const Missing& missing, Done&& done);
  /// Say what this rank is about to sleep in, where it waits for a seat; and what another one calls
  /// the operation, if it sleeps in the same one without having filled its own seat. (Who has
  /// filled it is no hindrance: all that wait for it come, and compare.)
  void say();
  std::uint64_t said_by(int rank) const;
  void give_up_at(Boards& boards);
  void wake(int rank);
  void wake_all();
  /// The end of an operation: did all ranks do the same?
  Err agreed() const {
    if (all_agree()) [[likely]]
      return ok;
    if (dead_ >= 0) return pt2pt::died(comm_, dead_);
    return other_ != expected_ ? notes_differ(comm_, other_rank_, other_, expected_)
                               : ended_early(comm_, other_rank_, expected_);
  }
  /// The same, of a stream of several writers. Who found that one does something else reads no
  /// more of what it may still write, so nobody is to wait for that.
  Err agreed_with_writers() {
    if (!all_agree()) [[unlikely]]
      read_no_more();
    return agreed();
  }
  [[gnu::cold]] void read_no_more();

  /// value = child(0) op (child(1) op ...), where `value` may be one of the last two children. As
  /// much at a time as stays in the first cache.
  template <class Child>
  static void fold(const Operands& x, std::int64_t count, int children, std::byte* value,
                   Child&& child) {
    const std::int64_t size = x.type->size, step = children > 2 ? fold_bytes / size : count;
    for (std::int64_t at = 0; at < count; at += step) {
      const std::int64_t n = std::min(step, count - at);
      std::byte* const to = value + at * size;
      const std::byte* folded = child(children - 1) + at * size;
      if (children == 1) std::memcpy(to, folded, static_cast<std::size_t>(n * size));
      for (int i = children - 2; i >= 0; --i, folded = to)
        datatype::reduce(x.op->operation, x.type->basic, {child(i) + at * size, folded, to, n});
    }
  }
  /// The same of a part that this rank folds for all: `operand(i)` is that of rank i. Folding in
  /// rank order all would read one rank's at a time, and its cache would serve everybody; so each
  /// asks for them beforehand, first for that of the rank behind it. Measured, 16 processes (Xeon
  /// family 6 model 207), allreduce of 64 KiB 52 and 35 us, of 1 MiB 1050 and 750.
  template <class Operand>
  void fold_part(const Operands& x, std::int64_t count, std::byte* value, Operand&& operand) const {
    for (int i = 1; i < size_ && size_ > 2 && !crowded_; ++i) {
      const std::byte* const from = operand((rank_ + i) % size_);
      for (std::int64_t at = 0; at < count * x.type->size; at += 64)
        __builtin_prefetch(from + at, 0, 2);  // a first cache does not hold all
    }
    fold(x, count, size_, value, operand);
  }

  // --- longer than a slot (direct.cc, strips.cc)
  /// What a rank shows the others: where its data is in the process they share, or is to be.
  struct Shown {
    ConstBuffer buffer;  // or its first block
    void* result;        // of a reduction
  };
  /// In this rank's seat of the operation that it has begun.
  void show(const ConstBuffer& buffer, void* result = nullptr);
  const Shown& shown(int rank) const { return *reinterpret_cast<const Shown*>(seat(rank).payload); }
  /// Block `i`, as large as the one that `rank` shows as its first.
  Buffer room_of(int rank, int i) const { return Blocks(shown(rank).buffer)[i]; }
  /// A copy of `bytes` (at most) from a rank's buffer to another's; past the caches where the model
  /// says that they would not hold what `call` moves.
  void move(Call call, const ConstBuffer& from, const Buffer& to, std::int64_t bytes);
  /// Through strips of `step` bytes: `fill` writes this rank's, `take` reads the others', each for
  /// `n` bytes (at most `step`) from byte `at` on. `meanwhile`: what the rank can do for itself
  /// while the first flags travel.
  template <class Fill, class Meanwhile, class Take>
  void in_strips(std::int64_t total, std::int64_t step, Fill&& fill, Meanwhile&& meanwhile,
                 Take&& take);
  /// Begin an operation of `bytes` in pieces, and say how long they are. The rank `first` has the
  /// first room; `writer`: of two ranks, the one that writes.
  std::int64_t cut_pieces(std::int64_t bytes, int first, int writer) {
    return cut_pieces(bytes, first, writer, cuts_.piece(bytes));
  }
  std::int64_t cut_pieces(std::int64_t bytes, int first, int writer, std::int64_t step);
  /// Where the pieces of the operation that has just begun are.
  void place_pieces();
  int after(int rank) const { return rank + 1 < size_ ? rank + 1 : 0; }
  void bcast_direct(const Buffer& buffer, int root);
  void bcast_pieces(const Buffer& buffer, int root);
  /// The result goes to `root`, or to everybody if it is `everybody`.
  static constexpr int everybody = -1;
  void reduce_direct(const Operands& x, int root);
  /// Between two ranks: bring elements [first, first + n) of this one's operand to element `at` of
  /// the other's result, until both have. That result; empty if the other does something else.
  std::optional<std::byte*> bring_to_other(const Operands& x, std::int64_t first, std::int64_t n,
                                           std::int64_t at);
  void allreduce_of_two(const Operands& x);
  void reduce_scatter_of_two(const Operands& x, const Parts& parts);
  void reduce_strips(const Operands& x, int root);
  void reduce_pieces(const Operands& x, int root);
  void allreduce_strips(const Operands& x);
  void reduce_scatter_direct(const Operands& x, const Parts& parts);
  void allgather_direct(const ConstBuffer& send, const Blocks& recv);
  void allgather_strips(const ConstBuffer& send, const Blocks& recv, std::int64_t bytes);
  void scan_pieces(Call call, const Operands& x);
  void reduce_scatter_strips(const Operands& x, const Parts& parts);
  void gather_pieces(const ConstBuffer& send, const Blocks& recv, int root, std::int64_t bytes);
  void scatter_pieces(const Blocks& send, const Buffer& recv, int root);
  void alltoall_strips(const Blocks& send, const Blocks& recv, std::int64_t bytes);
  void alltoall_direct(const Blocks& send, const Blocks& recv);
  void gather_direct(const ConstBuffer& send, const Blocks& recv, int root);
  void scatter_direct(const Blocks& send, const Buffer& recv, int root);

  Comm& comm_;
  pt2pt::Engine& engine_;
  const int rank_, size_;
  const std::uint64_t offset_;
  BlockHeader& header_;
  const std::int64_t slot_bytes_;
  const bool flat_;       // everybody looks at everybody; else the last one to arrive works for all
  const bool crowded_;    // more ranks than CPUs
  const int seats_each_;  // a power of two
  const Cuts cuts_;
  const bool direct_;                      // all are ranks of this process
  const std::vector<std::int32_t> order_;  // ranks, those that are near one behind the other
  const int position_;                     // this one's there
  Choices& choices_;
  Known known_ways_[2][families][Choices::sizes];  // [reach]
  std::deque<Trial> trials_;
  const Trial* looking_ = nullptr;  // whose turn it is to look
  int waited_ = 0;                  // calls of others since its last one
  Seat* meeting_;
  std::byte* meeting_slot_;
  Node* nodes_;
  std::byte* node_slots_;
  Seat* seats_;
  std::byte* finished_;  // a line per rank: the newest stream it has finished
  std::byte *slots_, *pieces_, *strips_;
  std::uint64_t now_ = 0;    // number of the operation
  std::uint64_t known_ = 0;  // all ranks have finished operations up to this one
  std::uint64_t strips_used_ = 0;
  int first_ = 0;                // the rank that has the first place
  std::int64_t piece_step_ = 0;  // length of a piece
  std::int64_t piece_at_ = 0;    // in the room of whoever writes it
  bool in_places_ = false;       // by the operation's number, not in the long room
  std::int64_t long_at_ = 0;     // the next piece in the long room,
  std::int64_t long_began_ = 0;  // and the first one of the newest operation there
  int long_writer_ = -1;         // of two ranks
  std::uint32_t meetings_ = 0;   // at the nodes
  std::uint64_t what_ = 0;       // this rank's note
  std::uint64_t expected_ = 0;   // the others'
  std::uint64_t other_ = 0;      // a different one that it has seen, else the expected one
  int other_rank_ = 0;
  bool parted_ = false;     // other_rank_ has gone another way, or somebody is dead:
  std::int32_t dead_ = -1;  // who, by its rank in the world; the communicator is of no use any more
};

}  // namespace weft::coll
