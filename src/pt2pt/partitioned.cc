// SPDX-License-Identifier: Apache-2.0
//
// Who may touch what. `marks` and `missing` are atomic; `pending`, the messages and the request are
// of the context, under its lock. `round`, the plan and the sizes change in MPI_Start only, or
// before `planned`; a program calls MPI_Start before it marks or asks (§4.2), so they are read
// without a lock. A thread that has marked a partition does not touch the operation again unless it
// sends a message: another thread may complete and free the request at once.
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
  std::int64_t total;  // bytes of all partitions
  std::int64_t chunk;  // of a message; the last may have less
  std::int32_t messages;
  std::uint32_t first_tag;
};
static_assert(sizeof(Plan) <= wire::inline_max);

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
  Plan plan{};
  Request* greeting = nullptr;       // carries the plan
  std::atomic<bool> planned{false};  // the plan is known here, and the messages are there
  std::vector<Request*> messages;
  std::unique_ptr<std::byte[]> staging;  // what is received and does not lie in memory as it comes
  int pending = 0;                       // messages of this round that are not complete
  std::uint32_t round = 0;
  std::unique_ptr<Word[]> marks;    // the round in which a partition (a receive: message) was
  std::unique_ptr<Word[]> missing;  // a send: partitions of a message that are not marked yet
};

Partitioned& of(Request& request) {
  return *static_cast<Partitioned*>(request.state);
}

