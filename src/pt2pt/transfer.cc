// SPDX-License-Identifier: Apache-2.0
//
// Large messages. The sender offers; the receiver, once it has a buffer, decides how the data
// comes.
// Single copy: from the sender's buffer straight to the receiver's, where memory reaches the peer
// (threads of one process, or process_vm_readv and _writev). The receiver shows its buffer, and
// both take chunks: the sender when it is in MPI, the receiver at once, or, where its reading would
// slow the sender down, only if the sender does not come. Who copies the last chunk tells the
// other: the receiver by `done`, the sender by `copied`. Idle threads of either side help it by
// taking chunks as it does: a job (parallel/jobs.h) of which each chunk is to take some of the
// copy's.
// Read: from a rank on another node, of what is too long to be announced (send.cc), if both sides
// are one block and the network reaches memory
// (wire/network.h); then `done`.
// Staged: the receiver asks the sender to push the message piece by piece (two
// copies that overlap): where the kernel refuses, a sender in another process has a message that is
// not one block, less than pt2pt.kernel_copy_min or more than the caches hold, or a layout is
// mostly gaps. A copy job belongs to the sender, which may offer it anew as soon as the message is
// over; a receiver that does not know yet takes no chunk of another offer (take_chunks).
#include <errno.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/clock.h"
#include "base/copy.h"
#include "model/machine.h"
#include "parallel/jobs.h"
#include "pt2pt/engine.h"

