// SPDX-License-Identifier: Apache-2.0
//
// Launching schedules: at once (blocking), as a request advanced by progress (nonblocking), or as a
// request that runs at each MPI_Start (persistent).
//
// A request's schedule keeps its communicator, types and operations alive. The tag is drawn when
// the operation is launched, also for persistent ones (MPI-5.0 §6.13: their initialization is
// ordered, their starts are not); messages of successive starts match in order because a rank
// starts again only after its own part is complete.
#include <optional>

#include "coll/boards/node.h"
#include "coll/executor.h"
#include "coll/nodes/phases.h"
#include "coll/state.h"
#include "pt2pt/engine.h"

namespace weft::coll {
namespace {

/// A request's `state` is its schedule.
Schedule& schedule_of(object::Request& request) {
  return *static_cast<Schedule*>(request.state);
}

void give_back(Schedule& schedule, CommState& state) {
  schedule.clear();
  schedule.next_free = state.idle;
  state.idle = &schedule;
}

void retain_all(const Schedule& schedule, Comm& comm) {
  object::retain(comm);
  for (const Step& step : schedule.steps()) {
    datatype::retain(*step.type);
    if (step.has_to_type()) datatype::retain(*step.to_type);
    if (step.has_op()) object::retain(*step.op);
    if (step.what == Step::What::show)
      for (const ConstBuffer& view : step.views()) datatype::retain(*view.type);
  }
}

void release_all(const Schedule& schedule) {
  for (const Step& step : schedule.steps()) {
    datatype::release(*step.type);
    if (step.has_to_type()) datatype::release(*step.to_type);
    if (step.has_op()) object::release(*step.op);
    if (step.what == Step::What::show)
      for (const ConstBuffer& view : step.views()) datatype::release(*view.type);
  }
}

/// The end of a request's schedule. The request keeps its communicator, whose error handler it
/// names.
void drop_schedule(object::Request& request) {
  Schedule& schedule = schedule_of(request);
  request.state = nullptr;
  release_all(schedule);
  give_back(schedule, *request.comm->coll);
}

void complete(object::Request& request) {
  Comm& comm = *request.comm;
  const Err error = Executor::error(schedule_of(request));
  const bool orphan = request.orphan;
  if (orphan || !request.persistent) drop_schedule(request);
  pt2pt::complete(static_cast<pt2pt::P2p&>(request), error.cls);  // the end of an orphan
  if (orphan) object::release(comm);
}

bool poll(void* state) {
  auto& request = *static_cast<object::Request*>(state);
  if (!Executor::advance(schedule_of(request), *request.comm)) return false;
  complete(request);
  return true;
}

/// Poller of those that wait for a board: they get theirs in order, so only the first is looked at.
bool poll_boardless(void* comm) {
  std::deque<object::Request*>& queue = static_cast<Comm*>(comm)->coll->boardless;
  for (;;) {
    object::Request& first = *queue.front();
    const bool done = Executor::advance(schedule_of(first), *first.comm);
    if (!done && Executor::waits_for_board(schedule_of(first))) return false;
    queue.pop_front();
    const bool was_last = queue.empty();
    if (!done) pt2pt::add_poller(*first.engine, {poll, &first});
    if (done) complete(first);  // which may be the communicator's end
    if (was_last) return true;
  }
}

/// Begin, and go on when there is progress.
void run_in_background(object::Request& request) {
  std::deque<object::Request*>& queue = request.comm->coll->boardless;
  Schedule& schedule = schedule_of(request);
  if (queue.empty() || !Executor::waits_for_board(schedule)) {
    if (Executor::start(schedule, *request.comm)) return complete(request);
    if (!Executor::waits_for_board(schedule))
      return pt2pt::add_poller(*request.engine, {poll, &request});
  }
  queue.push_back(&request);
  if (queue.size() == 1) pt2pt::add_poller(*request.engine, {poll_boardless, request.comm});
}

Err start(object::Request& request) {
  request.done = false;
  request.active = true;
  request.error = MPI_SUCCESS;
  Executor::rewind(schedule_of(request));
  run_in_background(request);
  return ok;
}

Err release(object::Request& request) {
  if (!request.done) {
    object::orphan(request);
    return ok;
  }
  Comm& comm = *request.comm;
  if (request.state != nullptr) drop_schedule(request);
  pt2pt::free_request(&request);
  object::release(comm);
  return ok;
}

std::span<object::Request* const> parts(const object::Request& request) {
  return Executor::pending(*static_cast<const Schedule*>(request.state));
}

pt2pt::About about(const object::Request& request) {
  pt2pt::About out = Executor::about(*static_cast<const Schedule*>(request.state), *request.comm);
  out.persistent = request.persistent;
  return out;
}

constexpr object::RequestOps request_ops{
    "collective operation", start, nullptr, release, nullptr, parts, about};

}  // namespace

Schedule& take_schedule(Comm& comm, const Signature& mine) {
  CommState& state = *comm.coll;
  if (state.idle == nullptr) state.idle = new Schedule;
  Schedule& schedule = *state.idle;
  state.idle = schedule.next_free;
  schedule.note(note_of(mine.call, 0, mine.what));
  if (state.settings.compare) [[unlikely]]
    emit_comparison(schedule, comm, mine);
  return schedule;
}

namespace {

/// Do all ranks know how many bytes the call moves? What a board compares.
bool is_known_to_all(Call call) {
  switch (explained[family(call)]) {
    case Call::gather:
    case Call::scatter:
    case Call::allgather:
    case Call::alltoall:
      return false;
    default:
      return true;
  }
}

/// The board of the operation, which `s` uses from now on; none: there is no room for one.
std::optional<Site> take_board(Schedule& s, const Operation& o, const Case& c, Comm& comm,
                               const How& how) {
  NodeState& state = node_state(comm);
  Boards* boards = state.boards;
  std::uint64_t number = 0;
  if (how.what == How::persistent) {
    boards = Boards::attach(comm, state.here, ++state.persistent);
    if (boards == nullptr) return {};
    s.own_boards();
  } else {
    number = boards->take();
  }
  s.use(*boards, number);
  s.note(note_of(o.call, is_known_to_all(o.call) ? c.bytes : 0, how.what));
  return Site{state.ground, boards->areas(number), {state.here.rank, state.here.size()}};
}

/// Of an allgatherv, where all ranks know all.
std::int64_t mean_block(const Blocks& blocks, int ranks) {
  std::int64_t total = 0;
  for (int i = 0; i < ranks; ++i) total += blocks[i].bytes();
  return total / ranks;
}

/// Before a schedule runs for another operation; its tag is the same on all ranks.
void begin(Schedule& schedule, Comm& comm) {
  schedule.next_round();
  // relaxed: only here is it changed, under the context's lock; threads that wait long read it
  const std::atomic_ref operations(comm.operations);
  const std::uint32_t number = operations.load(std::memory_order_relaxed);
  operations.store(number + 1, std::memory_order_relaxed);
  Executor::begin(schedule, static_cast<int>(number & 0x7fffffff));
}

/// `kept`: where it stays if all goes well.
Err run(Schedule& schedule, Comm& comm, Kept* kept) {
  begin(schedule, comm);
  const Err error = Executor::run(schedule, comm);
  if (kept != nullptr && !error)
    kept->schedule = &schedule;
  else
    give_back(schedule, *comm.coll);
  return error;
}

/// Empty: its schedules are not kept.
std::optional<Arguments> arguments_of(const Operation& o) {
  switch (o.call) {
    case Call::barrier:
      return Arguments{.call = o.call};
    case Call::bcast: {
      const Buffer& x = o.buffer;
      if (!x.type->predefined) return {};
      return Arguments{
          .call = o.call, .root = o.root, .to = x.data, .count = x.count, .type = x.type};
    }
    case Call::reduce:
    case Call::allreduce: {
      const Operands& x = *o.operands;
      if (!x.type->predefined || x.op->operation == datatype::Operation::user) return {};
      return Arguments{.call = o.call,
                       .root = o.root,
                       .from = x.send,
                       .to = x.recv,
                       .count = x.count,
                       .type = x.type,
                       .op = x.op};
    }
    default:
      return {};
  }
}

/// Where the call's schedule is, or is to be; null: it is not kept.
Kept* place_for(const Operation& o, std::int64_t bytes, CommState& state, const Boards* boards) {
  if (bytes > kept_bytes || state.settings.compare) return nullptr;
  std::optional<Arguments> x = arguments_of(o);
  if (!x) return nullptr;
  if (boards != nullptr) x->board = boards->place_of(boards->next());
  if (state.kept == nullptr) state.kept = std::make_unique<Kept[]>(kept_schedules);
  // Roots often take turns.
  const auto of_call = static_cast<std::uint32_t>(x->call) * 5;
  const auto of_root = static_cast<std::uint32_t>(x->root + 1) * board_count;
  Kept& kept =
      state.kept[(of_call + of_root + static_cast<std::uint32_t>(x->board)) % kept_schedules];
  if (kept.of == *x) return &kept;
  if (kept.schedule != nullptr) give_back(*std::exchange(kept.schedule, nullptr), state);
  kept.of = *x;
  return &kept;
}

}  // namespace

void forget_schedules(CommState& state) {
  if (state.kept == nullptr) return;
  for (int i = 0; i < kept_schedules; ++i)
    if (state.kept[i].schedule != nullptr) give_back(*state.kept[i].schedule, state);
  state.kept.reset();
}

Err run_schedule(const Operation& o, Case c, Comm& comm, const How& how, const Signature& mine,
                 const Way* tried) {
  const NodeState* node = comm.size() < 2 ? nullptr : &node_state(comm);
  Boards* const boards = node == nullptr ? nullptr : node->boards;
  Cluster* const cluster = node == nullptr ? nullptr : node->cluster.get();
  const bool may_keep = cluster != nullptr && how.what == How::blocking && tried == nullptr;
  Kept* const kept = may_keep ? place_for(o, c.bytes, *comm.coll, boards) : nullptr;
  if (kept != nullptr && kept->schedule != nullptr) {
    Schedule& s = *std::exchange(kept->schedule, nullptr);
    if (kept->meets) s.use(*boards, boards->take());
    return run(s, comm, kept);
  }
  if (cluster != nullptr) {
    c.across = cluster->nodes.most() > 1;
    c.rows = cluster->nodes.in_rows();
    c.even = cluster->nodes.is_even();
    c.ranks = comm.size();
    c.most_here = cluster->nodes.most();
    if (o.call == Call::allgatherv)
      c.bytes = mean_block(*o.to, comm.size());
    else if (!c.uniform && only_moves_data(o.call))
      c.bytes = usual_block;
  }
  c.boards = boards != nullptr && cluster == nullptr;
  c.reach = c.boards && boards->direct();
  c.reproducible = o.operands != nullptr && comm.coll->settings.reproducible;
  c.asked = asked_way(comm, o.call);
  const bool is_tried = tried != nullptr && (c.boards || tried->place != Place::board);
  const Way* way = is_tried ? tried : &choose(choices_of(comm), c);
  Schedule& s = take_schedule(comm, mine);
  const bool meets =
      way->place == Place::board || (way->place == Place::nodes && boards != nullptr);
  const std::optional<Site> site = meets ? take_board(s, o, c, comm, how) : std::nullopt;
  if (way->place == Place::board && !site) {
    c.boards = false;
    Choices without{.machine = choices_of(comm).machine, .ledger = choices_of(comm).ledger};
    way = &choose(without, c);
  }
  if (!is_tried) tell_way(comm, o.call, c.bytes, *way);
  if (way->place == Place::nodes)
    way->at_nodes(s, o, {*cluster, comm.rank, site ? &*site : nullptr});
  else if (way->place == Place::board)
    way->at_board(s, o, *site);
  else
    way->by_messages(s, o, position(comm));
  if (kept == nullptr) return launch(s, comm, how);
  kept->meets = site.has_value();
  return run(s, comm, kept);
}

Err launch(Schedule& schedule, Comm& comm, const How& how) {
  if (how.what == How::blocking) return run(schedule, comm, nullptr);
  begin(schedule, comm);
  object::Request* request = pt2pt::new_plain_request(*comm.engine);
  request->ops = &request_ops;
  request->comm = &comm;
  request->state = &schedule;
  retain_all(schedule, comm);
  *how.out = pt2pt::handle_of(request);
  if (how.what == How::nonblocking) return start(*request);
  request->persistent = true;
  request->active = false;
  request->done = true;
  return ok;
}

}  // namespace weft::coll
