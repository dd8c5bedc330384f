// SPDX-License-Identifier: Apache-2.0
//
// A request: an operation that the library finishes by progress. Whoever finishes it calls
// complete(); MPI_Wait and its family (pt2pt/wait.cc) look at `done` only. Point-to-point,
// collectives and generalized requests embed their own state behind `ops`.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <span>

#include "object/objects.h"

namespace weft::object {

struct Request;

/// What differs between kinds of requests. All are called under the lock of the request's engine.
struct RequestOps {
  const char* what;        // "receive", "send", "MPI_Ibarrier", ... for messages
  Err (*start)(Request&);  // persistent: begin again; null if the kind is never persistent
  Err (*cancel)(
      Request&);  // MPI_Cancel; null: can be neither cancelled nor freed before it is done
  /// The user gave the handle up (MPI_Wait returned or MPI_Request_free). The kind frees its state
  /// and the request now, or when the operation completes if it is still active. Fails only if the
  /// user's own callback does.
  Err (*release)(Request&);
  /// Bring generalized requests' status up to date before it is returned; may be null.
  Err (*query)(Request&);
  /// The requests that one made of others waits for now; null for other kinds.
  std::span<Request* const> (*parts)(const Request&) = nullptr;
  /// Which collective it is, and what it waits for if not for parts; null for other kinds.
  pt2pt::About (*about)(const Request&) = nullptr;
};

struct Request : Object {
  const RequestOps* ops = nullptr;
  pt2pt::Engine* engine = nullptr;  // whose lock guards it; always set
  Comm* comm = nullptr;             // for its error handler; null for generalized requests
  bool done = false;                // complete; for an inactive persistent request: true
  bool persistent = false;
  bool active = true;  // false: an inactive persistent request
  bool cancelled = false;
  bool orphan = false;                   // freed by the user while active
  std::int32_t error = 0;                // MPI error class of a failed operation
  std::int32_t source = MPI_ANY_SOURCE;  // of the status
  std::int32_t tag = MPI_ANY_TAG;
  std::int64_t bytes = 0;
  void* state = nullptr;              // of collectives, MPI_Comm_idup, generalized requests
  pt2pt::Waiting* waiting = nullptr;  // the thread to wake, if one sleeps until this is done
};

/// The user has freed the request of an operation that is under way; whoever completes it gives it
/// back.
inline void orphan(Request& request) {
  request.orphan = true;
  // relaxed: a count; MPI_Comm_disconnect asks until it is 0
  if (request.comm != nullptr)
    std::atomic_ref(request.comm->orphans).fetch_add(1, std::memory_order_relaxed);
}

/// Whoever completes it, before it lets go of the communicator. True if it was the last.
inline bool end_orphan(Comm& comm) {
  // release: pairs with orphans_of()
  return std::atomic_ref(comm.orphans).fetch_sub(1, std::memory_order_release) == 1;
}
inline std::int32_t orphans_of(Comm& comm) {
  return std::atomic_ref(comm.orphans).load(std::memory_order_acquire);
}

/// Fill `status` unless it is MPI_STATUS_IGNORE. MPI_ERROR is left alone: only the calls that
/// complete several requests set it (MPI-5.0 §3.2.5).
void set_status(MPI_Status* status, int source, int tag, std::int64_t bytes, bool cancelled);
/// The empty status (MPI-5.0 §3.7.3).
void set_empty_status(MPI_Status* status);
std::int64_t status_bytes(const MPI_Status& status);
bool status_cancelled(const MPI_Status& status);

}  // namespace weft::object
