// SPDX-License-Identifier: Apache-2.0
//
// Waiting for all of several contexts' requests is waiting for one context after the other; the
// rule that servers look after other contexts (care.h) keeps the rest going. Waiting for one of
// them is waiting in one context for a word that any completion sets.
#include "pt2pt/across.h"

#include <vector>

#include "pt2pt/completion.h"

namespace weft::pt2pt::across {
namespace {

/// The contexts of some requests. At most 16 of them: searching is walking.
class Span {
 public:
  explicit Span(std::span<const MPI_Request> handles) {
    for (MPI_Request handle : handles) {
      if (handle == MPI_REQUEST_NULL) continue;
      Engine* e = request_of(handle)->engine;
      bool known = false;
      for (int i = 0; i < count_; ++i) known |= engines_[i] == e;
      if (!known) engines_[count_++] = e;
    }
  }
  Engine* const* begin() const { return engines_; }
  Engine* const* end() const { return engines_ + count_; }

 private:
  Engine* engines_[Contexts::most];
  int count_ = 0;
};

void progress_each(const Span& engines) {
  for (Engine* e : engines) {
    const Inside inside(*e);
    progress(*e);
  }
}

void looked_in_vain(const Span& engines) {
  Engine& e = **engines.begin();
  const Inside inside(e);
  pt2pt::looked_in_vain(e);
}

bool all_done(std::span<const MPI_Request> handles) {
  for (MPI_Request handle : handles) {
    if (handle == MPI_REQUEST_NULL) continue;
    const Inside inside(*request_of(handle)->engine);
    if (is_pending(handle)) return false;
  }
  return true;
}

/// Progress once; is nothing of `handles` pending?
bool look_whether_all_done(std::span<const MPI_Request> handles) {
  const Span engines(handles);
  progress_each(engines);
  if (all_done(handles)) return true;
  looked_in_vain(engines);
  return false;
}

/// What a thread that waits in one context has said in others: tell me when one of these is done.
class Outposts {
 public:
  Outposts(std::span<const MPI_Request> handles, const Span& engines, Engine& home)
      : handles_(handles), engines_(engines), home_(home), bell_{&home} {
    waiting_.bell = &bell_;
    for (Engine* e : engines_) place(*e, &waiting_);
  }
  ~Outposts() {
    for (Engine* e : engines_) place(*e, nullptr);
  }
  Outposts(const Outposts&) = delete;
  Outposts& operator=(const Outposts&) = delete;

  /// By a thread that holds the lock of `home`.
  void wait() { wait_until(home_, bell_); }

 private:
  void place(Engine& e, Waiting* who) {
    const Inside inside(e);
    e.waiters.blocked += who != nullptr ? 1 : -1;
    for (MPI_Request handle : handles_) {
      if (handle == MPI_REQUEST_NULL || request_of(handle)->engine != &e) continue;
      Request& request = *request_of(handle);
      if (!is_complete(handle)) {
        request.waiting = who;
      } else if (who != nullptr) {
        bell_.rung.store(true, std::memory_order_relaxed);
      } else if (request.waiting == &waiting_) {
        request.waiting = nullptr;  // a persistent one is started again
      }
    }
  }

