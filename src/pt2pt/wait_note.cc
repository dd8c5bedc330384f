// SPDX-License-Identifier: Apache-2.0
//
// Turning requests, questions and unmatched messages into the plain numbers of a hang::Record.
#include "pt2pt/wait_note.h"

#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstring>

#include "base/clock.h"
#include "hang/site.h"
#include "hang/watch.h"
#include "pt2pt/engine.h"

namespace weft::pt2pt {
namespace {

using hang::Need;
using hang::Record;
using hang::What;

constexpr object::RequestOps no_ops{};
/// Spaces of messages that name ranks of MPI_COMM_WORLD (world::View).
bool is_construction(std::uint64_t space) {
  return space > static_cast<std::uint64_t>(Space::collective) &&
         space < static_cast<std::uint64_t>(Space::plan);
}

/// The communicator to which messages of `context` belong; nullptr: to none that is complete.
const Comm* comm_of(const Engine& e, std::uint64_t context) {
  for (Comm* comm : e.contexts->comms)
    if (context - comm->context < spaces) return comm;
  return nullptr;
}

void copy_name(char* to, std::size_t room, const char* from) {
  std::strncpy(to, from, room - 1);
}

hang::CommName name_of(const Comm* comm, std::uint64_t context) {
  hang::CommName out;
  out.context = context;
  if (comm == nullptr) return out;
  out.context = comm->context;
  out.size = static_cast<std::int32_t>(comm->peers().size());
  copy_name(out.name, sizeof out.name, comm->name.c_str());
  return out;
}

/// The members if they follow each other at a fixed distance.
hang::Ranks ranks_of(const std::vector<std::int32_t>& members) {
  if (members.empty()) return {};
  const auto count = static_cast<std::int32_t>(members.size());
  const hang::Ranks out{members[0], count > 1 ? members[1] - members[0] : 1, count};
  for (std::int32_t i = 0; i < count; ++i)
    if (members[static_cast<std::size_t>(i)] != out.first + i * out.stride) return {};
  return out;
}

std::int32_t rank_in(const std::vector<std::int32_t>& members, std::int32_t world_rank) {
  const auto at = std::find(members.begin(), members.end(), world_rank);
  return at == members.end() ? hang::nobody : static_cast<std::int32_t>(at - members.begin());
}

void set_peer(Need& need, const std::vector<std::int32_t>& members, std::int32_t rank) {
  need.rank = rank < 0 ? hang::nobody : rank;
  need.among = ranks_of(members);
  if (need.rank != hang::nobody) need.peer = members[static_cast<std::size_t>(rank)];
}

class Writer {
 public:
  Writer(Engine& e, Record& record) : e_(e), record_(record) {}

  void add(const Awaited& awaited) {
    add(awaited.handles);
    for (Request* request : awaited.requests) add(*request);
    if (awaited.about != nullptr) add(*awaited.about);
  }
  /// Those that are of this context.
  void add(std::span<const MPI_Request> handles) {
    for (MPI_Request handle : handles)
      if (handle != MPI_REQUEST_NULL && request_of(handle)->engine == &e_) add(*request_of(handle));
  }
  /// Something of which nothing is known here.
  void add_unknown() { add(Need{}); }

  void add_messages() {
    std::int32_t walked = 0;
    for (const Arrived* m = e_.matcher.first_arrived(); m != nullptr;
         m = Matcher::next_arrived(m), ++walked) {
      if (record_.messages_count >= Record::messages_max) {
        record_.messages_count += static_cast<std::int32_t>(e_.matcher.arrived_count()) - walked;
        return;
      }
      const Comm* comm = comm_of(e_, m->envelope.context);
      if (comm == nullptr || comm->context != m->envelope.context) continue;  // not the user's
      record_.messages[record_.messages_count++] = {m->sender,       m->envelope.source,
                                                    m->envelope.tag, m->offer,
                                                    m->bytes,        name_of(comm, comm->context)};
    }
  }

  void add_begun() {
    const auto add = [this](Comm& comm) {
      const std::atomic_ref operations(comm.operations);  // changes in another context
      record_.begun[record_.begun_count++] = {comm.context,
                                              operations.load(std::memory_order_relaxed)};
    };
    const std::vector<Comm*>& comms = e_.contexts->comms;
    for (std::size_t i = 0; i < comms.size() && record_.begun_count < Record::begun_max; ++i)
      add(*comms[i]);
  }

 private:
  void add(const Need& need) {
    if (record_.needs_count < Record::needs_max)
      record_.needs[record_.needs_count] = need;
    else
      add_to_rest(need);
    ++record_.needs_count;
  }

  void add_to_rest(const Need& need) {
    Need& rest = record_.rest;
    const auto ranks = static_cast<std::int32_t>(e_.peers.places());
    const hang::Ranks from = need.peer != hang::nobody ? hang::Ranks{need.peer, 1, 1}
                             : need.among.count > 0    ? need.among
                                                       : hang::Ranks{0, 1, ranks};
    const std::int32_t last = from.first + (from.count - 1) * from.stride;
    std::int32_t low = std::min(from.first, last), high = std::max(from.first, last);
    if (record_.needs_count > Record::needs_max) {
      low = std::min(low, rest.among.first);
      high = std::max(high, rest.among.first + rest.among.count - 1);
    }
    if (record_.needs_count == Record::needs_max || need.what == What::other) rest.what = need.what;
    rest.among = {low, 1, high - low + 1};
  }

