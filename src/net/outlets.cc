// SPDX-License-Identifier: Apache-2.0
//
// Rows of packets that idle threads help to seal and post (Si, Pena, Balaji, Takagi, Ishikawa:
// MT-MPI, ICS'14, section 3.2.3). The context's thread fills packets and keeps them until there is
// enough for all. A share is what leaves by one endpoint: it has a domain of its own, and a peer
// has one endpoint at a time, so whoever posts a share writes nothing that others read. Ranks as
// threads have open files of their own: a thread of another rank seals only. What a share did not
// post, the context's thread posts or queues.
#include <algorithm>
#include <array>

#include "base/clock.h"
#include "net/lane.h"
#include "parallel/jobs.h"

namespace weft::net {

bool Lane::outlets_are_busy() const {
  if (outlets_.empty()) return false;
  const auto has_work = [](const auto& outlet) { return !outlet->endpoint->is_idle(); };
  const auto leaves_there = [](const Waiting& packet) { return packet.to->outlet != nullptr; };
  return std::any_of(outlets_.begin(), outlets_.end(), has_work) ||
         std::any_of(waiting_.begin(), waiting_.end(), leaves_there);
}

/// Nobody is woken when an outlet can go on: whoever of the rank's threads sleeps looks now and
/// then.
void Lane::note_outlets() {
  const bool are_busy = outlets_are_busy();
  if (std::exchange(busy_outlets_, are_busy) == are_busy) return;
  plan_.to_do_again.fetch_add(are_busy ? 1 : -1, std::memory_order_relaxed);
}

/// How much has happened. An outlet that is still to be connected has nothing on its way.
int Lane::progress_outlets() {
  int done = 0;
  for (const auto& outlet : outlets_) {
    if (outlet->endpoint->is_idle() && waiting_.empty()) continue;
    const Result<int> now = outlet->endpoint->progress(*outlet);
    if (now)
      done += now.value;
    else
      plan_.lost(nobody, now.err);
  }
  if (busy_outlets_) note_outlets();
  return done;
}

void Lane::lost_by(const Outlet& outlet, Peer peer, Err err) {
  for (const auto& [rank, to] : to_) {
    const auto at = to.at.find(&outlet);
    if (at != to.at.end() && at->second == peer) return lost(to.peer, err);
  }
}

/// As many as there can be, up to `wanted`. False: none.
bool Lane::open_outlets(int wanted) {
  wanted = std::min(wanted, most_outlets);
  while (static_cast<int>(outlets_.size()) < wanted && !has_all_outlets_) {
    Result<std::unique_ptr<Endpoint>> endpoint = plan_.fabric.endpoint(
        {.receives = 0, .sends = rooms_to_send, .send_bytes = endpoint_->send_bytes()});
    if (endpoint)
      outlets_.push_back(std::make_unique<Outlet>(*this, std::move(endpoint.value)));
    else
      has_all_outlets_ = true;
  }
  return !outlets_.empty();
}

/// Are this row's packets kept, for whoever is idle? Decided at its first one.
bool Lane::keeps_packets() {
  if (std::exchange(is_decided_, true)) return keeps_;
  keeps_ = false;
  const parallel::Jobs& jobs = parallel::jobs();
  if (plan_.is_crowded && !jobs.is_forced()) return false;  // who waits has no core of its own
  const std::int64_t most_bytes = rooms_to_send * static_cast<std::int64_t>(row_bytes);
  const std::int64_t worth_ns = 2 * parallel::chunk_ns;  // the least that is kept
  if (jobs.least_transfer() == INT64_MAX || !jobs.is_worth(most_bytes, worth_ns)) return false;
  const int idle = std::max(jobs.idle(worth_ns), jobs.is_forced() ? 1 : 0);
  if (idle == 0) return false;
  is_timed_ = post_ns_ == 0;
  return keeps_ = !is_timed_ && open_outlets(idle);
}

/// What it takes to seal and post a packet; rather too little than too much: a thread may
/// have been switched off meanwhile.
void Lane::posted_in(std::int64_t ns) {
  ns = std::max<std::int64_t>(ns, 1);
  post_ns_ = post_ns_ == 0 || ns < post_ns_ ? ns : post_ns_ + (ns - post_ns_) / 8;
}

/// By which endpoint the peer's packets leave from now on. Others may be under way by another one.
void Lane::settle(To& to, int world_rank) {
  if (!to.has_answered || to.waiting > 0 || to.kept > 0) return;
  if (to.turn < 0) to.turn = turns_++;
  const auto n = static_cast<std::size_t>(to.turn) % (outlets_.size() + 1);
  if (n == 0) {
    to.outlet = nullptr;
    return;
  }
  Outlet* const outlet = outlets_[n - 1].get();
  if (to.at.find(outlet) == to.at.end()) {
    const Result<Peer> peer = introduce(*outlet->endpoint, address_of(world_rank));
    if (!peer) return;
    to.at.emplace(outlet, peer.value);
  }
  to.outlet = outlet;
}

/// Packets that make a chunk. A peer has no more of what is kept, so that all peers have some; and
/// as many for each endpoint are posted: a row that goes on is filled while these travel.
int Lane::most_kept() const {
  constexpr std::int64_t most = rooms_to_send / 2;
  return static_cast<int>(std::clamp<std::int64_t>(parallel::chunk_ns / post_ns_, 1, most));
}

void Lane::keep(const Waiting& packet) {
  ++packet.to->kept;
  kept_.push_back(packet);
  if (kept_.size() >= (outlets_.size() + 1) * static_cast<std::size_t>(most_kept())) post_kept();
}

void Lane::post_share(Share& share) {
  const std::int64_t begun = now_ns();
  for (const Waiting& packet : share.packets) seal(packet);
  const std::int64_t sealed = now_ns();
  const bool may_post = !plan_.may_post || plan_.may_post();
  for (Waiting& packet : share.packets) {
    To& to = *packet.to;
    if (!may_post || to.is_held_back) continue;
    const Result<bool> done = endpoint_of(to).commit(reinterpret_cast<std::byte*>(packet.cell),
                                                     packet.bytes, peer_of(to), packet.behind);
    if (done && done.value)
      packet.cell = nullptr;
    else
      to.is_held_back = true;
  }
  const std::int64_t ended = plan_.may_post ? sealed : now_ns();
  share.ns = (ended - begun) / static_cast<std::int64_t>(share.packets.size());
}

/// With whoever is idle, if there are several endpoints and it takes long enough.
void Lane::post_shares(std::span<Waiting> packets) {
  std::array<Share, most_outlets + 1> shares;
  std::uint32_t count = 0;
  std::int64_t bytes = 0;
  for (std::size_t from = 0, to = 0; to < packets.size(); from = to) {
    const Outlet* const outlet = packets[from].to->outlet;
    for (; to < packets.size() && packets[to].to->outlet == outlet; ++to)
      bytes += static_cast<std::int64_t>(packets[to].bytes + packets[to].behind.size());
    shares[count++] = {packets.subspan(from, to - from), 0};
  }
  struct Context {
    Lane& lane;
    Share* shares;
  } context{*this, shares.data()};
  const auto chunk = [](void* c, std::uint32_t i) {
    const auto& x = *static_cast<Context*>(c);
    x.lane.post_share(x.shares[i]);
  };
  const std::int64_t worth_ns = post_ns_ * static_cast<std::int64_t>(packets.size());
  if (count > 1 && parallel::jobs().is_worth(bytes, worth_ns))
    parallel::jobs().offer({chunk, &context, count, worth_ns});
  else
    for (std::uint32_t i = 0; i < count; ++i) chunk(&context, i);
  for (std::uint32_t i = 0; i < count; ++i) posted_in(shares[i].ns);
}

void Lane::post_kept() {
  std::vector<Waiting> kept = std::exchange(kept_, {});
  const auto may_leave = [](const Waiting& packet) {
    return packet.to->has_answered && packet.to->waiting == 0;
  };
  const auto rest = std::stable_partition(kept.begin(), kept.end(), may_leave);
  std::stable_sort(kept.begin(), rest, [](const Waiting& a, const Waiting& b) {
    return std::less<>()(a.to->outlet, b.to->outlet);
  });
  unwatch();
  post_shares({kept.begin(), rest});
  for (auto packet = kept.begin(); packet != kept.end(); ++packet) {
    To& to = *packet->to;
    to.kept = 0;
    to.is_held_back = false;
    if (packet->cell == nullptr) {
      if (packet->data != nullptr) follow(*packet->data);
      continue;
    }
    if (to.is_dead)
      endpoint_of(to).discard(reinterpret_cast<std::byte*>(packet->cell));
    else if (packet >= rest)
      post_alone(*packet);
    else if (to.waiting > 0 || !post(*packet))
      queue(*packet);
  }
  note_outlets();
  kept.clear();
  if (kept_.empty()) kept_.swap(kept);  // its room
}

}  // namespace weft::net