std::int32_t tag_of(const Plan& plan, std::int32_t message) {
  return static_cast<std::int32_t>((plan.first_tag + static_cast<std::uint32_t>(message)) &
                                   0x7fffffffU);
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

void complete(Partitioned& p) {
  Request& request = *p.request;
  Engine& e = *request.engine;
  request.done = true;
  if (e.waiters.blocked > 0) tell_waiters(e, request.waiting);
}

void one_less(Partitioned& p) {
  if (--p.pending == 0) complete(p);
}

/// P2p::finished of a message that was sent.
void is_out(P2p& message) {
  Partitioned& p = *static_cast<Partitioned*>(message.state);
  if (message.error != MPI_SUCCESS) p.request->error = message.error;
  one_less(p);
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
  if (message.error != MPI_SUCCESS) p.request->error = message.error;
  p.request->bytes += message.bytes;
  // release: the data is there. pairs with has_arrived()
  p.marks[i].store(p.round, std::memory_order_release);
  one_less(p);
}

// --- sending ------------------------------------------------------------------------------------

Plan make_plan(Partitioned& p, Comm& comm) {
  Plan plan{p.whole.bytes(), 0, 1, 0};
  if (plan.total == 0) {
    p.group = std::max(1, p.partitions);
  } else {
    const std::int64_t worth = (partition_message_min + p.each - 1) / p.each;
    const std::int64_t fewest =
        (p.partitions + partition_messages_max - 1) / partition_messages_max;
    p.group = static_cast<int>(std::min<std::int64_t>(p.partitions, std::max(worth, fewest)));
    plan.messages = (p.partitions + p.group - 1) / p.group;
    plan.chunk = p.group * p.each;
  }
  // relaxed: only that they differ matters. Another context's lock may be held by another thread.
  plan.first_tag =
      std::atomic_ref(comm.partitions)
          .fetch_add(static_cast<std::uint32_t>(plan.messages), std::memory_order_relaxed);
  return plan;
}

/// By the thread that has marked the last of its partitions; the context is locked.
void send_message(Partitioned& p, int message) {
  if (p.is_null) return one_less(p);
  P2p& send = static_cast<P2p&>(*p.messages[static_cast<std::size_t>(message)]);
  start_send(*send.engine, send);
}

Err start_sending(Request& request) {
  Partitioned& p = of(request);
  ++p.round;
  p.pending = p.plan.messages;
  request.active = true;
  request.done = false;
  request.error = MPI_SUCCESS;
  // relaxed: the program orders MPI_Start before the marks
  for (int i = 0; i < p.plan.messages; ++i)
    p.missing[static_cast<std::size_t>(i)].store(static_cast<std::uint32_t>(partitions_in(p, i)),
                                                 std::memory_order_relaxed);
  if (p.partitions == 0) send_message(p, 0);
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
  const Inside inside(*p.request->engine);
  send_message(p, message);
  return ok;
}

// --- receiving ----------------------------------------------------------------------------------

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

P2p* new_message(Partitioned& p, int i, const Buffer& buffer) {
  Request& request = *p.request;
  P2p* message = request.engine->requests.create();
  message->engine = request.engine;
  message->comm = request.comm;
  message->is_send = p.is_send;
  message->buffer = buffer;
  message->envelope = envelope_of(p, Space::partition, tag_of(p.plan, i));
  if (p.is_send) message->peer = world_rank(p);
  message->finished = p.is_send ? is_out : is_in;
  message->state = &p;
  message->done = true;
  return message;
}

/// The plan has come. False: there is no memory for what it needs.
bool take_plan(Partitioned& p) {
  std::memcpy(&p.plan, static_cast<P2p&>(*p.greeting).buffer.data, sizeof p.plan);
  for (int i = 0; i < p.plan.messages && p.staging == nullptr; ++i) {
    if (lies_as_it_comes(p, piece_of(p, i))) continue;
    p.staging.reset(new (std::nothrow) std::byte[static_cast<std::size_t>(p.whole.bytes())]);
    if (p.staging == nullptr) return false;
  }
  p.marks = std::make_unique<Word[]>(static_cast<std::size_t>(p.plan.messages));
  for (int i = 0; i < p.plan.messages; ++i)
    p.messages.push_back(new_message(p, i, place_of(p, piece_of(p, i))));
  // release: pairs with has_arrived()
  p.planned.store(true, std::memory_order_release);
  return true;
}

void post_messages(Partitioned& p) {
  p.pending = p.plan.messages;
  for (Request* message : p.messages) {
    message->cancelled = false;
    start_recv(*message->engine, static_cast<P2p&>(*message));
  }
}

/// Poller: true when the plan is here.
bool await_plan(void* state) {
  Partitioned& p = *static_cast<Partitioned*>(state);
  if (!p.greeting->done) return false;
  if (!take_plan(p)) {
    p.request->error = fail(MPI_ERR_NO_MEM,
                            "no memory for the %lld bytes of a partitioned receive whose elements "
                            "the sender's partitions cut",
                            static_cast<long long>(p.whole.bytes()))
                           .cls;
    complete(p);
    return true;
  }
  post_messages(p);
  return true;
}

Err start_receiving(Request& request) {
  Partitioned& p = of(request);
  ++p.round;
  request.active = true;
  request.error = MPI_SUCCESS;
  request.bytes = 0;
  request.done = p.is_null;
  if (p.is_null) return ok;
  // relaxed: written under this lock
  if (p.planned.load(std::memory_order_relaxed)) {
    post_messages(p);
  } else if (!await_plan(&p)) {
    add_poller(*request.engine, {await_plan, &p});
  }
  return ok;
}

bool is_here(const Partitioned& p, std::int64_t message) {
  // acquire: pairs with is_in()
  return p.marks[static_cast<std::size_t>(message)].load(std::memory_order_acquire) == p.round;
}

/// Are all messages here that have bytes of it? One beyond what is sent arrives with the last.
bool has_arrived(const Partitioned& p, int partition) {
  if (!p.planned.load(std::memory_order_acquire)) return false;
  const std::int64_t from = partition * p.each, to = std::min(from + p.each, p.plan.total);
  std::int64_t first = 0, last = p.plan.messages - 1;
  if (from < to) {
    first = from / p.plan.chunk;
    last = (to - 1) / p.plan.chunk;
  }
  for (std::int64_t i = first; i <= last; ++i)
    if (!is_here(p, i)) return false;
  return true;
}

// --- requests -----------------------------------------------------------------------------------

/// What is not over of the plan's message goes on without us: the other side counts on it.
Err release(Request& request) {
  Partitioned* p = &of(request);
  Engine& e = *request.engine;
  Comm& comm = *request.comm;
  if (p->greeting != nullptr) WEFT_TRY(p->greeting->ops->release(*p->greeting));
  for (Request* message : p->messages) e.requests.destroy(static_cast<P2p*>(message));
  datatype::release(*p->whole.type);
  delete p;
  comm.store->destroy(&request);
  object::release(comm);
  return ok;
}

// For the hang report.
std::span<Request* const> parts_of_receive(const Request& request) {
  const Partitioned& p = *static_cast<const Partitioned*>(request.state);
  // relaxed: written under this lock
  if (p.planned.load(std::memory_order_relaxed)) return p.messages;
  return {&p.greeting, p.greeting != nullptr ? 1U : 0U};
}

/// Nothing is known as long as partitions are not marked: a thread may always do it.
std::span<Request* const> parts_of_send(const Request& request) {
  const Partitioned& p = *static_cast<const Partitioned*>(request.state);
  // relaxed: a look
  for (int i = 0; i < p.plan.messages; ++i)
    if (p.missing[static_cast<std::size_t>(i)].load(std::memory_order_relaxed) != 0) return {};
  return p.messages;
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
  const auto messages = static_cast<std::size_t>(p.plan.messages);
  p.marks = std::make_unique<Word[]>(static_cast<std::size_t>(partitions));
  p.missing = std::make_unique<Word[]>(messages);
  const std::int64_t step = each.count * each.type->extent;
  for (int i = 0; i < p.plan.messages && !p.is_null; ++i) {
    auto* at = static_cast<std::byte*>(p.whole.data) + std::int64_t{i} * p.group * step;
    p.messages.push_back(new_message(p, i, {at, partitions_in(p, i) * each.count, each.type}));
  }
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
  const Partitioned& p = of(request);
  WEFT_TRY(check_partition(p, partition));
  if (!request.active || p.is_null || has_arrived(p, partition)) return ok;
  Engine& e = *request.engine;
  const Inside inside(e);
  progress(e);
  *flag = has_arrived(p, partition) ? 1 : 0;
  if (*flag == 0) looked_in_vain(e);
  return ok;
}

}  // namespace weft::pt2pt
