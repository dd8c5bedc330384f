// SPDX-License-Identifier: Apache-2.0
//
// The loop over rounds: post the messages, do the local steps, wait for the messages.
#include "coll/executor.h"

#include <algorithm>

#include "coll/signature.h"

namespace weft::coll {
namespace {

using What = Step::What;

Err run_local(const Step& step, const object::Comm& comm) {
  if (step.what == What::copy)
    datatype::copy(step.source(), step.target(),
                   std::min(step.source().bytes(), step.target().bytes()));
  else if (step.what == What::reduce)
    object::apply(*step.op, *step.type, step.from, step.to, step.count);
  else if (step.what == What::compare)
    return compare_signatures(static_cast<const Signature*>(step.from),
                              static_cast<int>(step.count), comm);
  return ok;
}

}  // namespace

void Executor::begin(Schedule& s, int tag) {
  s.tag_ = tag;
  rewind(s);
}

void Executor::rewind(Schedule& s) {
  s.next_ = 0;
  s.error_ = ok;
}

void Executor::post_round(Schedule& s, object::Comm& comm) {
  const std::size_t begin = s.next_;
  std::size_t end = begin;
  while (end < s.steps_.size() && !s.steps_[end++].ends_round) {
  }
  for (std::size_t i = begin; i < end; ++i)
    if (const Step& step = s.steps_[i]; step.what == What::recv)
      s.pending_.push_back(pt2pt::post_recv(step.target(), step.peer, s.tag_, comm));
  for (std::size_t i = begin; i < end; ++i)
    if (const Step& step = s.steps_[i]; step.what == What::send)
      s.pending_.push_back(pt2pt::post_send(step.source(), step.peer, s.tag_, comm));
  s.next_ = end;
  for (std::size_t i = begin; i < end; ++i) {
    const Err error = run_local(s.steps_[i], comm);
    if (error) [[unlikely]] {  // all ranks find the same, so nobody waits for the rest
      s.error_ = error;
      s.next_ = s.steps_.size();
      return;
    }
  }
}

void Executor::finish_round(Schedule& s) {
  for (object::Request* request : s.pending_) {
    if (request->error != MPI_SUCCESS && !s.error_) s.error_ = Err{request->error};
    pt2pt::free_request(request);
  }
  s.pending_.clear();
}

bool Executor::advance(Schedule& s, object::Comm& comm) {
  for (;;) {
    for (const object::Request* request : s.pending_)
      if (!request->done) return false;
    finish_round(s);
    if (s.next_ == s.steps_.size()) return true;
    post_round(s, comm);
  }
}

Err Executor::run(Schedule& s, object::Comm& comm) {
  while (s.next_ < s.steps_.size()) {
    post_round(s, comm);
    pt2pt::wait_for_all(s.pending_);
    finish_round(s);
  }
  return s.error_;
}

}  // namespace weft::coll
