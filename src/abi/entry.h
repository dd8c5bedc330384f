// SPDX-License-Identifier: Apache-2.0
//
// The frame of every entry point: finds the calling rank, holds the lock of what the call is about
// from the first line to the last (docs/locking.md), knows whether MPI may be called now, turns
// handles into objects, and raises errors. Nothing here is called below abi.
#pragma once

#include <mpi.h>

#include "abi/gen/fn.h"
#include "abi/plain.h"
#include "base/err.h"
#include "datatype/api.h"
#include "object/objects.h"
#include "world/rank.h"

namespace weft::abi {

/// When a function may be called.
enum class When : bool { running, always };

/// Whose lock a call takes with MPI_THREAD_MULTIPLE: a context's (its engine is set), or the object
/// lock, or none (null).
struct Place {
  sync::RankLock* lock;
  pt2pt::Engine* engine;
};
// By what the call is about: none if it is about several contexts, whose locks it takes in turn;
// the object lock for handles of nothing.
Place place_of(Rank& rank, MPI_Comm comm);
Place place_of(Rank& rank, MPI_Comm comm, int tag);
Place place_of(Rank& rank, MPI_Comm comm, int sendtag, int recvtag);
Place place_of(Rank& rank, const MPI_Request* requests, std::int64_t count = 1);
Place place_of(Rank& rank, const MPI_Message* message);
Place place_of(Rank& rank, MPI_Win win);
/// Calls about the rank as a whole communicate in its first context ...
struct FirstContext {};
Place place_of(Rank& rank, FirstContext);
/// ... and these only look at what does not change, or take locks themselves.
struct NoLock {};
inline Place place_of(Rank&, NoLock) {
  return {};
}

/// Is what the call is about surely of one context, whichever?
inline bool is_in_one(Rank& rank, MPI_Comm) {
  return true;
}
inline bool is_in_one(Rank& rank, MPI_Comm, int tag) {
  return true;
}
inline bool is_in_one(Rank& rank, MPI_Comm, int sendtag, int recvtag) {
  return !rank.contexts.spread.load(std::memory_order_relaxed);
}
inline bool is_in_one(Rank& rank, const MPI_Request*) {
  return true;
}
inline bool is_in_one(Rank& rank, const MPI_Request*, std::int64_t count) {
  return !rank.contexts.spread.load(std::memory_order_relaxed);
}
inline bool is_in_one(Rank& rank, const MPI_Message*) {
  return true;
}
inline bool is_in_one(Rank& rank, MPI_Win) {
  return true;
}
inline bool is_in_one(Rank& rank, FirstContext) {
  return true;
}
inline bool is_in_one(Rank& rank, NoLock) {
  return false;
}

class Entry {
 public:
  /// A call about objects: holds the object lock.
  explicit Entry(Fn fn, When when = When::running) : fn_(fn), rank_(world::current_rank()) {
    if (__builtin_expect(rank_ == nullptr, 0)) {
      status_ = no_rank();
      return;
    }
    if (when == When::always || framed() == Framed::yes) enter({&rank_->store.lock, nullptr}, when);
    if (when == When::running) check_phase();
  }
  /// A call that communicates: holds the lock of the context that `about` (see place_of) belongs
  /// to.
  template <class First, class... About>
  Entry(Fn fn, First first, About... about) : fn_(fn), rank_(world::current_rank()) {
    if (__builtin_expect(rank_ == nullptr, 0)) {
      status_ = no_rank();
      return;
    }
    if (const Framed how = framed(); how == Framed::yes)
      begin(first, about...);
    else if (how == Framed::at_end)
      frame_ = Frame::end;
    check_phase();
  }
  ~Entry() {
    // As it was entered: MPI_Init_thread may change the rank.
    if (frame_ == Frame::none) return;
    if (frame_ == Frame::end) {
      if (pt2pt::has_begun(rank_->engine)) [[unlikely]]
        pt2pt::wake_background(rank_->engine);
      return;
    }
    if (frame_ == Frame::sole) {
      // relaxed: it rests since before this call, or is awake
      if (rank_->contexts.background_rests.load(std::memory_order_relaxed) !=
          pt2pt::Contexts::Rests::no) [[unlikely]]
        pt2pt::say_what_has_begun(rank_->contexts);
      if (rank_->contexts.sole.leave()) return;
    }
    leave();
  }
  Entry(const Entry&) = delete;
  Entry& operator=(const Entry&) = delete;

  /// Are the requests that the call is about of several contexts?
  bool several_contexts() const { return several_contexts_; }
  /// An error if the function may not be called now: then nothing else may be done.
  Err status() const { return status_; }
  /// Parameter abi.check: are arguments checked? The hint lays out a right call straight on.
  bool checking() const {
    if (status_) [[unlikely]]
      return false;
    return rank_->process->params.boolean(P::abi_check);
  }

  Rank& rank() { return *rank_; }
  pt2pt::Engine& engine() { return rank_->engine; }
  object::Store& store() { return rank_->store; }
  /// Who makes a datatype; `large`: by a function with large counts.
  datatype::Maker types(bool large = false) { return {store().types, large}; }

