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
  list_of(recv).push_back(&recv);
}

void Matcher::unpost(Posted& recv) {
  list_of(recv).remove(&recv);
}

bool Matcher::is_posted(const Posted& recv) {
  PostedList& list = list_of(recv);
  for (Posted* p = list.front(); p != nullptr; p = list.next(p))
    if (p == &recv) return true;
  return false;
}

Posted* Matcher::find_posted(const wire::Envelope& from) const {
  Posted* hit = first_fit(posted_[bucket(from)], from);
  if (!posted_any_.empty()) [[unlikely]] {
    Posted* any = first_fit(posted_any_, from);
    if (any != nullptr && (hit == nullptr || any->order < hit->order)) return any;
  }
  return hit;
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
