// SPDX-License-Identifier: Apache-2.0
//
// Matching against the rule of MPI-5.0 §3.5 written down naively: the first posted receive that
// fits gets a message, the first arrived message that fits gets a receive.
#include "pt2pt/match.h"

#include <gtest/gtest.h>
#include <mpi.h>

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

TEST(Matcher, agrees_with_two_plain_queues) {
  Matcher matcher;
  std::list<Posted*> posted;
  std::list<Arrived*> arrived;
  std::vector<std::unique_ptr<Posted>> all_posted;
  std::vector<std::unique_ptr<Arrived>> all_arrived;
  unsigned seed = 4;
  const auto random = [&](int n) {
    return static_cast<int>(rand_r(&seed) % static_cast<unsigned>(n));
  };
  for (int step = 0; step < 100000; ++step) {
    const auto context = static_cast<std::uint32_t>(2 * random(2));
    if (random(2) == 0) {
      const wire::Envelope wanted{context, random(5) - 1, random(4) == 0 ? MPI_ANY_TAG : random(3)};
      Arrived* hit = matcher.find_arrived(wanted);
      Arrived* expected = nullptr;
      for (Arrived* m : arrived)
        if (fits(wanted, m->envelope)) {
          expected = m;
          break;
        }
      ASSERT_EQ(hit, expected);
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
      const wire::Envelope from{context, random(4), random(3)};
      Posted* hit = matcher.find_posted(from);
      Posted* expected = nullptr;
      for (Posted* p : posted)
        if (fits(p->envelope, from)) {
          expected = p;
          break;
        }
      ASSERT_EQ(hit, expected);
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
      ASSERT_TRUE(matcher.is_posted(*victim));
      matcher.unpost(*victim);
      ASSERT_FALSE(matcher.is_posted(*victim));
      posted.pop_front();
    }
  }
}

}  // namespace
}  // namespace weft::pt2pt
