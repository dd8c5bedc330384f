// SPDX-License-Identifier: Apache-2.0
//
// Making and freeing a block, and the moves that all operations are made of: reserve, publish,
// await, finish, meet.
//
// When may a seat be written again? In operation n a rank uses that of operation n - seats_each_,
// which others may still read. `known_` is a lower bound of what all have finished: after a meeting
// m it is m - 1, since everybody came to m; otherwise it is the least of the numbers that ranks
// publish at the end of each stream. They do not publish at the end of meetings: if no stream lies
// between n - seats_each_ and n, then n - 1 was a meeting and known_ is n - 2, or n - 3 between
// strips.
#include "coll/block/shared.h"

#include <algorithm>

#include "coll/boards/levels.h"
#include "coll/state.h"
#include "coll/wait.h"
#include "memory/job.h"

namespace weft::coll {
namespace {

// Names of blocks beside those of the communicator's boards, which count from 0 (boards/board.h).
constexpr std::uint32_t shared_names = 1U << 31;

bool is_flat(const Comm& comm) {
  return !comm.engine->policy.crowded && comm.size() <= flat_max;
}

Cuts cuts_of(const Comm& comm) {
  pt2pt::Engine& e = *comm.engine;
  return Cuts(e.policy.crowded, is_flat(comm), model::bulk_bytes(e.prices(), e.job->sharing()));
}

std::vector<std::int32_t> order_of(const Comm& comm) {
  const Levels levels(comm.engine->job->hierarchy(), comm.group->members);
  const auto all = levels.members(0, 0);
  return {all.begin(), all.end()};
}

/// The number of a rank that has found ranks that differ, and reads nothing of theirs any more.
constexpr std::uint64_t no_more = UINT64_MAX;

std::atomic<std::uint64_t>& number_at(std::byte* lines, int rank) {
  return *reinterpret_cast<std::atomic<std::uint64_t>*>(lines + rank * 64);
}

/// What a rank says before it sleeps, behind its number: in which operation it waits, and its note.
/// So ranks that wait for each other in different calls find out.
struct Said {
  std::atomic<std::uint64_t> number, note;
};
Said& said_at(std::byte* lines, int rank) {
  return *reinterpret_cast<Said*>(lines + rank * 64 + sizeof(std::uint64_t));
}

}  // namespace

void Shared::say() {
  Said& mine = said_at(finished_, rank_);
  if (mine.number == now_) return;
  mine.number = 0;  // no note belongs to it
  mine.note = what_;
  mine.number = now_;
}

std::uint64_t Shared::said_by(int rank) const {
  const Said& theirs = said_at(finished_, rank);
  const std::uint64_t number = theirs.number, note = theirs.note;
  if (number != now_ || theirs.number != number) return expected_;
  // acquire, though a hint: as everywhere; pairs with publish()
  const bool came = seat(rank).turn.load(std::memory_order_acquire) == now_;
  return came ? expected_ : note;
}

template <class Done>
bool Shared::has_parted(const Missing& missing, Done&& done) {
  if (parted_) return true;
  if (dead_ = pt2pt::dead_member(comm_); dead_ >= 0) [[unlikely]] {
    wake_all();
    return parted_ = true;
  }
  Boards* boards = boards_if_any(comm_);
  const bool awaits_finish = missing.number != 0;
  if (!awaits_finish) say();
  for (int rank = 0; rank < size_; ++rank) {
    if (missing.lacks == nullptr && rank != missing.rank) continue;
    const bool lacks = !awaits_finish || missing.lacks == nullptr || missing.lacks(&missing, rank);
    const bool left = lacks && boards != nullptr && boards->has_begun(boards->next(), rank);
    // acquire: pairs with finish()
    const std::uint64_t finished = number_at(finished_, rank).load(std::memory_order_acquire);
    const bool ended = awaits_finish ? finished == no_more : finished >= now_;
    const std::uint64_t said = awaits_finish ? expected_ : said_by(rank);
    // What it has done before it left, is there now: look for that once more.
    if ((!left && !ended && said == expected_) || done()) continue;
    if (awaits_finish && !ended && !missing.lacks(&missing, rank)) continue;
    parted_ = true;
    other_rank_ = rank;
    if (left) {
      other_ = boards->noted(boards->next(), rank);
      give_up_at(*boards);
    } else if (seat(rank).turn.load(std::memory_order_acquire) == now_) {
      other_ = seat(rank).what;
    } else {
      other_ = said;
      wake(rank);  // it waits for this one
    }
    return true;
  }
  return false;
}

/// Nobody is to wait for this rank in the operation that it does not know of.
void Shared::give_up_at(Boards& boards) {
  bool asked = false;
  const std::uint64_t number = boards.take();
  if (!boards.open(number, &asked)) return;
  boards.begin(number, what_);
  boards.give_up(number, MPI_ERR_OTHER);
  boards.finish(number);
}

template <class Done>
void Shared::wait(Done&& done, const Missing& missing) {
  const pt2pt::About about{.what = hang::What::collective,
                           .comm = &comm_,
                           .rank = missing.rank,
                           .lacks = missing.lacks,
                           .object = &missing};
  if (parted_) return;
  coll::wait(engine_, done, about, [&] { return has_parted(missing, done); });
}

void Shared::wake(int rank) {
  pt2pt::wake_rank(engine_, comm_.group->members[static_cast<std::size_t>(rank)]);
}

void Shared::wake_all() {
  for (int i = 0; i < size_; ++i)
    if (i != rank_) wake(i);
}

void Shared::publish() {
  Seat& mine = seat(rank_);
  mine.what = what_;
  mine.turn.store(now_, std::memory_order_release);
}

void Shared::wait_for_seat(int rank, std::int64_t bytes) {
  Seat& theirs = seat(rank);
  const std::byte* ahead = bytes <= look_ahead_max ? slot(rank, bytes) : theirs.payload;
  const auto filled = [&] {
    if (theirs.turn.load(std::memory_order_acquire) == now_) return true;
    __builtin_prefetch(ahead);
    return false;
  };
  wait(filled, {.shared = this, .rank = rank});
}

void Shared::finish() {
  // release: what was read from seats is read before others write them again; pairs with
  // look_at_finished(). A waiting rank sleeps only after a membarrier (sync/wait.h), so either it
  // sees this store or `wanted` is seen here.
  number_at(finished_, rank_).store(now_, std::memory_order_release);
  if (header_.wanted.load(std::memory_order_relaxed) != 0) [[unlikely]]
    wake_all();
}

void Shared::read_no_more() {
  number_at(finished_, rank_).store(no_more, std::memory_order_release);  // as in finish()
  wake_all();
}

void Shared::look_at_finished() {
  std::uint64_t least = now_;
  for (int i = 0; i < size_; ++i)
    if (i != rank_)
      least = std::min(least, number_at(finished_, i).load(std::memory_order_acquire));
  known_ = std::max(known_, least);
}

void Shared::wait_until_finished(std::uint64_t number) {
  const Missing those{
      .shared = this, .number = number, .lacks = [](const void* missing, int rank) {
        const auto& m = *static_cast<const Missing*>(missing);
        return rank != m.shared->rank_ &&
               number_at(m.shared->finished_, rank).load(std::memory_order_acquire) < m.number;
      }};
  const auto all_have = [&] {
    look_at_finished();
    return known_ >= number;
  };
  if (all_have()) return;
  header_.wanted.fetch_add(1, std::memory_order_seq_cst);
  wait(all_have, those);
  header_.wanted.fetch_sub(1, std::memory_order_relaxed);
}

void Shared::meet(const Operands* x, std::int64_t bytes) {
  if (parted_) [[unlikely]]
    return;  // who comes to the next one in place of who is dead is not to be counted in this one
  ++meetings_;
  const bool inlined = bytes <= inline_max;
  std::byte* result = inlined ? meeting_->payload : meeting_slot_;
  const auto node_value = [&](int node) {
    return inlined ? nodes_[node].payload : node_slots_ + node * slot_bytes_;
  };
  int index = position_, members = size_;
  int level_start = 0, below_start = -1;  // nodes of this level; of the one below (-1: ranks)
  for (;;) {
    const int groups = (members + fan - 1) / fan;
    const int group = index / fan;
    const int first = group * fan;
    const int here = std::min(fan, members - first);
    // acq_rel: the last one to arrive sees what all others wrote before they arrived
    const std::uint32_t arrived =
        nodes_[level_start + group].arrived.fetch_add(1, std::memory_order_acq_rel) + 1;
    if (arrived != meetings_ * static_cast<std::uint32_t>(here)) break;
    if (x != nullptr)
      fold(*x, x->count, here, groups == 1 ? result : node_value(level_start + group),
           [&](int i) -> const std::byte* {
             if (below_start >= 0) return node_value(below_start + first + i);
             const int rank = order_[static_cast<std::size_t>(first + i)];
             compare(rank);
             return slot(rank, bytes);
           });
    if (groups == 1) {
      meeting_->turn.store(now_, std::memory_order_release);  // pairs with the wait below
      wake_all();
      return;
    }
    below_start = level_start;
    level_start += groups;
    index = group;
    members = groups;
  }
  const Missing those{.shared = this, .lacks = [](const void* missing, int rank) {
                        const Shared& s = *static_cast<const Missing*>(missing)->shared;
                        // acquire, though a hint: as everywhere; pairs with publish()
                        return s.seat(rank).turn.load(std::memory_order_acquire) != s.now_;
                      }};
  wait([&] { return meeting_->turn.load(std::memory_order_acquire) == now_; }, those);
}

bool Shared::do_all_agree() {
  for (int i = 0; i < size_; ++i) compare(i);
  return all_agree();
}

void Shared::arrive() {
  publish();
  if (flat_) wake_all();
}

void Shared::await_all() {
  if (!flat_) return meet(nullptr, 0);
  for (int i = 0; i < size_; ++i)
    if (i != rank_) await(i, 0);
}

void Shared::come() {
  arrive();
  await_all();
}

Shared::Known Shared::find_way(Call call, std::int64_t bytes, bool reach) {
  const Settings& settings = comm_.coll->settings;
  const Case c{.call = call,
               .bytes = bytes,
               .reproducible = settings.reproducible,
               .slot_bytes = slot_bytes_,
               .reach = reach && direct_,
               .asked = asked_way(comm_, call)};
  const Way& way = choose(choices_, c);
  Known known{true, way.place};
  // Who emits a schedule says which.
  if (way.place != Place::board) tell_way(comm_, call, bytes, way);
  double price = 0;
  const auto ways = close_ways(choices_, c, 1 + settings.explore, &price);
  if (ways.size() < 2) return known;
  trials_.emplace_back(ways, price);
  known.trial = static_cast<std::uint16_t>(trials_.size());
  return known;
}

Err Shared::try_ways(Going& out, Trial& trial, Call call, std::int64_t bytes) {
  const bool may_look = looking_ == nullptr || &trial == looking_ || ++waited_ > others_wait;
  if (!trial.next(may_look)) WEFT_TRY(decide(trial, call, bytes));
  out.way = &trial.way();
  out.place = out.way->place;
  if (!trial.looks()) [[likely]] {
    if (&trial == looking_) looking_ = nullptr;
    return ok;
  }
  looking_ = &trial;
  waited_ = 0;
  ++engine_.counters->coll_explored;
  out.timed = &trial;
  out.bytes = bytes;
  return ok;
}

/// A way takes as long as its slowest rank.
Err Shared::decide(Trial& trial, Call call, std::int64_t bytes) {
  double slowest[tried_max];
  const std::span<double> times(slowest, trial.times().size());
  std::copy(trial.times().begin(), trial.times().end(), slowest);
  static_assert(sizeof slowest <= inline_max);
  const auto room = static_cast<std::int64_t>(times.size_bytes());
  note(call, bytes);  // for the others, and for who asks why nobody moves
  count_by_turns(room);
  reserve(room);
  std::memcpy(slot(rank_, room), slowest, times.size_bytes());
  come();
  for (int i = 0; i < size_; ++i) {
    if (i == rank_) continue;
    double theirs[tried_max];
    std::memcpy(theirs, await(i, room), times.size_bytes());
    for (std::size_t w = 0; w < times.size(); ++w) times[w] = std::max(times[w], theirs[w]);
  }
  met();
  WEFT_TRY(agreed());
  const auto time_of = [&](const Way& way) {
    const auto at = std::find(trial.ways().begin(), trial.ways().end(), &way);
    return static_cast<double>(bytes) * times[static_cast<std::size_t>(at - trial.ways().begin())];
  };
  const Way& before = trial.taken();
  const bool changed = trial.decide(times);
  const Way& now = trial.taken();
  ++engine_.counters->coll_verdicts;
  if (!changed) return ok;
  ++engine_.counters->coll_changes;
  if (comm_.coll->settings.explain) [[unlikely]]
    tell_change(comm_, call, bytes, before, time_of(before), now, time_of(now));
  return ok;
}

memory::BlockName Shared::block_name(const Comm& comm) {
  // Ranks that were given another coll.shared_max wait for each other, but corrupt nothing.
  return Boards::block_name(
      comm,
      shared_names | static_cast<std::uint32_t>(comm.engine->params->integer(P::coll_shared_max)));
}

Shared* Shared::attach(Comm& comm) {
  const std::int64_t slot_bytes = slot_bytes_for(comm.engine->params->integer(P::coll_shared_max));
  if (slot_bytes == 0 || !comm.engine->reaches(comm.group->members)) return nullptr;
  const BlockLayout at(comm.size(), comm.engine->policy.crowded, slot_bytes, cuts_of(comm));
  const std::uint64_t offset =
      comm.engine->job->shared_block(block_name(comm), at.total, at.zeroed(), comm.size());
  return offset == 0 ? nullptr : new Shared(comm, offset, slot_bytes);
}

Shared::Shared(Comm& comm, std::uint64_t offset, std::int64_t slot_bytes)
    : comm_(comm),
      engine_(*comm.engine),
      rank_(comm.rank),
      size_(comm.size()),
      offset_(offset),
      header_(*reinterpret_cast<BlockHeader*>(engine_.job->at(offset))),
      slot_bytes_(slot_bytes),
      flat_(is_flat(comm)),
      crowded_(comm.engine->policy.crowded),
      seats_each_(seats_for(crowded_)),
      cuts_(cuts_of(comm)),
      direct_(engine_.hosts_all(comm.group->members)),
      order_(order_of(comm)),
      position_(static_cast<int>(std::find(order_.begin(), order_.end(), rank_) - order_.begin())),
      choices_(choices_of(comm)) {
  std::byte* block = engine_.job->at(offset);
  const BlockLayout at(size_, crowded_, slot_bytes_, cuts_);
  meeting_ = reinterpret_cast<Seat*>(block + at.meeting);
  meeting_slot_ = block + at.meeting_slot;
  nodes_ = reinterpret_cast<Node*>(block + at.nodes);
  node_slots_ = block + at.node_slots;
  seats_ = reinterpret_cast<Seat*>(block + at.seats);
  finished_ = block + at.finished;
  slots_ = block + at.slots;
  pieces_ = block + at.pieces;
  strips_ = block + at.strips;
}

Shared::~Shared() {
  engine_.job->leave_shared_block(offset_);
}

}  // namespace weft::coll
