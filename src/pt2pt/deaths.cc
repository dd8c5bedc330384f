// SPDX-License-Identifier: Apache-2.0
//
// All requests of a context that are under way are looked through: those that the pool has, and
// those that calls have on their stacks. Of a dead rank nothing comes any more, and nothing of it
// is touched: its lane leads nowhere from then on. What two living ranks have matched goes on; what
// they have not, of a collective, is cancelled, because the other one may have left it.
#include "pt2pt/deaths.h"

#include <algorithm>

namespace weft::pt2pt {
namespace {

/// Where dead ranks are: nobody takes anything.
class Nowhere final : public wire::Network {
 public:
  void meet(int) override {}
  void forget(int) override {}
  std::uint32_t payload_max() const override { return 0; }
  std::uint32_t lent_max() const override { return 0; }
  wire::Cell* take(int, std::uint32_t) override { return nullptr; }
  void send(wire::Cell*, std::uint32_t, int) override {}
  void send_from(wire::Cell*, std::span<const std::byte>, int, void (*)(void*), void*) override {}
  std::uint32_t announced_max() const override { return 0; }
  bool may_announce(int) override { return false; }
  void announce(wire::Cell*, std::span<const std::byte>, int, void (*)(void*), void*) override {}
  void await(std::span<std::byte>, int, std::uint64_t, void (*)(void*), void*) override {}
  void begin_row() override {}
  void end_row() override {}
  bool show(std::uint32_t, std::span<const std::byte>, wire::Place*) override { return false; }
  void hide(std::uint32_t) override {}
  bool read(std::span<std::byte>, int, const wire::Place&, void (*)(void*), void*) override {
    return false;
  }
  bool open_memory(std::span<std::byte>, wire::Place*) override { return false; }
  void close_memory(std::uint64_t) override {}
  std::int64_t reach_min() const override { return 1; }
  bool write(std::span<const std::byte>, int, const wire::Place&, void (*)(void*), void*) override {
    return false;
  }
  void abandon(int) override {}
  bool look(void (*)(void*, const wire::Cell&), void*, bool) override { return false; }
  bool arm() override { return true; }
  bool is_watched() const override { return true; }
  std::int64_t nap_ns() const override { return 0; }
  bool is_idle() const override { return true; }
};

/// Of the library's own messages in a communicator: a collective's.
bool is_internal(const P2p& p) {
  return p.envelope.context != p.comm->context;
}

void fail_request(P2p& p, std::int32_t dead) {
  const Err error =
      p.comm != nullptr ? died(*p.comm, dead) : fail(MPI_ERR_PROC_ABORTED, "rank %d is dead", dead);
  complete(p, error.cls);
}

/// All that it was about to get.
void end_sends(Engine& e, Peer& peer, OutgoingQueue& queue) {
  while (Outgoing* item = queue.pop_front()) {
    if (item->push == push_queued) {
      auto& send = static_cast<P2p&>(*item);
      if (send.cookie == 0) fail_request(send, peer.world_rank);  // else it is found as offered
    } else if (item->push == push_control) {
      e.controls.destroy(static_cast<Control*>(item));
    }
  }
}

/// Messages whose data is still with it, or has not come to its end.
void drop_arrived(Engine& e, std::int32_t rank) {
  for (const Arrived* m = e.matcher.first_arrived(); m != nullptr;) {
    auto& message = const_cast<Arrived&>(*m);
    m = Matcher::next_arrived(m);
    if (message.sender != rank || (!message.offer && message.here == message.bytes)) continue;
    e.matcher.remove(message);
    if (message.coming == nullptr) free_kept(e, message);
  }
}

void bury(Engine& e, std::int32_t rank) {
  Peer& peer = e.peer(rank);
  end_sends(e, peer, peer.urgent);
  end_sends(e, peer, peer.queue);
  if (peer.is_busy) leave_queues(e, peer);
  peer.incoming_kept = nullptr;
  e.announced.for_each([rank](Announced& a) { a.is_void |= a.sender == rank; });
  drop_arrived(e, rank);
  if (P2p* recv = std::exchange(peer.incoming, nullptr)) fail_request(*recv, rank);
  if (peer.lane.is_away()) e.network->abandon(rank);
  std::erase(e.held_back, &peer);
  peer.is_dead = true;
}

void end_send(Engine& e, P2p& send) {
  Peer& peer = e.peer(send.peer);
  if (send.listed) e.shown.remove(&send);
  send.listed = false;
  if (send.offered) {
    e.inbox.job(send.job).request = 0;
    end_offer(e, peer, send.job);
  }
  send.offered = false;
  send.lent = 0;
  fail_request(send, peer.world_rank);
}

/// The dead rank for which an operation cannot end; -1: it can.
std::int32_t hindrance(Engine& e, const P2p& p) {
  if (p.is_send) {
    if (e.peer(p.peer).is_dead) return p.peer;
    const bool waits = p.comm != nullptr && is_internal(p) && p.offered && !p.recalled;
    return waits ? dead_member(*p.comm) : -1;
  }
  if (!p.posted) return p.peer >= 0 && e.peer(p.peer).is_dead ? p.peer : -1;
  if (p.comm == nullptr) return -1;
  return dead_source(*p.comm, is_internal(p) ? MPI_ANY_SOURCE : p.envelope.source);
}

void consider(Engine& e, P2p& p) {
  const bool is_whole = !p.is_send && !p.posted && p.peer < 0;  // or no message at all
  if (p.done || !p.active || is_whole || p.peer == MPI_PROC_NULL || p.engine != &e) return;
  const std::int32_t dead = hindrance(e, p);
  if (dead < 0) return;
  if (p.is_send && e.peer(p.peer).is_dead) return end_send(e, p);
  if (p.is_send) return cancel_unmatched(p, died(*p.comm, dead).cls);
  if (p.posted) e.matcher.unpost(p);
  if (p.listed) e.left.remove(&p);
  p.listed = false;
  fail_request(p, dead);
}

/// Those of calls, which lie on a stack and have no operations.
void consider(Engine& e, const Awaited& awaited) {
  for (Request* request : awaited.requests)
    if (request->ops == nullptr) consider(e, static_cast<P2p&>(*request));
}

}  // namespace

std::int32_t dead_member(const Comm& comm) {
  memory::Job& job = *comm.engine->job;
  if (!shm::has_deaths(job)) [[likely]]
    return -1;
  for (const object::Group* group : {comm.group, comm.remote})
    for (std::size_t i = 0; group != nullptr && i < group->members.size(); ++i)
      if (shm::is_dead(job, group->members[i])) return group->members[i];
  return -1;
}

std::int32_t dead_source(const Comm& comm, int source) {
  if (!shm::has_deaths(*comm.engine->job)) [[likely]]
    return -1;
  if (source == MPI_ANY_SOURCE) return dead_member(comm);
  if (source < 0) return -1;
  const std::int32_t world = comm.peers()[static_cast<std::size_t>(source)];
  return shm::is_dead(*comm.engine->job, world) ? world : -1;
}

Err died(const Comm& comm, std::int32_t world_rank) {
  const auto place = [&](const object::Group* group) {
    if (group == nullptr) return -1;
    const auto at = std::find(group->members.begin(), group->members.end(), world_rank);
    return at == group->members.end() ? -1 : static_cast<int>(at - group->members.begin());
  };
  const int here = place(comm.remote != nullptr ? comm.remote : comm.group);
  return fail(MPI_ERR_PROC_ABORTED, "rank %d of %s is dead: %s", here >= 0 ? here : world_rank,
              comm.name.empty() ? "the communicator" : comm.name.c_str(),
              comm.engine->job->message(world_rank));
}

Err died(const Comm& comm) {
  const std::int32_t dead = dead_member(comm);
  return dead < 0 ? ok : died(comm, dead);
}

void look_for_dead(Engine& e, const Awaited& awaited) {
  const auto bury_dead = [&e](int first, int end) {
    for (int r = first; r < end; ++r)
      if (r != e.world_rank && shm::is_dead(*e.job, r) && !e.peer(r).is_dead) {
        progress(e);  // what it sent before counts
        bury(e, r);
      }
  };
  bury_dead(0, e.job->used());
  bury_dead(e.job->places(), e.job->guests_end());
  e.requests.for_each([&e](P2p& p) { consider(e, p); });
  consider(e, awaited);
  const auto of_threads = [&e](const WaitingList& list) {
    for (Waiting* w = list.front(); w != nullptr;) {
      Waiting* const next = WaitingList::next(w);  // it may be signalled, and leave
      consider(e, w->awaited);
      w = next;
    }
  };
  of_threads(e.waiters.list);
  if (e.nowhere == nullptr) e.nowhere.reset(new Away{*(e.nobody = std::make_unique<Nowhere>())});
  for (Peer& peer : e.peers.all())
    if (peer.is_dead && !peer.is_gone) {
      peer.is_gone = true;
      peer.lane = Lane();  // which knew how much room there was
      peer.lane.open(*e.nowhere, peer.world_rank);
    }
}

}  // namespace weft::pt2pt