namespace weft::pt2pt {
namespace {

using memory::Reach;

/// Bytes of a chunk, of which a side takes some at a time: so few that both sides finish together,
/// so many that 16 bits count them and that taking them is cheap.
std::int64_t chunk_of(std::int64_t bytes, const Peer& peer, bool left) {
  constexpr std::int64_t page = memory::page;
  const std::int64_t least = left || peer.line_ns > far_ns ? least_far_chunk : least_chunk;
  const auto pages = [](std::int64_t n) { return (n + page - 1) / page * page; };
  return std::max({pages(bytes / wanted_chunks), std::min(pages(bytes / 2), least), page});
}

std::int64_t worth_ns(std::int64_t bytes) {
  return parallel::jobs().worth_ns(model::lines_of(bytes));
}

std::uint64_t address(const void* p) {
  return reinterpret_cast<std::uint64_t>(p);
}

/// One side's part in the copy of an offer.
struct Share {
  shm::CopyJob& job;
  std::uint32_t offer;
  std::int64_t bytes, chunk;
  bool pull;      // by the receiver
  bool in_order;  // it takes chunks from the first on, the other side from the last
  int pid;        // of the other
  bool local;     // of the same process
  std::uint32_t chunks() const { return static_cast<std::uint32_t>((bytes + chunk - 1) / chunk); }
};

/// Copy `n` bytes from `at` on, by any thread of this side; false: the kernel refuses.
bool copy_piece(const Share& s, std::int64_t at, std::int64_t n) {
  const shm::CopyJob& job = s.job;
  const std::uint64_t from = job.from + static_cast<std::uint64_t>(at);
  const std::uint64_t to = job.to + static_cast<std::uint64_t>(at);
  const auto bytes = static_cast<std::size_t>(n);
  if (job.by_layout) {
    datatype::copy(reinterpret_cast<const P2p*>(job.request)->buffer,
                   *reinterpret_cast<const Buffer*>(job.to), n);
    return true;
  }
  if (s.local) {
    copy_bytes(reinterpret_cast<void*>(to), reinterpret_cast<const void*>(from), bytes);
    return true;
  }
  return s.pull ? memory::read_peer(s.pid, from, reinterpret_cast<void*>(to), bytes)
                : memory::write_peer(s.pid, reinterpret_cast<const void*>(from), to, bytes);
}

/// All of it, by the receiver, who offers it if it is long.
bool copy_whole(const Share& s) {
  if (!s.local || s.job.by_layout) return copy_piece(s, 0, s.bytes);
  constexpr auto line = static_cast<std::int64_t>(model::line_bytes);
  parallel::for_parts(s.bytes, line, worth_ns(s.bytes),
                      [&s](std::int64_t at, std::int64_t end) { copy_piece(s, at, end - at); });
  return true;
}

void count(Engine& e, const Share& s, std::uint64_t copies, std::int64_t bytes) {
  e.counters->copies += copies;
  e.counters->bytes_copied += static_cast<std::uint64_t>(bytes);
  if (!s.pull) e.counters->copies_helped += copies;
  if (!s.local) e.counters->kernel_copies += copies;
}

/// The number of the offer in CopyJob::next.
std::uint32_t offer_of(std::uint64_t next) {
  return static_cast<std::uint32_t>(next >> 32);
}

struct Chunks {
  std::uint32_t first, count;
};

/// The next chunks of the offer; a count of 0: there are none, or none any more. The lower of the
/// two ranks takes the first, the other the last: so of buffers that are used again, also for the
/// answer, each copies what its caches hold. A quarter of what is left, as taking (a line that both
/// write, a system call between processes) costs as much as copying some KiB. Measured, half of a
/// round trip of 256 KiB between near threads, buffers untouched, 2-core EPYC, 2026-11-23: chunks
/// of 32 KiB in turn 7.4 us, so 1.7; touched 7.0, 5.6.
///
/// With idle threads: `each` at a time.
Chunks take_chunks(const Share& s, std::uint32_t each) {
  const std::uint32_t chunks = s.chunks();
  // relaxed: hands out disjoint chunks; the job's fields came with `show`, or are our own
  std::uint64_t next = s.job.next.load(std::memory_order_relaxed);
  while (offer_of(next) == s.offer) {
    const std::uint32_t first = next & 0xffff, last = next >> 16 & 0xffff;
    const std::uint32_t left = chunks - first - last;
    if (left == 0) break;
    const std::uint32_t wanted = each > 0 ? std::min(each, left) : left / 4;
    const auto n = static_cast<std::uint32_t>(
        std::max<std::int64_t>(std::min<std::int64_t>(wanted, most_taken / s.chunk), 1));
    if (s.job.next.compare_exchange_weak(next, next + (s.in_order ? n : n << 16),
                                         std::memory_order_relaxed))
      return {s.in_order ? first : chunks - last - n, n};
  }
  return {0, 0};
}
std::uint32_t left_of(const Share& s) {
  const std::uint64_t next = s.job.next.load(std::memory_order_relaxed);  // relaxed: a guess
  return offer_of(next) == s.offer ? s.chunks() - (next & 0xffff) - (next >> 16 & 0xffff) : 0;
}

enum class Copied { none, some, all };

/// Copy the next chunks, by any thread of this side; `all`: they were the last to be ready.
Copied copy_next(const Share& s, std::uint32_t each, std::int64_t* bytes) {
  const Chunks mine = take_chunks(s, each);
  if (mine.count == 0) return Copied::none;
  const std::int64_t at = mine.first * s.chunk;
  *bytes = std::min(mine.count * s.chunk, s.bytes - at);
  if (!copy_piece(s, at, *bytes))
    s.job.failed.store(static_cast<std::uint32_t>(errno), std::memory_order_relaxed);
  // release: the chunks' bytes are there; acquire: so are the other side's
  const auto before = s.job.finished.fetch_add(mine.count, std::memory_order_acq_rel);
  return before + mine.count == s.chunks() ? Copied::all : Copied::some;
}

/// What this side's threads copy in one job. Relaxed: read when it is over.
struct Together {
  const Share& share;
  const std::uint32_t each;  // chunks that one of them takes at a time
  std::atomic<std::uint64_t> copies{0};
  std::atomic<std::int64_t> bytes{0};
  std::atomic<bool> all{false};

