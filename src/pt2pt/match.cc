// SPDX-License-Identifier: Apache-2.0
//
// The match queues. Removal of a matched entry is O(1); a search walks one bucket.
#include "pt2pt/match.h"

#include <mpi.h>

#include <cstdlib>

namespace weft::pt2pt {
namespace {

bool fits(const wire::Envelope& wanted, const wire::Envelope& from) {
  return wanted.context == from.context &&
         (wanted.source == from.source || wanted.source == MPI_ANY_SOURCE) &&
         (wanted.tag == from.tag || wanted.tag == MPI_ANY_TAG);
}

bool has_wildcard(const wire::Envelope& wanted) {
  return wanted.source == MPI_ANY_SOURCE || wanted.tag == MPI_ANY_TAG;
}

template <class L>
Posted* first_fit(const L& list, const wire::Envelope& from) {
  for (Posted* p = list.front(); p != nullptr; p = L::next(p))
    if (fits(p->envelope, from)) return p;
  return nullptr;
}

}  // namespace

Arrived::~Arrived() {
  std::free(heap);
}

Matcher::PostedList& Matcher::list_of(const Posted& recv) {
  return has_wildcard(recv.envelope) ? posted_any_ : posted_[bucket(recv.envelope)];
}

void Matcher::post(Posted& recv) {
  recv.order = ++order_;
  recv.posted = true;
  list_of(recv).push_back(&recv);
}

void Matcher::unpost(Posted& recv) {
  recv.posted = false;
  if (&recv == favourite_) favourite_ = nullptr;
  list_of(recv).remove(&recv);
}

Posted* Matcher::first_posted(const wire::Envelope& from) const {
  Posted* hit = first_fit(posted_[bucket(from)], from);
  if (!posted_any_.empty()) [[unlikely]] {
    Posted* any = first_fit(posted_any_, from);
    if (any != nullptr && (hit == nullptr || any->order < hit->order)) return any;
  }
  return hit;
}

/// The favourite, unless a receive that may not be passed fits and was posted before it. Receives
/// in calls may be; one that was begun earlier (MPI_Irecv) may not, because its thread, or one that
/// it told, may have posted the favourite after it.
Posted* Matcher::favourite_or(Posted& first, const wire::Envelope& from) const {
  if (!fits(favourite_->envelope, from) || (bias_ != 0 && first.passed >= bias_)) return &first;
  for (const PostedList* list : {&posted_[bucket(from)], &posted_any_})
    for (const Posted* p = list->front(); p != nullptr && p->order < favourite_->order;
         p = list->next(const_cast<Posted*>(p)))
      if (!p->in_call && fits(p->envelope, from)) return &first;
  ++first.passed;
  return const_cast<Posted*>(favourite_);
}

Arrived* Matcher::find_offer(std::int32_t sender, std::uint32_t job) const {
  for (Arrived* m = arrived_all_.front(); m != nullptr; m = arrived_all_.next(m))
    if (m->offer && m->sender == sender && m->job == job) return m;
  return nullptr;
}

void Matcher::arrive(Arrived& message) {
  arrived_[bucket(message.envelope)].push_back(&message);
  arrived_all_.push_back(&message);
}

void Matcher::remove(Arrived& message) {
  arrived_[bucket(message.envelope)].remove(&message);
  arrived_all_.remove(&message);
}

Arrived* Matcher::find_arrived(const wire::Envelope& wanted) const {
  if (arrived_all_.empty()) return nullptr;
  if (!has_wildcard(wanted)) {
    const auto& list = arrived_[bucket(wanted)];
    for (Arrived* m = list.front(); m != nullptr; m = list.next(m))
      if (fits(wanted, m->envelope)) return m;
    return nullptr;
  }
  for (Arrived* m = arrived_all_.front(); m != nullptr; m = arrived_all_.next(m))
    if (fits(wanted, m->envelope)) return m;
  return nullptr;
}

}  // namespace weft::pt2pt
