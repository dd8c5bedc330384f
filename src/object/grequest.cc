// SPDX-License-Identifier: Apache-2.0
//
// A generalized request is freed when it is complete and the user has given up its handle, in
// either order; then the free callback runs once. What a callback returns, the MPI call that ran it
// returns, the last one if it ran several (MPI-5.0 §13.2).
#include "object/grequest.h"

#include "object/store.h"

namespace weft::object {
namespace {

struct State {
  Store* store;
  sync::RankLock* lock;
  GeneralizedCalls calls;
};

State& state(Request& request) {
  return *static_cast<State*>(request.state);
}

/// What a callback returns.
template <class Callback>
int called(Request& request, Callback&& callback) {
  const sync::Away away(*state(request).lock);
  return callback();
}

Err returned(int code, const char* by) {
  if (code == MPI_SUCCESS) return ok;
  return fail(code, "the %s callback of a generalized request returned error %d", by, code);
}

Err query(Request& request) {
  const GeneralizedCalls& calls = state(request).calls;
  MPI_Status status{};
  set_empty_status(&status);
  const int code = called(request, [&] { return calls.query(calls.extra, &status); });
  request.source = status.MPI_SOURCE;
  request.tag = status.MPI_TAG;
  request.bytes = status_bytes(status);
  request.cancelled = status_cancelled(status);
  request.error = code;
  return returned(code, "query");
}

Err cancel(Request& request) {
  const GeneralizedCalls& calls = state(request).calls;
  const bool done = request.done;
  return returned(called(request, [&] { return calls.cancel(calls.extra, done); }), "cancel");
}

Err destroy(Request& request) {
  State* s = &state(request);
  const int code = called(request, [s] { return s->calls.free(s->calls.extra); });
  s->store->destroy(&request);
  delete s;
  return returned(code, "free");
}

Err release(Request& request) {
  if (request.done) return destroy(request);
  request.orphan = true;
  return ok;
}

constexpr RequestOps ops{"generalized request", nullptr, cancel, release, query};

}  // namespace

Request* start_generalized(Store& store, pt2pt::Engine& engine, sync::RankLock& lock,
                           const GeneralizedCalls& calls) {
  Request* request = store.create_request();
  request->ops = &ops;
  request->engine = &engine;
  request->state = new State{&store, &lock, calls};
  return request;
}

Err complete_generalized(Request& request) {
  if (request.ops != &ops)
    return fail(MPI_ERR_REQUEST,
                "the request is a %s; MPI_Grequest_complete takes one that "
                "MPI_Grequest_start made",
                request.ops->what);
  if (request.done) return fail(MPI_ERR_REQUEST, "the generalized request is complete already");
  request.done = true;
  return request.orphan ? destroy(request) : ok;
}

}  // namespace weft::object
