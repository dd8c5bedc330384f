// SPDX-License-Identifier: Apache-2.0
//
// Guests: ranks of other jobs, started by another mpiexec or by none, that ranks of this job have
// met (world/across.h). Each has a place in this job's memory, behind those of the job's own ranks,
// with an entry and its addresses; it is reached through the network only. The same rank has a
// place of another number in each job that it visits. What two jobs say of a rank to each other is
// its name, which both compute from who it is at home.
//
// A guest stays known, also without a communicator, until its job has ended: both ends of a lane
// count their packets, and one that forgot would take no more. Then, and when no group has it any
// more, its place may have another one. Where hosts have memories of their own a guest has the same
// place in each: mpiexec gives it, once (world/across.cc), and agents tell each other of its end.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "base/err.h"
#include "base/keyed_hash.h"
#include "memory/job.h"

namespace weft::memory {

/// Who a rank is at home.
struct Guest {
  HashKey job;  // its identity
  HashKey key;  // of that job: with that of another job, what packets between the two prove
  World world;  // its MPI_COMM_WORLD there
  std::int32_t place;
  std::uint32_t incarnation;
  bool operator==(const Guest&) const = default;
  bool is_of(const HashKey& other_job, World other) const {
    return job == other_job && world == other;
  }
};

/// Written under JobHeader::guest_lock.
struct GuestRecord {
  Guest who;
  std::int32_t name;
  std::atomic<std::uint32_t> users;  // groups that it is in, and calls that are about to make one
};

/// Of a rank or a guest.
Guest who_is(Job& job, int rank);
/// So many bits of a hash, and one above them: a number that no rank of a job has.
inline constexpr int name_bits = 30;
std::int32_t name_of(const Guest& who);
std::int32_t name_of(Job& job, int rank);
/// The guest of that name; -1: there is none. Any thread.
int find_guest(Job& job, std::int32_t name);
/// What packets between this rank and a guest prove.
HashKey key_with(Job& job, int guest);

/// Its place, with one user more; a rank of this job has its own. `place`: that it has in the
/// memory of another host, where it may be known already how it has ended; none: any that is free.
Result<std::int32_t> admit(Job& job, const Guest& who, const std::string& addresses,
                           std::int32_t place = -1);
/// One user more, or less; nothing for a rank of this job.
void add_user(Job& job, int rank);
void drop_user(Job& job, int rank);
/// How the world of a guest has ended: its link said goodbye, or not (RankEntry::leaving).
enum class GuestEnd : std::uint32_t { none = 0, goodbye = 1, death = 2 };
/// A world of another job has ended. Those of it that still have users.
std::vector<std::int32_t> world_has_ended(Job& job, const HashKey& home, World world, GuestEnd how);
/// The same for one guest. Has it users that have to know?
bool guest_has_ended(Job& job, int guest, GuestEnd how);
GuestEnd end_of(Job& job, int guest);
/// Has its world?
bool has_ended(Job& job, int guest);
bool has_users(Job& job, int guest);

}  // namespace weft::memory
