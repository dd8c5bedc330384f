// SPDX-License-Identifier: Apache-2.0
//
// Matching against the rule of MPI-5.0 §3.5 written down naively: the first posted receive that
// fits gets a message, the first arrived message that fits gets a receive.
#include "pt2pt/match.h"

#include <gtest/gtest.h>
#include <mpi.h>

#include <algorithm>
#include <cstdlib>
#include <deque>
#include <list>
#include <memory>
#include <vector>

namespace weft::pt2pt {
namespace {

bool fits(const wire::Envelope& wanted, const wire::Envelope& from) {
  return wanted.context == from.context &&
         (wanted.source == MPI_ANY_SOURCE || wanted.source == from.source) &&
         (wanted.tag == MPI_ANY_TAG || wanted.tag == from.tag);
}

/// Random messages and receives; the more sources and tags there are, the longer the queues become.
/// Returns the longest that a queue was.
std::size_t compare_with_plain_queues(int steps, int sources, int tags) {
  Matcher matcher;
  std::list<Posted*> posted;
  std::list<Arrived*> arrived;
  std::vector<std::unique_ptr<Posted>> all_posted;
  std::vector<std::unique_ptr<Arrived>> all_arrived;
  std::size_t longest = 0;
  unsigned seed = 4;
  const auto random = [&](int n) {
    return static_cast<int>(rand_r(&seed) % static_cast<unsigned>(n));
  };
  for (int step = 0; step < steps; ++step) {
    const auto context = static_cast<std::uint64_t>(2 * random(2)) << (random(2) * 40);
    if (random(2) == 0) {
      const wire::Envelope wanted{context, random(5) == 0 ? MPI_ANY_SOURCE : random(sources),
                                  random(4) == 0 ? MPI_ANY_TAG : random(tags)};
      Arrived* hit = matcher.find_arrived(wanted);
      Arrived* expected = nullptr;
      for (Arrived* m : arrived)
        if (fits(wanted, m->envelope)) {
          expected = m;
          break;
        }
      EXPECT_EQ(hit, expected);
      if (hit != expected) return 0;
      if (hit != nullptr) {
        matcher.remove(*hit);
        arrived.remove(hit);
        continue;
      }
      all_posted.push_back(std::make_unique<Posted>());
      all_posted.back()->envelope = wanted;
      matcher.post(*all_posted.back());
      posted.push_back(all_posted.back().get());
    } else {
      const wire::Envelope from{context, random(sources), random(tags)};
      Posted* hit = matcher.find_posted(from);
      Posted* expected = nullptr;
      for (Posted* p : posted)
        if (fits(p->envelope, from)) {
          expected = p;
          break;
        }
      EXPECT_EQ(hit, expected);
      if (hit != expected) return 0;
      if (hit != nullptr) {
        matcher.unpost(*hit);
        posted.remove(hit);
        continue;
      }
      all_arrived.push_back(std::make_unique<Arrived>());
      all_arrived.back()->envelope = from;
      matcher.arrive(*all_arrived.back());
      arrived.push_back(all_arrived.back().get());
    }
    if (!posted.empty() && random(8) == 0) {
      Posted* victim = posted.front();
      EXPECT_TRUE(victim->posted);
      matcher.unpost(*victim);
      EXPECT_FALSE(victim->posted);
      posted.pop_front();
    }
    longest = std::max({longest, posted.size(), arrived.size()});
  }
  return longest;
}

TEST(Matcher, agrees_with_two_plain_queues) {
  compare_with_plain_queues(100000, 4, 3);
}

TEST(Matcher, agrees_with_two_plain_queues_that_are_long) {
  EXPECT_GT(compare_with_plain_queues(12000, 40, 300), 1000u);
}

TEST(Matcher, finds_a_message_by_its_name) {
  Matcher matcher;
  std::vector<Arrived> messages(300);
  for (std::size_t i = 0; i < messages.size(); ++i) {
    messages[i].envelope = {0, 1, static_cast<int>(i / 3)};
    messages[i].job = static_cast<std::uint32_t>(i);
    matcher.arrive(messages[i]);
  }
  const auto is_200 = [](const Arrived& m) { return m.job == 200; };
  EXPECT_EQ(matcher.find_named({0, 1, 66}, is_200), &messages[200]);
  EXPECT_EQ(matcher.find_named({0, 1, 67}, is_200), nullptr);
  matcher.remove(messages[200]);
  EXPECT_EQ(matcher.find_named({0, 1, 66}, is_200), nullptr);
  EXPECT_EQ(matcher.arrived_count(), 299u);
}

/// Receives of (0, 1, 2), in order of their posting.
struct Queue {
  explicit Queue(std::vector<bool> in_call) : posted(in_call.size()) {
    for (std::size_t i = 0; i < posted.size(); ++i) {
      posted[i].envelope = {0, 1, 2};
      posted[i].in_call = in_call[i];
      matcher.post(posted[i]);
    }
  }
  /// Which of them a message goes to.
  int take(const wire::Envelope& from = {0, 1, 2}) {
    Posted* hit = matcher.find_posted(from);
    if (hit == nullptr) return -1;
    matcher.unpost(*hit);
    return static_cast<int>(hit - posted.data());
  }
  Matcher matcher;
  std::vector<Posted> posted;
};

TEST(Matcher, prefers_a_receive_in_a_call_among_such) {
  Queue q({true, true, true});
  q.matcher.favour(&q.posted[1], 0);
  EXPECT_EQ(q.take(), 1);
  EXPECT_EQ(q.take(), 0);  // the favourite is gone
  EXPECT_EQ(q.take(), 2);
  EXPECT_EQ(q.take(), -1);
}

TEST(Matcher, keeps_the_order_of_receives_that_are_in_no_call) {
  Queue q({true, false, true});
  q.matcher.favour(&q.posted[2], 0);
  EXPECT_EQ(q.take(), 0);
  EXPECT_EQ(q.take(), 1);
  EXPECT_EQ(q.take(), 2);
}

TEST(Matcher, keeps_the_order_behind_a_wildcard_that_is_in_no_call) {
  Queue q({true});
  Posted any, last;
  any.envelope = {0, MPI_ANY_SOURCE, MPI_ANY_TAG};
  last.envelope = {0, 1, MPI_ANY_TAG};
  last.in_call = true;
  q.matcher.post(any);
  q.matcher.post(last);
  q.matcher.favour(&last, 0);
  EXPECT_EQ(q.matcher.find_posted({0, 1, 2}), &q.posted[0]);
  EXPECT_EQ(q.matcher.find_posted({0, 1, 3}), &any);
  q.matcher.unpost(any);
  EXPECT_EQ(q.matcher.find_posted({0, 1, 2}), &last);
  EXPECT_EQ(q.matcher.find_posted({0, 1, 3}), &last);
  EXPECT_EQ(q.matcher.find_posted({2, 1, 2}), nullptr);
}

TEST(Matcher, has_no_favourite_that_a_message_has_taken) {
  Queue q({true, true});
  EXPECT_EQ(q.take(), 0);
  q.matcher.favour(&q.posted[0], 0);
  EXPECT_EQ(q.take(), 1);
}

TEST(Matcher, gives_a_favourite_only_what_fits_it) {
  Queue q({true});
  Posted other;
  other.envelope = {0, 1, 3};
  other.in_call = true;
  q.matcher.post(other);
  q.matcher.favour(&other, 0);
  EXPECT_EQ(q.take(), 0);
}

TEST(Matcher, passes_nobody_more_often_than_the_bias) {
  Queue q({true, true, true, true});
  for (const int favourite : {1, 2}) {
    q.matcher.favour(&q.posted[static_cast<std::size_t>(favourite)], 2);
    EXPECT_EQ(q.take(), favourite);
  }
  q.matcher.favour(&q.posted[3], 2);
  EXPECT_EQ(q.take(), 0);
  EXPECT_EQ(q.take(), 3);
}

}  // namespace
}  // namespace weft::pt2pt