  void add(Request& request) {
    if (request.done) return;
    const int before = record_.needs_count;
    const object::RequestOps& ops = request.ops != nullptr ? *request.ops : no_ops;
    if (ops.parts != nullptr) {
      add_parts(request);
    } else if (ops.query != nullptr) {
      Need need;
      need.what = What::program;
      need.peer = e_.world_rank;
      add(need);
    } else if (request.comm == nullptr) {
      add(Need{});
    } else if (static_cast<P2p&>(request).halves != 0) {
      add_halves(static_cast<P2p&>(request));
    } else {
      add_message(static_cast<P2p&>(request));
    }
    if (record_.needs_count == before) add(Need{});  // it is about to be complete
  }

  void add_parts(Request& request) {
    const std::span<Request* const> parts = request.ops->parts(request);
    About about;
    if (request.ops->about != nullptr) about = request.ops->about(request);
    name_call(about);
    for (Request* part : parts) add(*part);
    if (parts.empty() && about.comm != nullptr) add(about);
    call_[0] = 0;
  }

  void add_halves(P2p& whole) {
    // acquire: pairs with the end of a half in another context
    int others = std::atomic_ref(whole.halves).load(std::memory_order_acquire);
    for (P2p* half : whole.pair)
      if (half != nullptr) {
        add_message(*half);
        --others;
      }
    if (others > 0) add(Need{});  // in another context, whose lock is not held
  }

  /// Of a collective that is waited for by its request, as the user calls it.
  void name_call(const About& about) {
    if (about.call == nullptr) return;
    const bool persistent = about.persistent;
    std::snprintf(call_, sizeof call_, "MPI_%c%s%s", persistent ? std::toupper(*about.call) : 'I',
                  about.call + persistent, persistent ? "_init" : "");
  }

  void add_message(const P2p& p) {
    const std::uint64_t context = p.envelope.context;
    const std::uint64_t space = context % spaces;
    const Comm* comm = comm_of(e_, context);
    const std::vector<std::int32_t>& members = p.comm->peers();
    Need need;
    if (p.is_send) {
      set_peer(need, members, rank_in(members, p.peer));
      need.peer = p.peer;
    } else {
      const bool matched = !p.persistent && p.source != MPI_ANY_SOURCE;
      const std::int32_t source = matched ? p.source : p.envelope.source;
      set_peer(need, members, is_construction(space) ? rank_in(members, source) : source);
    }
    need.comm = name_of(comm, context);
    need.tag =
        space == static_cast<std::uint64_t>(Space::partition) ? int{MPI_ANY_TAG} : p.envelope.tag;
    need.bytes = p.buffer.bytes();
    need.what = comm == nullptr || is_construction(space) ? What::construction
                : space == 1                              ? What::collective
                : p.is_send                               ? What::send
                                                          : What::receive;
    if (space == 1) need.number = static_cast<std::uint64_t>(p.envelope.tag);
    std::memcpy(need.call, call_, sizeof call_);
    add(need);
  }

  static void name_window(char (&to)[hang::call_bytes], const About& about) {
    copy_name(to, sizeof to, about.window_call);
    const std::size_t length = std::strlen(to);
    if (*about.window == 0) return;
    copy_name(to + length, sizeof to - length, " for ");
    const std::size_t more = std::strlen(to);
    copy_name(to + more, sizeof to - more, about.window);
  }

  void add(const About& about) {
    if (about.what == What::other) return add_sends(about.comm);
    Need need;
    need.what = about.what;
    need.tag = about.tag;
    need.number = about.number;
    std::memcpy(need.call, call_, sizeof call_);
    if (about.window != nullptr) name_window(need.call, about);
    need.comm = name_of(about.comm, about.comm->context);
    const std::vector<std::int32_t>& members = about.comm->peers();
    if (about.lacks == nullptr) {
      set_peer(need, members, about.rank);
      return add(need);
    }
    for (int rank = 0; rank < static_cast<int>(members.size()); ++rank) {
      if (!about.lacks(about.object, rank)) continue;
      set_peer(need, members, rank);
      add(need);
    }
  }

  /// What this rank has sent and nobody has received, of all communicators or one.
  void add_sends(const Comm* comm) {
    const auto add_send = [&](const P2p& send) {
      if (send.comm != nullptr && (comm == nullptr || send.comm == comm)) add_message(send);
    };
    std::vector<bool> is_free(e_.jobs);
    for (const std::uint32_t job : e_.free_jobs) is_free[job] = true;
    for (std::uint32_t i = 0; i < e_.jobs; ++i)
      if (!is_free[i])
        if (const auto* send = reinterpret_cast<const P2p*>(e_.inbox.job(i).request))
          add_send(*send);  // else it was cancelled
    for (Peer* peer = e_.busy.front(); peer != nullptr; peer = e_.busy.next(peer))
      if (Outgoing* item = peer->queue.front(); item != nullptr && item->push == push_queued)
        add_send(static_cast<P2p&>(*item));
  }

