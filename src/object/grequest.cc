// SPDX-License-Identifier: Apache-2.0
//
// A generalized request is freed when it is complete and the user has given up its handle, in
// either order; then the free callback runs once.
#include "object/grequest.h"

#include "object/store.h"

namespace weft::object {
namespace {

struct State {
  Store* store;
  GeneralizedCalls calls;
};

State& state(Request& request) {
  return *static_cast<State*>(request.state);
}

Err query(Request& request) {
  const GeneralizedCalls& calls = state(request).calls;
  MPI_Status status{};
  set_empty_status(&status);
  const int code = calls.query(calls.extra, &status);
  request.source = status.MPI_SOURCE;
  request.tag = status.MPI_TAG;
  request.bytes = status_bytes(status);
  request.cancelled = status_cancelled(status);
  request.error = code;
  if (code != MPI_SUCCESS)
    return fail(code, "the query callback of a generalized request returned error %d", code);
  return ok;
}

void cancel(Request& request) {
  const GeneralizedCalls& calls = state(request).calls;
  (void)calls.cancel(calls.extra, request.done);
}

void destroy(Request& request) {
  State* s = &state(request);
  (void)s->calls.free(s->calls.extra);
  s->store->destroy(&request);
  delete s;
}

void release(Request& request) {
  if (request.done) {
    destroy(request);
  } else {
    request.orphan = true;
  }
}

constexpr RequestOps ops{"generalized request", nullptr, cancel, release, query};

}  // namespace

Request* start_generalized(Store& store, pt2pt::Engine& engine, const GeneralizedCalls& calls) {
  Request* request = store.requests.create();
  request->ops = &ops;
  request->engine = &engine;
  request->state = new State{&store, calls};
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
  if (request.orphan) destroy(request);
  return ok;
}

}  // namespace weft::object
