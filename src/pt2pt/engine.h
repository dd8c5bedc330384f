// SPDX-License-Identifier: Apache-2.0
//
// The communication engine of a rank, or of one of its contexts (contexts.h): its mailbox, its view
// of each peer, the match queues, and the requests in flight. Everything here is guarded by its
// lock; what other ranks touch is in shm/mailbox.h. Who does what: send.cc starts sends, recv.cc
// starts receives, match.h pairs them, transfer.cc moves large messages, progress.cc looks into the
// mailbox and waits.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <memory>
#include <vector>

#include "base/byte_cache.h"
#include "base/counters.h"
#include "base/list.h"
#include "base/log.h"
#include "base/pool.h"
#include "base/trace.h"
#include "hang/watch.h"
#include "memory/peer.h"
#include "pt2pt/contexts.h"
#include "pt2pt/lane.h"
#include "pt2pt/limits.h"
#include "pt2pt/match.h"
#include "pt2pt/pt2pt.h"
#include "pt2pt/row_trial.h"
#include "pt2pt/waiting.h"
#include "shm/fragments.h"
#include "shm/mailbox.h"
#include "sync/lock.h"
#include "sync/wait.h"

namespace weft::model {
struct Parameters;
}

namespace weft::pt2pt {

struct Peer;

/// Is what MPI_Send sends between threads of a process faster pushed than offered and copied once?
/// A push takes a second copy, but leaves the program's buffers in the caches of their own cores;
/// of a single copy each line moves that one side has written and the other one has read, and comes
/// back when it is written again.
using PushTrials = Trials<push_trial, eager_in_process, pushed_in_process>;

/// Something that waits for room in a peer's rings, in order.
struct Outgoing {
  Link<Outgoing> out_link;
  /// Push (more of) it, while it is in no queue; true when it is all out.
  bool (*push)(Engine&, Peer&, Outgoing&) = nullptr;
};

using OutgoingQueue = List<Outgoing, &Outgoing::out_link>;

/// A point-to-point operation. Also used on the stack by blocking calls.
struct P2p : Request, Outgoing, Posted {
  // Not defaulted: Pool::create would clear all of it first, which is a tenth of a short receive.
  P2p() {}