  std::span<const MPI_Request> handles_;
  const Span& engines_;
  Engine& home_;
  Bell bell_;
  const Awaited none_{};
  Waiting waiting_{bell_, none_};
};

/// Wait until one of `handles` is complete, if one is active.
void wait_for_one(std::span<const MPI_Request> handles) {
  const Span engines(handles);
  progress_each(engines);
  if (first_complete<Inside>(handles) != MPI_UNDEFINED) return;
  Engine& home = **engines.begin();
  Outposts outposts(handles, engines, home);
  const Inside inside(home);
  outposts.wait();
}

}  // namespace

Err startall(std::span<MPI_Request> handles) {
  for (MPI_Request& handle : handles) {
    const Inside inside(*request_of(handle)->engine);
    WEFT_TRY(start(&handle));
  }
  return ok;
}

Err waitall(std::span<MPI_Request> handles, MPI_Status* statuses) {
  std::vector<Request*> pending;
  for (Engine* e : Span(handles)) {
    const Inside inside(*e);
    pending.clear();
    for (MPI_Request handle : handles)
      if (handle != MPI_REQUEST_NULL && request_of(handle)->engine == e && is_pending(handle))
        pending.push_back(request_of(handle));
    wait_for_all(pending);
  }
  return finish_all<Inside>(handles, statuses);
}

Err waitany(std::span<MPI_Request> handles, int* index, MPI_Status* status) {
  *index = MPI_UNDEFINED;
  if (!any_active(handles)) {
    object::set_empty_status(status);
    return ok;
  }
  wait_for_one(handles);
  *index = first_complete<Inside>(handles);
  MPI_Request& handle = handles[static_cast<std::size_t>(*index)];
  const Inside inside(*request_of(handle)->engine);
  return finish(&handle, status);
}

Err waitsome(std::span<MPI_Request> handles, int* outcount, int* indices, MPI_Status* statuses) {
  *outcount = MPI_UNDEFINED;
  if (!any_active(handles)) return ok;
  wait_for_one(handles);
  return finish_some<Inside>(handles, outcount, indices, statuses);
}

Err testany(std::span<MPI_Request> handles, int* index, int* flag, MPI_Status* status) {
  *index = MPI_UNDEFINED;
  *flag = 1;
  if (!any_active(handles)) {
    object::set_empty_status(status);
    return ok;
  }
  const Span engines(handles);
  progress_each(engines);
  *index = first_complete<Inside>(handles);
  if (*index == MPI_UNDEFINED) {
    *flag = 0;
    looked_in_vain(engines);
    return ok;
  }
  MPI_Request& handle = handles[static_cast<std::size_t>(*index)];
  const Inside inside(*request_of(handle)->engine);
  return finish(&handle, status);
}

Err testall(std::span<MPI_Request> handles, int* flag, MPI_Status* statuses) {
  *flag = look_whether_all_done(handles) ? 1 : 0;
  return *flag == 0 ? ok : finish_all<Inside>(handles, statuses);
}

Err testsome(std::span<MPI_Request> handles, int* outcount, int* indices, MPI_Status* statuses) {
  *outcount = MPI_UNDEFINED;
  if (!any_active(handles)) return ok;
  const Span engines(handles);
  progress_each(engines);
  WEFT_TRY(finish_some<Inside>(handles, outcount, indices, statuses));
  if (*outcount == 0) looked_in_vain(engines);
  return ok;
}

Err get_status_any(std::span<const MPI_Request> handles, int* index, int* flag,
                   MPI_Status* status) {
  *index = MPI_UNDEFINED;
  *flag = 1;
  if (!any_active(handles)) {
    object::set_empty_status(status);
    return ok;
  }
  const Span engines(handles);
  progress_each(engines);
  *index = first_complete<Inside>(handles);
  *flag = *index != MPI_UNDEFINED ? 1 : 0;
  if (*flag == 0) {
    looked_in_vain(engines);
    return ok;
  }
  MPI_Request handle = handles[static_cast<std::size_t>(*index)];
  const Inside inside(*request_of(handle)->engine);
  return look_at(handle, status);
}

Err get_status_all(std::span<const MPI_Request> handles, int* flag, MPI_Status* statuses) {
  *flag = look_whether_all_done(handles) ? 1 : 0;
  if (*flag == 0) return ok;
  for (std::size_t i = 0; i < handles.size(); ++i) {
    if (handles[i] == MPI_REQUEST_NULL) {
      object::set_empty_status(status_at(statuses, i));
      continue;
    }
    const Inside inside(*request_of(handles[i])->engine);
    WEFT_TRY(look_at(handles[i], status_at(statuses, i)));
  }
  return ok;
}

Err get_status_some(std::span<const MPI_Request> handles, int* outcount, int* indices,
                    MPI_Status* statuses) {
  *outcount = MPI_UNDEFINED;
  if (!any_active(handles)) return ok;
  const Span engines(handles);
  progress_each(engines);
  WEFT_TRY(look_at_some<Inside>(handles, outcount, indices, statuses));
  if (*outcount == 0) looked_in_vain(engines);
  return ok;
}

}  // namespace weft::pt2pt::across
