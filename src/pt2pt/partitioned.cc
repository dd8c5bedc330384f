// SPDX-License-Identifier: Apache-2.0
//
// A request is of one context, its home, where the plans are matched. Its messages are of several,
// as many as the rank has CPUs, in turns (row i of n: message i and each n-th after it), so that
// threads which mark or ask for different partitions meet nowhere. Where a rank has one context or
// one CPU, or there is one message, all is at home.
//
// Who may touch what. `marks`, `missing`, `pending`, `error` and `unposted` are atomic. A message
// is made, started, completed and destroyed under its own context's lock; the request, and what
// else is not said here, is touched under home's. `round`, the plan and the sizes change in
// MPI_Start only, or before `planned`; a program calls MPI_Start before it marks or asks (§4.2), so
// they are read without a lock. A thread that has marked a partition does not touch the operation
// again unless it sends a message: another thread may complete and free the request at once. If it
// does send one, release() waits for the lock it holds; but after one_less() it only leaves.
//
// Completion of several rows. While the request is active a poller at home looks whether `pending`
// is 0, and completes it there. Who completes the last message, in whatever context, wakes who
// sleeps for home after it has counted; who goes to sleep there has said so before it looks (the
// poller, too). So none sleeps on. Home has begun something (the poller), and so has each context
// of a row (its messages): so who waits elsewhere, or at home, looks after them all (contexts.h).
//
// Locks. Who marks or asks holds none, and takes one at a time. Who posts receives in MPI_Start, or
// as the plan comes, holds home's: he takes others' only if they are free. What he leaves the
// poller tries again, and home's threads do not sleep meanwhile (Engine::unposted); or a thread
// that asks for one of the row's partitions posts it. So nobody waits for a lock while he holds
// another.
#include "pt2pt/partitioned.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>

#include "object/store.h"
#include "pt2pt/completion.h"

