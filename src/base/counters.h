// SPDX-License-Identifier: Apache-2.0
//
// What a rank did, counted, in each of its contexts: plain 64-bit words (written under the
// context's lock or by the rank's only thread), read by MPI_T performance variables and WEFT_STATS.
// A counter is one line in the list below.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace weft {

//                X(name, unit, help)
#define WEFT_COUNTERS(X)                                                                           \
  X(messages_sent, "messages", "messages sent, of any protocol")                                   \
  X(messages_received, "messages", "messages matched and received")                                \
  X(bytes_copied, "bytes", "payload bytes this rank copied, all hops of all messages")             \
  X(copies, "copies", "payload copies this rank made, all hops of all messages")                   \
  X(copies_helped, "chunks", "chunks of single copies this rank made as the sender")               \
  X(unexpected, "messages", "messages that arrived before their receive")                          \
  X(unexpected_peak_bytes, "bytes", "most bytes held for unexpected messages at one time")         \
  X(polls, "polls", "looks into the mailbox")                                                      \
  X(yields, "yields", "times a waiting thread gave the core away")                                 \
  X(parks, "parks", "times a waiting thread slept in the kernel")                                  \
  X(wakes, "wakes", "times this rank woke a sleeping peer")                                        \
  X(jobs_offered, "jobs",                                                                          \
    "large copies, reductions and rows of packets whose chunks idle threads could do")             \
  X(chunks_offered, "chunks", "chunks of these")                                                   \
  X(chunks_given, "chunks", "of these, done by another thread than the one that offered them")     \
  X(chunks_helped, "chunks", "chunks of other threads' jobs that this rank did as it waited")      \
  X(pieces_together, "pieces", "pieces and chunks of messages offered to idle threads")            \
  X(pieces_given, "pieces", "of these, written or read by an idle thread")                         \
  X(kernel_copies, "calls", "system calls that copied between processes")                          \
  X(ring_full, "events", "sends that found the receiver's ring full and were queued")              \
  X(sends_delegated, "messages", "sends that were left to the rank's thread of weft's own")        \
  X(net_reads, "messages", "messages read from the memory of a rank on another node")              \
  X(net_read_bytes, "bytes", "bytes of these")                                                     \
  X(net_dropped, "packets", "packets of strangers, which were dropped")                            \
  X(lock_taken, "times", "threads took a context's lock (MPI_THREAD_MULTIPLE)")                    \
  X(lock_passed, "times", "a context's lock was taken by another thread than before")              \
  X(lock_passed_cluster, "times",                                                                  \
    "of these, to a CPU that shares the last cache, or the same one [with WEFT_STATS=1]")          \
  X(lock_passed_domain, "times",                                                                   \
    "of these, to another cache of the same memory domain [with WEFT_STATS=1]")                    \
  X(lock_passed_far, "times", "of these, to another memory domain [with WEFT_STATS=1]")            \
  X(lock_system_calls, "calls",                                                                    \
    "system calls to wait for a context's lock and to hand it on [with WEFT_STATS=1]")             \
  X(lock_longest_wait_ns, "ns", "longest wait for a context's lock [with WEFT_STATS=1]")           \
  X(lock_in_vain, "times", "a waiting thread took a context's lock and found nothing to do")       \
  X(signals, "times", "a waiting thread was woken because its operations were complete")           \
  X(signals_in_vain, "times", "a waiting thread was woken and had to wait on")                     \
  X(past_caches, "bytes", "bytes of messages that this rank copied past the caches")               \
  X(coll_past_caches, "bytes", "bytes that collectives copied past the caches")                    \
  X(background_wakes, "times", "the thread of weft's own was told that something has begun")       \
  X(background_taken, "times",                                                                     \
    "the thread of weft's own went on with what has begun, while no other thread was in MPI")      \
  X(background_steps, "looks", "of its looks, those that found something to do")                   \
  X(servers, "times", "a waiting thread began to look after messages for all, after another")      \
  X(thread_wakes, "wakes",                                                                         \
    "times a waiting thread of this rank was woken from sleep in the kernel")                      \
  X(issue_ns, "ns", "time in MPI calls outside of looks and waits [with WEFT_STATS=1]")            \
  X(poll_ns, "ns", "time of looks that found something [with WEFT_STATS=1]")                       \
  X(empty_ns, "ns", "time of looks that found nothing [with WEFT_STATS=1]")                        \
  X(sync_ns, "ns",                                                                                 \
    "time waiting: for the lock, a signal, between looks, at other contexts [with WEFT_STATS=1]")  \
  X(call_ns, "ns", "time in MPI calls that communicate, of all threads [with WEFT_STATS=1]")       \
  X(coll_copies, "copies", "copies this rank made in collectives through boards")                  \
  X(coll_steps, "reads", "reads of another rank's data in collectives through boards")             \
  X(coll_phases, "phases", "phases this rank has announced in collectives through boards")         \
  X(channel_messages, "messages", "messages sent through channels")                                \
  X(channel_copies, "copies", "copies this rank made of messages in channels")                     \
  X(rma_puts, "calls", "one-sided puts of this rank")                                              \
  X(rma_gets, "calls", "one-sided gets of this rank")                                              \
  X(rma_accumulates, "calls", "accumulations, fetches and swaps of this rank")                     \
  X(rma_syncs, "calls", "fences, starts, completes, locks, unlocks and flushes of this rank")      \
  X(rma_epochs, "epochs", "access epochs of this rank that have ended; of a fence if it was used") \
  X(rma_away, "calls", "one-sided operations of this rank on ranks of other nodes")                \
  X(rma_reached, "calls", "of these, by the network's own remote reads and writes")                \
  X(rma_messages, "messages", "messages about windows that this rank sent to other nodes")         \
  X(rma_served, "messages", "messages about windows that came from other nodes")                   \
  X(coll_net_messages, "messages", "messages that collectives sent to ranks on other nodes")       \
  X(coll_net_bytes, "bytes", "bytes of these")                                                     \
  X(coll_explored, "calls", "collectives that were timed to find the fastest way")                 \
  X(coll_verdicts, "times", "ranks compared the times of ways of a collective and size")           \
  X(coll_changes, "times", "of these, another way was faster and is taken from then on")

