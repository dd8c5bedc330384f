// SPDX-License-Identifier: Apache-2.0
//
// The trace: when a rank was in which MPI call, and when it waited there. A ring of the newest
// events per rank, made only if WEFT_TRACE names a file; written at MPI_Finalize as JSON in the
// trace-event format that chrome://tracing and Perfetto show.
#pragma once

#include <pthread.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <set>
#include <string>

#include "base/clock.h"

namespace weft {

/// The newest events of one rank. Threads may add at once.
class Trace {
 public:
  static constexpr std::size_t capacity = 1 << 16;
  Trace() : events_(new Event[capacity]) {}

  static std::uint64_t now_ns() { return static_cast<std::uint64_t>(weft::now_ns()); }
  /// `name` is a constant.
  void add(const char* name, std::uint64_t begin_ns) {
    // relaxed: hands out places; they are read when all threads are done
    events_[count_.fetch_add(1, std::memory_order_relaxed) % capacity] = {
        begin_ns, now_ns(), name, pthread_self(), {}};
  }

  /// What an MPI call of one-sided communication is about; shown with the call's bar.
  struct Note {
    const char* window = nullptr;  // kept
    std::int32_t target = -1;      // -1: no one rank
    std::int64_t bytes = -1;       // -1: it is no operation
  };
  /// Of the call that the calling thread is in.
  void note(const Note& note) {
    // relaxed: as in add()
    events_[count_.fetch_add(1, std::memory_order_relaxed) % capacity] = {now_ns(), 0, nullptr,
                                                                          pthread_self(), note};
  }
  /// A name that stays as long as the trace does.
  const char* keep(const std::string& name) {
    const std::lock_guard guard(names_lock_);
    return names_.insert(name).first->c_str();
  }

  /// All ranks of a job write into one file; world rank 0 makes it when it starts. It is a JSON
  /// array at any time. False with errno if it cannot be written.
  static bool begin_file(const char* path);
  bool write(const char* path, int world_rank) const;
  /// The calling thread, for this rank's lines of the trace. `name` is a constant.
  void name_thread(const char* name);

 private:
  struct Event {
    std::uint64_t begin_ns, end_ns;
    const char* name;  // null: a note
    pthread_t thread;
    Note note{};
  };
  std::unique_ptr<Event[]> events_;
  std::atomic<std::size_t> count_{0};
  std::mutex names_lock_;
  std::set<std::string> names_;
  // One thread of weft's own at most. Release: by it; pairs with write().
  pthread_t own_{};
  std::atomic<const char*> own_name_{nullptr};
};

/// An event as long as this object, if there is a trace.
class TraceSpan {
 public:
  TraceSpan(Trace* trace, const char* name) : trace_(trace), name_(name) {
    if (trace_ != nullptr) [[unlikely]]
      begin_ns_ = Trace::now_ns();
  }
  ~TraceSpan() {
    if (trace_ != nullptr) [[unlikely]]
      trace_->add(name_, begin_ns_);
  }
  TraceSpan(const TraceSpan&) = delete;
  TraceSpan& operator=(const TraceSpan&) = delete;

 private:
  Trace* trace_;
  const char* name_;
  std::uint64_t begin_ns_ = 0;
};

}  // namespace weft