  // Handles to objects; nullptr for a handle that is null or no live object of this kind.
  object::Comm* comm(MPI_Comm handle);
  object::Group* group(MPI_Group handle);
  const object::Op* op(MPI_Op handle);
  object::Info* info(MPI_Info handle);
  object::Errhandler* errhandler(MPI_Errhandler handle);
  object::Session* session(MPI_Session handle);
  rma::Window* window(MPI_Win handle);

  /// Call the error handler of `comm` (nullptr: of MPI_COMM_SELF). Returns the error code that the
  /// entry point returns, if the handler returns.
  [[gnu::cold]] int raise(object::Comm* comm, Err error);
  [[gnu::cold]] int raise(Err error) { return raise(static_cast<object::Comm*>(nullptr), error); }
  /// The same with the error handler of what was to be made; without one that of MPI_COMM_SELF.
  [[gnu::cold]] int raise(object::Errhandler* errhandler, Err error);
  [[gnu::cold]] int raise(rma::Window* win, Err error);
  [[gnu::cold]] int raise(object::Session* session, Err error);
  /// For calls without an error handler (MPI_T, files): say the sentence, return the class.
  [[gnu::cold]] int returned(Err error);

 private:
  [[gnu::cold]] Err no_rank() const;
  [[gnu::cold]] Err wrong_phase() const;
  /// `handler`, which is the call's to release, decides about an error on the object of this
  /// handle.
  [[gnu::cold]] int call(object::Errhandler& handler, void* object, Err error);

  using Framed = pt2pt::Engine::Framed;
  /// acquire: what the thread of weft's own did before it said so
  Framed framed() const { return rank_->engine.framed.load(std::memory_order_acquire); }
  /// What a call has to do beside its own: nothing; a look as it ends; to hold the sole lock; or
  /// all that there is, the lock of one place, the trace and the clock.
  enum class Frame : std::uint8_t { none, end, sole, whole };
  template <class... About>
  [[gnu::noinline]] void begin(About... about) {
    if (!is_in_one(*rank_, about...) || !rank_->contexts.sole.enter()) [[unlikely]]
      return begin_whole(about...);
    frame_ = Frame::sole;
  }
  template <class... About>
  [[gnu::noinline]] void begin_whole(About... about) {
    enter(place_of(*rank_, about...), When::running);
  }
  [[gnu::noinline]] void enter(Place place, When when);
  [[gnu::noinline]] void leave();
  /// The lock that the call holds now.
  Place held() const;
  void check_phase() {
    // acquire: what MPI_Init wrote, if another thread of the rank called it
    if (rank_->phase.load(std::memory_order_acquire) != Rank::Phase::initialized) [[unlikely]]
      status_ = wrong_phase();
  }

  Fn fn_;
  Frame frame_ = Frame::none;
  bool several_contexts_ = false, measured_;
  Rank* rank_;
  // If the frame is whole:
  Place place_;             // whose lock it took
  std::uint64_t begin_ns_;  // for the trace
  std::int64_t called_ns_;  // for the lock's clock; 0: not measured
  Err status_{};
};

/// What a function has returned that does an entry point's work. The entry point stays on the stack
/// below it: reports take the call's name from there (hang/site.h).
inline int from_below(int code) {
  asm volatile("" : "+r"(code));  // or the call might become a jump
  return code;
}

inline const datatype::Type* type(MPI_Datatype handle) {
  return datatype::from_handle(handle);
}

[[gnu::always_inline]] inline object::Comm* Entry::comm(MPI_Comm handle) {
  object::Comm* comm = status_ ? nullptr : store().comm(handle);
  return comm != nullptr && comm->owner == rank_ ? comm : nullptr;
}
inline object::Group* Entry::group(MPI_Group handle) {
  return status_ ? nullptr : store().group(handle);
}
inline const object::Op* Entry::op(MPI_Op handle) {
  return status_ ? nullptr : store().op(handle);
}
inline object::Info* Entry::info(MPI_Info handle) {
  return status_ ? nullptr : store().info(handle);
}
inline object::Session* Entry::session(MPI_Session handle) {
  return status_ ? nullptr : store().session(handle);
}
inline object::Errhandler* Entry::errhandler(MPI_Errhandler handle) {
  return status_ ? nullptr : store().errhandler(handle);
}

/// nullptr unless it is a live window of this rank.
inline rma::Window* window_of(Rank& rank, MPI_Win handle) {
  if (!is_live(handle, Kind::win)) return nullptr;
  auto* win = static_cast<rma::Window*>(reinterpret_cast<Object*>(handle));
  return win->comm.owner == &rank ? win : nullptr;
}
inline rma::Window* Entry::window(MPI_Win handle) {
  return status_ ? nullptr : window_of(*rank_, handle);
}

/// The communicator whose error handler belongs to one of these requests: of the first live one.
object::Comm* comm_of(const MPI_Request* requests, std::int64_t count = 1);
/// The communicator that a matched message came through.
object::Comm* comm_of(const MPI_Message* message);

/// The end of an entry point that weft does not implement yet: MPI_ERR_UNSUPPORTED_OPERATION.
[[gnu::cold]] int not_yet(Fn fn, MPI_Comm comm = MPI_COMM_NULL);
[[gnu::cold]] int not_yet(Fn fn, MPI_Errhandler errhandler);
/// The same where errors are returned and not raised.
[[gnu::cold]] int not_yet_returned(Fn fn);

}  // namespace weft::abi
