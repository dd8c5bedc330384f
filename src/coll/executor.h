// SPDX-License-Identifier: Apache-2.0
//
// Runs schedules over point-to-point messages of the collective space, and at boards. The caller of
// a blocking collective runs its own; schedules of nonblocking and persistent ones are advanced by
// progress. A failed message does not stop a schedule (others count on its steps); the first error
// is kept.
#pragma once

#include "coll/schedule.h"
#include "pt2pt/pt2pt.h"
#include "pt2pt/wait_note.h"

namespace weft::coll {

class Executor {
 public:
  /// Prepare to run from the start. `tag` tells this operation from others of the communicator.
  static void begin(Schedule& schedule, int tag);
  /// The same again, with the same tag.
  static void rewind(Schedule& schedule);
  /// Do what can be done without waiting. True when the schedule is done.
  static bool advance(Schedule& schedule, object::Comm& comm);
  /// The same in the call that starts it, which leaves long copies to the rank's thread of weft's
  /// own.
  static bool start(Schedule& schedule, object::Comm& comm);
  /// Run to the end, with progress of everything else meanwhile.
  static Err run(Schedule& schedule, object::Comm& comm);

  /// Does it wait for a board of the communicator's ring?
  static bool waits_for_board(const Schedule& schedule) {
    return schedule.boards_ != nullptr && !schedule.owns_boards_ && !schedule.open_;
  }
  static Err error(const Schedule& schedule) { return schedule.error_; }
  /// Which collective it is; without messages under way also what it waits for.
  static pt2pt::About about(const Schedule& schedule, const object::Comm& comm);
  /// The messages of the round under way.
  static std::span<object::Request* const> pending(const Schedule& schedule) {
    return schedule.pending_;
  }

 private:
  static void post_messages(Schedule& schedule, object::Comm& comm);
  static void finish_round(Schedule& schedule, const object::Comm& comm);
  /// Run the round's local steps. False: one waits for a phase.
  static bool run_steps(Schedule& schedule, object::Comm& comm);
  /// Does who has come to that place do the same as this rank? If not, the operation is over.
  static bool agrees(Schedule& schedule, int place, const object::Comm& comm);
  /// False: by a visitor, whose rank comes back.
  static bool fetch(Schedule& schedule, const Step& step, const object::Comm& comm);
  static std::int64_t labelled(const Schedule& schedule, const void* label);
  static void give(Schedule& schedule, const Step& step, const object::Comm& comm);
  static bool run_at_board(Schedule& schedule, const Step& step, object::Comm& comm);
  /// What a step at a board reads.
  static ConstBuffer source(const Schedule& schedule, const Step& step);
  /// Is the board free, or the phase there, that the schedule waits for?
  static bool may_go_on(Schedule& schedule);
  /// Can the phase that is awaited not come any more? Then the operation is over.
  static bool is_lost(Schedule& schedule, object::Comm& comm);
  static bool is_deserted(Schedule& schedule, object::Comm& comm);
  static bool leave(Schedule& schedule, Err error);
  static bool end(Schedule& schedule, Err error);
  /// Has a rank as much for this one as is expected? If not, the operation is over.
  static bool fits(Schedule& schedule, const Step& step, const object::Comm& comm);
};

}  // namespace weft::coll
