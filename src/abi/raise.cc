// SPDX-License-Identifier: Apache-2.0
//
// Where errors of entry points end: the sentence gets the call's name and the rank, then the error
// handler decides (MPI-5.0 §9.3). Errors without an object belong to MPI_COMM_SELF; errors before
// MPI_Init and after MPI_Finalize are fatal, as the initial error handler says. Before MPI-4.0
// errors without an object belonged to MPI_COMM_WORLD: its handler is called as long as that of
// MPI_COMM_SELF is MPI_ERRORS_ARE_FATAL, so that programs of that time still get their errors back.
#include <cstdio>
#include <cstring>
#include <optional>

#include "abi/entry.h"
#include "base/clock.h"
#include "object/errors.h"
#include "object/request.h"

namespace weft::abi {
namespace {

/// "MPI_Send on rank 2 of MPI_COMM_WORLD: dest is 9, but ..."; kept as the error's text.
struct Sentence {
  char text[1024];
};

Sentence compose(Fn fn, const Rank* rank, Err error) {
  Sentence s;
  const char* cause = last_error_text(error.cls);
  if (cause == nullptr) cause = object::class_text(error.cls);
  char where[48] = "";
  if (rank != nullptr) std::snprintf(where, sizeof where, " on rank %d", rank->world_rank);
  char text[900];
  std::snprintf(text, sizeof text, "%s", cause ? cause : "an error code of the program");
  std::snprintf(s.text, sizeof s.text, "%s%s: %s", name(fn), where, text);
  return s;
}

[[noreturn]] void die(Rank* rank, Err error, const Sentence& s) {
  char line[1100];
  std::snprintf(line, sizeof line, "weft: %s", s.text);
  world::abort_job(rank, error.cls, line);
}

/// Whose handler gets errors without an object.
object::Comm* without_object(const object::Store& store) {
  object::Comm* self = store.comm_self;
  return self != nullptr && self->errhandler == &store.errors_are_fatal ? store.comm_world : self;
}

}  // namespace

void Entry::enter(Place place, When when) {
  frame_ = Frame::whole;
  several_contexts_ = place.lock == nullptr;
  place_ = when == When::always || rank_->engine.lock.enabled() ? place : Place{};
  // A call inside of another one (from a callback) is part of it.
  const bool timed = place_.engine != nullptr && place_.lock->measures() && !place_.lock->is_mine();
  called_ns_ = timed ? now_ns() : 0;
  if (place_.lock != nullptr) place_.lock->hold();
  measured_ = !rank_->engine.lock.enabled() && rank_->engine.lock.measures();
  if (measured_) rank_->engine.lock.begin_call();
  // MPI_Init begins before there is a trace.
  if (when == When::always || rank_->engine.trace != nullptr) begin_ns_ = Trace::now_ns();
}

void Entry::leave() {
  if (frame_ == Frame::whole) {
    if (rank_->engine.trace != nullptr) rank_->engine.trace->add(name(fn_), begin_ns_);
    if (measured_) rank_->engine.lock.end_call();
  }
  const Place held = this->held();
  if (held.lock == nullptr) return;
  if (held.engine != nullptr) pt2pt::leave_context(*held.engine);
  held.lock->release(frame_ == Frame::whole ? called_ns_ : 0);
}

/// A wait lets go of the sole lock; and takes that of its context, if other threads have come.
Place Entry::held() const {
  if (frame_ != Frame::sole) return frame_ == Frame::whole ? place_ : Place{};
  for (pt2pt::Engine* e : rank_->contexts.engines)
    if (e->lock.is_mine()) return {&e->lock, e};
  return {};
}

namespace {
Place in_context(pt2pt::Engine& e) {
  return {&e.lock, &e};
}
Place among_objects(Rank& rank) {
  return {&rank.store.lock, nullptr};
}
}  // namespace

Place place_of(Rank& rank, MPI_Comm handle, int tag) {
  const object::Comm* comm = rank.store.comm(handle);
  if (comm == nullptr || comm->owner != &rank) return among_objects(rank);
  return in_context(pt2pt::engine_for(*comm, tag));
}

Place place_of(Rank& rank, MPI_Comm handle) {
  const object::Comm* comm = rank.store.comm(handle);
  if (comm == nullptr || comm->owner != &rank) return among_objects(rank);
  return in_context(*comm->engine);
}

Place place_of(Rank& rank, MPI_Comm comm, int sendtag, int recvtag) {
  const Place place = place_of(rank, comm, sendtag);
  return place.lock == place_of(rank, comm, recvtag).lock ? place : Place{};
}

Place place_of(Rank& rank, const MPI_Request* requests, std::int64_t count) {
  pt2pt::Engine* engine = nullptr;
  for (std::int64_t i = 0; is_address(requests) && i < count; ++i) {
    if (!is_live(requests[i], Kind::request)) continue;
    pt2pt::Engine* its = reinterpret_cast<object::Request*>(requests[i])->engine;
    if (engine != nullptr && engine != its) return {};
    engine = its;
  }
  return engine != nullptr ? in_context(*engine) : among_objects(rank);
}

Place place_of(Rank& rank, const MPI_Message* message) {
  if (!is_address(message) || !is_live(*message, Kind::message)) return in_context(rank.engine);
  return in_context(*reinterpret_cast<const pt2pt::Arrived*>(*message)->engine);
}

Place place_of(Rank& rank, MPI_Win handle) {
  rma::Window* win = window_of(rank, handle);
  return win != nullptr ? in_context(win->engine()) : among_objects(rank);
}

Place place_of(Rank& rank, FirstContext) {
  return in_context(rank.engine);
}

Err Entry::no_rank() const {
  return fail(MPI_ERR_OTHER,
              "this thread belongs to no rank; call MPI from the rank's main thread or "
              "from a thread that it started");
}

Err Entry::wrong_phase() const {
  const auto world = rank_->world_model.load(std::memory_order_relaxed);
  if (world == Rank::Phase::finalized)
    return fail(MPI_ERR_OTHER,
                "called after MPI_Finalize; nothing that communicates may follow it, unless a "
                "session is open");
  if (rank_->phase.load(std::memory_order_relaxed) == Rank::Phase::finalized)
    return fail(MPI_ERR_OTHER,
                "called after the last session was finalized; open one by MPI_Session_init, or "
                "call MPI_Init");
  return fail(MPI_ERR_OTHER, "called before MPI_Init; call MPI_Init or MPI_Init_thread first");
}

int Entry::raise(object::Comm* comm, Err error) {
  if (rank_ == nullptr || status_) die(rank_, error, compose(fn_, rank_, error));
  if (comm == nullptr || !is_live(comm, Kind::comm)) comm = without_object(store());
  if (comm == nullptr)  // legal before MPI_Init, but went wrong
    die(rank_, error, compose(fn_, rank_, error));
  object::Errhandler* handler = nullptr;
  {
    const sync::Guard guard(store().lock);
    object::retain(*(handler = comm->errhandler));
  }
  return call(*handler, object::handle_of(*comm), error);
}

int Entry::raise(rma::Window* win, Err error) {
  if (win == nullptr || !is_live(win, Kind::win)) return raise(error);
  object::Errhandler* handler = nullptr;
  {
    const sync::Guard guard(store().lock);
    object::retain(*(handler = win->errhandler));
  }
  return call(*handler, rma::handle_of(*win), error);
}

int Entry::raise(object::Session* session, Err error) {
  if (session == nullptr || !is_live(session, Kind::session)) return raise(error);
  object::Errhandler* handler = nullptr;
  {
    const sync::Guard guard(store().lock);
    object::retain(*(handler = session->errhandler));
  }
  return call(*handler, object::handle_of(*session), error);
}

/// What was to be made has no handle yet.
int Entry::raise(object::Errhandler* handler, Err error) {
  using What = object::Errhandler::What;
  if (handler == nullptr || handler->what == What::win_user || handler->what == What::file_user)
    return raise(error);
  void* const none = handler->what == What::session_user ? static_cast<void*>(MPI_SESSION_NULL)
                                                         : static_cast<void*>(MPI_COMM_NULL);
  {
    const sync::Guard guard(store().lock);
    object::retain(*handler);
  }
  return call(*handler, none, error);
}

int Entry::call(object::Errhandler& handler, void* object, Err error) {
  const Sentence s = compose(fn_, rank_, error);
  int code = fail(error.cls, "%s", s.text).cls;  // the text is kept for MPI_Error_string
  object::Verdict verdict;
  {
    // The handler may call anything.
    std::optional<sync::Away> away;
    if (const Place place = held(); place.lock != nullptr) away.emplace(*place.lock);
    verdict = object::invoke_errhandler(handler, object, &code);
  }
  object::release(handler);
  if (verdict != object::Verdict::return_code) die(rank_, error, s);
  return code;
}

int Entry::returned(Err error) {
  const Sentence s = compose(fn_, rank_, error);
  return fail(error.cls, "%s", s.text).cls;
}

object::Comm* comm_of(const MPI_Message* message) {
  if (!is_address(message) || !is_live(*message, Kind::message)) return nullptr;
  return reinterpret_cast<const pt2pt::Arrived*>(*message)->comm;
}

object::Comm* comm_of(const MPI_Request* requests, std::int64_t count) {
  if (!is_address(requests)) return nullptr;
  for (std::int64_t i = 0; i < count; ++i) {
    if (!is_live(requests[i], Kind::request)) continue;
    object::Comm* comm = reinterpret_cast<object::Request*>(requests[i])->comm;
    if (comm != nullptr) return comm;
  }
  return nullptr;
}

namespace {
Err unsupported(Fn fn) {
  return fail(MPI_ERR_UNSUPPORTED_OPERATION,
              "%s is not implemented in this version of weft; `weft docs coverage` lists what is",
              name(fn));
}
}  // namespace

// Before MPI_Init too: "call MPI_Init first" would not help.
int not_yet(Fn fn, MPI_Comm comm) {
  Entry entry(fn, When::always);
  if (entry.status()) return entry.raise(entry.status());
  return entry.raise(entry.comm(comm), unsupported(fn));
}

int not_yet(Fn fn, MPI_Errhandler errhandler) {
  Entry entry(fn, When::always);
  if (entry.status()) return entry.raise(entry.status());
  return entry.raise(entry.errhandler(errhandler), unsupported(fn));
}

int not_yet_returned(Fn fn) {
  Entry entry(fn, When::always);
  return entry.returned(unsupported(fn));
}

}  // namespace weft::abi