  bool is_send = false;
  bool counted = false;      // holds references to its type and communicator
  bool offered = false;      // a large send: the receiver knows of it
  bool delegated = false;    // a send that nobody has tried to push so far
  bool listed = false;       // in Engine::shown or Engine::left
  bool past_caches = false;  // a staged receive: of more than the caches hold
  bool pushes = false;       // a send: without asking, whatever eager_max says
  bool recalled = false;     // a pushed send: cancelled, which is for the receiver to decide
  bool owns_buffer = false;  // send of a packed copy (buffered mode, sendrecv_replace)
  Mode mode = Mode::standard;
  Buffer buffer{};         // sends only read it
  std::int32_t peer = -1;  // world rank: destination, or source once matched
  Link<P2p> copy_link;     // in Engine::shown or Engine::left
  std::uint32_t job = 0;
  std::int64_t chunk = 0;    // of a receive whose buffer is shown: bytes of a chunk,
  std::uint32_t offer = 0;   // the number of the offer;
  std::uint32_t seen = 0;    // left to the sender: chunks that were handed out
  std::int64_t seen_ns = 0;  // at this time
  std::int64_t total = 0;    // bytes that will cross
  std::int64_t moved = 0;    // bytes that crossed in pieces
  int lent = 0;              // pieces that a network sends from the buffer now
  std::uint64_t cookie = 0;  // of a large send: the receiver's name for its request
  // Requests that belong together while they are under way. MPI_Isendrecv is three: its send and
  // its receive (the halves) point at the whole, the whole at those halves of its own context. A
  // buffered send and the copy that is sent for it point at each other.
  P2p* pair[2] = {};
  int halves = 0;                     // of the whole: halves still under way; atomic
  bool polled = false;                // of the whole: its halves are of different contexts
  struct BufferPool* pool = nullptr;  // of a buffered message
  void (*finished)(P2p&) = nullptr;   // called at completion (buffered sends, isendrecv)
};

/// What two ranks tell each other about a message (wire::What says which of these it has).
struct Notice {
  wire::What what{};
  std::uint32_t job = 0;
  std::uint64_t cookie = 0;
  std::uint64_t bytes = 0;
  wire::Envelope envelope{};
};

/// A large message that waits at its sender.
struct Offer {
  wire::Envelope from;
  std::int32_t sender;
  std::uint32_t job;
  std::int64_t bytes;
  wire::Place place;  // if that is on another node
};

/// A message from another node that is being received by itself, where it is to lie or is kept.
struct Announced : Object {
  Engine* engine = nullptr;
  std::int32_t sender = -1;
  P2p* recv = nullptr;      // that it is matched with; null: none
  Arrived* kept = nullptr;  // null: it goes straight to the receive
  bool is_void = false;     // nobody wants it any more, or its sender is dead
};

/// One that found no room.
struct Control : Object, Outgoing {
  Notice notice;
};

/// A peer's fragments here. An item of Peer::urgent when a notice about them finds no room.
struct Borrowed : Outgoing {
  shm::Borrowed fragments;
  bool queued = false;
};

/// One that this context has spoken to, or heard of. On lines of its own: ranks as threads do not
/// share any.
struct alignas(64) Peer {
  Lane lane;
  std::int32_t world_rank = -1;
  memory::Reach reach = memory::Reach::unknown;
  // The message that the peer is pushing in pieces: its receive, or (nullptr) where it is kept.
  P2p* incoming = nullptr;
  Arrived* incoming_kept = nullptr;
  OutgoingQueue queue;   // messages, in order
  OutgoingQueue urgent;  // notices and staged pieces, of messages that are matched; goes first
  Link<Peer> busy_link;
  bool is_busy = false;        // in Engine::busy
  bool is_foreign = false;     // of another MPI_COMM_WORLD
  bool is_dead = false;        // and buried (deaths.cc);
  bool is_gone = false;        // its lane leads nowhere
  bool leaves = false;         // to this rank what it sends, as far as one knows
  bool is_held_back = false;   // in Engine::held_back
  float line_ns = 0;           // that a line which the peer has written takes to come, about
  std::uint64_t received = 0;  // messages that this rank had received when it last sent to the peer
  std::int64_t copied_ns = 0;  // when it had last copied a message of its own
  std::int64_t eager_max = 0;  // at least the engine's
  bool tries_push = false;     // longer ones of MPI_Send are pushed if it is faster;
  std::unique_ptr<PushTrials> trials;  // null: there was none
  std::int64_t announced_max = 0;      // of one block; longer than what is pushed; 0: none
  std::uint32_t lent = 0;              // own fragments that the peer has
  RowTrial row;                        // of pieces for it where it has read others
  std::unique_ptr<Borrowed> borrowed;  // null: none so far
};

/// All of a context, by their places in the job. Of those that nothing has been said to there is a
/// null pointer, in memory that is not touched.
class Peers {
 public:
  [[gnu::cold]] void open(std::size_t places);
  std::size_t places() const { return places_; }
  /// nullptr: it is not there yet.
  Peer* find(std::size_t place) const { return at_[place]; }
  /// As it was made; it stays where it is.
  [[gnu::cold]] Peer& add(std::size_t place);
  /// Those that are there.
  std::deque<Peer>& all() { return all_; }
  /// Memory, with `known` of them there.
  static constexpr std::size_t bytes(std::size_t places, std::size_t known) {
    return places * sizeof(Peer*) + known * sizeof(Peer);
  }

