// SPDX-License-Identifier: Apache-2.0
#include "memory/guests.h"

#include <span>

#include "memory/addresses.h"

namespace weft::memory {
namespace {

/// Behind the numbers of ranks, and of any tag.
constexpr std::uint32_t name_bit = 1U << 30;

/// Under the lock.
bool may_have_place(const GuestRecord& guest) {
  return guest.has_ended != 0 && guest.users.load(std::memory_order_relaxed) == 0;
}

}  // namespace

std::int32_t name_of(const Guest& who) {
  const std::uint32_t words[] = {static_cast<std::uint32_t>(who.place), who.incarnation};
  const std::uint64_t hash = keyed_hash(who.job, std::as_bytes(std::span(words)));
  return static_cast<std::int32_t>(name_bit | (hash & (name_bit - 1)));
}

Guest self_of(Job& job, int rank) {
  const HashKey& secret = job.header().secret;
  const std::byte which[] = {std::byte{0}, std::byte{1}};
  return {.job = job.header().identity,
          .key = {{keyed_hash(secret, std::span(which, 1)), keyed_hash(secret, which)}},
          .world = job.world_of(rank),
          .place = rank,
          .incarnation = job.entry(rank).incarnation.load(std::memory_order_relaxed)};
}

Guest who_is(Job& job, int rank) {
  return job.is_guest(rank) ? job.guest(rank).who : self_of(job, rank);
}

std::int32_t name_of(Job& job, int rank) {
  return job.is_guest(rank) ? job.guest(rank).name : name_of(self_of(job, rank));
}

int find_guest(Job& job, std::int32_t name) {
  // acquire: the records; pairs with admit()
  const auto used = static_cast<int>(job.header().guests_used.load(std::memory_order_acquire));
  for (int place = job.places(); place < job.places() + used; ++place)
    if (job.guest(place).name == name) return place;
  return -1;
}

HashKey key_with(Job& job, int guest) {
  const HashKey mine = self_of(job, 0).key, theirs = job.guest(guest).who.key;
  return {{mine.half[0] ^ theirs.half[0], mine.half[1] ^ theirs.half[1]}};
}

Result<std::int32_t> admit(Job& job, const Guest& who, const std::string& addresses) {
  JobHeader& h = job.header();
  if (who.job == h.identity) {
    if (who.place >= 0 && who.place < job.used() && who == self_of(job, who.place))
      return who.place;
    return fail(MPI_ERR_OTHER, "another job names a rank of this one that there is not any more");
  }
  const JobGuard guard(h.guest_lock);
  const std::uint32_t used = h.guests_used.load(std::memory_order_relaxed);
  int free = -1;
  for (int place = job.places(); place < job.places() + static_cast<int>(used); ++place) {
    GuestRecord& known = job.guest(place);
    if (known.who == who) {
      known.users.fetch_add(1, std::memory_order_relaxed);
      return place;
    }
    if (free < 0 && may_have_place(known)) free = place;
  }
  const bool is_first = free < 0;
  if (is_first && used == h.guests)
    return fail(MPI_ERR_OTHER,
                "%u ranks of other jobs are known, and their jobs have not ended; set "
                "WEFT_SPAWN_GUESTS to more where this job starts",
                used);
  if (is_first) free = job.places() + static_cast<int>(used);
  job.occupy_guest(free, is_first);
  GuestRecord& made = job.guest(free);
  made.who = who;
  made.name = name_of(who);
  made.has_ended = 0;
  made.users.store(1, std::memory_order_relaxed);
  WEFT_TRY(learn_addresses(job, free, addresses));
  // release: the record; pairs with find_guest()
  if (is_first) h.guests_used.store(used + 1, std::memory_order_release);
  return free;
}

void add_user(Job& job, int rank) {
  // relaxed, both: whoever adds one has it by another user
  if (job.is_guest(rank)) job.guest(rank).users.fetch_add(1, std::memory_order_relaxed);
}

void drop_user(Job& job, int rank) {
  // release: what was done with it; pairs with the lock of who looks for a place
  if (job.is_guest(rank)) job.guest(rank).users.fetch_sub(1, std::memory_order_release);
}

std::vector<std::int32_t> world_has_ended(Job& job, const HashKey& home, World world) {
  JobHeader& h = job.header();
  const JobGuard guard(h.guest_lock);
  std::vector<std::int32_t> used;
  const auto end = job.places() + static_cast<int>(h.guests_used.load(std::memory_order_relaxed));
  for (int place = job.places(); place < end; ++place) {
    GuestRecord& guest = job.guest(place);
    if (!guest.who.is_of(home, world) || guest.has_ended != 0) continue;
    guest.has_ended = 1;
    // release: pairs with has_ended()
    job.entry(place).leaving.store(1, std::memory_order_release);
    if (guest.users.load(std::memory_order_relaxed) > 0) used.push_back(place);
  }
  return used;
}

bool has_ended(Job& job, int guest) {
  return job.entry(guest).leaving.load(std::memory_order_acquire) != 0;
}

bool has_users(Job& job, int guest) {
  return job.guest(guest).users.load(std::memory_order_relaxed) != 0;
}

}  // namespace weft::memory
