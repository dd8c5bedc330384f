// SPDX-License-Identifier: Apache-2.0
//
// Sending and receiving. A call looks at its rows; what it awaits is mostly there. Else it looks
// for a microsecond, then waits as all of the library does.
#include "channel/channel.h"

#include <errno.h>
#include <signal.h>
#include <sys/mman.h>

#include <algorithm>

#include "base/copy.h"
#include "datatype/type.h"
#include "memory/job.h"
#include "pt2pt/completion.h"
#include "pt2pt/engine.h"
#include "shm/deaths.h"

namespace weft::channel {
namespace {

// Looks at a row before the rank looks after its messages too: about 2 us (as coll/wait.h).
constexpr int tight_looks = 1000;

/// Has the rank ended, so that it cannot do its part any more?
bool has_ended(memory::Job& job, int world_rank) {
  const memory::RankEntry& entry = job.entry(world_rank);
  // acquire: what it did before; pairs with MPI_Finalize
  const auto state = entry.state.load(std::memory_order_acquire);
  if (state == memory::RankState::finalized || state == memory::RankState::exited) return true;
  if (shm::is_dead(job, world_rank)) return true;
  const std::int32_t pid = entry.pid.load(std::memory_order_relaxed);
  return pid > 0 && kill(pid, 0) != 0 && errno == ESRCH;
}

Err deserted(const Comm& comm, int rank) {
  return fail(MPI_ERR_OTHER,
              "rank %d of %s receives no more from this channel: it has freed its end, or called "
              "MPI_Finalize. A receiver must stay until the channel's end",
              rank, comm.name.c_str());
}

/// Have the row's pages mapped now: else the first message in each buffer takes the time of the
/// page faults of both ends. Measured, 4 KiB, 2-core EPYC (virtual machine), 2026-11-23: 8 us
/// instead of 0.25. Nothing is lost where the kernel does not know how (before Linux 5.14).
void map_pages(std::byte* row, std::int64_t bytes) {
  constexpr int populate_write = 23;  // MADV_POPULATE_WRITE, which older headers do not have
  const auto first = reinterpret_cast<std::uintptr_t>(row) / memory::page * memory::page;
  const auto end = reinterpret_cast<std::uintptr_t>(row) + static_cast<std::uintptr_t>(bytes);
  madvise(reinterpret_cast<void*>(first), end - first, populate_write);
}

}  // namespace

Channel::Receiver::Receiver(Channel& c, std::byte* row, const RowShape& shape, int to)
    : channel(&c),
      end(row, shape),
      rank(to),
      world_rank(c.comm_.group->members[static_cast<std::size_t>(to)]) {
  mailbox = shm::View(*c.engine_.job, world_rank, c.engine_.context);
  if (c.couriers_ != nullptr)  // release: pairs with say_room()
    end.words().couriers.store(c.couriers_->word_at(), std::memory_order_release);
}

Channel::Channel(Comm& comm, const Options& options, std::uint64_t block, Couriers* couriers)
    : comm_(comm),
      engine_(*comm.engine),
      type_(*options.type),
      count_(options.count),
      bytes_(options.count * options.type->size),
      asynchrony_(static_cast<std::uint64_t>(options.asynchrony)),
      on_demand_(options.on_demand),
      block_(block),
      couriers_(couriers),
      mine_(*engine_.job, engine_.world_rank, engine_.context) {
  object::retain(comm_);
  datatype::retain(type_);
  memory::Job& job = *engine_.job;
  const RowShape shape(bytes_, options.asynchrony);
  std::byte* row = job.at(block);
  to_.reserve(options.receivers.size());
  for (const int sender : options.senders)
    for (const int receiver : options.receivers) {
      if (sender == comm.rank || receiver == comm.rank) map_pages(row, shape.row_bytes());
      if (sender == comm.rank) to_.emplace_back(*this, row, shape, receiver);
      if (receiver == comm.rank) {
        const std::int32_t world = comm.group->members[static_cast<std::size_t>(sender)];
        from_.push_back(
            {Receiving(row, shape), shm::View(job, world, engine_.context), sender, world});
      }
      row += shape.row_bytes();
    }
}

Channel::~Channel() {
  engine_.job->leave_shared_block(block_);
  datatype::release(type_);
  object::release(comm_);
}

Done Channel::done() const {
  Done all;
  for (const Receiver& to : to_) {
    all.messages += counted(to.messages);
    all.copies += counted(to.copies);
  }
  return all;
}

// --- waiting

bool Channel::is_awaited(int rank, const Wait& wait) const {
  if (wait.rank != MPI_ANY_SOURCE) return rank == wait.rank;
  const auto is_it = [rank](const auto& peer) { return peer.rank == rank; };
  return wait.for_room ? std::any_of(to_.begin(), to_.end(), is_it)
                       : std::any_of(from_.begin(), from_.end(), is_it);
}

int Channel::lost(const Wait& wait) const {
  const auto is_lost = [&](const auto& peer) {
    return is_awaited(peer.rank, wait) && has_ended(*engine_.job, peer.world_rank);
  };
  if (wait.for_room) {
    const auto at = std::find_if(to_.begin(), to_.end(), is_lost);
    return at == to_.end() ? MPI_PROC_NULL : at->rank;
  }
  const auto at = std::find_if(from_.begin(), from_.end(), [&](const Sender& sender) {
    return is_lost(sender) && !sender.end.is_over() && !sender.end.has_message();
  });
  return at == from_.end() ? MPI_PROC_NULL : at->rank;
}

template <class Ready>
[[gnu::always_inline]] inline Err Channel::await(const Wait& wait, Ready&& ready) {
  if (!engine_.policy.crowded)
    for (int i = 0; i < tight_looks; ++i)
      if (ready()) return ok;
  return await_slowly(wait, ready);
}

template <class Ready>
[[gnu::noinline]] Err Channel::await_slowly(const Wait& wait, Ready&& ready) {
  struct Asked {
    const Channel* channel;
    const Wait* wait;
  } const asked{this, &wait};
  const pt2pt::About about{
      .what = wait.for_room ? hang::What::channel_room : hang::What::channel_message,
      .comm = &comm_,
      .lacks =
          [](const void* object, int rank) {
            const auto* a = static_cast<const Asked*>(object);
            return a->channel->is_awaited(rank, *a->wait);
          },
      .object = &asked};
  const pt2pt::Inside inside(engine_);
  int lost_rank = MPI_PROC_NULL;
  const auto is_lost = [&] { return (lost_rank = lost(wait)) != MPI_PROC_NULL; };
  const bool any = wait.rank == MPI_ANY_SOURCE;
  pt2pt::wait_until(engine_, ready, {.one_is_enough = any, .about = &about}, is_lost);
  if (lost_rank == MPI_PROC_NULL || ready()) return ok;
  return fail(MPI_ERR_PROC_ABORTED,
              "rank %d of %s has ended without freeing its end of the channel, and is waited for",
              lost_rank, comm_.name.c_str());
}

/// A program that only tries must get its messages, too.
void Channel::looked_in_vain() {
  const pt2pt::Inside inside(engine_);
  pt2pt::progress(engine_);
  pt2pt::looked_in_vain(engine_);
}

// --- sending

Err Channel::check_peer(const Receiver& to) const {
  return to.end.is_deserted() ? deserted(comm_, to.rank) : ok;
}

/// The receiver with the fewest messages that it has not released; the next one of several.
Channel::Receiver* Channel::idlest() {
  Receiver* best = nullptr;
  std::uint64_t fewest = 0;
  for (std::size_t i = 0; i < to_.size(); ++i) {
    Receiver& to = to_[(next_to_ + i) % to_.size()];
    const std::uint64_t n = to.unreleased();
    if (best != nullptr && n >= fewest) continue;
    best = &to;
    fewest = n;
    if (n == 0) break;
  }
  return best;
}

Channel::Receiver* Channel::next_receiver() {
  return is_any() ? idlest() : &to_[next_to_];
}

Err Channel::check_nothing_reserved() const {
  if (reserved_ == nullptr) [[likely]]
    return ok;
  return fail(MPI_ERR_OTHER, "a message is reserved and not committed: commit it first");
}

Err Channel::choose(bool wait, Receiver** out) {
  WEFT_TRY(check_nothing_reserved());
  Receiver* to = next_receiver();
  *out = nullptr;
  WEFT_TRY(check_peer(*to));
  const auto is_ready = [&] { return to->is_drained() && to->end.has_room(); };
  if (!wait) {
    if (to->delivery != nullptr) to->delivery->carry();
    if (is_ready() && to->end.accepts(asynchrony_ - 1)) *out = to;
    return ok;
  }
  if (!is_ready()) [[unlikely]] {
    WEFT_TRY(await({true, is_any() ? MPI_ANY_SOURCE : to->rank}, [&] {
      to = next_receiver();
      if (to->delivery != nullptr) to->delivery->carry();
      return is_ready() || to->end.is_deserted();
    }));
    WEFT_TRY(check_peer(*to));
  }
  *out = to;
  return ok;
}

void Channel::copy_in(Receiver& to, const void* message) {
  std::byte* buffer = to.end.buffer();
  if (type_.dense) [[likely]] {
    const auto* from = static_cast<const std::byte*>(message) + type_.true_lb;
    const auto n = static_cast<std::size_t>(bytes_);
    if (n <= 32)
      copy_few(buffer, from, n);
    else
      copy_bytes(buffer, from, n);
  } else {
    datatype::pack({message, count_, &type_}, 0, buffer, bytes_);
  }
  count_one(to.copies);
}

void Channel::pass_turn(const Receiver& to) {
  if (to_.size() > 1) next_to_ = (static_cast<std::size_t>(&to - to_.data()) + 1) % to_.size();
}

Err Channel::publish(Receiver& to) {
  to.end.publish();
  to.mailbox.ring();
  count_one(to.messages);
  ++to.handed;
  pass_turn(to);
  if (to.end.accepts(asynchrony_)) [[likely]]
    return ok;
  const auto accepted = [&] { return to.end.accepts(asynchrony_); };
  WEFT_TRY(await({true, to.rank}, [&] { return accepted() || to.end.is_deserted(); }));
  return accepted() ? ok : deserted(comm_, to.rank);
}

Err Channel::send(const void* message) {
  Receiver* to = nullptr;
  WEFT_TRY(choose(true, &to));
  copy_in(*to, message);
  return publish(*to);
}

Err Channel::try_send(const void* message, bool* sent) {
  Receiver* to = nullptr;
  WEFT_TRY(choose(false, &to));
  *sent = to != nullptr;
  if (to == nullptr) return looked_in_vain(), ok;
  copy_in(*to, message);
  return publish(*to);
}

Err Channel::reserve(void** message) {
  Receiver* to = nullptr;
  WEFT_TRY(choose(true, &to));
  reserved_ = to;
  *message = to->end.buffer();
  return ok;
}

Err Channel::try_reserve(void** message) {
  Receiver* to = nullptr;
  WEFT_TRY(choose(false, &to));
  reserved_ = to;
  *message = to != nullptr ? to->end.buffer() : nullptr;
  if (to == nullptr) looked_in_vain();
  return ok;
}

Err Channel::commit(const void* message) {
  if (reserved_ == nullptr)
    return fail(MPI_ERR_OTHER, "no message is reserved: WEFT_Channel_reserve gives one to build");
  if (message != reserved_->end.buffer())
    return fail(MPI_ERR_BUFFER,
                "message is %p, but %p is reserved: commit what WEFT_Channel_reserve gave", message,
                static_cast<void*>(reserved_->end.buffer()));
  Receiver& to = *reserved_;
  reserved_ = nullptr;
  WEFT_TRY(check_peer(to));
  WEFT_TRY(publish(to));
  to.end.fetch_ahead();
  return ok;
}

Err Channel::close() {
  WEFT_TRY(check_nothing_reserved());
  closed_ = true;
  Err error = ok;
  for (Receiver& to : to_) {
    if (Err e = drain(to)) error = e;
    to.end.close();
    to.mailbox.ring();
  }
  return error;
}

// --- delegated sends

void Channel::Receiver::carry(const void* message) {
  channel->copy_in(*this, message);
  end.publish();
  mailbox.ring();
  count_one(messages);
}

Delivery& Channel::delivery_of(Receiver& to) {
  if (to.delivery == nullptr) [[unlikely]] {
    to.delivery = std::make_shared<Delivery>(to, std::max<std::uint64_t>(asynchrony_, 1) + 1);
    if (couriers_ != nullptr) couriers_->add(to.delivery);
  }
  return *to.delivery;
}

/// Without communication threads it is copied now if there is room, else by whoever waits.
Err Channel::send_delegated(const void* message, Ticket* out) {
  WEFT_TRY(check_nothing_reserved());
  Receiver& to = *next_receiver();
  WEFT_TRY(check_peer(to));
  Delivery& delivery = delivery_of(to);
  delivery.post(message);
  ++to.handed;
  pass_turn(to);
  if (couriers_ != nullptr)
    couriers_->ring();
  else
    delivery.carry();
  *out = {static_cast<int>(&to - to_.data()), delivery.posted(), to.handed};
  const std::uint64_t most = std::max<std::uint64_t>(asynchrony_, 1);
  if (to.accepts(most)) [[likely]]
    return ok;
  WEFT_TRY(await({true, to.rank}, [&] {
    delivery.carry();
    return to.accepts(most) || to.end.is_deserted();
  }));
  return to.accepts(most) ? ok : deserted(comm_, to.rank);
}

bool Channel::knows(const Ticket& ticket) const {
  if (ticket.row < 0 || static_cast<std::size_t>(ticket.row) >= to_.size()) return false;
  const Receiver& to = to_[static_cast<std::size_t>(ticket.row)];
  return to.delivery != nullptr && ticket.queued >= 1 && ticket.queued <= to.delivery->posted() &&
         ticket.handed <= to.handed;
}

bool Channel::is_done(Receiver& to, const Ticket& ticket) const {
  if (to.delivery->carried() < ticket.queued) return false;
  // acquire: as accepts()
  return asynchrony_ > 0 ||
         to.end.words().received.load(std::memory_order_acquire) >= ticket.handed;
}

Err Channel::wait(const Ticket& ticket) {
  Receiver& to = to_[static_cast<std::size_t>(ticket.row)];
  if (!is_done(to, ticket))
    WEFT_TRY(await({true, to.rank}, [&] {
      to.delivery->carry();
      return is_done(to, ticket) || to.end.is_deserted();
    }));
  const bool sent = is_done(to, ticket) && !to.delivery->is_dropped(ticket.queued);
  return sent ? ok : deserted(comm_, to.rank);
}

Err Channel::test(const Ticket& ticket, bool* done) {
  Receiver& to = to_[static_cast<std::size_t>(ticket.row)];
  to.delivery->carry();
  *done = is_done(to, ticket);
  if (*done ? to.delivery->is_dropped(ticket.queued) : to.end.is_deserted())
    return deserted(comm_, to.rank);
  if (!*done) looked_in_vain();
  return ok;
}

/// Until nothing is queued: it is carried, or the receiver is gone.
Err Channel::drain(Receiver& to) {
  if (to.is_drained()) return ok;
  return await({true, to.rank}, [&] {
    to.delivery->carry();
    return to.is_drained();
  });
}

// --- receiving

Channel::Sender* Channel::with_message() {
  if (from_.size() == 1) [[likely]]
    return from_[0].end.has_message() ? from_.data() : nullptr;
  for (std::size_t i = 0; i < from_.size(); ++i) {
    Sender& from = from_[(next_from_ + i) % from_.size()];
    if (from.end.has_message()) return &from;
  }
  return nullptr;
}

bool Channel::is_over() const {
  return std::all_of(from_.begin(), from_.end(), [](const Sender& s) { return s.end.is_over(); });
}

Err Channel::deliver(Sender& from, const void** message, int* source) {
  *message = from.end.take();
  from.mailbox.ring();
  if (source != nullptr) *source = from.rank;
  if (from_.size() > 1)
    next_from_ = (static_cast<std::size_t>(&from - from_.data()) + 1) % from_.size();
  return ok;
}

/// The senders' next messages have no room while all buffers are held.
Err Channel::check_room_to_receive() const {
  for (const Sender& from : from_)
    if (from.end.holds() < from.end.buffers()) return ok;
  return fail(MPI_ERR_OTHER,
              "all %llu buffers (k + 1 of each sender) hold messages that are received and not "
              "released: call WEFT_Channel_release first, or create the channel with a larger k",
              static_cast<unsigned long long>(from_.size() * from_[0].end.buffers()));
}

Err Channel::receive(const void** message, int* source) {
  Sender* from = with_message();
  if (from == nullptr) {
    WEFT_TRY(check_room_to_receive());
    const int awaited = from_.size() == 1 ? from_[0].rank : MPI_ANY_SOURCE;
    WEFT_TRY(
        await({false, awaited}, [&] { return (from = with_message()) != nullptr || is_over(); }));
    if (from == nullptr) from = with_message();
    if (from == nullptr) return *message = nullptr, ok;
  }
  return deliver(*from, message, source);
}

Err Channel::try_receive(const void** message, int* source, bool* flag) {
  Sender* from = with_message();
  if (from == nullptr && is_over()) from = with_message();
  *flag = from != nullptr || is_over();
  *message = nullptr;
  if (from != nullptr) return deliver(*from, message, source);
  if (!*flag) looked_in_vain();
  return ok;
}

Err Channel::release(const void* message) {
  const auto at = std::find_if(from_.begin(), from_.end(), [message](const Sender& from) {
    return from.end.contains(message);
  });
  if (at == from_.end() || at->end.holds() == 0 || at->end.oldest() != message)
    return fail(MPI_ERR_BUFFER,
                "message is %p, which is not the oldest message that was received and not "
                "released: release each message once, in the order of their receipt",
                message);
  at->end.release();
  say_room(*at);
  return ok;
}

/// To the sender, and to who sends for it.
void Channel::say_room(Sender& from) {
  from.mailbox.ring();
  // acquire: the word is there; pairs with the sender's Channel. Mostly 0, in a line that stays.
  if (const std::uint64_t word = from.end.words().couriers.load(std::memory_order_acquire);
      word != 0)
    ring(*reinterpret_cast<sync::ParkWord*>(engine_.job->at(word)));
}

// --- the end

void Channel::end() {
  reserved_ = nullptr;
  if (!closed_) static_cast<void>(close());
  for (Receiver& to : to_) {
    if (to.delivery == nullptr) continue;
    if (couriers_ != nullptr) couriers_->remove(to.delivery.get());
    to.delivery->retire();
  }
  for (Sender& from : from_) {
    from.end.leave();
    say_room(from);
  }
}

}  // namespace weft::channel