namespace weft::pt2pt {
namespace {

/// What the sender tells: 24 bytes, which travel in a cell.
struct Plan {
  std::int64_t total = 0;  // bytes of all partitions
  std::int64_t chunk = 0;  // of a message; the last may have less
  std::uint16_t messages = 0;
  std::uint16_t rows = 1;  // contexts that they are of, in turns; 1: all are at home
  std::uint32_t first_tag = 0;
};
static_assert(sizeof(Plan) == 24 && sizeof(Plan) <= wire::inline_max);
static_assert(partition_messages_max <= UINT16_MAX && Contexts::most <= 32);

using Word = std::atomic<std::uint32_t>;

struct Partitioned {
  Request* request = nullptr;
  bool is_send = false;
  bool is_null = false;   // from or to MPI_PROC_NULL
  std::int32_t peer = 0;  // rank of the communicator
  Buffer whole{};         // all partitions, which lie behind each other
  int partitions = 0;
  std::int64_t each = 0;  // bytes of one
  int group = 1;          // a send: partitions of a message
  Plan plan;
  Request* greeting = nullptr;           // carries the plan
  std::atomic<bool> planned{false};      // the plan is known here, and the messages are there
  std::vector<Request*> messages;        // null: not made yet
  std::unique_ptr<std::byte[]> staging;  // what is received and does not lie in memory as it comes
  std::uint32_t round = 0;
  std::unique_ptr<Word[]> marks;    // the round in which a partition (a receive: message) was
  std::unique_ptr<Word[]> missing;  // a send: partitions of a message that are not marked yet
  P2p whole_message;                // stands for all messages in the hang report
  Request* const reported = &whole_message;
  bool lacks_rows = false;  // counted in Engine::unposted
  // On a line of their own: the others are read by all who mark or ask.
  alignas(64) std::atomic<int> pending{0};  // messages of this round that are not complete
  std::atomic<std::int32_t> error{MPI_SUCCESS};
  std::atomic<std::uint32_t> unposted{0};  // a receive: rows of this round, a bit each
};

Partitioned& of(Request& request) {
  return *static_cast<Partitioned*>(request.state);
}

std::int32_t tag_of(const Plan& plan, std::int32_t message) {
  return static_cast<std::int32_t>((plan.first_tag + static_cast<std::uint32_t>(message)) &
                                   0x7fffffffU);
}

Engine& home_of(const Partitioned& p) {
  return *p.request->engine;
}

/// The context of a message, at both ends: both know their home's number and the plan.
Engine& engine_of(const Partitioned& p, std::int64_t message) {
  Engine& home = home_of(p);
  if (p.plan.rows == 1) return home;
  const std::vector<Engine*>& all = home.contexts->engines;
  const auto first = static_cast<std::size_t>(home.context) + p.plan.first_tag;
  return *all[(first + static_cast<std::size_t>(message % p.plan.rows)) % all.size()];
}

wire::Envelope envelope_of(const Partitioned& p, Space space, std::int32_t tag) {
  const Comm& comm = *p.request->comm;
  return {comm.context + static_cast<std::uint64_t>(space), p.is_send ? comm.rank : p.peer, tag};
}

std::int32_t world_rank(const Partitioned& p) {
  return p.request->comm->peers()[static_cast<std::size_t>(p.peer)];
}

int partitions_in(const Partitioned& p, int message) {
  return std::min(p.group, p.partitions - message * p.group);
}

// --- completion ---------------------------------------------------------------------------------

/// At home.
void complete(Partitioned& p) {
  Request& request = *p.request;
  Engine& e = *request.engine;
  request.error = p.error.load(std::memory_order_relaxed);
  // relaxed: written under this lock
  if (!p.is_send && p.planned.load(std::memory_order_relaxed))
    request.bytes = std::min(p.plan.total, p.whole.bytes());
  request.done = true;
  if (e.waiters.blocked > 0) tell_waiters(e, request.waiting);
}

/// A message is over; its context is locked. The operation is not to be touched after it.
void one_less(Partitioned& p, int error) {
  // relaxed: comes with `pending`
  if (error != MPI_SUCCESS) p.error.store(error, std::memory_order_relaxed);
  if (p.plan.rows == 1) {
    const int left = p.pending.load(std::memory_order_relaxed) - 1;  // all are under this lock
    p.pending.store(left, std::memory_order_relaxed);
    if (left == 0) complete(p);
    return;
  }
  Engine& home = home_of(p);
  // acq_rel: whoever completes it sees what all have done; pairs with itself and with is_over()
  if (p.pending.fetch_sub(1, std::memory_order_acq_rel) == 1) home.inbox.wake();
}

bool is_over(const Partitioned& p) {
  return p.pending.load(std::memory_order_acquire) == 0;
}

/// P2p::finished of a message that was sent.
void is_out(P2p& message) {
  one_less(*static_cast<Partitioned*>(message.state), message.error);
}

struct Piece {
  std::int64_t at, bytes;
};
/// Where a message lies in the packed form of the receive buffer, as far as that goes.
Piece piece_of(const Partitioned& p, int message) {
  const std::int64_t room = p.whole.bytes();
  const std::int64_t at = std::min(room, message * p.plan.chunk);
  const std::int64_t end = std::min(p.plan.total, (message + 1) * p.plan.chunk);
  return {at, std::max<std::int64_t>(0, std::min(room, end) - at)};
}

bool is_staged(const Partitioned& p, const P2p& message) {
  const std::byte* first = p.staging.get();
  const auto* at = static_cast<const std::byte*>(message.buffer.data);
  return first != nullptr && at >= first && at < first + p.whole.bytes();
}

/// P2p::finished of a message that was received.
void is_in(P2p& message) {
  Partitioned& p = *static_cast<Partitioned*>(message.state);
  const auto i =
      (static_cast<std::uint32_t>(message.envelope.tag) - p.plan.first_tag) & 0x7fffffffU;
  if (is_staged(p, message))
    datatype::unpack(p.whole, piece_of(p, static_cast<int>(i)).at, message.buffer.data,
                     message.bytes);
  // release: the data is there. pairs with has_arrived()
  p.marks[i].store(p.round, std::memory_order_release);
  one_less(p, message.error);
}

// --- messages ------------------------------------------------------------------------------------

/// Do the bytes lie in the buffer as they come: as whole elements, or as one block?
bool lies_as_it_comes(const Partitioned& p, const Piece& piece) {
  const std::int64_t size = p.whole.type->size;
  return piece.bytes == 0 || p.whole.type->dense ||
         (piece.at % size == 0 && piece.bytes % size == 0);
}

/// Where a message's bytes go.
Buffer place_of(Partitioned& p, const Piece& piece) {
  const datatype::Type& type = *p.whole.type;
  if (piece.bytes == 0) return {p.whole.data, 0, &datatype::byte_type()};
  if (!lies_as_it_comes(p, piece))
    return {p.staging.get() + piece.at, piece.bytes, &datatype::byte_type()};
  if (type.dense) return {datatype::block(p.whole) + piece.at, piece.bytes, &datatype::byte_type()};
  auto* at = static_cast<std::byte*>(p.whole.data) + piece.at / type.size * type.extent;
  return {at, piece.bytes / type.size, &type};
}

/// Where a message is sent from.
Buffer part_of(const Partitioned& p, int message) {
  const std::int64_t each = p.partitions > 0 ? p.whole.count / p.partitions : 0;
  auto* at = static_cast<std::byte*>(p.whole.data) +
             std::int64_t{message} * p.group * each * p.whole.type->extent;
  return {at, partitions_in(p, message) * each, p.whole.type};
}

/// Make one, if it is not there yet; its context is locked.
P2p& message_of(Partitioned& p, int i) {
  Request*& known = p.messages[static_cast<std::size_t>(i)];
  if (known != nullptr) return static_cast<P2p&>(*known);
  Engine& e = engine_of(p, i);
  P2p* message = e.requests.create();
  known = message;
  message->engine = &e;
  message->comm = p.request->comm;
  message->is_send = p.is_send;
  message->buffer = p.is_send ? part_of(p, i) : place_of(p, piece_of(p, i));
  message->envelope = envelope_of(p, Space::partition, tag_of(p.plan, i));
  if (p.is_send) message->peer = world_rank(p);
  message->finished = p.is_send ? is_out : is_in;
  message->state = &p;
  message->done = true;
  return *message;
}

/// Its messages are of other contexts than the request: who waits looks after these, too.
void say_where(Partitioned& p) {
  if (p.plan.rows > 1) home_of(p).contexts->spread.store(true, std::memory_order_relaxed);
}

// --- sending ------------------------------------------------------------------------------------

/// Of how many contexts messages to the peer may be. Both ends need them; where it is not known yet
/// how many the peer has, it is one. With home's lock.
///
/// No more than CPUs, unless the program wants messages to go to contexts by tag: with fewer, any
/// thread that runs is to look for all. Measured, weft bench partitioned, 64 KiB by 8 threads
/// between 2 ranks with a CPU each, 2-core EPYC, 2026-11-27: 83 us in one context, 130 to 175 in
/// four.
int rows_to(const Partitioned& p) {
  Engine& home = home_of(p);
  const Comm& comm = *p.request->comm;
  const auto here = static_cast<int>(home.contexts->engines.size());
  const int rows = comm.by_tag ? here : std::min(here, home.waiters.cpus);
  if (rows < 2 || p.is_null || comm.spans_jobs()) return 1;
  const memory::RankEntry& entry = home.job->entry(world_rank(p));
  // acquire: with the state comes how many contexts it has opened
  const auto has_come = [&entry] {
    return entry.state.load(std::memory_order_acquire) != memory::RankState::started;
  };
  if (!has_come() && home.network != nullptr) home.network->meet(world_rank(p));
  return has_come() && entry.contexts.load(std::memory_order_relaxed) == here ? rows : 1;
}

Plan make_plan(Partitioned& p, Comm& comm) {
  Plan plan{p.whole.bytes(), 0, 1, 1, 0};
  if (plan.total == 0) {
    p.group = std::max(1, p.partitions);
  } else {
    const std::int64_t worth = (partition_message_min + p.each - 1) / p.each;
    const std::int64_t fewest =
        (p.partitions + partition_messages_max - 1) / partition_messages_max;
    p.group = static_cast<int>(std::min<std::int64_t>(p.partitions, std::max(worth, fewest)));
    const int messages = (p.partitions + p.group - 1) / p.group;
    plan.messages = static_cast<std::uint16_t>(messages);
    plan.chunk = p.group * p.each;
    plan.rows = static_cast<std::uint16_t>(std::min(rows_to(p), messages));
  }
  // relaxed: only that they differ matters. Another context's lock may be held by another thread.
  plan.first_tag =
      std::atomic_ref(comm.partitions).fetch_add(plan.messages, std::memory_order_relaxed);
  return plan;
}

/// By the thread that has marked the last of its partitions; the message's context is locked.
void send_message(Partitioned& p, int i) {
  if (p.is_null) return one_less(p, MPI_SUCCESS);
  P2p& message = message_of(p, i);
  start_send(*message.engine, message);
}

/// Poller, of several rows: true when all messages have left.
bool await_messages(void* state) {
  Partitioned& p = *static_cast<Partitioned*>(state);
  if (!is_over(p)) return false;
  complete(p);
  return true;
}

Err start_sending(Request& request) {
  Partitioned& p = of(request);
  ++p.round;
  request.active = true;
  request.done = false;
  // relaxed, all: the program orders MPI_Start before the marks
  p.pending.store(p.plan.messages, std::memory_order_relaxed);
  p.error.store(MPI_SUCCESS, std::memory_order_relaxed);
  for (int i = 0; i < p.plan.messages; ++i)
    p.missing[static_cast<std::size_t>(i)].store(static_cast<std::uint32_t>(partitions_in(p, i)),
                                                 std::memory_order_relaxed);
  if (p.partitions == 0) send_message(p, 0);
  if (p.plan.rows > 1) add_poller(home_of(p), {await_messages, &p});
  return ok;
}

Word& mark_of(Partitioned& p, int partition) {
  return p.marks[static_cast<std::size_t>(partition)];
}

Err check_partition(const Partitioned& p, int partition) {
  if (partition >= 0 && partition < p.partitions) return ok;
  if (p.partitions == 0)
    return fail(MPI_ERR_ARG, "partition is %d; the request has no partitions", partition);
  return fail(MPI_ERR_ARG, "partition is %d; the request has partitions 0 to %d", partition,
              p.partitions - 1);
}

Err marked_twice(int partition) {
  return fail(MPI_ERR_ARG,
              "partition %d is marked as ready already; each may be once after an MPI_Start",
              partition);
}

Err may_mark(Partitioned& p, int partition) {
  WEFT_TRY(check_partition(p, partition));
  // relaxed: a word says nothing about another
  if (mark_of(p, partition).load(std::memory_order_relaxed) == p.round)
    return marked_twice(partition);
  return ok;
}

/// After this the operation may be over, unless there are partitions to mark.
Err mark(Partitioned& p, int partition) {
  // Only one of two threads that mark it is the first. relaxed: as may_mark()
  if (mark_of(p, partition).exchange(p.round, std::memory_order_relaxed) == p.round)
    return marked_twice(partition);
  const int message = partition / p.group;
  // acq_rel: the last one sends what the others have written; pairs with itself
  if (p.missing[static_cast<std::size_t>(message)].fetch_sub(1, std::memory_order_acq_rel) != 1)
    return ok;
  const Inside inside(engine_of(p, message));
  send_message(p, message);
  return ok;
}

// --- receiving ----------------------------------------------------------------------------------

/// The plan has come. False: there is no memory for what it needs.
bool take_plan(Partitioned& p) {
  std::memcpy(&p.plan, static_cast<P2p&>(*p.greeting).buffer.data, sizeof p.plan);
  for (int i = 0; i < p.plan.messages && p.staging == nullptr; ++i) {
    if (lies_as_it_comes(p, piece_of(p, i))) continue;
    p.staging.reset(new (std::nothrow) std::byte[static_cast<std::size_t>(p.whole.bytes())]);
    if (p.staging == nullptr) return false;
  }
  p.marks = std::make_unique<Word[]>(p.plan.messages);
  p.messages.resize(p.plan.messages);
  say_where(p);
  return true;
}

/// Before the round's first message is posted.
void begin_round(Partitioned& p) {
  // relaxed, both: come with `planned`, or the program orders MPI_Start before it asks
  p.pending.store(p.plan.messages, std::memory_order_relaxed);
  p.unposted.store((1U << p.plan.rows) - 1, std::memory_order_relaxed);
}

/// Post the messages of a row, unless that was done in this round; their context is locked.
void post_row(Partitioned& p, int row) {
  const std::uint32_t bit = 1U << row;
  // relaxed, both: of this row, changes under this lock
  if ((p.unposted.load(std::memory_order_relaxed) & bit) == 0) return;
  p.unposted.fetch_and(~bit, std::memory_order_relaxed);
  for (int i = row; i < p.plan.messages; i += p.plan.rows) {
    P2p& message = message_of(p, i);
    message.cancelled = false;
    start_recv(*message.engine, message);
  }
}

/// By a thread that holds home's lock: that of another context, too, if it is free.
class Beside {
 public:
  Beside(Engine& home, Engine& e)
      : e_(e),
        is_home_(&home == &e),
        // As long as one thread calls, who is inside has all contexts.
        has_all_(is_home_ || !home.contexts->sole.is_shared()),
        holds_(has_all_ || e.lock.try_hold()) {}
  ~Beside() {
    if (holds_ && !is_home_) leave_context(e_);
    if (holds_ && !has_all_) e_.lock.release();
  }
  Beside(const Beside&) = delete;
  Beside& operator=(const Beside&) = delete;
  bool holds() const { return holds_; }