 private:
  struct Free {
    void operator()(Peer** at) const { std::free(at); }
  };
  std::unique_ptr<Peer*[], Free> at_;
  std::size_t places_ = 0;
  std::deque<Peer> all_;
};

/// Who takes what comes from other nodes about windows (room rma), and for how many windows it may.
struct OneSided {
  void (*take)(Engine&, void* state, const wire::Cell&) = nullptr;
  void* state = nullptr;
  // relaxed: a progress thread asks only how long to sleep
  std::atomic<int> windows{0};
};

struct Engine {
  Contexts* contexts = nullptr;  // of the rank
  int context = 0;               // which of them this is
  memory::Job* job = nullptr;
  const Params* params = nullptr;  // the process's
  std::int32_t world_rank = 0;
  std::int32_t pid = 0;
  std::int32_t first_here = 0, ranks_here = 0;  // the ranks of this process (world/process.cc)
  bool hosts(std::int32_t rank) const {
    return rank >= first_here && rank - first_here < ranks_here;
  }
  /// Is all their memory for messages here?
  bool reaches(const std::vector<std::int32_t>& ranks) const {
    return job->are_together(world_rank, ranks);
  }
  bool hosts_all(const std::vector<std::int32_t>& ranks) const {
    return std::all_of(ranks.begin(), ranks.end(),
                       [this](std::int32_t rank) { return hosts(rank); });
  }
  Counters* counters = nullptr;
  std::unique_ptr<Log> log;
  std::shared_ptr<Trace> trace;  // of the rank; null unless WEFT_TRACE is set
  sync::Policy policy;
  sync::Neighbours neighbours;  // of the threads that wait here
  sync::RankLock lock;
  /// What an entry point has to do beside its call: nothing; as it ends, to look whether it leaves
  /// something for the rank's thread of weft's own, which sleeps; or to lock, trace, measure.
  enum class Framed : std::uint8_t { no, at_end, yes };
  // By the rank's thread. Only the thread of weft's own says `at_end`, inside, as the last that it
  // does there (release; pairs with Entry); it comes again only when it was called, by `yes`.
  std::atomic<Framed> framed{Framed::no};
  bool among_threads = false;  // several threads of the rank may wait at once

  std::int64_t eager_max = 0;             // what is pushed to any peer without asking
  std::int64_t piece_max = 0;             // of a piece, or a message that is pushed as one
  std::int64_t delegate_min = INT64_MAX;  // nonblocking sends, left to the thread of weft's own:
  bool delegates_always = false;          // all from there on, or those for which it pays
  std::int64_t kernel_copy_min = 0;
  std::int64_t unexpected_max = 0;
  std::int64_t cooperate_min = 0;
  std::int64_t together_min = 0;  // what is left of a message and shorter is not for idle threads
  std::int64_t bulk_bytes = 0;    // bytes that no private cache holds (model::bulk_bytes)
  std::int64_t cached_max = 0;    // bytes of this rank's large messages that its caches hold
  bool use_kernel_copy = true;
  bool past_caches = false;  // the last offer was of more than the caches hold
  // Bytes of the offers that were under way at once, at most: since there was none, and before.
  std::int64_t burst = 0, last_burst = 0;

  shm::Inbox inbox;
  shm::Fragments fragments;
  std::int64_t fragment_min = 0;  // of a piece that travels in one
  double memory_line_ns = 0;      // to copy a line from memory to memory (the cost model's)
  std::uint32_t lenders = 0;      // peers whose fragments have been here
  Peers peers;
  // Of ranks of other worlds, by place, as this one has met them: how many had the place before.
  std::vector<std::uint32_t> incarnations;  // empty: it has met none
  Matcher matcher;
  Pool<P2p, Kind::request> requests;
  Pool<Arrived, Kind::message> arrived;
  Pool<Control, Kind::dead> controls;
  Pool<Announced, Kind::dead> announced;
  ByteCache payloads;  // of unexpected messages
  std::vector<std::uint32_t> free_jobs;
  std::size_t jobs = 0;  // that there are
  int job_blocks = 0;    // that were added
  /// Of the cost model, as the launcher wrote them, else built in; the same on all ranks.
  model::Parameters prices() const;
  /// Messages that this rank offered and that are not over.
  std::size_t offers() const { return jobs - free_jobs.size(); }
  P2p* sent = nullptr;  // the one completed request that all eager nonblocking sends share
  List<Peer, &Peer::busy_link> busy;       // peers with a queue
  List<P2p, &P2p::copy_link> shown;        // sends whose receives show their buffers
  List<P2p, &P2p::copy_link> left;         // receives that are left to their senders, for a while
  std::unique_ptr<wire::Network> network;  // null: no rank on another node is reached
  std::unique_ptr<Away> away;              // likewise
  std::unique_ptr<wire::Network> nobody;   // of `nowhere`
  std::unique_ptr<Away> nowhere;           // where dead ranks are; null: there are none
  std::vector<Poller> pollers;
  int unposted = 0;  // partitioned receives that wait for locks of other contexts
  OneSided one_sided;
  std::int64_t unexpected_bytes = 0;
  std::vector<Peer*> held_back;  // on other nodes: were told to ask first
  std::uint64_t pushed = 0;      // messages in pieces
  std::uint32_t vain_looks = 0;
  std::uint32_t bias = 0;                   // parameter sync.bias
  Waiters waiters;                          // threads of this rank, if it has several
  bool ending = false;                      // MPI_Finalize has begun
  bool visited = false;                     // by a thread of weft's own, now (progress/charge.h)
  std::atomic<bool> needs_progress{false};  // written under the lock; who reads it: contexts.h
  std::atomic<bool> attended{false};        // likewise
  std::atomic<bool> in_use{false};          // its threads came since a visitor did
  std::atomic<std::uint32_t> passed_by{0};  // visitors for that reason, one after the other
  bool unwatched = false;                   // the network's end: since it was handed over
  std::unique_ptr<hang::Watch> watch;       // null where mpiexec looks for hangs, or nobody does

