// SPDX-License-Identifier: Apache-2.0
//
// Finishing requests that are complete, for the calls whose requests are all of one context, which
// the caller has locked (wait.cc, Scope = Held), and for those whose requests are not
// (several_contexts.cc, Scope = Inside: each request under the lock of its own context).
#pragma once

#include <cstdio>

#include "pt2pt/engine.h"

namespace weft::pt2pt {

/// The lock of the request's context is held.
struct Held {
  explicit Held(const Engine&) {}
};

/// Holds the lock of a context, and leaves the context as an entry point does.
class Inside {
 public:
  explicit Inside(Engine& e) : guard_(e.lock), e_(e) {}
  ~Inside() { leave_context(e_); }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;

 private:
  sync::Guard guard_;
  Engine& e_;
};

inline bool is_pending(MPI_Request handle) {
  return handle != MPI_REQUEST_NULL && !request_of(handle)->done;
}
inline bool is_active(MPI_Request handle) {
  return handle != MPI_REQUEST_NULL && request_of(handle)->active;
}
inline bool is_complete(MPI_Request handle) {
  return is_active(handle) && request_of(handle)->done;
}

inline MPI_Status* status_at(MPI_Status* statuses, std::size_t i) {
  return statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : &statuses[i];
}

/// The status of a request that is complete, null or inactive; it stays as it is.
Err look_at(MPI_Request handle, MPI_Status* status);
/// Hand a complete request back to the user: status, and the end of the handle or of its activity.
Err finish(MPI_Request* handle, MPI_Status* status);

/// Finish all of `handles`, which are complete; MPI_ERR_IN_STATUS if one failed.
template <class Scope>
Err finish_all(std::span<MPI_Request> handles, MPI_Status* statuses) {
  std::size_t failed = handles.size();
  Err first = ok;
  for (std::size_t i = 0; i < handles.size(); ++i) {
    MPI_Status* status = status_at(statuses, i);
    Err err = ok;
    if (handles[i] == MPI_REQUEST_NULL) {
      object::set_empty_status(status);
    } else {
      const Scope scope(*request_of(handles[i])->engine);
      err = finish(&handles[i], status);
    }
    if (status != MPI_STATUS_IGNORE) status->MPI_ERROR = err.cls;
    if (err && failed == handles.size()) {
      failed = i;
      first = err;
    }
  }
  if (failed == handles.size()) return ok;
  const char* why = last_error_text(first.cls);
  char text[600];
  std::snprintf(text, sizeof text, "%s", why != nullptr ? why : "its operation failed");
  return fail(MPI_ERR_IN_STATUS,
              "request %zu of %zu failed: %s (error classes are in the statuses)", failed,
              handles.size(), text);
}

template <class Scope>
int first_complete(std::span<const MPI_Request> handles) {
  for (std::size_t i = 0; i < handles.size(); ++i) {
    if (handles[i] == MPI_REQUEST_NULL) continue;
    const Scope scope(*request_of(handles[i])->engine);
    if (is_complete(handles[i])) return static_cast<int>(i);
  }
  return MPI_UNDEFINED;
}

/// Is one of `handles` active? Only its owner changes that.
inline bool any_active(std::span<const MPI_Request> handles) {
  for (MPI_Request handle : handles)
    if (is_active(handle)) return true;
  return false;
}

template <class Scope>
Err finish_some(std::span<MPI_Request> handles, int* outcount, int* indices, MPI_Status* statuses) {
  int n = 0;
  bool failed = false;
  for (std::size_t i = 0; i < handles.size(); ++i) {
    if (handles[i] == MPI_REQUEST_NULL) continue;
    const Scope scope(*request_of(handles[i])->engine);
    if (!is_complete(handles[i])) continue;
    MPI_Status* status = status_at(statuses, static_cast<std::size_t>(n));
    const Err err = finish(&handles[i], status);
    if (status != MPI_STATUS_IGNORE) status->MPI_ERROR = err.cls;
    failed |= static_cast<bool>(err);
    indices[n++] = static_cast<int>(i);
  }
  *outcount = n;
  if (!failed) return ok;
  return fail(MPI_ERR_IN_STATUS,
              "at least one of %d completed requests failed; error classes are in "
              "the statuses",
              n);
}

/// The statuses of those of `handles` that are complete; they stay as they are.
template <class Scope>
Err look_at_some(std::span<const MPI_Request> handles, int* outcount, int* indices,
                 MPI_Status* statuses) {
  *outcount = 0;
  for (std::size_t i = 0; i < handles.size(); ++i) {
    if (handles[i] == MPI_REQUEST_NULL) continue;
    const Scope scope(*request_of(handles[i])->engine);
    if (!is_complete(handles[i])) continue;
    indices[*outcount] = static_cast<int>(i);
    WEFT_TRY(look_at(handles[i], status_at(statuses, static_cast<std::size_t>((*outcount)++))));
  }
  return ok;
}

// The calls themselves. `Where` is the context, or the contexts, of the requests: progress(),
// looked_in_vain(), wait_for_one() (the index of the first that is complete), and the Scope in
// which a request is touched.

template <class Where>
bool are_all_done(std::span<const MPI_Request> handles) {
  for (MPI_Request handle : handles) {
    if (handle == MPI_REQUEST_NULL) continue;
    const typename Where::Scope scope(*request_of(handle)->engine);
    if (is_pending(handle)) return false;
  }
  return true;
}

/// Progress once; is nothing of `handles` pending?
template <class Where>
bool look_whether_all_done(std::span<const MPI_Request> handles) {
  const Where where(handles);
  where.progress();
  if (are_all_done<Where>(handles)) return true;
  where.looked_in_vain();
  return false;
}

template <class Where>
Err wait_any(std::span<MPI_Request> handles, int* index, MPI_Status* status) {
  *index = MPI_UNDEFINED;
  if (!any_active(handles)) {
    object::set_empty_status(status);
    return ok;
  }
  *index = Where(handles).wait_for_one(handles);
  MPI_Request& handle = handles[static_cast<std::size_t>(*index)];
  const typename Where::Scope scope(*request_of(handle)->engine);
  return finish(&handle, status);
}

template <class Where>
Err wait_some(std::span<MPI_Request> handles, int* outcount, int* indices, MPI_Status* statuses) {
  *outcount = MPI_UNDEFINED;
  if (!any_active(handles)) return ok;
  Where(handles).wait_for_one(handles);
  return finish_some<typename Where::Scope>(handles, outcount, indices, statuses);
}

/// Look once for a complete one: `use` it, or say that there is none.
template <class Where, class Handles, class Use>
Err look_for_any(Handles handles, int* index, int* flag, MPI_Status* status, Use&& use) {
  *index = MPI_UNDEFINED;
  *flag = 1;
  if (!any_active(handles)) {
    object::set_empty_status(status);
    return ok;
  }
  const Where where(handles);
  where.progress();
  *index = first_complete<typename Where::Scope>(handles);
  if (*index == MPI_UNDEFINED) {
    *flag = 0;
    where.looked_in_vain();
    return ok;
  }
  auto& handle = handles[static_cast<std::size_t>(*index)];
  const typename Where::Scope scope(*request_of(handle)->engine);
  return use(handle);
}

template <class Where>
Err test_any(std::span<MPI_Request> handles, int* index, int* flag, MPI_Status* status) {
  return look_for_any<Where>(handles, index, flag, status,
                             [&](MPI_Request& handle) { return finish(&handle, status); });
}

template <class Where>
Err test_all(std::span<MPI_Request> handles, int* flag, MPI_Status* statuses) {
  *flag = look_whether_all_done<Where>(handles) ? 1 : 0;
  return *flag == 0 ? ok : finish_all<typename Where::Scope>(handles, statuses);
}

/// Look once: `use` those that are complete, and count them.
template <class Where, class Use>
Err look_for_some(std::span<const MPI_Request> handles, int* outcount, Use&& use) {
  *outcount = MPI_UNDEFINED;
  if (!any_active(handles)) return ok;
  const Where where(handles);
  where.progress();
  WEFT_TRY(use());
  if (*outcount == 0) where.looked_in_vain();
  return ok;
}

template <class Where>
Err test_some(std::span<MPI_Request> handles, int* outcount, int* indices, MPI_Status* statuses) {
  return look_for_some<Where>(handles, outcount, [&] {
    return finish_some<typename Where::Scope>(handles, outcount, indices, statuses);
  });
}

template <class Where>
Err status_of_any(std::span<const MPI_Request> handles, int* index, int* flag, MPI_Status* status) {
  return look_for_any<Where>(handles, index, flag, status,
                             [&](MPI_Request handle) { return look_at(handle, status); });
}

template <class Where>
Err statuses_of_all(std::span<const MPI_Request> handles, int* flag, MPI_Status* statuses) {
  *flag = look_whether_all_done<Where>(handles) ? 1 : 0;
  if (*flag == 0) return ok;
  for (std::size_t i = 0; i < handles.size(); ++i) {
    if (handles[i] == MPI_REQUEST_NULL) {
      object::set_empty_status(status_at(statuses, i));
      continue;
    }
    const typename Where::Scope scope(*request_of(handles[i])->engine);
    WEFT_TRY(look_at(handles[i], status_at(statuses, i)));
  }
  return ok;
}

template <class Where>
Err statuses_of_some(std::span<const MPI_Request> handles, int* outcount, int* indices,
                     MPI_Status* statuses) {
  return look_for_some<Where>(handles, outcount, [&] {
    return look_at_some<typename Where::Scope>(handles, outcount, indices, statuses);
  });
}

}  // namespace weft::pt2pt