  static void chunk(void* context, std::uint32_t) {
    auto& t = *static_cast<Together*>(context);
    std::int64_t bytes = 0;
    const Copied copied = copy_next(t.share, t.each, &bytes);
    if (copied == Copied::none) return;
    t.copies.fetch_add(1, std::memory_order_relaxed);
    t.bytes.fetch_add(bytes, std::memory_order_relaxed);
    if (copied == Copied::all) t.all.store(true, std::memory_order_relaxed);
  }
};

/// Copy what is left, with idle threads, as far as the other side does not take it meanwhile.
[[gnu::cold]] Copied copy_together(Engine& e, const Share& s, std::uint32_t left) {
  constexpr std::uint32_t times = 8;  // that each thread takes some
  const std::int64_t worth = worth_ns(left * s.chunk);
  const auto threads = static_cast<std::uint32_t>(parallel::jobs().idle(worth)) + 1;
  Together t{s, std::max(left / (times * threads), 1U)};
  const std::uint32_t given =
      parallel::jobs().offer({Together::chunk, &t, (left + t.each - 1) / t.each, worth});
  const std::uint64_t copies = t.copies.load(std::memory_order_relaxed);
  count(e, s, copies, t.bytes.load(std::memory_order_relaxed));
  e.counters->pieces_together += copies;
  e.counters->pieces_given += std::min<std::uint64_t>(given, copies);  // others found nothing left
  if (t.all.load(std::memory_order_relaxed)) return Copied::all;
  return copies > 0 ? Copied::some : Copied::none;
}

/// Copy the next chunks, or what is left if idle threads help; `all`: the last was copied here.
Copied copy_chunks(Engine& e, const Share& s) {
  const std::uint32_t left = s.bytes >= e.together_min ? left_of(s) : 0;
  const std::int64_t left_bytes = left * s.chunk;
  if (left > 1 &&
      parallel::jobs().at_once(left_bytes, left_bytes, worth_ns(left_bytes), s.local) > 0)
    return copy_together(e, s, left);
  std::int64_t bytes = 0;
  const Copied copied = copy_next(s, 0, &bytes);
  if (copied != Copied::none) count(e, s, 1, bytes);
  return copied;
}

void finish_recv(P2p& recv, std::uint32_t failed) {
  if (failed != 0) {
    recv.error =
        fail(MPI_ERR_BUFFER,
             "copying a message of %lld bytes from rank %d of the job failed: "
             "%s; is the receive buffer writable and as large as its count says?",
             static_cast<long long>(recv.total), recv.peer, std::strerror(static_cast<int>(failed)))
            .cls;
  }
  complete(recv, recv.error);
}

/// The message is there, and the last of it was copied here.
void finish_copy(Engine& e, P2p& recv, std::uint32_t failed) {
  tell(e, e.peer(recv.peer), {.what = wire::What::done, .job = recv.job});
  finish_recv(recv, failed);
}

Share share_of(Engine& e, const P2p& recv) {
  const int pid = e.job->entry(recv.peer).pid.load(std::memory_order_relaxed);
  return {e.peer(recv.peer).lane.job(recv.job),
          recv.offer,
          recv.total,
          recv.chunk,
          true,
          e.world_rank < recv.peer,
          pid,
          pid == e.pid};
}

/// The receiver takes chunks until none is left.
void copy_rest(Engine& e, P2p& recv) {
  const Share mine = share_of(e, recv);
  Copied copied = Copied::some;
  while (copied == Copied::some) copied = copy_chunks(e, mine);
  if (copied == Copied::all) finish_copy(e, recv, mine.job.failed.load(std::memory_order_relaxed));
}

/// Does the sender copy the message alone, if it comes soon? The sender has to fetch back each line
/// that the receiver has read before it can write the line again. It need not if it copies the
/// message into the receiver's buffer itself. So the sender copies
/// - if the cores are far apart, unless the sender waits in its call and writes nothing meanwhile;
/// - if the receiver offers messages of its own: then each copies one.
/// Two cores copy a very long message faster than one, and no cache holds it until it is written
/// again.
/// Measured, 2-core EPYC, 2026-11-22, us per message in a window of 16, both and the sender alone:
/// far cores 64 KiB 8.3 (in some runs 3.6), 4.8; 256 KiB 32, 17; 512 KiB 45, 33; 1 MiB 75, 68; 2
/// MiB 149, 185; near 64 KiB 1.6, 2.2; 512 KiB 12, 18; 2 MiB 133, 177. Each way at once: near 256
/// KiB 13, 8.5; far 42, 17.
bool is_left_to_sender(const Engine& e, const Peer& peer, const shm::CopyJob& job,
                       std::int64_t bytes) {
  if (job.waits || peer.reach != Reach::direct || bytes >= most_left_to_sender) return false;
  // Who looks whether the sender comes takes a sending thread's CPU. relaxed: a guess
  if (e.contexts->waiting.load(std::memory_order_relaxed) > e.waiters.cpus) return false;
  return e.offers() > 0 || peer.line_ns > far_ns;
}

/// How long a message is left to a sender that does nothing: less than its copy takes the receiver.
std::int64_t patience_ns(std::int64_t bytes) {
  return bytes / 16;
}

/// Copy in one copy, both sides or one of them.
void single_copy(Engine& e, P2p& recv, Peer& peer, shm::CopyJob& job) {
  job.to = job.by_layout ? address(&recv.buffer) : address(datatype::block(recv.buffer));
  const bool left = is_left_to_sender(e, peer, job, recv.total);
  const bool myself = peer.world_rank == e.world_rank;
  if (recv.total < e.cooperate_min || myself || (job.by_layout && !left)) {
    const Share whole = share_of(e, recv);
    const bool good = copy_whole(whole);
    count(e, whole, 1, recv.total);
    return finish_copy(e, recv, good ? 0 : static_cast<std::uint32_t>(errno));
  }
  recv.chunk = job.by_layout ? recv.total : chunk_of(recv.total, peer, left);
  recv.offer = offer_of(job.next.load(std::memory_order_relaxed));
  job.bytes = static_cast<std::uint64_t>(recv.total);
  job.chunk = static_cast<std::uint64_t>(recv.chunk);
  job.to_pid = e.pid;
  job.failed.store(0, std::memory_order_relaxed);
  job.finished.store(0, std::memory_order_relaxed);
  // The commit of `show` publishes the fields above (release).
  tell(e, peer,
       {.what = wire::What::show,
        .job = recv.job,
        .cookie = address(&recv),
        .bytes = left ? 1U : 0});
  if (!left) return copy_rest(e, recv);
  recv.seen = 0;
  recv.seen_ns = now_ns();
  recv.listed = true;
  e.left.push_back(&recv);
}

/// Has the sender begun, or is it too early to say that it does not?
bool is_being_copied(Engine& e, P2p& recv) {
  const Peer& peer = e.peer(recv.peer);
  const std::int64_t now = now_ns();
  if (now - std::max(recv.seen_ns, peer.copied_ns) < patience_ns(recv.total)) return true;
  // relaxed: who takes a chunk looks again
  const std::uint64_t next = share_of(e, recv).job.next.load(std::memory_order_relaxed);
  if (offer_of(next) != recv.offer) return true;  // all of it, `copied` is on its way
  const auto handed_out = static_cast<std::uint32_t>(next);
  if (handed_out == recv.seen) return false;
  recv.seen = handed_out;
  recv.seen_ns = now;
  return true;
}

/// Does either side touch more than a third more memory than there is data? Then packing on one
/// side while the other unpacks is faster than a direct copy, if that moves lines of the other core
/// for parts of them (every eighth double, 256 KiB: 290 us direct, 45 us in pieces; every second
/// pair: 74 and 48; bench datatypes, 2-core EPYC, 2026-11), or if the private caches hold the data
/// (blocks of 4 to 64 KiB, 256 KiB: 6 to 7 us direct, 5 in pieces; 1 MiB the same; 4 MiB 43 to 51
/// and 91 to 101, far 53 to 68 and 110 to 138; Zen 5, 2026-11-23). With more ranks than CPUs
/// nothing overlaps.
bool is_sparse(const Engine& e, const Buffer& into, std::int64_t bytes, const shm::CopyJob& job) {
  const auto gaps = [&](const datatype::Type& t) {
    return !t.dense && t.size * 4 < t.extent * 3 &&
           (bytes < e.bulk_bytes || datatype::block_bytes(t) < long_block);
  };
  return gaps(*into.type) ||
         (job.typed && gaps(*reinterpret_cast<const P2p*>(job.request)->buffer.type));
}

/// Is the kernel's copy the fastest way between processes? Not of what the caches do not hold: two
/// overlapping copies, the second past the caches, are faster, if the sender is there to push and
/// this rank has nothing to push itself. Measured, 2-core EPYC, 2026-11-22, us per message of 4 MiB
/// in a window of 16: near 423, 341; far 423, 368; each way at once 783, 790 and 631, 671.
bool is_for_kernel(const Engine& e, const Peer& peer, const shm::CopyJob& job, std::int64_t bytes) {
  if (job.by_layout || bytes < e.kernel_copy_min) return false;
  return !job.past_caches || !peer.lane.is_in_wait() || e.offers() > 0;
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

/// Bytes of the offers under way, if all are as long as this one.
void count_burst(Engine& e, std::int64_t bytes) {
  const auto offers = static_cast<std::int64_t>(e.offers());
  if (offers == 1) e.last_burst = std::exchange(e.burst, 0);
  e.burst = std::max(e.burst, offers * bytes);
}

/// Are so many large messages under way that the caches do not hold them? Then nothing reads the
/// data there soon, and stores that go past the caches need not fetch lines. The first of many is
/// not known by what is under way, but by the last burst.
bool is_past_caches(const Engine& e, std::int64_t bytes) {
  return bytes >= e.kernel_copy_min && std::max(e.burst, e.last_burst) >= e.cached_max;
}

Err no_job(const P2p& send) {
  return fail(MPI_ERR_NO_MEM,
              "no shared memory to offer a message of %lld bytes to rank %d of the job: %s; give "
              "the job more memory, or let fewer sends be pending at a time",
              static_cast<long long>(send.buffer.bytes()), send.peer, std::strerror(errno));
}

/// To a rank on another node, behind an offer: where the message lies there, if it is one block.
[[gnu::cold]] void show(Engine& e, P2p& send, const shm::Claim& offer) {
  wire::Place place{};
  const auto bytes = static_cast<std::size_t>(send.buffer.bytes());
  if (send.buffer.type->dense && bytes > 0)
    e.network->show(send.job, {datatype::block(send.buffer), bytes}, &place);
  std::memcpy(offer.payload, &place, sizeof place);
  offer.cell->piece = sizeof place;
  offer.cell->cookie = send.order = ++e.pushed;
}

/// Read a message from a rank on another node. False: that is not possible.
[[gnu::cold]] bool read_from_afar(Engine& e, P2p& recv, const wire::Place& place) {
  if (place.bytes == 0 || !recv.buffer.type->dense) return false;
  const auto finished = [](void* state) {
    auto& there = *static_cast<P2p*>(state);
    finish_copy(*there.engine, there, 0);
  };
  if (!e.network->read({datatype::block(recv.buffer), static_cast<std::size_t>(recv.total)},
                       recv.peer, place, finished, &recv))
    return false;
  ++e.counters->net_reads;
  e.counters->net_read_bytes += static_cast<std::uint64_t>(recv.total);
  return true;
}

}  // namespace

void end_offer(Engine& e, Peer& peer, std::uint32_t job) {
  if (peer.lane.is_away() && e.network != nullptr) [[unlikely]]
    e.network->hide(job);
  e.free_jobs.push_back(job);
}

wire::Place place_of(Engine& e, const wire::Cell& offer) {
  wire::Place place{};
  if (e.peer(static_cast<std::int32_t>(offer.sender)).lane.is_away()) [[unlikely]]
    std::memcpy(&place, &offer + 1, sizeof place);
  return place;
}

bool push_offer(Engine& e, Peer& peer, P2p& send) {
  if (e.free_jobs.empty() && !e.add_job_block()) [[unlikely]] {
    send.error = no_job(send).cls;
    complete(send, send.error);
    return true;
  }
  shm::Claim claim;
  if (!peer.lane.claim(peer.lane.is_away() ? sizeof(wire::Place) : 0, &claim)) return false;
  send.job = e.free_jobs.back();
  e.free_jobs.pop_back();
  shm::CopyJob& job = e.inbox.job(send.job);
  job.typed = !send.buffer.type->dense;
  job.from = job.typed ? 0 : address(datatype::block(send.buffer));
  job.request = address(&send);
  job.waits = send.in_call;
  count_burst(e, send.buffer.bytes());
  job.past_caches = e.past_caches = is_past_caches(e, send.buffer.bytes());
  // relaxed: who still has the number of the last offer finds out by any other
  const std::uint64_t number = offer_of(job.next.load(std::memory_order_relaxed)) + 1;
  job.next.store(number << 32, std::memory_order_relaxed);
  open_claim(job);
  send.offered = true;
  wire::Cell& cell = *claim.cell;
  cell.what = wire::What::offer;
  cell.envelope = send.envelope;
  cell.sender = static_cast<std::uint32_t>(e.world_rank);
  cell.bytes = static_cast<std::uint64_t>(send.buffer.bytes());
  cell.job = send.job;
  cell.cookie = 0;
  if (peer.lane.is_away()) [[unlikely]]
    show(e, send, claim);
  ++e.counters->messages_sent;
  if (peer.lane.commit(claim)) ++e.counters->wakes;
  return true;
}

void deliver_offer(Engine& e, P2p& recv, const Offer& offer) {
  const std::int64_t room = recv.buffer.bytes();
  recv.source = offer.from.source;
  recv.tag = offer.from.tag;
  recv.peer = offer.sender;
  recv.job = offer.job;
  recv.total = recv.bytes = std::min(offer.bytes, room);
  if (offer.bytes > room) recv.error = truncated(offer.from, offer.bytes, room).cls;
  ++e.counters->messages_received;
  Peer& peer = e.peer(offer.sender);
  if (peer.is_dead) [[unlikely]]
    return complete(recv, MPI_ERR_PROC_ABORTED);
  shm::CopyJob& job = peer.lane.job(offer.job);
  if (recv.total == 0) return finish_copy(e, recv, 0);
  if (peer.lane.is_away() && read_from_afar(e, recv, offer.place)) [[unlikely]]
    return;

  const Reach reach = reach_of(e, peer, job);
  job.by_layout = job.typed || !recv.buffer.type->dense;
  const bool in_one_copy =
      reach == Reach::direct
          ? !job.by_layout || e.policy.crowded || !is_sparse(e, recv.buffer, recv.total, job)
          : reach == Reach::kernel && is_for_kernel(e, peer, job, recv.total);
  if (in_one_copy) return single_copy(e, recv, peer, job);
  recv.moved = 0;
  recv.past_caches = job.past_caches && recv.buffer.type->dense;
  tell(e, peer,
       {.what = wire::What::stage,
        .job = offer.job,
        .cookie = address(&recv),
        .bytes = static_cast<std::uint64_t>(recv.total)});
}

void check_left(Engine& e) {
  P2p& recv = *e.left.pop_front();
  if (is_being_copied(e, recv)) return e.left.push_back(&recv);
  recv.listed = false;
  copy_rest(e, recv);
}

void on_show(Engine& e, const wire::Cell& cell) {
  auto& send = *reinterpret_cast<P2p*>(e.inbox.job(cell.job).request);
  e.peer(send.peer).leaves = cell.bytes != 0;
  send.cookie = cell.cookie;
  send.listed = true;
  e.shown.push_back(&send);
}

bool copy_shown(Engine& e) {
  P2p* send = e.shown.front();
  if (send == nullptr) return false;
  shm::CopyJob& job = e.inbox.job(send->job);
  const std::uint32_t offer = offer_of(job.next.load(std::memory_order_relaxed));
  const Copied copied = copy_chunks(
      e, {job, offer, static_cast<std::int64_t>(job.bytes), static_cast<std::int64_t>(job.chunk),
          false, e.world_rank < send->peer, job.to_pid, job.to_pid == e.pid});
  if (copied == Copied::some) return true;
  e.shown.remove(send);
  send->listed = false;
  if (copied == Copied::none) return true;  // the receiver has the last chunk
  tell(e, e.peer(send->peer),
       {.what = wire::What::copied,
        .cookie = send->cookie,
        .bytes = job.failed.load(std::memory_order_relaxed)});
  e.free_jobs.push_back(send->job);
  complete(*send, MPI_SUCCESS);
  return true;
}

void on_copied(Engine& e, const wire::Cell& cell) {
  P2p& recv = *reinterpret_cast<P2p*>(cell.cookie);
  if (recv.listed) {
    e.left.remove(&recv);
    e.peer(recv.peer).copied_ns = now_ns();
  }
  recv.listed = false;
  finish_recv(recv, static_cast<std::uint32_t>(cell.bytes));
}

void on_done(Engine& e, const wire::Cell& cell) {
  auto* send = reinterpret_cast<P2p*>(e.inbox.job(cell.job).request);
  end_offer(e, e.peer(static_cast<std::int32_t>(cell.sender)), cell.job);
  if (send == nullptr) return;  // it was cancelled
  if (send->listed) e.shown.remove(send);
  send->listed = false;
  if (send->recalled)
    send->offered = false;  // the answer is on its way
  else
    complete(*send, MPI_SUCCESS);
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