// Counters per level of the node: [0] the whole machine, [1] the next level inside, ... as
// topo/hierarchy.h numbers them. What a rank reads of another's data counts at the innermost level
// that holds both.
#define WEFT_LEVEL_COUNTERS(X)                                                                 \
  X(coll_bytes, "bytes", "bytes of other ranks' data read in collectives, per level")          \
  X(coll_lines_copied, "lines", "lines of other ranks' data copied in collectives, per level") \
  X(coll_lines_folded, "lines", "lines of other ranks' data folded in collectives, per level")

/// A counter that other threads read while one thread counts. relaxed: they may be late
inline void count_one(std::uint64_t& counter) {
  const std::atomic_ref c(counter);
  c.store(c.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}
inline std::uint64_t counted(const std::uint64_t& counter) {
  return std::atomic_ref(const_cast<std::uint64_t&>(counter)).load(std::memory_order_relaxed);
}

struct Counters {
  static constexpr int levels = 16;
#define X(name, unit, help) std::uint64_t name = 0;
  WEFT_COUNTERS(X)
#undef X
#define X(name, unit, help) std::uint64_t name[levels] = {};
  WEFT_LEVEL_COUNTERS(X)
#undef X

  /// Is it the most of something, not a sum?
  static constexpr bool is_mark(std::string_view name) {
    return name.find("peak") != name.npos || name.find("longest") != name.npos;
  }
  void add(const Counters& other) {
#define X(name, unit, help)            \
  if constexpr (is_mark(#name))        \
    name = std::max(name, other.name); \
  else                                 \
    name += other.name;
    WEFT_COUNTERS(X)
#undef X
#define X(name, unit, help) \
  for (int i = 0; i < levels; ++i) name[i] += other.name[i];
    WEFT_LEVEL_COUNTERS(X)
#undef X
  }
};

/// A counter as tools see it.
struct CounterDef {
  const char* name;
  const char* unit;
  const char* help;
  std::size_t offset;
  int elements;  // one, or one per level of the node

  bool is_mark() const { return Counters::is_mark(name); }
  const std::uint64_t* of(const Counters& counters) const {
    return reinterpret_cast<const std::uint64_t*>(reinterpret_cast<const std::byte*>(&counters) +
                                                  offset);
  }
};
inline constexpr CounterDef counter_table[] = {
#define X(name, unit, help) {#name, unit, help, offsetof(Counters, name), 1},
    WEFT_COUNTERS(X)
#undef X
#define X(name, unit, help) {#name, unit, help, offsetof(Counters, name), Counters::levels},
        WEFT_LEVEL_COUNTERS(X)
#undef X
};

}  // namespace weft
