// SPDX-License-Identifier: Apache-2.0
//
// The loop over rounds: post the messages, do the local steps, wait for the messages. A step that
// waits for a phase is left and tried again; the steps before it are done.
#include "coll/executor.h"

#include <algorithm>

#include "base/copy.h"
#include "coll/block/shared.h"
#include "coll/boards/node.h"
#include "coll/nodes/phases.h"
#include "coll/signature.h"
#include "coll/state.h"
#include "coll/wait.h"
#include "pt2pt/deaths.h"

namespace weft::coll {
namespace {

using What = Step::What;

/// What was read of another rank, at the level that holds both.
void count_read(const Step& step, object::Comm& comm) {
  Counters& c = *comm.engine->counters;
  const std::uint8_t level = comm.coll->node->level_with[static_cast<std::size_t>(step.peer)];
  const auto bytes = static_cast<std::uint64_t>(step.bytes);
  (step.what == What::fold ? c.coll_lines_folded : c.coll_lines_copied)[level] += (bytes + 63) / 64;
  c.coll_bytes[level] += bytes;
  ++c.coll_steps;
}

/// What leaves the node.
void count_sent(const Step& step, object::Comm& comm) {
  const NodeState* node = comm.coll->node;
  if (node == nullptr || node->cluster == nullptr) return;
  const Nodes& nodes = node->cluster->nodes;
  if (nodes.node_of(step.peer) == nodes.node_of(comm.rank)) return;
  Counters& c = *comm.engine->counters;
  ++c.coll_net_messages;
  c.coll_net_bytes += static_cast<std::uint64_t>(step.count * step.type->size);
}

/// Who has that place at the board, in the communicator.
int rank_at(const object::Comm& comm, int place) {
  return comm.coll->node->here.ranks[static_cast<std::size_t>(place)];
}

/// Bytes [at, at + n) of one typed buffer to the same place of another.
void move(const ConstBuffer& from, const Buffer& to, std::int64_t at, std::int64_t n) {
  if (from.type->dense) {
    datatype::unpack(to, at, block(from) + at, n);
  } else if (to.type->dense) {
    datatype::pack(from, at, block(to) + at, n);
  } else if (at == 0) {
    datatype::copy(from, to, n);
  } else {
    std::byte part[first_cache / 16];
    for (const std::int64_t end = at + n; at < end; at += std::int64_t{sizeof part}) {
      const std::int64_t m = std::min<std::int64_t>(sizeof part, end - at);
      datatype::pack(from, at, part, m);
      datatype::unpack(to, at, part, m);
    }
  }
}

Err wrong_length(const object::Comm& comm, int rank, std::int64_t sent, std::int64_t expected) {
  return fail(sent > expected ? MPI_ERR_TRUNCATE : MPI_ERR_COUNT,
              "rank %d of communicator %s sends %lld bytes where this rank expects %lld", rank,
              comm.name.c_str(), static_cast<long long>(sent), static_cast<long long>(expected));
}

/// Bytes that it moves or folds.
std::int64_t work_of(const Step& step) {
  switch (step.what) {
    case What::copy:
      return step.source().bytes();
    case What::reduce:
    case What::fold:
      return step.count * step.type->size;
    case What::fetch:
    case What::give:
      return step.bytes;
    default:
      return 0;
  }
}

/// By a visitor: does its rank come back?
bool is_wanted(const object::Comm& comm) {
  return comm.engine->contexts->sole.is_wanted();
}

/// A user's function is for the rank's own threads, unless the user says otherwise.
bool must_wait_for_rank(const Step& step, const object::Comm& comm) {
  if (!comm.engine->visited || !step.has_op() || comm.coll->settings.user_ops_anywhere)
    return false;
  return step.op->operation == datatype::Operation::user;
}

}  // namespace

void Executor::begin(Schedule& s, int tag) {
  s.tag_ = tag;
  s.next_ = s.round_ = s.posted_ = 0;
  s.moved_ = 0;
  s.error_ = ok;
}

void Executor::rewind(Schedule& s) {
  begin(s, s.tag_);
  if (s.owns_boards_) s.number_ = s.boards_->take();
}

void Executor::post_messages(Schedule& s, object::Comm& comm) {
  const std::size_t begin = s.round_ = s.next_;
  std::size_t end = begin;
  while (end < s.steps_.size() && !s.steps_[end++].ends_round) {
  }
  for (std::size_t i = begin; i < end; ++i)
    if (const Step& step = s.steps_[i]; step.what == What::recv)
      s.pending_.push_back(pt2pt::post_recv(step.target(), step.peer, s.tag_, comm));
  for (std::size_t i = begin; i < end; ++i)
    if (const Step& step = s.steps_[i]; step.what == What::send) {
      count_sent(step, comm);
      s.pending_.push_back(pt2pt::post_send(step.source(), step.peer, s.tag_, comm));
    }
  s.posted_ = end;
}

ConstBuffer Executor::source(const Schedule& s, const Step& step) {
  if (step.what_shown == Source::by_address) return step.source();
  return s.boards_->shown(s.number_, step.peer, step.what_shown)[step.index];
}

bool Executor::fetch(Schedule& s, const Step& step, const object::Comm& comm) {
  const ConstBuffer from = source(s, step);
  const Buffer to = step.target();
  std::int64_t bytes = step.bytes;
  if (step.what_shown != Source::by_address &&
      (from.bytes() > to.bytes() || from.bytes() < step.at + bytes)) [[unlikely]] {
    s.error_ = wrong_length(comm, rank_at(comm, step.peer), from.bytes(), to.bytes());
    bytes = std::clamp<std::int64_t>(from.bytes() - step.at, 0, bytes);
    if (bytes == 0) return true;
  }
  const std::int64_t most = comm.engine->visited ? visitor_bytes : bytes;
  while (s.moved_ < bytes) {
    if (comm.engine->visited && is_wanted(comm)) return false;
    const std::int64_t n = std::min(most, bytes - s.moved_);
    move(from, to, step.at + s.moved_, n);
    s.moved_ += n;
  }
  s.moved_ = 0;
  return true;
}

std::int64_t Executor::labelled(const Schedule& s, const void* at) {
  const Label& label = *static_cast<const Label*>(at);
  return label.number == s.number_ ? label.length : 0;  // an old one: it has nothing
}

void Executor::give(Schedule& s, const Step& step, const object::Comm& comm) {
  const std::int64_t expected = labelled(s, step.to);
  if (expected == step.bytes) [[likely]] {
    const ConstBuffer& room = s.boards_->shown(s.number_, step.peer, step.what_shown)[step.index];
    return move(step.source(), writable(room), 0, step.bytes);
  }
  s.error_ = fail(step.bytes > expected ? MPI_ERR_TRUNCATE : MPI_ERR_COUNT,
                  "this rank sends %lld bytes to rank %d of communicator %s, which expects %lld",
                  static_cast<long long>(step.bytes), rank_at(comm, step.peer), comm.name.c_str(),
                  static_cast<long long>(expected));
}

bool Executor::run_at_board(Schedule& s, const Step& step, object::Comm& comm) {
  if (s.error_ && step.peer != Source::own && step.what >= What::fetch)
    return true;  // not what I think
  switch (step.what) {
    case What::show:
      s.boards_->show(s.number_, step.what_shown, step.views().data());
      return true;
    case What::signal:
      ++comm.engine->counters->coll_phases;
      s.boards_->signal(s.number_, step.count);
      return true;
    case What::wake:
      s.boards_->wake(step.peer);
      return true;
    case What::label:
      *static_cast<Label*>(step.to) = {s.number_, step.bytes};
      return true;
    case What::fetch:
      if (!fetch(s, step, comm)) return false;
      ++comm.engine->counters->coll_copies;
      break;
    case What::give:
      give(s, step, comm);
      ++comm.engine->counters->coll_copies;
      break;
    case What::fold:
      object::apply(*step.op, *step.type,
                    static_cast<const std::byte*>(source(s, step).data) + step.at, step.to,
                    step.count);
      break;
    default:
      return true;
  }
  if (step.peer != Source::own) count_read(step, comm);
  return true;
}

bool Executor::agrees(Schedule& s, int place, const object::Comm& comm) {
  const std::uint64_t theirs = s.boards_->noted(s.number_, place);
  const int failed = s.boards_->failed(s.number_, place);
  const int rank = rank_at(comm, place);
  if (theirs == s.note_ && failed == 0) [[likely]]
    return true;
  if (failed == MPI_ERR_PROC_ABORTED)
    if (const Err error = pt2pt::died_if_any(comm)) return !end(s, error);
  end(s, theirs != s.note_ ? notes_differ(comm, rank, theirs, s.note_)
                           : fail(failed,
                                  "rank %d of communicator %s found that the ranks do not agree in "
                                  "a collective; its own error says in what",
                                  rank, comm.name.c_str()));
  return false;
}

bool Executor::end(Schedule& s, Err error) {
  s.error_ = error;
  s.boards_->give_up(s.number_, error.cls);
  s.next_ = s.posted_ = s.steps_.size();
  return true;
}

/// Of the ranks that meet at a board one is dead. Where another node has a dead one, those of this
/// one all go to the end, and what they read of each other stays until then.
bool Executor::is_deserted(Schedule& s, object::Comm& comm) {
  if (s.boards_ == nullptr || !shm::has_deaths(*comm.engine->job)) return false;
  for (const std::int32_t rank : comm.coll->node->here.world)
    if (shm::is_dead(*comm.engine->job, rank)) return leave(s, pt2pt::died(comm, rank));
  return false;
}

/// As end(), also where no board is open.
bool Executor::leave(Schedule& s, Err error) {
  if (s.open_) return end(s, error);
  s.error_ = error;
  s.next_ = s.posted_ = s.steps_.size();
  return true;
}

bool Executor::is_lost(Schedule& s, object::Comm& comm) {
  if (is_deserted(s, comm)) return true;
  if (!s.open_ || s.next_ == s.posted_) return false;
  const Step& step = s.steps_[s.next_];
  const int rank = step.peer;
  if (s.boards_->has_finished(s.number_, rank) && !s.boards_->has_come(s.number_, rank, step.count))
    return end(s, ended_early(comm, rank_at(comm, rank), s.note_));
  // Somebody has come to a later operation in the block, but not to this one? Starts of persistent
  // ones have no order.
  if (s.owns_boards_) return false;
  const Shared* shared = shared_if_any(comm);
  if (shared == nullptr) return false;
  for (int r = 0; r < comm.size(); ++r)
    if (const auto theirs = shared->ahead(r); theirs && !s.boards_->has_called(s.number_, r))
      return end(s, notes_differ(comm, r, *theirs, s.note_));
  return false;
}

bool Executor::fits(Schedule& s, const Step& step, const object::Comm& comm) {
  const std::int64_t sent =
      step.from == nullptr ? s.boards_->length(s.number_, step.peer) : labelled(s, step.from);
  return sent == step.bytes ||
         !end(s, wrong_length(comm, rank_at(comm, step.peer), sent, step.bytes));
}

bool Executor::run_steps(Schedule& s, object::Comm& comm) {
  for (; s.next_ < s.posted_; ++s.next_) {
    const Step& step = s.steps_[s.next_];
    if (must_wait_for_rank(step, comm)) [[unlikely]]
      return false;
    if ((s.leaves_ || (comm.engine->visited && is_wanted(comm))) && work_of(step) > 0) return false;
    switch (step.what) {
      case What::send:
      case What::recv:
        break;
      case What::copy:
        datatype::copy(step.source(), step.target(),
                       std::min(step.source().bytes(), step.target().bytes()));
        break;
      case What::reduce:
        object::apply(*step.op, *step.type, step.from, step.to, step.count);
        break;
      case What::compare:
        s.error_ = compare_signatures(static_cast<const Signature*>(step.from),
                                      static_cast<int>(step.count), comm);
        if (s.error_) {  // all ranks find the same, so nobody waits for the rest
          s.next_ = s.posted_ = s.steps_.size();
          return true;
        }
        break;
      case What::await:
        if (!s.boards_->has_come(s.number_, step.peer, step.count))
          return (pt2pt::is_about_to_sleep(*comm.engine) || shm::has_deaths(*comm.engine->job)) &&
                 is_lost(s, comm);
        if (!agrees(s, step.peer, comm)) [[unlikely]]
          return true;
        break;
      case What::later:  // alone in its round
        s.emit_behind(s.next_);
        break;
      case What::expect:
        if (!fits(s, step, comm)) [[unlikely]]
          return true;
        break;
      default:
        if (!run_at_board(s, step, comm)) return false;
    }
  }
  return true;
}

/// A message that is shorter than its place is no error of its receive, but of the operation.
void Executor::finish_round(Schedule& s, const object::Comm& comm) {
  std::size_t at = s.round_;  // the receives are the first, in the order of their steps
  for (object::Request* request : s.pending_) {
    if (request->error != MPI_SUCCESS && !s.error_) s.error_ = Err{request->error};
    while (at < s.posted_ && s.steps_[at].what != What::recv) ++at;
    if (at < s.posted_) {
      const Step& step = s.steps_[at++];
      const std::int64_t expected = step.target().bytes();
      if (request->bytes < expected && !s.error_) [[unlikely]]
        s.error_ = wrong_length(comm, step.peer, request->bytes, expected);
    }
    pt2pt::free_request(request);
  }
  s.pending_.clear();
  if (!s.error_ && s.posted_ > 0) s.error_ = pt2pt::died_if_any(comm);
}

bool Executor::advance(Schedule& s, object::Comm& comm) {
  if (s.boards_ != nullptr && !s.open_) {
    if (s.boards_->open(s.number_, &s.asked_)) {
      s.boards_->begin(s.number_, s.note_, s.length_);
      s.open_ = true;
    } else if (!is_deserted(s, comm)) {
      return false;
    }
  }
  for (;;) {
    if (!run_steps(s, comm)) return false;
    for (const object::Request* request : s.pending_)
      if (!request->done) return false;
    finish_round(s, comm);
    if (s.next_ == s.steps_.size()) break;
    post_messages(s, comm);
  }
  if (s.open_) {
    s.boards_->finish(s.number_);
    s.open_ = false;
  }
  return true;
}

bool Executor::start(Schedule& s, object::Comm& comm) {
  std::int64_t work = 0;
  for (const Step& step : s.steps_) work += work_of(step);
  s.leaves_ = pt2pt::leave_to_thread(*comm.engine, work);
  const bool done = advance(s, comm);
  s.leaves_ = false;
  return done;
}

bool Executor::may_go_on(Schedule& s) {
  if (!s.open_) return s.boards_->open(s.number_, &s.asked_);
  const Step& step = s.steps_[s.next_];
  return s.boards_->has_come(s.number_, step.peer, step.count);
}

pt2pt::About Executor::about(const Schedule& s, const object::Comm& comm) {
  pt2pt::About out{.what = hang::What::collective,
                   .comm = &comm,
                   .rank = MPI_ANY_SOURCE,
                   .number = static_cast<std::uint64_t>(s.tag_),
                   .call = call_name(call_of(s.note_)).data()};
  if (s.boards_ == nullptr || !s.pending_.empty()) return out;
  if (s.open_) {
    out.rank = rank_at(comm, s.steps_[s.next_].peer);
  } else {
    out.lacks = [](const void* schedule, int rank) {
      const Schedule& s = *static_cast<const Schedule*>(schedule);
      return s.boards_->is_behind_rank(s.number_, rank);
    };
    out.object = &s;
  }
  return out;
}

Err Executor::run(Schedule& s, object::Comm& comm) {
  while (!advance(s, comm)) {
    if (s.next_ == s.posted_ && !s.pending_.empty()) {
      pt2pt::wait_for_all(s.pending_);
      continue;
    }
    const pt2pt::About what = about(s, comm);
    wait(
        *comm.engine, [&] { return may_go_on(s); }, what, [&] { return is_lost(s, comm); });
  }
  return s.error_;
}

}  // namespace weft::coll
