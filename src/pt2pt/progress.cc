// SPDX-License-Identifier: Apache-2.0
//
// Looking into the mailbox, and what waits for room in a peer's.
//
// progress() is the only reader of the mailbox. It never waits and never calls user code other than
// through pollers; what it completes is seen by whoever waits (wait_until).
#include "pt2pt/engine.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "base/assert.h"
#include "model/machine.h"
#include "parallel/jobs.h"

namespace weft::pt2pt {
namespace {

// Cells handled before progress() returns to its caller, so that a flood from fast senders does not
// keep a thread whose own operation is long complete.
constexpr int cells_per_look = 256;

/// Add a piece to an unexpected message.
void keep_piece(Engine& e, Arrived& m, const wire::Cell& cell) {
  std::memcpy(m.heap + m.here, piece_at(e, cell), cell.piece);
  piece_is_read(e, cell);
  m.here += cell.piece;
  e.counters->bytes_copied += cell.piece;
  ++e.counters->copies;
  e.peer(m.sender).incoming_kept = m.here < m.bytes ? &m : nullptr;
}

void take_piece(Engine& e, P2p& recv, const wire::Cell& cell) {
  const std::int64_t left = recv.total - recv.moved;
  if (cell.piece < left && left >= e.together_min && drain_together(e, recv, cell)) [[unlikely]]
    return;
  add_data(e, recv, piece_at(e, cell), cell.piece);
  piece_is_read(e, cell);
}

void count_unexpected(Engine& e, const Arrived& m) {
  e.unexpected_bytes += m.bytes;
  e.counters->unexpected_peak_bytes =
      std::max(e.counters->unexpected_peak_bytes, static_cast<std::uint64_t>(e.unexpected_bytes));
  if (e.unexpected_bytes > e.unexpected_max) hold_back(e, e.peer(m.sender));
}

void keep_unexpected(Engine& e, const wire::Cell& cell) {
  Arrived* m = e.arrived.create();
  m->envelope = cell.envelope;
  m->sender = static_cast<std::int32_t>(cell.sender);
  ++e.counters->unexpected;
  if (cell.what == wire::What::inline_data) {
    m->bytes = m->here = cell.inline_bytes;
    std::memcpy(m->small, cell.payload, wire::inline_max);
  } else if (cell.what == wire::What::offer) {
    m->offer = true;
    m->bytes = static_cast<std::int64_t>(cell.bytes);
    m->job = cell.job;
    m->order = cell.cookie;
    const wire::Place place = place_of(e, cell);
    std::memcpy(m->small, &place, sizeof place);
  } else if (cell.what == wire::What::announced) {
    keep_announced(e, cell, *m);
    count_unexpected(e, *m);
  } else {
    m->bytes = static_cast<std::int64_t>(cell.bytes);
    m->heap = e.payloads.take(cell.bytes);
    const bool is_lent = cell.piece > e.piece_max;
    if (cell.piece < cell.bytes || is_lent) m->order = cell.cookie;
    keep_piece(e, *m, cell);
    count_unexpected(e, *m);
  }
  e.matcher.arrive(*m);
}

void on_message(Engine& e, const wire::Cell& cell) {
  auto* recv = static_cast<P2p*>(e.matcher.find_posted(cell.envelope));
  if (recv == nullptr) return keep_unexpected(e, cell);
  const auto sender = static_cast<std::int32_t>(cell.sender);
  if (cell.what == wire::What::offer &&
      !claim_offer(e, sender, cell.job, static_cast<std::int64_t>(cell.bytes)))
    return;
  e.matcher.unpost(*recv);
  switch (cell.what) {
    case wire::What::inline_data:
      begin_data(e, *recv, cell.envelope, cell.inline_bytes);
      return add_data(e, *recv, cell.payload, cell.inline_bytes);
    case wire::What::ring_data:
      begin_data(e, *recv, cell.envelope, static_cast<std::int64_t>(cell.bytes));
      if (cell.piece < cell.bytes) e.peer(sender).incoming = recv;
      return take_piece(e, *recv, cell);
    case wire::What::announced:
      return await_announced(e, cell, *recv);
    default:
      return deliver_offer(e, *recv,
                           {cell.envelope, sender, cell.job, static_cast<std::int64_t>(cell.bytes),
                            place_of(e, cell)});
  }
}

void on_more(Engine& e, const wire::Cell& cell) {
  Peer& peer = e.peer(static_cast<std::int32_t>(cell.sender));
  if (peer.incoming_kept != nullptr) return keep_piece(e, *peer.incoming_kept, cell);
  take_piece(e, *peer.incoming, cell);
}

void dispatch(Engine& e, const wire::Cell& cell) {
  switch (cell.what) {
    case wire::What::show:
      return on_show(e, cell);
    case wire::What::copied:
      return on_copied(e, cell);
    case wire::What::done:
      return on_done(e, cell);
    case wire::What::stage:
      return on_stage(e, cell);
    case wire::What::more_data:
      return on_more(e, cell);
    case wire::What::staged_data:
      return take_piece(e, *reinterpret_cast<P2p*>(cell.cookie), cell);
    case wire::What::withdraw:
      return on_withdraw(e, cell);
    case wire::What::recall:
      return on_recall(e, cell);
    case wire::What::recalled:
      return on_recalled(cell);
    case wire::What::back:
      return on_back(e, cell);
    case wire::What::ask_first:
      return e.peer(static_cast<std::int32_t>(cell.sender)).lane.ask_first(cell.bytes != 0);
    case wire::What::one_sided:  // else of a window that this rank never made
      if (e.one_sided.take != nullptr) e.one_sided.take(e, e.one_sided.state, cell);
      return;
    default:
      return on_message(e, cell);
  }
}

/// Push what is in the queue; only the front item is ever pushed. False if there is no room for it.
bool drain(Engine& e, Peer& peer, OutgoingQueue& queue) {
  // push() may complete the item and give it back, so it leaves the queue first.
  while (Outgoing* item = queue.pop_front()) {
    if (item->push(e, peer, *item)) continue;
    queue.push_front(item);
    return false;
  }
  return true;
}

void flush(Engine& e) {
  if (e.network != nullptr) [[unlikely]]
    e.network->begin_row();
  for (Peer* peer = e.busy.front(); peer != nullptr;) {
    Peer* next = e.busy.next(peer);
    if (drain(e, *peer, peer->urgent) && drain(e, *peer, peer->queue)) leave_queues(e, *peer);
    peer = next;
  }
  if (e.network != nullptr) [[unlikely]]
    e.network->end_row();
}

bool put_control(Engine& e, Peer& peer, const Notice& notice) {
  shm::Claim claim;
  if (!peer.lane.claim(0, &claim)) return false;
  wire::Cell& cell = *claim.cell;
  cell.what = notice.what;
  cell.envelope = notice.envelope;
  cell.sender = static_cast<std::uint32_t>(e.world_rank);
  cell.job = notice.job;
  cell.cookie = notice.cookie;
  cell.bytes = notice.bytes;
  if (peer.lane.commit(claim)) ++e.counters->wakes;
  if (notice.what == wire::What::recall) peer.lane.knock();  // no receive may ever look there
  return true;
}

/// A rank's share of the largest cache, if the launcher has told.
std::int64_t cached_max_of(const Engine& e, const model::Parameters& prices) {
  const double lines = model::cache_share(prices, e.job->sharing());
  return lines > 0 ? static_cast<std::int64_t>(lines * model::line_bytes) : INT64_MAX;
}

/// Does another rank compute on a hardware thread of this one's core?
bool shares_core(memory::Job& job, int rank) {
  const topo::Hierarchy node = job.hierarchy();
  const int core = node.level_named("Core");
  const int mine = core < 0 ? -1 : node.group_of(core, rank);
  if (mine < 0) return false;
  const memory::World world = job.world_of(rank);
  for (int other = world.first; other < world.end(); ++other)
    if (other != rank && node.group_of(core, other) == mine) return true;
  return false;
}

/// The shortest send that may be left to a thread of weft's own; `long_piece`: if that pays.
std::int64_t delegate_min_of(const Engine& e) {
  if (!e.contexts->has_background) return INT64_MAX;
  const std::int64_t asked = e.params->integer(P::pt2pt_delegate_min);
  return asked >= 0 ? std::max<std::int64_t>(asked, 1) : long_piece;
}

/// With more ranks than CPUs one rank writes while the others wait: the ring is as good.
std::int64_t fragment_room(const Engine& e) {
  const std::int64_t asked = e.params->integer(P::shm_fragment_bytes);
  if (asked >= 0) return asked;
  return e.policy.crowded ? 0 : e.bulk_bytes;
}

[[gnu::cold, gnu::noinline]] bool look_at_network(Engine& e, bool in_passing) {
  return e.network->look(
      [](void* engine, const wire::Cell& cell) {
        Engine& e = *static_cast<Engine*>(engine);
        // What is on its way when its sender is buried is nobody's.
        const Peer* const known = e.peers.find(cell.sender);
        if (known == nullptr || !known->is_dead) dispatch(e, cell);
      },
      &e, in_passing);
}

/// What else there is to do than to look into the mailbox.
[[gnu::always_inline]] inline bool look_at_others(Engine& e, bool in_passing = false) {
  bool found = false;
  if (e.network != nullptr) [[unlikely]]
    found = look_at_network(e, in_passing);
  if (!e.busy.empty()) [[unlikely]]
    flush(e);
  if (!e.left.empty()) [[unlikely]]
    check_left(e);
  for (std::size_t i = 0; i < e.pollers.size();) {
    const Poller poller = e.pollers[i];
    if (!poller.poll(poller.state)) {
      ++i;
      continue;
    }
    // poll() may have added pollers at the end, never removed any
    e.pollers.erase(e.pollers.begin() + static_cast<std::ptrdiff_t>(i));
    found = true;
  }
  return found;
}

/// True if there was anything to do. Flat: what takes a cell is also called for packets, and the
/// compiler would call it here, too, which makes a short message 12 of 90 ns slower.
[[gnu::flatten]] bool look(Engine& e) {
  ++e.counters->polls;
  bool found = !e.busy.empty() || !e.left.empty();
  do {
    for (int n = 0; n < cells_per_look; ++n) {
      const wire::Cell* cell = e.inbox.poll();
      if (cell == nullptr) break;
      dispatch(e, *cell);
      e.inbox.consume(*cell);
      found = true;
    }
  } while (copy_shown(e));  // whose offer comes meanwhile need not wait for the last chunk
  found |= look_at_others(e);
  return found;
}

[[gnu::noinline]] bool look_measured(Engine& e) {
  e.lock.spent(&Counters::issue_ns);
  const bool found = look(e);
  e.lock.spent(found ? &Counters::poll_ns : &Counters::empty_ns);
  return found;
}

}  // namespace

bool push_control(Engine& e, Peer& peer, Outgoing& item) {
  auto& control = static_cast<Control&>(item);
  if (!put_control(e, peer, control.notice)) return false;
  e.controls.destroy(&control);
  return true;
}

bool progress(Engine& e) {
  if (!e.lock.measures()) [[likely]]
    return look(e);
  return look_measured(e);
}

bool progress_of_network(Engine& e, bool in_passing) {
  ++e.counters->polls;
  const bool found = !e.busy.empty() || !e.left.empty();
  return look_at_others(e, in_passing) || found;
}

void wait_for(Request& request) {
  if (request.done) return;
  Request* const requests[] = {&request};
  wait_until(*request.engine, [&request] { return request.done; }, {.requests = requests});
}

void wait_for_all(std::span<Request* const> requests) {
  std::size_t next = 0;  // all before it are done
  const auto all_done = [&] {
    while (next < requests.size() && requests[next]->done) ++next;
    return next == requests.size();
  };
  if (!all_done()) wait_until(*requests[next]->engine, all_done, {.requests = requests});
}

void looked_in_vain(Engine& e, std::uint32_t looks_per_visit) {
  look_for_deaths(e, {});
  const bool wanted = e.policy.crowded || e.waiters.waiting > 0;
  if (!wanted && !e.contexts->several()) return;
  if (++e.vain_looks % looks_per_yield != 0) return;
  const bool visits = e.contexts->several() && e.vain_looks % looks_per_visit == 0;
  if (!wanted && !visits) return;
  say_what_others_need(e);
  const auto left = e.lock.let_go();
  if (visits) look_after_others(e, Others::now_and_then);
  if (wanted) sync::yield();
  e.lock.take_back(left);
  if (wanted) ++e.counters->yields;
}

void add_poller(Engine& e, Poller poller) {
  e.pollers.push_back(poller);
}

void leave_queues(Engine& e, Peer& peer) {
  if (!peer.queue.empty() || !peer.urgent.empty()) return;
  peer.is_busy = false;
  e.busy.remove(&peer);
}

void enqueue(Engine& e, Peer& peer, OutgoingQueue& queue, Outgoing& item) {
  ++e.counters->ring_full;
  add_outgoing(e, peer, queue, item);
  if (e.contexts->several()) peer.lane.knock();
}

void add_outgoing(Engine& e, Peer& peer, OutgoingQueue& queue, Outgoing& item) {
  if (peer.is_dead) [[unlikely]]
    return;
  // Not by its queues: drain() may have taken the last one out, whose push adds another.
  if (!std::exchange(peer.is_busy, true)) e.busy.push_back(&peer);
  queue.push_back(&item);
  // Nobody tells when there is room again, so whoever looks after messages must not sleep.
  e.inbox.wake();
}

void tell(Engine& e, Peer& peer, const Notice& notice) {
  if (peer.urgent.empty() && put_control(e, peer, notice)) return;
  if (peer.is_dead) [[unlikely]]
    return;
  Control* control = e.controls.create();
  control->push = push_control;
  control->notice = notice;
  enqueue(e, peer, peer.urgent, *control);
}

model::Parameters Engine::prices() const {
  model::Parameters out;
  std::memcpy(&out, job->header().prices, sizeof out);
  return out.levels > 0 ? out : model::built_in();
}

namespace {

/// Spawned ranks are none: where these compute, it is as if another program did.
void know_neighbours(Engine& e) {
  memory::Job& job = *e.job;
  int first = 0, end = job.size();
  if (job.header().apart != 0) {
    while (first < end && job.node_of(first) != job.node_of(e.world_rank)) ++first;
    while (end > first && job.node_of(end - 1) != job.node_of(e.world_rank)) --end;
  }
  e.neighbours.open(job.entry(e.world_rank).wait_times,
                    {&job.entry(first).wait_times, sizeof(memory::RankEntry), end - first});
}

}  // namespace

void Engine::open(memory::Job& the_job, int rank, const Params& the_params, Counters& the_counters,
                  Contexts& the_contexts) {
  contexts = &the_contexts;
  context = static_cast<int>(contexts->engines.size());
  contexts->engines.push_back(this);
  job = &the_job;
  params = &the_params;
  world_rank = rank;
  pid = getpid();
  counters = &the_counters;
  log = std::make_unique<Log>(params->text(P::log), rank);
  const memory::JobHeader& h = the_job.header();
  if (context > 0) {
    policy = contexts->engines[0]->policy;
  } else {
    policy = sync::Policy::choose(*params, the_job.sharing(), the_job.cpus());
    policy.spare = &parallel::jobs();
    policy.kind = policy.siblings && shares_core(*job, rank);
  }
  if (policy.crowded) know_neighbours(*this);
  inbox.open(the_job, rank, context);
  delegate_min = delegate_min_of(*this);
  delegates_always = params->integer(P::pt2pt_delegate_min) >= 0;
  const model::Parameters known = prices();
  bulk_bytes = model::bulk_bytes(known, the_job.sharing());
  fragments.open(the_job, fragment_room(*this), inbox.lasting());
  memory_line_ns = known.memory.b * 1e9;
  eager_max = params->integer(P::pt2pt_eager_max);
  if (eager_max < 0) eager_max = eager_in_process;
  piece_max = std::min<std::int64_t>(shm::Fragments::bytes, inbox.payload_max());
  fragment_min = fragments.count() > 0 ? shortest_in_fragment : INT64_MAX;
  unexpected_max = params->integer(P::pt2pt_unexpected_max);
  kernel_copy_min = policy.crowded ? 0 : params->integer(P::pt2pt_kernel_copy_min);
  cooperate_min = policy.crowded ? INT64_MAX : params->integer(P::pt2pt_cooperate_min);
  cached_max = policy.crowded ? INT64_MAX : cached_max_of(*this, known);
  use_kernel_copy = params->boolean(P::memory_cma);
  // What ranks on other nodes wait for is not seen.
  if (h.watched == 0 && h.nodes == 1 && hang::limit_ns(*params) > 0)
    watch = std::make_unique<hang::Watch>(the_job, hang::limit_ns(*params));
  peers.open(h.places);
  add_jobs(shm::Mailbox::jobs);
  make_shared_request(*this);
  memory::permit_peers();
  if (params->boolean(P::stats)) lock.measure(the_counters);
}

void Engine::open(std::unique_ptr<wire::Network> the_network) {
  network = std::move(the_network);
  away.reset(new Away{*network});
  away->asking.asks_first.store(1, std::memory_order_relaxed);  // nobody else has it
  piece_max = std::min<std::int64_t>(piece_max, network->payload_max());
}

void Engine::add_jobs(std::uint32_t count) {
  const auto first = static_cast<std::uint32_t>(jobs);
  jobs += count;
  for (std::uint32_t i = count; i > 0; --i) free_jobs.push_back(first + i - 1);
}

bool Engine::add_job_block() {
  if (!inbox.add_jobs(job_blocks)) return false;
  add_jobs(shm::Mailbox::jobs_in_block(job_blocks++));
  return true;
}

void Engine::share(bool several_may_wait) {
  among_threads = several_may_wait;
  sync::RankLock::Choice choice;
  choice.kind = static_cast<sync::LockKind>(params->integer(P::sync_lock));
  choice.cpus = job->cpus() / job->sharing();
  choice.sole = &contexts->sole;
  if (choice.cpus < 2) choice.settings.patience = 0;
  choice.settings.bias = bias = static_cast<std::uint32_t>(params->integer(P::sync_bias));
  choice.settings.domains = sync::domain_count();
  choice.settings.domain = sync::current_domain;
  choice.counters = counters;
  lock.hold();
  lock.enable(choice);
  lock.release();
  waiters.cpus = choice.cpus;
  waiters.most_servers = static_cast<int>(params->integer(P::sync_servers));
}

void Peers::open(std::size_t places) {
  places_ = places;
  at_.reset(static_cast<Peer**>(std::calloc(places, sizeof(Peer*))));
  if (at_ == nullptr) out_of_memory("the peers of a rank", places * sizeof(Peer*));
  all_.clear();
}

Peer& Peers::add(std::size_t place) {
  return *(at_[place] = &all_.emplace_back());
}

void Engine::meet(const std::vector<std::int32_t>& ranks) {
  const memory::World own = job->world_of(world_rank);
  for (const std::int32_t rank : ranks) {
    if (job->world_of(rank) == own) continue;
    incarnations.resize(peers.places());
    const auto place = static_cast<std::size_t>(rank);
    const std::uint32_t now = job->entry(rank).incarnation;
    if (std::exchange(incarnations[place], now) == now) continue;
    if (network != nullptr) network->forget(rank);
    Peer* const known = peers.find(place);
    if (known == nullptr) continue;
    WEFT_ASSERT(!known->is_busy);  // what was sent to it has arrived: it has left since
    // Who comes may have begun a message before it is met here: its pieces follow those of the last
    // one, which has sent all of its own.
    P2p* const incoming = known->incoming;
    Arrived* const kept = known->incoming_kept;
    std::destroy_at(known);
    open_peer(*std::construct_at(known), rank);
    known->incoming = incoming;
    known->incoming_kept = kept;
  }
}

Peer& Engine::add_peer(std::int32_t rank) {
  Peer& made = peers.add(static_cast<std::size_t>(rank));
  open_peer(made, rank);
  return made;
}

void Engine::open_peer(Peer& p, std::int32_t rank) {
  p.world_rank = rank;
  p.is_foreign = job->world_of(rank) != job->world_of(world_rank);
  if (p.is_foreign) {
    incarnations.resize(peers.places());
    incarnations[static_cast<std::size_t>(rank)] = job->entry(rank).incarnation;
  }
  const bool chosen = params->integer(P::pt2pt_eager_max) >= 0;
  if (job->node_of(rank) != job->node_of(world_rank)) [[unlikely]] {
    p.lane.open(*away, rank);
    p.reach = memory::Reach::none;
    p.eager_max = chosen ? eager_max : eager_to_other_nodes;
    if (!chosen) p.announced_max = network->announced_max();
    return;
  }
  p.lane.open(*job, rank, context);
  p.eager_max = chosen || policy.crowded || hosts(rank) ? eager_max : eager_between_processes;
  p.tries_push = !chosen && !policy.crowded && hosts(rank) && rank != world_rank;
}

}  // namespace weft::pt2pt