  /// Join the job. Sends to ranks that have not joined yet are fine: their mailbox is there.
  void open(memory::Job& job, int world_rank, const Params& params, Counters& counters,
            Contexts& contexts);
  /// Ranks of other worlds: forget who had their places before.
  void meet(const std::vector<std::int32_t>& ranks);
  /// Reach ranks on other nodes.
  void open(std::unique_ptr<wire::Network> network);
  /// More copy jobs, when all are in use. False: there is no memory, errno says why.
  [[gnu::cold]] bool add_job_block();
  /// The rank's threads may call MPI at once from now on.
  void share(bool several_may_wait = true);
  Peer& peer(std::int32_t world_rank_of_peer) {
    Peer* const known = peers.find(static_cast<std::size_t>(world_rank_of_peer));
    if (known == nullptr) [[unlikely]]
      return add_peer(world_rank_of_peer);
    return *known;
  }
  /// Of a rank of another world that has been met.
  std::uint32_t incarnation(std::int32_t world_rank_of_peer) const {
    const auto place = static_cast<std::size_t>(world_rank_of_peer);
    return incarnations.empty() ? 0 : incarnations[place];
  }

 private:
  void add_jobs(std::uint32_t count);
  [[gnu::cold]] Peer& add_peer(std::int32_t world_rank_of_peer);
  void open_peer(Peer& peer, std::int32_t world_rank_of_peer);
};

/// The context that messages of `comm` with this tag go to, at both ends.
[[gnu::cold]] Engine& engine_of_tag(const Comm& comm, int tag);
inline Engine& engine_for(const Comm& comm, int tag) {
  if (comm.by_tag) [[unlikely]]
    return engine_of_tag(comm, tag);
  return *comm.engine;
}

// --- starting (send.cc, recv.cc) --------------------------------------------------------------
wire::Envelope envelope_of(const Comm& comm, int tag, Space space);
/// Push a message of one piece now. False: no room.
bool push_eager(Engine& e, Peer& peer, const wire::Envelope& envelope, const ConstBuffer& what,
                std::int64_t bytes);
/// Push what is left of a message, piece by piece. False: no room for all of it.
bool push_pieces(Engine& e, Peer& peer, P2p& send);
/// The header of the next `n` bytes of a message, and that they are under way.
void begin_piece(Engine& e, P2p& send, const shm::Claim& claim, std::int64_t n);
void start_send(Engine& e, P2p& send);
/// Receive what another rank has announced, into a receive that it is matched with, or keep it.
void await_announced(Engine& e, const wire::Cell& cell, P2p& recv);
void keep_announced(Engine& e, const wire::Cell& cell, Arrived& message);
/// It was matched after that.
void match_announced(Announced& coming, P2p& recv);

// --- too much that nobody has asked for (recv.cc) -----------------------------------------------
/// All senders offer from now on, those on other nodes as they send more.
void hold_back(Engine& e, Peer& sender);

// --- where pieces lie (fragments.cc) ------------------------------------------------------------
/// Room for a piece: in a fragment, or in the peer's ring. False: there is none now.
bool claim_long_piece(Engine& e, Peer& peer, std::uint32_t bytes, shm::Claim* out);
inline bool claim_piece(Engine& e, Peer& peer, std::uint32_t bytes, shm::Claim* out) {
  return bytes < e.fragment_min ? peer.lane.claim(bytes, out)
                                : claim_long_piece(e, peer, bytes, out);
}
/// Write bytes [at, at + n) of the packed form of `from` to where a piece has room.
void write_piece(Engine& e, Peer& peer, const ConstBuffer& from, std::int64_t at, std::int64_t n,
                 const shm::Claim& to);
/// The same, by any thread, if it is known whether the peer's core is far.
void fill_piece(const ConstBuffer& from, std::int64_t at, std::int64_t n, const shm::Claim& to,
                bool far);
bool is_far(const Engine& e, const Peer& peer);
/// Where the piece beside a cell is; and it has been read.
const std::byte* piece_at(const Engine& e, const wire::Cell& cell);
void piece_is_read(Engine& e, const wire::Cell& cell);
/// Own fragments come home.
void on_back(Engine& e, const wire::Cell& cell);

// --- with idle threads (together.cc) ------------------------------------------------------------
/// Push several pieces of a message (each of `piece` bytes), filled at once. False: that is nothing
/// for idle threads, or there is no room.
bool fill_together(Engine& e, Peer& peer, P2p& send, std::int64_t piece);
/// Take the pieces of one message that lie ready, from the polled one on, at once. False: that is
/// nothing for idle threads.
bool drain_together(Engine& e, P2p& recv, const wire::Cell& first);

/// Outgoing::push of sends.
bool push_queued(Engine& e, Peer& peer, Outgoing& item);
void start_recv(Engine& e, P2p& recv);
/// A new request for the user (references to type and communicator are counted).
P2p* new_request(Engine& e, Comm& comm, bool is_send, const Buffer& buffer);
/// The same of a receive, active, not started.
P2p* new_recv(const Buffer& into, int source, int tag, Comm& comm);
/// A request without communicator or buffer.
P2p* new_plain_request(Engine& e);
/// Make Engine::sent.
void make_shared_request(Engine& e);
inline MPI_Request handle_of(Request* request) {
  return reinterpret_cast<MPI_Request>(request);
}
inline Request* request_of(MPI_Request handle) {
  return reinterpret_cast<Request*>(handle);
}

// --- finishing ----------------------------------------------------------------------------------
void complete(P2p& request, int error);
/// One from or to MPI_PROC_NULL.
void complete_null(P2p& request);
/// A message of `bytes` was matched; its data follows in one or more pieces, in order.
void begin_data(Engine& e, P2p& recv, const wire::Envelope& from, std::int64_t bytes);
void add_data(Engine& e, P2p& recv, const void* piece, std::int64_t bytes);
void deliver_offer(Engine& e, P2p& recv, const Offer& offer);
void deliver(Engine& e, P2p& recv, Arrived& message);
/// An unexpected message that was kept is no longer needed.
void free_kept(Engine& e, Arrived& message);
/// The error of a receive with room for less than the message has.
Err truncated(const wire::Envelope& from, std::int64_t bytes, std::int64_t room);

// --- large messages (transfer.cc)
// -----------------------------------------------------------------
bool push_offer(Engine& e, Peer& peer, P2p& send);
/// The offer of `job` is over: nobody has its data to read any more.
void end_offer(Engine& e, Peer& peer, std::uint32_t job);
/// Where the message lies that a cell offers, if that is on another node.
wire::Place place_of(Engine& e, const wire::Cell& offer);
void on_show(Engine& e, const wire::Cell& cell);
void on_copied(Engine& e, const wire::Cell& cell);
void on_done(Engine& e, const wire::Cell& cell);
void on_stage(Engine& e, const wire::Cell& cell);
/// Is a sender slow to copy what it was left? One receive a look, in turns.
void check_left(Engine& e);
/// Copy a chunk of what is shown; false if there is nothing.
bool copy_shown(Engine& e);

// --- cancelling sends (cancel_send.cc)
// --------------------------------------------------------------
void cancel_send(P2p& send);
/// Of an offered one that is for a rank which may never take it: its request fails, unless it is
/// matched.
void cancel_unmatched(P2p& send, int error);
/// Nobody has claimed the job yet; set before it is offered.
void open_claim(shm::CopyJob& job);
/// A receive is about to get the offer of `job`. False: it was cancelled before, the offer is void.
bool claim_offer(Engine& e, std::int32_t sender, std::uint32_t job, std::int64_t bytes);
/// The same for an offer that waits; one that was cancelled leaves the queues. True for messages
/// that are no offers.
bool claim_arrived(Engine& e, Arrived& message);
/// The first message that fits and was not cancelled; it stays in.
Arrived* find_message(Engine& e, const wire::Envelope& wanted);
void on_withdraw(Engine& e, const wire::Cell& cell);
/// Ask the receiver to give up a cancelled message, all of which is pushed.
void recall(Engine& e, Peer& peer, P2p& send);
void on_recall(Engine& e, const wire::Cell& cell);
void on_recalled(const wire::Cell& cell);

// --- queues (progress.cc) -----------------------------------------------------------------------
void enqueue(Engine& e, Peer& peer, OutgoingQueue& queue, Outgoing& item);
/// The peer is busy no longer, if nothing is queued for it.
void leave_queues(Engine& e, Peer& peer);
/// The same of what nobody has tried to push.
void add_outgoing(Engine& e, Peer& peer, OutgoingQueue& queue, Outgoing& item);
void tell(Engine& e, Peer& peer, const Notice& notice);
/// Outgoing::push of notices.
bool push_control(Engine& e, Peer& peer, Outgoing& item);

// --- ranks that die (deaths.cc) -----------------------------------------------------------------
/// End what waits for dead ranks, of all requests and of those that a call is about to sleep for.
[[gnu::cold]] void look_for_dead(Engine& e, const Awaited& awaited);
/// The same, before a sleep or after a look in vain.
inline void look_for_deaths(Engine& e, const Awaited& awaited) {
  // relaxed: whoever overlooks one is woken
  if (e.job->header().deaths.load(std::memory_order_relaxed) != 0) [[unlikely]]
    look_for_dead(e, awaited);
}
/// A look (MPI_Test, MPI_Iprobe) found nothing: give the core away now and then if it is wanted,
/// and look after other contexts, once in so many times.
void looked_in_vain(Engine& e, std::uint32_t looks_per_visit = looks_per_yield);

void set_needs_progress(Engine& e, bool needs);
/// Has something begun here that only this rank's progress completes, what has been sent to other
/// nodes aside?
inline bool has_begun_here(const Engine& e) {
  constexpr std::size_t shared_one = 1;  // Engine::sent
  return e.ending || e.requests.live() > shared_one || !e.busy.empty() || !e.pollers.empty() ||
         e.offers() > 0 || e.one_sided.windows.load(std::memory_order_relaxed) > 0;
}
inline bool has_begun(const Engine& e) {
  return has_begun_here(e) || (e.network != nullptr && !e.network->is_idle());
}
inline void leave_context(Engine& e) {
  if (e.network != nullptr) [[unlikely]]
    return leave_networked(e);
  const bool needs = e.waiters.waiting == 0 && has_begun_here(e);
  // relaxed: who slept since it was set has seen it
  if (needs != e.needs_progress.load(std::memory_order_relaxed)) set_needs_progress(e, needs);
}

/// The sole thread begins to wait, or to look now and then: other contexts may need it.
inline void say_what_others_need(Engine& e) {
  if (e.contexts->spread.load(std::memory_order_relaxed) && e.contexts->sole.is_mine())
    leave_contexts(*e.contexts);
}

/// Wake rank `world_rank` if it sleeps, after publishing news outside its mailbox (shared flags).
inline void wake_rank(Engine& e, std::int32_t world_rank) {
  if (e.peer(world_rank).lane.ring()) ++e.counters->wakes;
}

/// Is there something that nobody tells when it is time to do it?
inline bool must_look(const Engine& e) {
  return !e.busy.empty() || !e.left.empty() || e.unposted > 0;
}

/// Is this the last look of a thread before it sleeps? (Or does one sleep already.)
inline bool is_about_to_sleep(Engine& e) {
  return e.inbox.parked().load(std::memory_order_relaxed) != 0;
}

/// How long to sleep at most, if news from other nodes wake nobody.
inline std::int64_t nap_ns(const Engine& e, std::int64_t limit_ns) {
  const std::int64_t nap = e.network == nullptr ? 0 : e.network->nap_ns();
  return nap == 0 || limit_ns == 0 ? std::max(nap, limit_ns) : std::min(nap, limit_ns);
}
/// Be woken for what comes from other nodes. False: there may be news already.
inline bool arm(Engine& e) {
  return e.network == nullptr || e.network->arm();
}

/// Sleep until news, if `done()` is still false after announcing. True if it slept.
template <class Done>
bool park(Engine& e, sync::Waiter& waiter, Done&& done, const Awaited& awaited, WaitNote& note) {
  sync::ParkWord& word = e.inbox.parked();
  waiter.announce(word);
  progress(e);
  look_for_deaths(e, awaited);
  if (done() || e.inbox.poll() != nullptr) return waiter.retract(word), false;
  const std::int64_t limit_ns = note.before_sleep(e, awaited);
  if (must_look(e) || !arm(e)) return waiter.retract(word), false;
  const TraceSpan span(e.trace.get(), "sleep");
  e.contexts->sole_sleeps.store(true,
                                std::memory_order_relaxed);  // what it says too late costs a look
  waiter.sleep(word, nap_ns(e, limit_ns));
  e.contexts->sole_sleeps.store(false, std::memory_order_seq_cst);
  e.lock.spent(&Counters::sync_ns);
  return true;
}

/// A look by a thread that waits: messages for any of several receives in blocking calls go to its
/// own, which needs no wake-up.
inline void look_for(Engine& e, const Awaited& awaited) {
  if (!e.among_threads) {
    progress(e);
    return;
  }
  e.matcher.favour(awaited.receive, e.bias);
  progress(e);
  e.matcher.favour(nullptr, 0);
}

/// Tells receivers that a thread waits here, and pushes what it is asked for.
class SaysWaits {
 public:
  explicit SaysWaits(Engine& e) : e_(e), says_(e.past_caches && e.offers() > 0) {
    if (says_) [[unlikely]]
      e_.inbox.say_waits(true);
  }
  ~SaysWaits() {
    if (says_) [[unlikely]]
      e_.inbox.say_waits(false);
  }
  SaysWaits(const SaysWaits&) = delete;
  SaysWaits& operator=(const SaysWaits&) = delete;

