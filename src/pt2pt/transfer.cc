// SPDX-License-Identifier: Apache-2.0
//
// Large messages. The sender offers; the receiver, once it has a buffer, brings the data over:
//   single copy   from the sender's buffer straight to the receiver's, where memory reaches the
//   peer
//                 (threads of one process, or process_vm_readv). Both sides take chunks of it: the
//                 sender, if it waits, helps by writing while the receiver reads.
//   staged        the receiver asks the sender to push the message piece by piece through its ring
//                 (two copies that overlap): where the kernel refuses, a sender in another process
//                 has a message that is not one block or less than pt2pt.kernel_copy_min, or a
//                 layout is mostly gaps.
// In both, `done` (or the last pushed piece) ends the send. A copy job belongs to the sender; the
// receiver's last access to it comes before `done`.
#include <errno.h>

#include <algorithm>
#include <cstring>

#include "base/copy.h"
#include "pt2pt/engine.h"

namespace weft::pt2pt {
namespace {

using memory::Reach;

// A chunk of a shared copy: small enough that both sides finish together, large enough that taking
// one (a shared counter, a system call between processes) is cheap beside copying it.
constexpr std::int64_t chunk_min = 32 * 1024;
constexpr std::int64_t chunk_max = 256 * 1024;
constexpr std::int64_t chunks_wanted = 8;

std::uint64_t address(const void* p) {
  return reinterpret_cast<std::uint64_t>(p);
}

/// Copy one piece of a job between this rank and `pid`, in either direction.
bool copy_piece(const Engine& e, const shm::CopyJob& job, std::int64_t at, std::int64_t n,
                bool pull, int pid) {
  const std::uint64_t from = job.from + static_cast<std::uint64_t>(at);
  const std::uint64_t to = job.to + static_cast<std::uint64_t>(at);
  const auto bytes = static_cast<std::size_t>(n);
  ++e.counters->copies;
  e.counters->bytes_copied += bytes;
  if (pid == e.pid) {
    copy_bytes(reinterpret_cast<void*>(to), reinterpret_cast<const void*>(from), bytes);
    return true;
  }
  ++e.counters->kernel_copies;
  return pull ? memory::read_peer(pid, from, reinterpret_cast<void*>(to), bytes)
              : memory::write_peer(pid, reinterpret_cast<const void*>(from), to, bytes);
}

/// Take chunks of an open job until none is left. Returns how many were copied here.
std::uint32_t copy_chunks(const Engine& e, shm::CopyJob& job, bool pull, int pid) {
  const auto bytes = static_cast<std::int64_t>(job.bytes);
  const auto chunk = static_cast<std::int64_t>(job.chunk);
  std::uint32_t copied = 0;
  for (;;) {
    // relaxed: hands out disjoint chunks; the job's fields came with `help`, or are our own
    const std::int64_t at = chunk * job.next.fetch_add(1, std::memory_order_relaxed);
    if (at >= bytes) return copied;
    if (!copy_piece(e, job, at, std::min(chunk, bytes - at), pull, pid))
      job.failed.store(static_cast<std::uint32_t>(errno), std::memory_order_relaxed);
    // release: the chunk's bytes are there; pairs with check_copies and deliver_offer
    job.finished.fetch_add(1, std::memory_order_release);
    ++copied;
  }
}

void finish_copy(Engine& e, P2p& recv, std::uint32_t failed) {
  if (failed != 0) {
    recv.error =
        fail(MPI_ERR_BUFFER,
             "copying a message of %lld bytes from rank %d of the job failed: "
             "%s; is the receive buffer writable and as large as its count says?",
             static_cast<long long>(recv.total), recv.peer, std::strerror(static_cast<int>(failed)))
            .cls;
  }
  send_control(e, e.peer(recv.peer), wire::What::done, recv.job, 0, 0);
  complete(recv, recv.error);
}

/// Copy dense data to a dense buffer in one copy, with the sender's help if it is worth it.
void single_copy(Engine& e, P2p& recv, Peer& peer, shm::CopyJob& job, int pid) {
  job.to = address(datatype::block(recv.buffer));
  job.bytes = static_cast<std::uint64_t>(recv.total);
  const bool shared = recv.total >= e.cooperate_min && peer.world_rank != e.world_rank;
  if (!shared) {
    const bool good = copy_piece(e, job, 0, recv.total, true, pid);
    return finish_copy(e, recv, good ? 0 : static_cast<std::uint32_t>(errno));
  }
  const std::int64_t chunk =
      std::clamp(recv.total / chunks_wanted / 4096 * 4096, chunk_min, chunk_max);
  job.chunk = static_cast<std::uint64_t>(chunk);
  job.to_pid = e.pid;
  job.failed.store(0, std::memory_order_relaxed);
  job.next.store(0, std::memory_order_relaxed);
  job.finished.store(0, std::memory_order_relaxed);
  recv.chunks = static_cast<std::uint32_t>((recv.total + chunk - 1) / chunk);
  // The commit of `help` publishes the fields above (release).
  send_control(e, peer, wire::What::help, recv.job, 0, 0);
  copy_chunks(e, job, true, pid);
  e.copies.push_back(&recv);
  check_copies(e);
}

/// Does either side touch more than a third more memory than there is data? Then a direct copy
/// moves lines of the other core for parts of them, and packing on one side while the other unpacks
/// is faster (every eighth double, 256 KiB: 290 us direct, 45 us in pieces; every second pair: 74
/// and 48; bench datatypes, 2-core EPYC, 2026-11). With more ranks than CPUs nothing overlaps.
bool is_sparse(const Buffer& into, const shm::CopyJob& job) {
  const auto gaps = [](const datatype::Type& t) { return !t.dense && t.size * 4 < t.extent * 3; };
  return gaps(*into.type) || (job.typed && gaps(*reinterpret_cast<const Buffer*>(job.from)->type));
}

Reach reach_of(Engine& e, Peer& peer, const shm::CopyJob& job) {
  if (peer.reach != Reach::unknown) return peer.reach;
  const int pid = e.job->entry(peer.world_rank).pid.load(std::memory_order_relaxed);
  if (pid == e.pid) return peer.reach = Reach::direct;
  if (!e.use_kernel_copy) return peer.reach = Reach::none;
  // The job's own request is 8 readable bytes of the sender's.
  peer.reach = memory::probe_reach(pid, reinterpret_cast<const void*>(job.request));
  if (peer.reach == Reach::none)
    e.log->write(
        "memory", LogLevel::info,
        "process_vm_readv of rank %d (process %d) is refused: %s; large messages take two copies",
        peer.world_rank, pid, std::strerror(errno));
  return peer.reach;
}

}  // namespace

bool push_offer(Engine& e, Peer& peer, P2p& send) {
  if (e.free_jobs.empty()) return false;
  shm::Claim claim;
  if (!peer.outbox.claim(0, &claim)) return false;
  send.job = e.free_jobs.back();
  e.free_jobs.pop_back();
  shm::CopyJob& job = e.inbox.job(send.job);
  job.typed = send.buffer.type->dense ? 0 : 1;
  job.from = job.typed ? address(&send.buffer) : address(datatype::block(send.buffer));
  job.request = address(&send);
  open_claim(job);
  send.offered = true;
  wire::Cell& cell = *claim.cell;
  cell.what = wire::What::offer;
  cell.envelope = send.envelope;
  cell.sender = static_cast<std::uint32_t>(e.world_rank);
  cell.bytes = static_cast<std::uint64_t>(send.buffer.bytes());
  cell.job = send.job;
  ++e.counters->messages_sent;
  if (peer.outbox.commit(claim)) ++e.counters->wakes;
  return true;
}

void deliver_offer(Engine& e, P2p& recv, const wire::Envelope& from, std::int32_t sender,
                   std::int64_t bytes, std::uint32_t index) {
  const std::int64_t room = recv.buffer.bytes();
  recv.source = from.source;
  recv.tag = from.tag;
  recv.peer = sender;
  recv.job = index;
  recv.total = recv.bytes = std::min(bytes, room);
  if (bytes > room) recv.error = truncated(from, bytes, room).cls;
  ++e.counters->messages_received;
  Peer& peer = e.peer(sender);
  shm::CopyJob& job = peer.outbox.job(index);
  if (recv.total == 0) return finish_copy(e, recv, 0);

  const Reach reach = reach_of(e, peer, job);
  const bool dense = recv.buffer.type->dense;
  const bool in_pieces =
      reach == Reach::none || (reach == Reach::kernel && recv.total < e.kernel_copy_min);
  if (!job.typed && dense && !in_pieces) {
    const int pid = e.job->entry(sender).pid.load(std::memory_order_relaxed);
    return single_copy(e, recv, peer, job, pid);
  }
  if (reach == Reach::direct && (e.policy.crowded || !is_sparse(recv.buffer, job))) {
    ++e.counters->copies;
    e.counters->bytes_copied += static_cast<std::uint64_t>(recv.total);
    if (job.typed) {
      datatype::copy(*reinterpret_cast<const Buffer*>(job.from), recv.buffer, recv.total);
    } else {
      datatype::unpack(recv.buffer, 0, reinterpret_cast<const void*>(job.from), recv.total);
    }
    return finish_copy(e, recv, 0);
  }
  recv.moved = 0;
  send_control(e, peer, wire::What::stage, index, address(&recv),
               static_cast<std::uint64_t>(recv.total));
}

void check_copies(Engine& e) {
  for (P2p* recv = e.copies.front(); recv != nullptr;) {
    P2p* next = e.copies.next(recv);
    const shm::CopyJob& job = e.peer(recv->peer).outbox.job(recv->job);
    // acquire: the helper's chunks are in place. pairs with copy_chunks
    if (job.finished.load(std::memory_order_acquire) == recv->chunks) {
      e.copies.remove(recv);
      finish_copy(e, *recv, job.failed.load(std::memory_order_relaxed));
    }
    recv = next;
  }
}

void on_help(Engine& e, std::uint32_t index) {
  shm::CopyJob& job = e.inbox.job(index);
  const std::uint32_t copied = copy_chunks(e, job, false, job.to_pid);
  e.counters->copies_helped += copied;
  // The receiver may have gone to sleep over our last chunk.
  if (copied > 0) wake_rank(e, reinterpret_cast<P2p*>(job.request)->peer);
}

void on_done(Engine& e, std::uint32_t index) {
  auto* send = reinterpret_cast<P2p*>(e.inbox.job(index).request);
  e.free_jobs.push_back(index);
  if (send != nullptr) complete(*send, MPI_SUCCESS);  // else it was cancelled
}

void on_stage(Engine& e, const wire::Cell& cell) {
  auto& send = *reinterpret_cast<P2p*>(e.inbox.job(cell.job).request);
  send.cookie = cell.cookie;
  send.total = static_cast<std::int64_t>(cell.bytes);
  send.moved = 0;
  send.push = push_queued;
  Peer& peer = e.peer(send.peer);
  enqueue(e, peer, peer.urgent, send);
}

}  // namespace weft::pt2pt