  Engine& e_;
  Record& record_;
  char call_[hang::call_bytes] = "";
};

/// Anything that a rank did changes it.
std::uint64_t done_so_far(const Engine& e) {
  const Counters& c = *e.counters;
  return c.messages_sent + c.messages_received + c.bytes_copied + c.copies_helped + c.unexpected +
         c.coll_copies + c.coll_steps + c.coll_phases + c.rma_messages + c.rma_served;
}

/// Those of `handles` that are not of `home`, whose lock is held, context by context. A lock that
/// is not free now is not waited for: what waits there may come, until the note is written anew.
void add_elsewhere(Engine& home, std::span<const MPI_Request> handles, Record& record) {
  for (Engine* e : home.contexts->engines) {
    const auto is_there = [e](MPI_Request handle) {
      return handle != MPI_REQUEST_NULL && request_of(handle)->engine == e;
    };
    if (e == &home || std::none_of(handles.begin(), handles.end(), is_there)) continue;
    const bool held = e->lock.is_mine();  // with those of all contexts
    const bool free = held || e->lock.try_hold();
    {
      const sync::Guard guard(e->contexts->objects);
      Writer writer(*e, record);
      if (free) {
        writer.add(handles);
        writer.add_messages();
      } else {
        writer.add_unknown();
      }
    }
    if (free && !held) e->lock.release();
  }
}

}  // namespace

std::int64_t WaitNote::before_sleep(Engine& e, const Awaited& awaited, bool at_mailbox) {
  const std::int64_t now = now_ns();
  if (since_ns_ == 0) since_ns_ = now;
  if (now - since_ns_ < hang::noted_after_ns) return since_ns_ + hang::noted_after_ns - now;
  if (const std::uint64_t done = done_so_far(e); done != done_) {
    done_ = done;
    moved_ns_ = now;
  }
  // A note must be as new as the look that it counts; a thread that is woken often writes seldom,
  // the more so the longer its note takes: up to a twentieth of its time.
  const bool same_place = is_written() && at_mailbox == at_mailbox_;
  if (same_place && now < write_again_ns_) return write_again_ns_ - now;
  at_mailbox_ = at_mailbox;
  write(e, awaited);
  constexpr std::int64_t part = 20;
  write_again_ns_ = now + std::max(hang::noted_after_ns, part * (now_ns() - now));
  if (slot_ != nullptr) slot_->count_look();
  // Nobody wakes who awaits what cannot come at a board (coll/wait.h), so it has to look.
  const auto is_flag = [](What what) {
    return what == What::collective || what == What::channel_message ||
           what == What::channel_room || what == What::window;
  };
  const bool awaits_flags =
      !e.pollers.empty() || (awaited.about != nullptr && is_flag(awaited.about->what));
  const bool renews = !at_mailbox || awaits_flags || !awaited.elsewhere.empty();
  const std::int64_t limit_ns = renews ? hang::renewed_after_ns : 0;  // 0: none
  if (!at_mailbox || e.watch == nullptr) return limit_ns;
  const std::int64_t next_ns = e.watch->look_and_say();
  return limit_ns > 0 ? std::min(limit_ns, next_ns) : next_ns;
}

void WaitNote::write(Engine& e, const Awaited& awaited) {
  hang::Board& board = hang::board(*e.job, e.world_rank);
  if (wait_ == 0) {
    wait_ = board.waits.fetch_add(1, std::memory_order_relaxed) + 1;
    const hang::Site site = hang::find_site();
    call_ = site.call;
    call_site_ = site.returns_to;
    slot_ = board.try_take();
    if (slot_ == nullptr) {
      crowded_ = &board;
      board.without_slot.fetch_add(1, std::memory_order_relaxed);
    }
  }
  if (slot_ == nullptr) return;
  Record record;
  record.wait = wait_;
  record.since_ns = since_ns_;
  record.moved_ns = moved_ns_;
  record.park_at = at_mailbox_ ? e.job->offset_of(&e.inbox.parked()) : 0;
  record.call_site = call_site_;
  copy_name(record.call, sizeof record.call, call_);
  record.pid = e.pid;
  record.tid = gettid();
  record.multiple = e.among_threads;
  record.one_is_enough = awaited.one_is_enough || !awaited.elsewhere.empty();
  if (!awaited.elsewhere.empty()) add_elsewhere(e, awaited.elsewhere, record);
  const sync::Guard guard(e.contexts->objects);
  Writer writer(e, record);
  writer.add(awaited);
  writer.add(awaited.elsewhere);
  if (record.needs_count == 0) writer.add_unknown();
  writer.add_messages();
  writer.add_begun();
  slot_->write(record);
}

void WaitNote::give_back() {
  if (slot_ != nullptr) slot_->give_back();
  if (crowded_ != nullptr) crowded_->without_slot.fetch_sub(1, std::memory_order_relaxed);
}

}  // namespace weft::pt2pt
