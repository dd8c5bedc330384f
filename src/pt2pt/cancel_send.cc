// SPDX-License-Identifier: Apache-2.0
//
// Cancelling sends (MPI-5.0 §3.8.4): a message is received or cancelled, never both and never
// neither. A large send waits for its receiver, so which of them is decided by one word in its copy
// job, which the match and the cancel both try to claim; the receiver learns of it by `withdraw`,
// and frees the job by `done`, later. A message in pieces is the receiver's as soon as it is
// pushed: the cancel is a question (`recall`), sent after the last piece, and the answer
// (`recalled`) completes the request, which was complete already. So that wait lasts until the
// receiver looks into its mailbox, though the standard has it return whatever other processes do.
// An offer to another node, where no word is shared, is asked for in the same way, at once: if the
// answer is no, the receiver has matched it, and said so before. A message of one piece is not
// cancelled: nothing names it (Engine::sent).
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
  if (peer.lane.is_away() || peer.is_dead) return true;
  shm::CopyJob& job = peer.lane.job(index);
  if (bytes < e.cooperate_min) return claim(job, receiver);
  const std::int64_t start = now_ns();
  const bool claimed = claim(job, receiver);
  const float line_ns = std::min(static_cast<float>(now_ns() - start), line_ns_max);
  peer.line_ns += newest_line * (line_ns - peer.line_ns);
  return claimed;
}

void drop(Engine& e, Arrived& message) {
  e.matcher.remove(message);
  tell(e, e.peer(message.sender), {.what = wire::What::done, .job = message.job});
  e.arrived.destroy(&message);
}

}  // namespace

void open_claim(shm::CopyJob& job) {
  job.claim.store(nobody, std::memory_order_relaxed);  // published by the commit of the offer
}

bool claim_offer(Engine& e, std::int32_t sender, std::uint32_t job, std::int64_t bytes) {
  if (claim_line(e, e.peer(sender), job, bytes)) return true;
  tell(e, e.peer(sender), {.what = wire::What::done, .job = job});
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
    const shm::CopyJob& job = e.peer(m->sender).lane.job(m->job);
    if (job.claim.load(std::memory_order_relaxed) != canceller) return m;
    drop(e, *m);
  }
}

void on_withdraw(Engine& e, const wire::Cell& cell) {
  const auto sender = static_cast<std::int32_t>(cell.sender);
  Arrived* m = e.matcher.find_named(cell.envelope, [&](const Arrived& kept) {
    return kept.offer && kept.sender == sender && kept.job == cell.job;
  });
  // Not there: a receive has found out before, and the job is the sender's again.
  if (m != nullptr) drop(e, *m);
}

void recall(Engine& e, Peer& peer, P2p& send) {
  tell(e, peer,
       {.what = wire::What::recall,
        .cookie = reinterpret_cast<std::uint64_t>(&send),
        .bytes = send.order,
        .envelope = send.envelope});
}

void on_recall(Engine& e, const wire::Cell& cell) {
  const auto sender = static_cast<std::int32_t>(cell.sender);
  Arrived* m = e.matcher.find_named(cell.envelope, [&](const Arrived& kept) {
    return kept.order == cell.bytes && kept.sender == sender;
  });
  if (m != nullptr) {  // all of it is here, or will be, and no receive has matched it
    e.matcher.remove(*m);
    if (m->coming != nullptr)
      m->coming->is_void = true;
    else
      free_kept(e, *m);
  }
  tell(e, e.peer(sender),
       {.what = wire::What::recalled, .cookie = cell.cookie, .bytes = m != nullptr ? 1U : 0});
}

void on_recalled(const wire::Cell& cell) {
  auto& send = *reinterpret_cast<P2p*>(cell.cookie);
  send.cancelled = cell.bytes != 0;
  if (send.offered && !send.cancelled) {  // it is matched, and goes on
    send.recalled = false;
    return;
  }
  if (send.offered) end_offer(*send.engine, send.engine->peer(send.peer), send.job);
  complete(send, MPI_SUCCESS);
}

void cancel_unmatched(P2p& send, int error) {
  Engine& e = *send.engine;
  Peer& peer = e.peer(send.peer);
  if (peer.lane.is_away()) {  // its answer completes it
    send.recalled = true;
    return recall(e, peer, send);
  }
  shm::CopyJob& job = e.inbox.job(send.job);
  if (!claim(job, canceller)) return;
  job.request = 0;
  tell(e, peer, {.what = wire::What::withdraw, .job = send.job, .envelope = send.envelope});
  complete(send, error);
}

void cancel_send(P2p& send) {
  if (!send.active || send.recalled || send.peer == MPI_PROC_NULL) return;
  Engine& e = *send.engine;
  Peer& peer = e.peer(send.peer);
  P2p& out = send.pair[0] != nullptr ? *send.pair[0] : send;  // a buffered send's copy
  if (!out.delegated) progress(e);
  if (out.order != 0) {
    const bool is_pushed = out.done;
    out.recalled = send.recalled = true;
    send.done = false;
    if (is_pushed) send.offered = false;
    if (is_pushed || out.offered) recall(e, peer, is_pushed ? send : out);
    return;
  }
  if (out.done) return;
  if (!out.offered) {
    peer.queue.remove(&out);  // it has found no room so far, or nobody has tried
    leave_queues(e, peer);
  } else {
    shm::CopyJob& job = e.inbox.job(out.job);
    if (!claim(job, canceller)) return;
    job.request = 0;
    tell(e, peer, {.what = wire::What::withdraw, .job = out.job, .envelope = out.envelope});
  }
  out.cancelled = true;
  complete(out, MPI_SUCCESS);
}

}  // namespace weft::pt2pt
