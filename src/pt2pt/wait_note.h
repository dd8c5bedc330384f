// SPDX-License-Identifier: Apache-2.0
//
// What a waiting thread tells the job about its wait (hang/record.h), once it has waited for
// hang::noted_after_ns: a wait asks before each sleep, so a short one costs a reading of the clock
// at most, and one that does not sleep nothing.
#pragma once

#include <cstdint>

#include "hang/record.h"
#include "object/objects.h"

namespace weft::pt2pt {

struct Engine;
struct Awaited;

/// What a wait is about that is not about messages.
struct About {
  hang::What what = hang::What::other;
  const object::Comm* comm = nullptr;
  std::int32_t rank = 0;  // of `comm`, MPI_ANY_SOURCE: any; ignored if there is `lacks`
  std::int32_t tag = 0;
  std::uint64_t number = hang::Need::not_counted;  // of a collective
  // Of a collective that is waited for by its request: "allreduce", and whether it is persistent.
  const char* call = nullptr;
  bool persistent = false;
  const char* window = nullptr;  // of one: its name, and which call of `rank`
  const char* window_call = "";
  /// Is `rank` one of those whose part is missing?
  bool (*lacks)(const void* object, int rank) = nullptr;
  const void* object = nullptr;
};

/// A wait for the end of all that this rank has sent.
inline constexpr About sent_messages{};

/// Of one wait, on the stack of the thread that waits.
class WaitNote {
 public:
  ~WaitNote() {
    if (wait_ != 0) [[unlikely]]
      give_back();
  }
  /// About to sleep, after a look that found nothing; under the rank's lock. Returns how long to
  /// sleep at most, in ns; 0: until woken. `at_mailbox`: the thread looks after messages itself.
  std::int64_t before_sleep(Engine& e, const Awaited& awaited, bool at_mailbox = true);
  bool is_written() const { return wait_ != 0; }

 private:
  void write(Engine& e, const Awaited& awaited);
  void give_back();

  hang::Slot* slot_ = nullptr;
  hang::Board* crowded_ = nullptr;  // where the thread found no slot
  std::int64_t since_ns_ = 0;
  std::uint64_t done_ = 0;           // what the rank had done at the last look
  std::int64_t write_again_ns_ = 0;  // not before
  std::uint64_t wait_ = 0;
  std::int64_t moved_ns_ = 0;
  std::uint64_t call_site_ = 0;
  const char* call_ = "";
  bool at_mailbox_ = false;
};

}  // namespace weft::pt2pt
