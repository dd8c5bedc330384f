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

template <class L>
Posted* first_fit(const L& list, const wire::Envelope& from) {
  for (Posted* p = list.front(); p != nullptr; p = L::next(p))
    if (fits(p->envelope, from)) return p;
  return nullptr;
}
template <class L>
Arrived* first_wanted(const L& list, const wire::Envelope& wanted) {
  for (Arrived* m = list.front(); m != nullptr; m = L::next(m))
    if (fits(wanted, m->envelope)) return m;
  return nullptr;
}

}  // namespace

Arrived::~Arrived() {
  std::free(heap);
}

Matcher::PostedList& Matcher::list_of(const Posted& recv) {
  return recv.envelope.source == MPI_ANY_SOURCE ? posted_any_ : posted_[bucket(recv.envelope)];
}

void Matcher::post(Posted& recv) {
  recv.order = ++order_;
  recv.posted = true;
  any_tag_ += recv.envelope.tag == MPI_ANY_TAG;
  list_of(recv).push_back(&recv);
}

void Matcher::unpost(Posted& recv) {
  recv.posted = false;
  any_tag_ -= recv.envelope.tag == MPI_ANY_TAG;
  if (&recv == favourite_) favourite_ = nullptr;
  list_of(recv).remove(&recv);
}

template <class Look>
void Matcher::for_lists(const wire::Envelope& from, Look&& look) const {
  look(posted_[bucket(from)]);
  if (any_tag_ > 0) [[unlikely]]
    look(posted_[bucket(from, MPI_ANY_TAG)]);
  if (!posted_any_.empty()) [[unlikely]]
    look(posted_any_);
}

Posted* Matcher::first_posted(const wire::Envelope& from) const {
  Posted* hit = nullptr;
  for_lists(from, [&](const PostedList& list) {
    Posted* found = first_fit(list, from);
    if (found != nullptr && (hit == nullptr || found->order < hit->order)) hit = found;
  });
  return hit;
}

/// The favourite, unless a receive that may not be passed fits and was posted before it. Receives
/// in calls may be; one that was begun earlier (MPI_Irecv) may not, because its thread, or one that
/// it told, may have posted the favourite after it.
Posted* Matcher::favourite_or(Posted& first, const wire::Envelope& from) const {
  if (!fits(favourite_->envelope, from) || (bias_ != 0 && first.passed >= bias_)) return &first;
  bool may_pass = true;
  for_lists(from, [&](const PostedList& list) {
    for (Posted* p = list.front(); p != nullptr && p->order < favourite_->order; p = list.next(p))
      may_pass &= p->in_call || !fits(p->envelope, from);
  });
  if (!may_pass) return &first;
  ++first.passed;
  return const_cast<Posted*>(favourite_);
}

Arrived* Matcher::find_offer(std::int32_t sender, std::uint32_t job) const {
  for (Arrived* m = arrived_all_.front(); m != nullptr; m = arrived_all_.next(m))
    if (m->offer && m->sender == sender && m->job == job) return m;
  return nullptr;
}

Arrived* Matcher::find_pushed(std::int32_t sender, std::uint64_t order) const {
  for (Arrived* m = arrived_all_.front(); m != nullptr; m = arrived_all_.next(m))
    if (m->order == order && m->sender == sender) return m;
  return nullptr;
}

void Matcher::arrive(Arrived& message) {
  arrived_[bucket(message.envelope)].push_back(&message);
  arrived_from_[bucket(message.envelope, MPI_ANY_TAG)].push_back(&message);
  arrived_all_.push_back(&message);
}

void Matcher::remove(Arrived& message) {
  arrived_[bucket(message.envelope)].remove(&message);
  arrived_from_[bucket(message.envelope, MPI_ANY_TAG)].remove(&message);
  arrived_all_.remove(&message);
}

Arrived* Matcher::find_arrived(const wire::Envelope& wanted) const {
  if (arrived_all_.empty()) return nullptr;
  if (wanted.source == MPI_ANY_SOURCE) return first_wanted(arrived_all_, wanted);
  return wanted.tag == MPI_ANY_TAG ? first_wanted(arrived_from_[bucket(wanted)], wanted)
                                   : first_wanted(arrived_[bucket(wanted)], wanted);
}

}  // namespace weft::pt2pt
