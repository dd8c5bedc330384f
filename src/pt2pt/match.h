// SPDX-License-Identifier: Apache-2.0
//
// Pairing messages with receives (MPI-5.0 §3.5: non-overtaking). Receives wait in buckets of what
// they name (context, source, tag), where MPI_ANY_SOURCE and MPI_ANY_TAG are values like others: a
// message may belong to one of four names, and of the receives that fit the earliest posted wins.
// Messages that came first wait in buckets of their own name and in one list by arrival; for a kind
// of wildcard they are put in buckets too from the first long search on that has it. There are
// about as many buckets as entries, so that a search is short however many wait.
#pragma once

#include <mpi.h>

#include <bit>
#include <cstdint>
#include <vector>

#include "base/list.h"
#include "base/pool.h"
#include "object/objects.h"
#include "wire/cell.h"

namespace weft::pt2pt {

struct Engine;

/// The part of a receive that the matcher sees (P2p derives from it).
struct Posted {
  wire::Envelope envelope{};  // source and tag may be wildcards
  std::uint64_t order = 0;    // of posting; of a send in pieces: its number at this sender
  bool posted = false;        // waits here; no message has taken it
  bool in_call = false;       // of a blocking call that lasts until it is matched
  std::uint32_t passed = 0;   // messages that a favourite got before it
  Link<Posted> match_link;
};

/// Which of source and tag is a wildcard.
enum Form : int { exact = 0, any_tag = 1, any_source = 2, any = 3, forms = 4 };
inline Form form_of(const wire::Envelope& e) {
  return static_cast<Form>((e.tag == MPI_ANY_TAG ? any_tag : exact) |
                           (e.source == MPI_ANY_SOURCE ? any_source : exact));
}

/// A message nobody has asked for yet; the object behind MPI_Message once MPI_Mprobe took it out.
struct Arrived : Object {
  wire::Envelope envelope{};
  std::int32_t sender = -1;  // world rank
  std::uint32_t job = 0;
  bool offer = false;       // the data is still at the sender, in copy job `job`
  std::int64_t bytes = 0;   // of the message
  std::int64_t here = 0;    // bytes of it that have arrived
  std::uint64_t order = 0;  // of a message in pieces: the sender's number; else 0
  Link<Arrived> order_link, exact_link;
  std::byte* heap = nullptr;                      // payload larger than `small`; owned
  alignas(16) std::byte small[wire::inline_max];  // of an offer from another node: its Place
  object::Comm* comm = nullptr;                   // these two once MPI_Mprobe has taken it out
  Engine* engine = nullptr;
  struct Announced* coming = nullptr;  // it is received by itself, now
  Link<Arrived> any_tag_link, any_source_link, any_link;

  const std::byte* payload() const { return heap != nullptr ? heap : small; }
  ~Arrived();
};

/// Lists by name. Those of one list keep their order when there come to be more lists.
template <class T, Link<T> T::*L>
class Buckets {
 public:
  using Bucket = List<T, L>;

  bool none() const { return lists_.empty(); }
  std::size_t size() const { return lists_.size(); }
  Bucket& of(const wire::Envelope& name) { return lists_[index(name)]; }
  const Bucket& of(const wire::Envelope& name) const { return lists_[index(name)]; }
  /// Have `count` lists, a power of two of at least 2; `name_of(entry)` says where each belongs.
  template <class NameOf>
  void resize(std::size_t count, NameOf&& name_of) {
    std::vector<Bucket> old(count);
    old.swap(lists_);
    shift_ = 64;
    for (std::size_t n = count; n > 1; n /= 2) --shift_;
    for (Bucket& bucket : old)
      while (T* entry = bucket.pop_front()) of(name_of(*entry)).push_back(entry);
  }

 private:
  std::size_t index(const wire::Envelope& e) const {
    const std::uint64_t low = std::uint64_t{static_cast<std::uint32_t>(e.source)} << 32 |
                              static_cast<std::uint32_t>(e.tag);
    return static_cast<std::size_t>((low ^ std::rotl(e.context, 48)) * 0x9e3779b97f4a7c15 >>
                                    shift_);
  }

  std::vector<Bucket> lists_;
  int shift_ = 0;
};

class Matcher {
 public:
  Matcher();
  void post(Posted& recv);
  void unpost(Posted& recv);
  /// The receive that a message from `from` belongs to; nullptr: unexpected.
  Posted* find_posted(const wire::Envelope& from) const {
    Posted* hit = first_posted(from);
    if (favourite_ == nullptr || hit == nullptr || hit == favourite_) [[likely]]
      return hit;
    return favourite_or(*hit, from);
  }
  /// Receives of several threads that are in their blocking calls at the same time are logically
  /// concurrent (§3.5, "Order"): a message may go to any of them. `recv` is the one that is to have
  /// it, because its thread is awake; no other is passed more than `bias` times (0: without end).
  /// nullptr, or one that is not posted: back to the order of posting.
  void favour(const Posted* recv, std::uint32_t bias) {
    favourite_ = recv != nullptr && recv->posted ? recv : nullptr;
    bias_ = bias;
  }

  void arrive(Arrived& message);
  void remove(Arrived& message);
  /// The first arrived message that `wanted` (wildcards allowed) matches; it stays in.
  Arrived* find_arrived(const wire::Envelope& wanted) {
    return arrived_.empty() ? nullptr : find(wanted);
  }
  /// The message named `name` for which is_it(message); nullptr: it is not here any more.
  template <class IsIt>
  Arrived* find_named(const wire::Envelope& name, IsIt&& is_it) const {
    const auto& bucket = exact_.of(name);
    for (Arrived* m = bucket.front(); m != nullptr; m = bucket.next(m))
      if (is_it(*m)) return m;
    return nullptr;
  }
  /// For the report of what was never received.
  const Arrived* first_arrived() const { return arrived_.front(); }
  static const Arrived* next_arrived(const Arrived* m) { return m->order_link.next; }
  std::size_t arrived_count() const { return arrived_count_; }

 private:
  /// Calls look(bucket) for each bucket that may hold a receive for `from`.
  template <class Look>
  void for_buckets(const wire::Envelope& from, Look&& look) const;
  Posted* first_posted(const wire::Envelope& from) const;
  Posted* favourite_or(Posted& first, const wire::Envelope& from) const;
  Arrived* find(const wire::Envelope& wanted);
  /// In `buckets`, whose names have the wildcards of `form`.
  template <class B>
  Arrived* find_as(B& buckets, Form form, const wire::Envelope& wanted);
  /// Calls keep(buckets, form) for each kind of buckets that arrived messages are in.
  template <class Keep>
  void for_kept(Keep&& keep);
  template <class B>
  void resize(B& buckets, Form form);

  Buckets<Posted, &Posted::match_link> posted_;
  std::size_t posted_count_ = 0;
  std::size_t posted_as_[forms] = {};  // of these: by their wildcards
  Posted* sole_ = nullptr;             // the only one that is posted, if it was posted as such
  const Posted* favourite_ = nullptr;  // is posted
  std::uint32_t bias_ = 0;
  std::uint64_t order_ = 0;

  List<Arrived, &Arrived::order_link> arrived_;
  std::size_t arrived_count_ = 0;
  Buckets<Arrived, &Arrived::exact_link> exact_;
  // As if messages were named with the wildcard. Empty until a long search had it.
  Buckets<Arrived, &Arrived::any_tag_link> any_tag_;
  Buckets<Arrived, &Arrived::any_source_link> any_source_;
  Buckets<Arrived, &Arrived::any_link> any_;
  bool keeps_wildcards_ = false;  // one of these is not empty
};

}  // namespace weft::pt2pt
