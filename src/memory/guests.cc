// SPDX-License-Identifier: Apache-2.0
#include "memory/guests.h"

#include <span>

#include "memory/addresses.h"

namespace weft::memory {
namespace {

HashKey own_key(const Job& job) {
  const HashKey& secret = job.header().secret;
  const std::byte which[] = {std::byte{0}, std::byte{1}};
  return {{keyed_hash(secret, std::span(which, 1)), keyed_hash(secret, which)}};
}

}  // namespace

std::int32_t name_of(const Guest& who) {
  constexpr std::uint32_t above = 1U << name_bits;
  const std::uint32_t words[] = {static_cast<std::uint32_t>(who.place), who.incarnation};
  const std::uint64_t hash = keyed_hash(who.job, std::as_bytes(std::span(words)));
  return static_cast<std::int32_t>(above | (hash & (above - 1)));
}

Guest who_is(Job& job, int rank) {
  if (job.is_guest(rank)) return job.guest(rank).who;
  return {.job = job.header().identity,
          .key = own_key(job),
          .world = job.world_of(rank),
          .place = rank,
          .incarnation = job.entry(rank).incarnation.load(std::memory_order_relaxed)};
}

std::int32_t name_of(Job& job, int rank) {
  return job.is_guest(rank) ? job.guest(rank).name : name_of(who_is(job, rank));
}

int find_guest(Job& job, std::int32_t name) {
  for (int place = job.places(); place < job.guests_end(); ++place)
    if (job.guest(place).name == name) return place;
  return -1;
}

HashKey key_with(Job& job, int guest) {
  const HashKey mine = own_key(job), theirs = job.guest(guest).who.key;
  return {{mine.half[0] ^ theirs.half[0], mine.half[1] ^ theirs.half[1]}};
}

Result<std::int32_t> admit(Job& job, const Guest& who, const std::string& addresses,
                           std::int32_t place) {
  JobHeader& h = job.header();
  if (who.job == h.identity) {
    if (who.place >= 0 && who.place < job.used() && who == who_is(job, who.place)) return who.place;
    return fail(MPI_ERR_OTHER, "another job names a rank of this one that there is not any more");
  }
  const JobGuard guard(h.guest_lock);
  const int end = job.guests_end();
  int free = place < 0 ? end : place;
  for (int at = job.places(); at < end; ++at) {
    GuestRecord& known = job.guest(at);
    if (known.who == who) {
      known.users.fetch_add(1, std::memory_order_relaxed);
      return at;
    }
    if (free == end && place < 0 && has_ended(job, at) && !has_users(job, at)) free = at;
  }
  if (free < job.places() || free >= job.all_places())
    return fail(MPI_ERR_OTHER,
                "%u ranks of other jobs are known, and %s; set WEFT_SPAWN_GUESTS to more where "
                "this job starts",
                h.guests,
                h.apart != 0 ? "on several hosts their places are not used again"
                             : "their jobs have not ended");
  const bool is_first = free >= end;
  job.occupy_guest(free, is_first || place >= 0);
  GuestRecord& made = job.guest(free);
  made.who = who;
  made.name = name_of(who);
  WEFT_TRY(learn_addresses(job, free, addresses));
  // seq_cst: before the caller's look whether it has ended (end_of()); pairs with guest_has_ended()
  made.users.store(1, std::memory_order_seq_cst);
  // release: the record; pairs with guests_end()
  if (is_first)
    h.guests_used.store(static_cast<std::uint32_t>(free + 1 - job.places()),
                        std::memory_order_release);
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

std::vector<std::int32_t> world_has_ended(Job& job, const HashKey& home, World world,
                                          GuestEnd how) {
  const JobGuard guard(job.header().guest_lock);
  std::vector<std::int32_t> used;
  for (int place = job.places(); place < job.guests_end(); ++place)
    if (job.guest(place).who.is_of(home, world) && guest_has_ended(job, place, how))
      used.push_back(place);
  return used;
}

bool guest_has_ended(Job& job, int guest, GuestEnd how) {
  if (has_ended(job, guest)) return false;
  // seq_cst, both: either it has users here, or who admits it finds that it has ended; and as a
  // release pairs with end_of()
  job.entry(guest).leaving.store(static_cast<std::uint32_t>(how), std::memory_order_seq_cst);
  return job.guest(guest).users.load(std::memory_order_seq_cst) != 0;
}

GuestEnd end_of(Job& job, int guest) {
  return static_cast<GuestEnd>(job.entry(guest).leaving.load(std::memory_order_seq_cst));
}

bool has_ended(Job& job, int guest) {
  return end_of(job, guest) != GuestEnd::none;
}

bool has_users(Job& job, int guest) {
  return job.guest(guest).users.load(std::memory_order_relaxed) != 0;
}

}  // namespace weft::memory
