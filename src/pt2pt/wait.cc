// SPDX-License-Identifier: Apache-2.0
//
// Completion (MPI-5.0 §3.7.3-§3.7.6), the same for every kind of request. A null handle and an
// inactive persistent request are complete with the empty status.
#include "pt2pt/completion.h"

namespace weft::pt2pt {
namespace {

Engine* engine_of(std::span<const MPI_Request> handles) {
  for (MPI_Request handle : handles)
    if (handle != MPI_REQUEST_NULL) return request_of(handle)->engine;
  return nullptr;
}

void fill_status(const Request& request, MPI_Status* status) {
  object::set_status(status, request.source, request.tag, request.bytes, request.cancelled);
}

/// Progress once; is nothing of `handles` pending?
bool look_whether_all_done(std::span<const MPI_Request> handles) {
  Engine* e = engine_of(handles);
  if (e == nullptr) return true;
  progress(*e);
  for (MPI_Request handle : handles) {
    if (!is_pending(handle)) continue;
    looked_in_vain(*e);
    return false;
  }
  return true;
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
  const Err err{request.error};
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

Err waitany(std::span<MPI_Request> handles, int* index, MPI_Status* status) {
  *index = MPI_UNDEFINED;
  if (!any_active(handles)) {
    object::set_empty_status(status);
    return ok;
  }
  wait_until(*engine_of(handles),
             [&] { return (*index = first_complete<Held>(handles)) != MPI_UNDEFINED; },
             {.handles = handles, .one_is_enough = true});
  return finish(&handles[static_cast<std::size_t>(*index)], status);
}

Err testany(std::span<MPI_Request> handles, int* index, int* flag, MPI_Status* status) {
  *index = MPI_UNDEFINED;
  *flag = 1;
  if (!any_active(handles)) {
    object::set_empty_status(status);
    return ok;
  }
  Engine& e = *engine_of(handles);
  progress(e);
  *index = first_complete<Held>(handles);
  if (*index == MPI_UNDEFINED) {
    *flag = 0;
    looked_in_vain(e);
    return ok;
  }
  return finish(&handles[static_cast<std::size_t>(*index)], status);
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

Err testall(std::span<MPI_Request> handles, int* flag, MPI_Status* statuses) {
  *flag = look_whether_all_done(handles) ? 1 : 0;
  if (*flag == 0) return ok;
  return finish_all<Held>(handles, statuses);
}

Err waitsome(std::span<MPI_Request> handles, int* outcount, int* indices, MPI_Status* statuses) {
  *outcount = MPI_UNDEFINED;
  if (!any_active(handles)) return ok;
  wait_until(*engine_of(handles), [&] { return first_complete<Held>(handles) != MPI_UNDEFINED; },
             {.handles = handles, .one_is_enough = true});
  return finish_some<Held>(handles, outcount, indices, statuses);
}

Err testsome(std::span<MPI_Request> handles, int* outcount, int* indices, MPI_Status* statuses) {
  *outcount = MPI_UNDEFINED;
  if (!any_active(handles)) return ok;
  Engine& e = *engine_of(handles);
  progress(e);
  WEFT_TRY(finish_some<Held>(handles, outcount, indices, statuses));
  if (*outcount == 0) looked_in_vain(e);
  return ok;
}

Err get_status(MPI_Request handle, int* flag, MPI_Status* status) {
  return get_status_all({&handle, 1}, flag, status);
}

Err get_status_any(std::span<const MPI_Request> handles, int* index, int* flag,
                   MPI_Status* status) {
  *index = MPI_UNDEFINED;
  *flag = 1;
  if (!any_active(handles)) {
    object::set_empty_status(status);
    return ok;
  }
  Engine& e = *engine_of(handles);
  progress(e);
  *index = first_complete<Held>(handles);
  *flag = *index != MPI_UNDEFINED ? 1 : 0;
  if (*flag != 0) return look_at(handles[static_cast<std::size_t>(*index)], status);
  looked_in_vain(e);
  return ok;
}

Err get_status_all(std::span<const MPI_Request> handles, int* flag, MPI_Status* statuses) {
  *flag = look_whether_all_done(handles) ? 1 : 0;
  if (*flag == 0) return ok;
  for (std::size_t i = 0; i < handles.size(); ++i)
    WEFT_TRY(look_at(handles[i], status_at(statuses, i)));
  return ok;
}

Err get_status_some(std::span<const MPI_Request> handles, int* outcount, int* indices,
                    MPI_Status* statuses) {
  *outcount = MPI_UNDEFINED;
  if (!any_active(handles)) return ok;
  Engine& e = *engine_of(handles);
  progress(e);
  WEFT_TRY(look_at_some<Held>(handles, outcount, indices, statuses));
  if (*outcount == 0) looked_in_vain(e);
  return ok;
}

}  // namespace weft::pt2pt
