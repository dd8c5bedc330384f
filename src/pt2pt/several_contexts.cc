// SPDX-License-Identifier: Apache-2.0
//
// Waiting for all of several contexts' requests is waiting for one context after the other; the
// rule that servers look after other contexts (contexts.h) keeps the rest going. Waiting for one of
// them is waiting in one context for a word that any completion sets.
#include "pt2pt/several_contexts.h"

#include <algorithm>
#include <vector>

#include "pt2pt/completion.h"

namespace weft::pt2pt::several_contexts {
namespace {

/// The contexts of some requests. At most 16 of them: searching is walking.
class Span {
 public:
  using Scope = Inside;
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

  void progress() const {
    for (Engine* e : *this) {
      const Inside inside(*e);
      pt2pt::progress(*e);
    }
  }
  void looked_in_vain() const {
    const Inside inside(*engines_[0]);
    pt2pt::looked_in_vain(*engines_[0]);
  }
  int wait_for_one(std::span<const MPI_Request> handles) const;

 private:
  Engine* engines_[Contexts::most];
  int count_ = 0;
};

/// What a thread that waits in one context has said in others: tell me when one of these is done.
class Outposts {
 public:
  Outposts(std::span<const MPI_Request> handles, const Span& engines, Engine& home)
      : handles_(handles), engines_(engines), home_(home), bell_{&home} {
    awaited_.elsewhere = handles;
    waiting_.bell = &bell_;
    for (Engine* e : engines_) place(*e, &waiting_);
  }
  ~Outposts() {
    for (Engine* e : engines_) place(*e, nullptr);
  }
  Outposts(const Outposts&) = delete;
  Outposts& operator=(const Outposts&) = delete;

  /// By a thread that holds the lock of `home`.
  void wait() { wait_until(home_, bell_, awaited_); }

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
  Awaited awaited_{};
  Waiting waiting_{bell_, awaited_};
};

int Span::wait_for_one(std::span<const MPI_Request> handles) const {
  progress();
  if (const int index = first_complete<Inside>(handles); index != MPI_UNDEFINED) return index;
  {
    Engine& home = *engines_[0];
    Outposts outposts(handles, *this, home);
    const Inside inside(home);
    outposts.wait();
  }
  return first_complete<Inside>(handles);
}

}  // namespace

Err startall(std::span<MPI_Request> handles) {
  while (!handles.empty()) {
    Engine& e = *request_of(handles[0])->engine;
    const auto is_elsewhere = [&e](MPI_Request handle) { return request_of(handle)->engine != &e; };
    const auto end = std::find_if(handles.begin(), handles.end(), is_elsewhere);
    const std::span<MPI_Request> row(handles.begin(), end);
    const Inside inside(e);
    WEFT_TRY(pt2pt::startall(row));
    handles = handles.subspan(row.size());
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
  return wait_any<Span>(handles, index, status);
}
Err waitsome(std::span<MPI_Request> handles, int* outcount, int* indices, MPI_Status* statuses) {
  return wait_some<Span>(handles, outcount, indices, statuses);
}
Err testany(std::span<MPI_Request> handles, int* index, int* flag, MPI_Status* status) {
  return test_any<Span>(handles, index, flag, status);
}
Err testall(std::span<MPI_Request> handles, int* flag, MPI_Status* statuses) {
  return test_all<Span>(handles, flag, statuses);
}
Err testsome(std::span<MPI_Request> handles, int* outcount, int* indices, MPI_Status* statuses) {
  return test_some<Span>(handles, outcount, indices, statuses);
}
Err get_status_any(std::span<const MPI_Request> handles, int* index, int* flag,
                   MPI_Status* status) {
  return status_of_any<Span>(handles, index, flag, status);
}
Err get_status_all(std::span<const MPI_Request> handles, int* flag, MPI_Status* statuses) {
  return statuses_of_all<Span>(handles, flag, statuses);
}
Err get_status_some(std::span<const MPI_Request> handles, int* outcount, int* indices,
                    MPI_Status* statuses) {
  return statuses_of_some<Span>(handles, outcount, indices, statuses);
}

}  // namespace weft::pt2pt::several_contexts
