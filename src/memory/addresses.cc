// SPDX-License-Identifier: Apache-2.0
//
// The texts are written once for a rank, behind an offset in its entry; the room stays with the
// place, and its next rank has it. Who waits sleeps on a word of
// the header (futex), which costs no CPU and ends with the process.
#include "memory/addresses.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstring>

namespace weft::memory {
namespace {

void sleep_while(std::atomic<std::uint32_t>& word, std::uint32_t value) {
  syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), FUTEX_WAIT, value, nullptr, nullptr,
          0);
}

void wake(std::atomic<std::uint32_t>& word) {
  syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), FUTEX_WAKE, INT_MAX, nullptr, nullptr,
          0);
}

Err write_down(Job& job, int world_rank, const std::string& addresses) {
  RankEntry& entry = job.entry(world_rank);
  const std::size_t bytes = addresses.size() + 1;
  if (entry.text_bytes < bytes) {
    entry.text_at = job.extend(bytes);
    entry.text_bytes = entry.text_at != 0 ? bytes : 0;
  }
  if (entry.text_bytes < bytes)
    return fail(MPI_ERR_NO_MEM, "no shared memory for the addresses of rank %d", world_rank);
  std::memcpy(job.at(entry.text_at), addresses.c_str(), bytes);
  // release: the text; pairs with addresses_of()
  entry.addresses.store(entry.text_at, std::memory_order_release);
  return ok;
}

}  // namespace

Err tell_addresses(Job& job, int world_rank, const std::string& addresses) {
  WEFT_TRY(write_down(job, world_rank, addresses));
  stir_agent(job);
  return ok;
}

void stir_agent(Job& job) {
  // release: what it is about; pairs with await_teller()
  job.header().told.fetch_add(1, std::memory_order_release);
  wake(job.header().told);
}

Err learn_addresses(Job& job, int world_rank, const std::string& addresses) {
  WEFT_TRY(write_down(job, world_rank, addresses));
  RankEntry& entry = job.entry(world_rank);
  const auto commas = std::count(addresses.begin(), addresses.end(), ',');
  entry.contexts.store(static_cast<std::int32_t>(1 + commas), std::memory_order_relaxed);
  // release: with the state comes how many contexts it has (world/comm_agree.cc)
  entry.state.store(RankState::initialized, std::memory_order_release);
  return ok;
}

std::string addresses_of(Job& job, int world_rank) {
  const std::uint64_t at = job.entry(world_rank).addresses.load(std::memory_order_acquire);
  return at != 0 ? reinterpret_cast<const char*>(job.at(at)) : "";
}

void promise_addresses(Job& job) {
  job.header().promised.store(1, std::memory_order_relaxed);  // before there are ranks
}

void all_addresses_known(Job& job) {
  // release: what was learned; pairs with await_addresses()
  job.header().promised.store(0, std::memory_order_release);
  wake(job.header().promised);
}

void promise_addresses(Job& job, int world_rank) {
  job.entry(world_rank).awaited.store(1, std::memory_order_relaxed);  // before it starts
}

void addresses_known(Job& job, int world_rank) {
  std::atomic<std::uint32_t>& awaited = job.entry(world_rank).awaited;
  awaited.store(0, std::memory_order_release);  // as above
  wake(awaited);
}

void await_addresses(Job& job, int world_rank) {
  for (std::atomic<std::uint32_t>* word : {&job.header().promised, &job.entry(world_rank).awaited})
    while (word->load(std::memory_order_acquire) != 0) sleep_while(*word, 1);
}

std::uint32_t await_teller(Job& job, std::uint32_t seen) {
  std::atomic<std::uint32_t>& told = job.header().told;
  while (told.load(std::memory_order_acquire) == seen) sleep_while(told, seen);
  return told.load(std::memory_order_acquire);
}

}  // namespace weft::memory