 private:
  Engine& e_;
  const bool says_;
};

/// Progress until done(): every wait of the library. done() is cheap; who makes it true either
/// completes a request, or sends a message, or calls wake_rank(). `awaited`: the requests that make
/// it true, or what else does.
template <class Done>
void wait_until(Engine& e, Done&& done, const Awaited& awaited = {}) {
  look_for(e, awaited);
  if (done()) return;
  const TraceSpan span(e.trace.get(), "wait");
  const SaysWaits says(e);
  if (e.among_threads) {
    Waiting me(done, awaited);
    return wait_among_threads(e, me);
  }
  sync::Waiter waiter(e.policy, e.neighbours);
  const auto spinning =
      e.policy.crowded ? sync::Waiter::Spinning::not_at_all : sync::Waiter::Spinning::long_;
  WaitNote note;
  for (;;) {
    const auto next = waiter.step(spinning);
    e.lock.spent(&Counters::sync_ns);
    if (awaited.about != nullptr && done()) break;  // a flag: another rank has set it
    const std::uint64_t served = e.counters->rma_served;
    progress(e);
    if (done()) break;
    if (e.counters->rma_served != served) [[unlikely]] {
      waiter.found();  // others work on this rank's memory
      continue;
    }
    if (next != sync::Waiter::Next::may_park) continue;
    // What woke it may be another rank's access to memory here, of which nothing else is seen.
    if (park(e, waiter, done, awaited, note) && e.network != nullptr) [[unlikely]]
      waiter.found();
  }
  if (waiter.parks() > 0 &&
      e.contexts->background_rests.load(std::memory_order_seq_cst) == Contexts::Rests::until_back)
    wake_background(e);
  e.counters->yields += waiter.yields();
  e.counters->parks += waiter.parks();
  e.counters->chunks_helped += waiter.helped();
}
/// The same for what may never come: or until is_lost(), which is asked before the rank sleeps.
template <class Done, class Lost>
void wait_until(Engine& e, Done&& done, const Awaited& awaited, Lost&& is_lost) {
  bool lost = false;
  const auto over = [&] { return lost || done() || (is_about_to_sleep(e) && (lost = is_lost())); };
  wait_until(e, over, awaited);
}

}  // namespace weft::pt2pt
