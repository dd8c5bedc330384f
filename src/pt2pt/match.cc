// SPDX-License-Identifier: Apache-2.0
//
// The match queues. Removal of a matched entry is O(1); a search walks the entries of one bucket.
#include "pt2pt/match.h"

#include <cstdlib>

namespace weft::pt2pt {
namespace {

constexpr std::size_t first_buckets = 64;

bool fits(const wire::Envelope& wanted, const wire::Envelope& from) {
  return wanted.context == from.context &&
         (wanted.source == from.source || wanted.source == MPI_ANY_SOURCE) &&
         (wanted.tag == from.tag || wanted.tag == MPI_ANY_TAG);
}

/// The name of a message, with wildcards.
wire::Envelope as(const wire::Envelope& from, Form form) {
  return {from.context, (form & any_source) != 0 ? MPI_ANY_SOURCE : from.source,
          (form & any_tag) != 0 ? MPI_ANY_TAG : from.tag};
}

template <class L>
Posted* first_fit(const L& list, const wire::Envelope& from) {
  for (Posted* p = list.front(); p != nullptr; p = L::next(p))
    if (fits(p->envelope, from)) return p;
  return nullptr;
}

template <class B>
Arrived* first_wanted(const B& buckets, const wire::Envelope& wanted) {
  const auto& bucket = buckets.of(wanted);
  for (Arrived* m = bucket.front(); m != nullptr; m = bucket.next(m))
    if (fits(wanted, m->envelope)) return m;
  return nullptr;
}

}  // namespace

Arrived::~Arrived() {
  std::free(heap);
}

Matcher::Matcher() {
  posted_.resize(first_buckets, [](const Posted& p) { return p.envelope; });
  resize(exact_, exact);
}

void Matcher::post(Posted& recv) {
  recv.order = ++order_;
  recv.posted = true;
  ++posted_as_[form_of(recv.envelope)];
  if (++posted_count_ > 2 * posted_.size()) [[unlikely]]
    posted_.resize(4 * posted_.size(), [](const Posted& p) { return p.envelope; });
  sole_ = posted_count_ == 1 ? &recv : nullptr;
  posted_.of(recv.envelope).push_back(&recv);
}

void Matcher::unpost(Posted& recv) {
  recv.posted = false;
  --posted_as_[form_of(recv.envelope)];
  --posted_count_;
  if (&recv == favourite_) favourite_ = nullptr;
  if (&recv == sole_) sole_ = nullptr;
  posted_.of(recv.envelope).remove(&recv);
}

template <class Look>
void Matcher::for_buckets(const wire::Envelope& from, Look&& look) const {
  if (posted_as_[exact] > 0) look(posted_.of(from));
  if (posted_as_[exact] == posted_count_) [[likely]]
    return;
  for (const Form form : {any_tag, any_source, any})
    if (posted_as_[form] > 0) look(posted_.of(as(from, form)));
}

Posted* Matcher::first_posted(const wire::Envelope& from) const {
  if (sole_ != nullptr) return fits(sole_->envelope, from) ? sole_ : nullptr;
  Posted* hit = nullptr;
  for_buckets(from, [&](const auto& bucket) {
    Posted* found = first_fit(bucket, from);
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
  for_buckets(from, [&](const auto& bucket) {
    for (Posted* p = bucket.front(); p != nullptr && p->order < favourite_->order;
         p = bucket.next(p))
      may_pass &= p->in_call || !fits(p->envelope, from);
  });
  if (!may_pass) return &first;
  ++first.passed;
  return const_cast<Posted*>(favourite_);
}

template <class B>
void Matcher::resize(B& buckets, Form form) {
  const std::size_t count = buckets.none() ? first_buckets : 4 * buckets.size();
  buckets.resize(count, [form](const Arrived& m) { return as(m.envelope, form); });
}

template <class Keep>
void Matcher::for_kept(Keep&& keep) {
  keep(exact_, exact);
  if (!keeps_wildcards_) [[likely]]
    return;
  if (!any_tag_.none()) keep(any_tag_, any_tag);
  if (!any_source_.none()) keep(any_source_, any_source);
  if (!any_.none()) keep(any_, any);
}

void Matcher::arrive(Arrived& message) {
  arrived_.push_back(&message);
  ++arrived_count_;
  for_kept([&](auto& buckets, Form form) {
    if (arrived_count_ > 2 * buckets.size()) [[unlikely]]
      resize(buckets, form);
    buckets.of(as(message.envelope, form)).push_back(&message);
  });
}

void Matcher::remove(Arrived& message) {
  arrived_.remove(&message);
  --arrived_count_;
  for_kept(
      [&](auto& buckets, Form form) { buckets.of(as(message.envelope, form)).remove(&message); });
}

Arrived* Matcher::find(const wire::Envelope& wanted) {
  switch (form_of(wanted)) {
    case any_tag:
      return find_as(any_tag_, any_tag, wanted);
    case any_source:
      return find_as(any_source_, any_source, wanted);
    case any:
      return find_as(any_, any, wanted);
    default:
      return first_wanted(exact_, wanted);
  }
}

template <class B>
Arrived* Matcher::find_as(B& buckets, Form form, const wire::Envelope& wanted) {
  if (!buckets.none()) return first_wanted(buckets, wanted);
  constexpr int far = 32;
  Arrived* m = arrived_.front();
  for (int i = 0; i < far && m != nullptr; ++i, m = arrived_.next(m))
    if (fits(wanted, m->envelope)) return m;
  if (m == nullptr) return nullptr;
  keeps_wildcards_ = true;
  while (arrived_count_ > 2 * buckets.size()) resize(buckets, form);
  for (m = arrived_.front(); m != nullptr; m = arrived_.next(m))
    buckets.of(as(m->envelope, form)).push_back(m);
  return first_wanted(buckets, wanted);
}

}  // namespace weft::pt2pt
