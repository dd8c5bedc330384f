// SPDX-License-Identifier: Apache-2.0
//
// Pairing messages with receives (MPI-5.0 §3.5: non-overtaking). Receives of a named source wait in
// a bucket of (context, source, tag), where MPI_ANY_TAG counts as a tag of its own: threads with
// tags, or sources, of their own do not walk past each other's. Those from any source have one
// list. Each carries the order of its posting, and the earliest that fits wins. Messages that came
// first wait in buckets by tag, in buckets by source, and in one list by arrival.
#pragma once

#include <cstdint>

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

/// A message nobody has asked for yet; the object behind MPI_Message once MPI_Mprobe took it out.
struct Arrived : Object {
  wire::Envelope envelope{};
  std::int32_t sender = -1;      // world rank
  object::Comm* comm = nullptr;  // these two once MPI_Mprobe has taken it out
  Engine* engine = nullptr;
  bool offer = false;  // the data is still at the sender, in copy job `job`
  std::uint32_t job = 0;
  std::uint64_t order = 0;    // of a message in pieces: the sender's number; else 0
  std::int64_t bytes = 0;     // of the message
  std::int64_t here = 0;      // bytes of it that have arrived
  std::byte* heap = nullptr;  // payload larger than `small`; owned
  Link<Arrived> tag_link, source_link, order_link;
  alignas(16) std::byte small[wire::inline_max];

  const std::byte* payload() const { return heap != nullptr ? heap : small; }
  ~Arrived();
};

class Matcher {
 public:
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
  Arrived* find_arrived(const wire::Envelope& wanted) const;
  /// The offer of a sender's copy job.
  Arrived* find_offer(std::int32_t sender, std::uint32_t job) const;
  /// The message in pieces of a sender's number.
  Arrived* find_pushed(std::int32_t sender, std::uint64_t order) const;
  /// For the report of what was never received.
  const Arrived* first_arrived() const { return arrived_all_.front(); }
  static const Arrived* next_arrived(const Arrived* m) { return m->order_link.next; }

 private:
  static constexpr int buckets = 64;
  /// Of a named source; MPI_ANY_TAG counts as a tag.
  static int bucket(const wire::Envelope& e, std::int32_t tag) {
    return static_cast<int>((e.context * 7 + static_cast<std::uint32_t>(e.source) * 17 +
                             static_cast<std::uint32_t>(tag)) %
                            buckets);
  }
  static int bucket(const wire::Envelope& e) { return bucket(e, e.tag); }
  using PostedList = List<Posted, &Posted::match_link>;
  PostedList& list_of(const Posted& recv);
  /// Calls look(list) for each list that may hold a receive for `from`.
  template <class Look>
  void for_lists(const wire::Envelope& from, Look&& look) const;
  Posted* first_posted(const wire::Envelope& from) const;
  Posted* favourite_or(Posted& first, const wire::Envelope& from) const;

  PostedList posted_[buckets];
  PostedList posted_any_;              // from any source
  int any_tag_ = 0;                    // receives of any tag in posted_
  const Posted* favourite_ = nullptr;  // is posted
  std::uint32_t bias_ = 0;
  List<Arrived, &Arrived::tag_link> arrived_[buckets];
  List<Arrived, &Arrived::source_link> arrived_from_[buckets];  // as if all had MPI_ANY_TAG
  List<Arrived, &Arrived::order_link> arrived_all_;
  std::uint64_t order_ = 0;
};

}  // namespace weft::pt2pt
