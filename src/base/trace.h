// SPDX-License-Identifier: Apache-2.0
//
// The trace ring: what a rank did when, as 32-byte events, written at MPI_Finalize as a Chrome
// trace (chrome://tracing, Perfetto) to the file WEFT_TRACE names. Off: one test of a null pointer
// per call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace weft {

struct TraceEvent {
  std::uint64_t begin_ns, end_ns;
  const char* name;  // a constant
  std::uint64_t bytes;
};
static_assert(sizeof(TraceEvent) == 32);

/// The newest events of one rank. Guarded by the rank's lock.
class Trace {
 public:
  static constexpr std::size_t capacity = 1 << 16;
  Trace() : events_(new TraceEvent[capacity]) {}
  void add(const TraceEvent& event) { events_[count_++ % capacity] = event; }
  /// Append the events to `path`. All ranks of a job write into one file, one after the other; the
  /// `first` one (world rank 0 at its init) makes it. False if it cannot be written.
  static bool begin_file(const char* path);
  bool write(const char* path, int world_rank) const;

 private:
  std::unique_ptr<TraceEvent[]> events_;
  std::size_t count_ = 0;
};

}  // namespace weft