 private:
  Engine& e_;
  const bool is_home_, has_all_, holds_;
};

/// All rows whose contexts are free.
void post_rows(Partitioned& p) {
  Engine& home = home_of(p);
  // relaxed, both: who posts one meanwhile has done so under its context's lock
  const std::uint32_t rows = p.unposted.load(std::memory_order_relaxed);
  for (int row = 0; rows >> row != 0; ++row) {
    if ((rows >> row & 1) == 0) continue;
    const Beside beside(home, engine_of(p, row));
    if (beside.holds()) post_row(p, row);
  }
  const bool lacks = p.unposted.load(std::memory_order_relaxed) != 0;
  if (lacks != p.lacks_rows) home.unposted += lacks ? 1 : -1;
  p.lacks_rows = lacks;
}

/// Poller: true when there is nothing more to do, or for one row: when it is posted.
bool await_receives(void* state) {
  Partitioned& p = *static_cast<Partitioned*>(state);
  // relaxed: written under this lock
  if (!p.planned.load(std::memory_order_relaxed)) {
    if (!p.greeting->done) return false;
    if (!take_plan(p)) {
      p.error.store(fail(MPI_ERR_NO_MEM,
                         "no memory for the %lld bytes of a partitioned receive whose elements "
                         "the sender's partitions cut",
                         static_cast<long long>(p.whole.bytes()))
                        .cls,
                    std::memory_order_relaxed);
      complete(p);
      return true;
    }
    begin_round(p);
    // release: pairs with has_arrived()
    p.planned.store(true, std::memory_order_release);
  }
  const bool over = is_over(p);  // before the look at what is posted, which is all then
  post_rows(p);
  if (p.plan.rows == 1) return true;
  if (over) complete(p);
  return over;
}

Err start_receiving(Request& request) {
  Partitioned& p = of(request);
  ++p.round;
  request.active = true;
  p.error.store(MPI_SUCCESS, std::memory_order_relaxed);  // relaxed: before any is posted
  request.error = MPI_SUCCESS;
  request.bytes = 0;
  request.done = p.is_null;
  if (p.is_null) return ok;
  // relaxed: written under this lock
  if (p.planned.load(std::memory_order_relaxed)) begin_round(p);
  if (!await_receives(&p)) add_poller(*request.engine, {await_receives, &p});
  return ok;
}

bool is_here(const Partitioned& p, std::int64_t message) {
  // acquire: pairs with is_in()
  return p.marks[static_cast<std::size_t>(message)].load(std::memory_order_acquire) == p.round;
}

struct Messages {
  std::int64_t first, last;
};
/// Those that have bytes of a partition. One beyond what is sent arrives with the last.
Messages messages_of(const Partitioned& p, int partition) {
  const std::int64_t from = partition * p.each, to = std::min(from + p.each, p.plan.total);
  if (from >= to) return {0, p.plan.messages - 1};
  return {from / p.plan.chunk, (to - 1) / p.plan.chunk};
}

bool has_arrived(const Partitioned& p, int partition) {
  if (!p.planned.load(std::memory_order_acquire)) return false;
  const Messages all = messages_of(p, partition);
  for (std::int64_t i = all.first; i <= all.last; ++i)
    if (!is_here(p, i)) return false;
  return true;
}

/// Look for news of a partition where its messages come: one context after the other.
bool look_for_partition(Partitioned& p, int partition) {
  if (!p.planned.load(std::memory_order_acquire) || p.plan.rows == 1) {
    Engine& home = home_of(p);
    const Inside inside(home);
    progress(home);
    const bool here = has_arrived(p, partition);
    if (!here) looked_in_vain(home);
    return here;
  }
  const Messages all = messages_of(p, partition);
  const std::int64_t last = std::min(all.last, all.first + p.plan.rows - 1);
  for (std::int64_t first = all.first; first <= last; ++first) {
    std::int64_t i = first;  // the first of the row that is not here
    while (i <= all.last && is_here(p, i)) i += p.plan.rows;
    if (i > all.last) continue;
    Engine& e = engine_of(p, i);
    const Inside inside(e);
    post_row(p, static_cast<int>(i % p.plan.rows));
    progress(e);
    if (!is_here(p, i)) looked_in_vain(e, partition_looks_per_visit);
  }
  return has_arrived(p, partition);
}

// --- requests -----------------------------------------------------------------------------------

/// What is not over of the plan's message goes on without us: the other side counts on it.
Err release(Request& request) {
  Partitioned* p = &of(request);
  Engine& home = *request.engine;
  Comm& comm = *request.comm;
  if (p->greeting != nullptr) WEFT_TRY(p->greeting->ops->release(*p->greeting));
  // Nobody else knows the request any more. Who completed a message may still be about to leave it.
  const auto left = p->plan.rows > 1 ? home.lock.let_go() : sync::RankLock::Left{};
  const int messages = static_cast<int>(p->messages.size());
  for (int row = 0; row < std::min<int>(p->plan.rows, messages); ++row) {
    Engine& e = engine_of(*p, row);
    const Inside inside(e);
    for (int i = row; i < messages; i += p->plan.rows)
      if (Request* message = p->messages[static_cast<std::size_t>(i)])
        e.requests.destroy(static_cast<P2p*>(message));
  }
  if (p->plan.rows > 1) home.lock.take_back(left);
  datatype::release(*p->whole.type);
  delete p;
  comm.store->destroy(&request);
  object::release(comm);
  return ok;
}

// For the hang report: its messages are of contexts whose locks it does not hold.
std::span<Request* const> parts_of_receive(const Request& request) {
  const Partitioned& p = *static_cast<const Partitioned*>(request.state);
  // relaxed: written under this lock
  if (p.planned.load(std::memory_order_relaxed)) return {&p.reported, 1};
  return {&p.greeting, p.greeting != nullptr ? 1U : 0U};
}

/// Nothing is known as long as partitions are not marked: a thread may always do it.
std::span<Request* const> parts_of_send(const Request& request) {
  const Partitioned& p = *static_cast<const Partitioned*>(request.state);
  // relaxed: a look
  for (int i = 0; i < p.plan.messages; ++i)
    if (p.missing[static_cast<std::size_t>(i)].load(std::memory_order_relaxed) != 0) return {};
  return {&p.reported, 1};
}

constexpr object::RequestOps ops_of(const char* what, Err (*start)(Request&),
                                    std::span<Request* const> (*parts)(const Request&)) {
  return {.what = what,
          .start = start,
          .cancel = nullptr,
          .release = release,
          .query = nullptr,
          .parts = parts};
}
constexpr object::RequestOps psend_ops = ops_of("partitioned send", start_sending, parts_of_send);
constexpr object::RequestOps precv_ops =
    ops_of("partitioned receive", start_receiving, parts_of_receive);

/// What the hang report says of it.
void describe(Partitioned& p) {
  P2p& all = p.whole_message;
  all.engine = p.request->engine;
  all.comm = p.request->comm;
  all.is_send = p.is_send;
  all.buffer = p.whole;
  all.envelope = envelope_of(p, Space::partition, 0);
  if (p.is_send) all.peer = world_rank(p);
}

Result<Partitioned*> make(bool is_send, const Buffer& each, int partitions, int peer, int tag,
                          Comm& comm) {
  std::int64_t count = 0, bytes = 0;
  if (partitions < 0) return fail(MPI_ERR_ARG, "partitions is %d; expected 0 or more", partitions);
  if (__builtin_mul_overflow(each.count, partitions, &count) ||
      __builtin_mul_overflow(count, each.type->size, &bytes))
    return fail(MPI_ERR_COUNT, "%d partitions of %lld elements are more than 2^63 bytes",
                partitions, static_cast<long long>(each.count));
  auto* p = new Partitioned;
  p->is_send = is_send;
  p->is_null = peer == MPI_PROC_NULL;
  p->peer = peer;
  p->whole = {each.data, count, each.type};
  p->partitions = partitions;
  p->each = each.bytes();
  Request* request = comm.store->create_request();
  p->request = request;
  request->ops = is_send ? &psend_ops : &precv_ops;
  request->engine = &engine_for(comm, tag);
  request->comm = &comm;
  request->persistent = true;
  request->active = false;
  request->done = true;
  request->state = p;
  if (!p->is_null) describe(*p);
  datatype::retain(*each.type);
  object::retain(comm);
  return p;
}

/// The message that carries the plan; its memory is its own.
P2p* new_greeting(const Partitioned& p, int tag) {
  Request& request = *p.request;
  void* memory = std::malloc(sizeof(Plan));
  if (memory == nullptr) std::abort();  // 24 bytes
  std::memcpy(memory, &p.plan, sizeof(Plan));
  P2p* greeting = new_request(*request.engine, *request.comm, p.is_send,
                              {memory, sizeof(Plan), &datatype::byte_type()});
  greeting->owns_buffer = true;
  greeting->envelope = envelope_of(p, Space::plan, tag);
  if (p.is_send) greeting->peer = world_rank(p);
  return greeting;
}

/// The operation of a request that partitions may be marked of.
Result<Partitioned*> sending(MPI_Request handle) {
  Request& request = *request_of(handle);
  if (request.ops != &psend_ops)
    return fail(MPI_ERR_REQUEST,
                "the request is a %s; partitions are marked as ready of one that MPI_Psend_init "
                "made",
                request.ops->what);
  if (!request.active)
    return fail(MPI_ERR_REQUEST,
                "the partitioned send is not active; call MPI_Start before partitions are marked "
                "as ready");
  return &of(request);
}

}  // namespace

Err psend_init(const ConstBuffer& each, int partitions, int dest, int tag, Comm& comm,
               MPI_Request* out) {
  const Result<Partitioned*> made = make(true, writable(each), partitions, dest, tag, comm);
  if (!made) return made.err;
  Partitioned& p = *made.value;
  p.plan = make_plan(p, comm);
  const std::size_t messages = p.plan.messages;
  p.marks = std::make_unique<Word[]>(static_cast<std::size_t>(partitions));
  p.missing = std::make_unique<Word[]>(messages);
  p.messages.resize(messages);
  say_where(p);
  *out = handle_of(p.request);
  if (p.is_null) return ok;
  P2p* greeting = new_greeting(p, tag);
  p.greeting = greeting;
  start_send(*greeting->engine, *greeting);
  return ok;
}

Err precv_init(const Buffer& each, int partitions, int source, int tag, Comm& comm,
               MPI_Request* out) {
  const Result<Partitioned*> made = make(false, each, partitions, source, tag, comm);
  if (!made) return made.err;
  Partitioned& p = *made.value;
  p.request->source = source;
  p.request->tag = p.is_null ? int{MPI_ANY_TAG} : tag;
  *out = handle_of(p.request);
  if (p.is_null) return ok;
  P2p* greeting = new_greeting(p, tag);
  p.greeting = greeting;
  start_recv(*greeting->engine, *greeting);
  return ok;
}

Err pready(MPI_Request request, int first, int last) {
  const Result<Partitioned*> found = sending(request);
  if (!found) return found.err;
  Partitioned& p = *found.value;
  if (first > last)
    return fail(MPI_ERR_ARG, "partition_low is %d and partition_high %d; expected low <= high",
                first, last);
  WEFT_TRY(check_partition(p, first));
  WEFT_TRY(check_partition(p, last));
  for (int i = first; i <= last; ++i) WEFT_TRY(may_mark(p, i));
  for (int i = first; i <= last; ++i) WEFT_TRY(mark(p, i));
  return ok;
}

Err pready_list(MPI_Request request, std::span<const int> partitions) {
  const Result<Partitioned*> found = sending(request);
  if (!found) return found.err;
  for (const int partition : partitions) WEFT_TRY(may_mark(*found.value, partition));
  for (const int partition : partitions) WEFT_TRY(mark(*found.value, partition));
  return ok;
}

Err parrived(MPI_Request handle, int partition, int* flag) {
  *flag = 1;
  if (handle == MPI_REQUEST_NULL) return ok;
  Request& request = *request_of(handle);
  if (request.ops != &precv_ops)
    return fail(MPI_ERR_REQUEST,
                "the request is a %s; partitions arrive at one that MPI_Precv_init made",
                request.ops->what);
  Partitioned& p = of(request);
  WEFT_TRY(check_partition(p, partition));
  if (!request.active || p.is_null || has_arrived(p, partition)) return ok;
  *flag = look_for_partition(p, partition) ? 1 : 0;
  return ok;
}

}  // namespace weft::pt2pt
