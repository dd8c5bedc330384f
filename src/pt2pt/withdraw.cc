// SPDX-License-Identifier: Apache-2.0
//
// Cancelling sends (MPI-5.0 §3.8.4): the wait for a cancelled send must return whatever other
// processes do. A large send waits for its receiver, so whether it is received or cancelled is
// decided by one word in its copy job, which the match and the cancel both try to claim; the
// receiver learns of it by `withdraw`, and frees the job by `done`, later. A small message is on
// its way when MPI_Isend returns and is not cancelled.
#include <algorithm>

#include "base/clock.h"
#include "pt2pt/engine.h"

namespace weft::pt2pt {
namespace {

enum Claim : std::uint32_t { nobody, receiver, canceller };

bool claim(shm::CopyJob& job, Claim who) {
  std::uint32_t none = nobody;
  // relaxed: decides only who goes on; the data came with the commit of the offer
  return job.claim.compare_exchange_strong(none, who, std::memory_order_relaxed);
}

/// By the receiver. What it waits for is the job's line, which the sender has written: the time
/// tells how far away the sender is.
bool claim_line(Engine& e, Peer& peer, std::uint32_t index, std::int64_t bytes) {
  shm::CopyJob& job = peer.outbox.job(index);
  if (bytes < e.cooperate_min) return claim(job, receiver);
  const std::int64_t start = now_ns();
  const bool claimed = claim(job, receiver);
  constexpr float newest = 0.25f, most_ns = 1000;  // a tick of the clock is no distance
  peer.line_ns += newest * (std::min(static_cast<float>(now_ns() - start), most_ns) - peer.line_ns);
  return claimed;
}

void drop(Engine& e, Arrived& message) {
  e.matcher.remove(message);
  send_control(e, e.peer(message.sender), wire::What::done, message.job, 0, 0);
  e.arrived.destroy(&message);
}

}  // namespace

void open_claim(shm::CopyJob& job) {
  job.claim.store(nobody, std::memory_order_relaxed);  // published by the commit of the offer
}

bool claim_offer(Engine& e, std::int32_t sender, std::uint32_t job, std::int64_t bytes) {
  if (claim_line(e, e.peer(sender), job, bytes)) return true;
  send_control(e, e.peer(sender), wire::What::done, job, 0, 0);
  return false;
}

bool claim_arrived(Engine& e, Arrived& message) {
  if (!message.offer || claim_line(e, e.peer(message.sender), message.job, message.bytes))
    return true;
  drop(e, message);
  return false;
}

Arrived* find_message(Engine& e, const wire::Envelope& wanted) {
  for (;;) {
    Arrived* m = e.matcher.find_arrived(wanted);
    if (m == nullptr || !m->offer) return m;
    const shm::CopyJob& job = e.peer(m->sender).outbox.job(m->job);
    if (job.claim.load(std::memory_order_relaxed) != canceller) return m;
    drop(e, *m);
  }
}

void on_withdraw(Engine& e, std::int32_t sender, std::uint32_t job) {
  // Not there: a receive has found out before, and the job is the sender's again.
  if (Arrived* m = e.matcher.find_offer(sender, job)) drop(e, *m);
}

void cancel_send(P2p& send) {
  if (send.done || !send.active) return;
  Engine& e = *send.engine;
  progress(e);
  if (send.done) return;
  Peer& peer = e.peer(send.peer);
  if (!send.offered) {
    if (send.moved > 0) return;  // its first pieces are on their way
    peer.queue.remove(&send);    // it has found no room so far
    if (peer.queue.empty()) e.busy.remove(&peer);
  } else {
    shm::CopyJob& job = e.inbox.job(send.job);
    if (!claim(job, canceller)) return;
    job.request = 0;
    send_control(e, peer, wire::What::withdraw, send.job, 0, 0);
  }
  send.cancelled = true;
  complete(send, MPI_SUCCESS);
}

}  // namespace weft::pt2pt
