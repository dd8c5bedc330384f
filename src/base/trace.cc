// SPDX-License-Identifier: Apache-2.0
//
// The file ends with "\n]\n" whenever nobody writes: each rank, under a file lock, puts its events
// in front of that. In the viewer a rank is a process, a thread of a rank a thread.
#include "base/trace.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <vector>

namespace weft {
namespace {

constexpr char end[] = "\n]\n";

/// Metadata of the format: names in the viewer.
void write_name(std::FILE* file, const char* what, int rank, std::size_t thread, const char* key,
                const char* text, std::size_t number) {
  std::fprintf(file,
               "{\"name\":\"%s\",\"ph\":\"M\",\"pid\":%d,\"tid\":%zu,\"args\":{\"%s\":\"%s%zu\"}}",
               what, rank, thread, key, text, number);
}

/// In quotes, as JSON has it.
void write_text(std::FILE* file, const char* text) {
  std::fputc('"', file);
  for (; *text != 0; ++text) {
    const auto c = static_cast<unsigned char>(*text);
    if (c == '"' || c == '\\')
      std::fprintf(file, "\\%c", c);
    else if (c < 0x20)
      std::fprintf(file, "\\u%04x", c);
    else
      std::fputc(c, file);
  }
  std::fputc('"', file);
}

void write_note(std::FILE* file, const Trace::Note& note) {
  std::fputs(",\"args\":{\"window\":", file);
  write_text(file, note.window);
  if (note.target >= 0) std::fprintf(file, ",\"target\":%d", note.target);
  if (note.bytes >= 0) std::fprintf(file, ",\"bytes\":%lld", static_cast<long long>(note.bytes));
  std::fputs("}", file);
}

}  // namespace

void Trace::name_thread(const char* name) {
  own_ = pthread_self();
  own_name_.store(name, std::memory_order_release);
}

bool Trace::begin_file(const char* path) {
  std::FILE* file = std::fopen(path, "we");
  if (file == nullptr) return false;
  std::fputs("[\n", file);
  write_name(file, "process_name", 0, 0, "name", "rank ", 0);
  std::fputs(end, file);
  return std::fclose(file) == 0;
}

bool Trace::write(const char* path, int world_rank) const {
  std::FILE* file = std::fopen(path, "r+e");
  if (file == nullptr) return false;
  flock(fileno(file), LOCK_EX);
  std::fseek(file, -static_cast<long>(sizeof end - 1), SEEK_END);
  std::fputs(",\n", file);
  write_name(file, "process_name", world_rank, 0, "name", "rank ",
             static_cast<std::size_t>(world_rank));
  const std::size_t count = count_.load(std::memory_order_relaxed);
  const std::size_t kept = std::min(count, capacity);
  if (kept < count) {
    std::fputs(",\n", file);
    write_name(file, "process_labels", world_rank, 0, "labels",
               "older events left out: ", count - kept);
  }
  const char* const own = own_name_.load(std::memory_order_acquire);
  std::vector<pthread_t> threads;
  std::vector<const Event*> notes;  // by thread: of the call that ends next
  for (std::size_t i = count - kept; i < count; ++i) {
    const Event& e = events_[i % capacity];
    const auto at = std::find(threads.begin(), threads.end(), e.thread);
    const auto thread = static_cast<std::size_t>(at - threads.begin());
    if (at == threads.end()) {
      threads.push_back(e.thread);
      notes.push_back(nullptr);
      if (own != nullptr && pthread_equal(e.thread, own_) != 0) {
        std::fputs(",\n", file);
        write_name(file, "thread_name", world_rank, thread, "name", own, world_rank);
      }
    }
    if (e.name == nullptr) {
      notes[thread] = &e;
      continue;
    }
    std::fprintf(file,
                 ",\n{\"name\":\"%s\",\"ph\":\"X\",\"pid\":%d,\"tid\":%zu,\"ts\":%.3f,\"dur\":%.3f",
                 e.name, world_rank, thread, static_cast<double>(e.begin_ns) / 1e3,
                 static_cast<double>(e.end_ns - e.begin_ns) / 1e3);
    // What was noted inside of a call belongs to it; a wait inside of it ends before, and is none.
    const Event* const note = notes[thread];
    if (note != nullptr && std::strncmp(e.name, "MPI_", 4) == 0) {
      if (note->begin_ns >= e.begin_ns) write_note(file, note->note);
      notes[thread] = nullptr;
    }
    std::fputs("}", file);
  }
  std::fputs(end, file);
  return std::fclose(file) == 0;  // releases the lock
}

}  // namespace weft
