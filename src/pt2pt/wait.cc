// SPDX-License-Identifier: Apache-2.0
//
// Completion (MPI-5.0 §3.7.3-§3.7.6), the same for every kind of request. A null handle and an
// inactive persistent request are complete with the empty status.
#include "pt2pt/completion.h"

#include "pt2pt/deaths.h"

namespace weft::pt2pt {
namespace {

/// The one context of some requests; none if all are null.
class Here {
 public:
  using Scope = Held;
  explicit Here(std::span<const MPI_Request> handles) {
    for (MPI_Request handle : handles)
      if (handle != MPI_REQUEST_NULL) {
        engine_ = request_of(handle)->engine;
        return;
      }
  }
  void progress() const {
    if (engine_ != nullptr) pt2pt::progress(*engine_);
  }
  void looked_in_vain() const { pt2pt::looked_in_vain(*engine_); }
  int wait_for_one(std::span<const MPI_Request> handles) const {
    int index = MPI_UNDEFINED;
    wait_until(*engine_, [&] { return (index = first_complete<Held>(handles)) != MPI_UNDEFINED; },
               {.handles = handles, .one_is_enough = true});
    return index;
  }

 private:
  Engine* engine_ = nullptr;
};

void fill_status(const Request& request, MPI_Status* status) {
  object::set_status(status, request.source, request.tag, request.bytes, request.cancelled);
}

}  // namespace

Err look_at(MPI_Request handle, MPI_Status* status) {
  if (!is_active(handle)) {
    object::set_empty_status(status);
    return ok;
  }
  Request& request = *request_of(handle);
  if (request.ops->query != nullptr) WEFT_TRY(request.ops->query(request));
  fill_status(request, status);
  return ok;
}

Err finish(MPI_Request* handle, MPI_Status* status) {
  if (!is_active(*handle)) {
    object::set_empty_status(status);
    return ok;
  }
  Request& request = *request_of(*handle);
  if (request.ops->query != nullptr) {
    const Err err = request.ops->query(request);
    if (err) request.error = err.cls;
  }
  fill_status(request, status);
  const Err err = error_of(request);
  if (request.persistent) {
    request.active = false;
  } else {
    *handle = MPI_REQUEST_NULL;
    WEFT_TRY(request.ops->release(request));
  }
  return err;
}

Err wait(MPI_Request* handle, MPI_Status* status) {
  if (is_pending(*handle)) {
    wait_for(*request_of(*handle));
  }
  return finish(handle, status);
}

Err test(MPI_Request* handle, int* flag, MPI_Status* status) {
  *flag = 1;
  if (is_pending(*handle)) {
    Engine& e = *request_of(*handle)->engine;
    progress(e);
    if (is_pending(*handle)) {
      *flag = 0;
      looked_in_vain(e);
      return ok;
    }
  }
  return finish(handle, status);
}

Err waitall(std::span<MPI_Request> handles, MPI_Status* statuses) {
  std::size_t next = 0;  // all before it are done
  const auto all_done = [&] {
    while (next < handles.size() && !is_pending(handles[next])) ++next;
    return next == handles.size();
  };
  if (!all_done()) wait_until(*request_of(handles[next])->engine, all_done, {.handles = handles});
  return finish_all<Held>(handles, statuses);
}

Err waitany(std::span<MPI_Request> handles, int* index, MPI_Status* status) {
  return wait_any<Here>(handles, index, status);
}
Err waitsome(std::span<MPI_Request> handles, int* outcount, int* indices, MPI_Status* statuses) {
  return wait_some<Here>(handles, outcount, indices, statuses);
}
Err testany(std::span<MPI_Request> handles, int* index, int* flag, MPI_Status* status) {
  return test_any<Here>(handles, index, flag, status);
}
Err testall(std::span<MPI_Request> handles, int* flag, MPI_Status* statuses) {
  return test_all<Here>(handles, flag, statuses);
}
Err testsome(std::span<MPI_Request> handles, int* outcount, int* indices, MPI_Status* statuses) {
  return test_some<Here>(handles, outcount, indices, statuses);
}
Err get_status_any(std::span<const MPI_Request> handles, int* index, int* flag,
                   MPI_Status* status) {
  return status_of_any<Here>(handles, index, flag, status);
}
Err get_status_all(std::span<const MPI_Request> handles, int* flag, MPI_Status* statuses) {
  return statuses_of_all<Here>(handles, flag, statuses);
}
Err get_status_some(std::span<const MPI_Request> handles, int* outcount, int* indices,
                    MPI_Status* statuses) {
  return statuses_of_some<Here>(handles, outcount, indices, statuses);
}
Err get_status(MPI_Request handle, int* flag, MPI_Status* status) {
  return get_status_all({&handle, 1}, flag, status);
}

}  // namespace weft::pt2pt
