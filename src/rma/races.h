// SPDX-License-Identifier: Apache-2.0
//
// With WEFT_ABI_CHECK=full every access is written down in its target's book before it is made, and
// compared with those of other origins that are there: two that overlap in one epoch, and do not
// both read or both accumulate, have no defined result (MPI-5.0 section 12.7). An access stays in
// the book until synchronization has ended it, so a pair that is found was concurrent for sure,
// however the two ranks came to it; one that is not found may still be wrong under locks, where it
// depends on who comes when. A book is in the memory of its node; ranks of other nodes ask the
// target by messages, and wait for the answer.
//
// Windows of other jobs have no book, and calls do not ask for one: Window::is_simple.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>

#include "datatype/reduce.h"
#include "hang/symbols.h"
#include "rma/access.h"
#include "rma/limits.h"
#include "rma/window.h"

namespace weft::wire {
struct Cell;
}

namespace weft::rma {

enum class Does : std::uint8_t { nothing, put, get, accumulate };

/// Bytes of the target, as displacements count them: from its base, in a dynamic window from 0.
struct Range {
  std::int64_t begin, end;
};

/// An access, and who made it where.
struct Note {
  Does does = Does::nothing;  // nothing: the entry is free
  Window::Epoch epoch{};
  datatype::Basic basic{};
  bool reads_only = false;  // an accumulation of MPI_NO_OP, or a get
  bool brings = false;      // data back: it is over when it is over at the origin
  std::int32_t origin = 0;
  std::int32_t pid = 0;
  std::uint32_t fences = 0;    // of the origin so far
  std::uint32_t exposure = 0;  // the target's, of an access in an epoch of MPI_Win_start
  Range range{};
  std::uint64_t site = 0;
  char call[24] = "";
  char where[compared_text] = "";
};

/// What the origin asks its target, and the ranges behind it.
struct Visit {
  Note note;
  bool is_kept = true;  // it is over later than its call
  std::uint32_t ranges = 0;
  Range range[compared_ranges];
};

enum class Wrong : std::uint32_t {
  nothing,
  overlap,       // with `other`
  epochs,        // `other` is in an epoch of another kind
  exposed,       // locked, while the target has an epoch of MPI_Win_post
  not_posted_so  // the target has said MPI_MODE_NOPUT
};
struct Answer {
  Wrong wrong = Wrong::nothing;
  Range range{};
  Note other{};
};

/// Of one member; zero at the start.
struct Book {
  std::atomic<std::uint32_t> held;  // somebody reads or writes what follows
  std::uint32_t used;               // entries, from the first on
  std::uint32_t next;               // the entry that goes if there is no room
  std::uint32_t exposure;           // MPI_Win_post calls
  bool exposed, no_put, fence_no_put;
  std::uint32_t no_put_fence;  // the fence that has said so
  // Of the member's fences, by number modulo 2; and how many it has begun.
  std::atomic<std::int32_t> fence_says[2];
  std::atomic<std::uint32_t> fences;
  /// Members that wait for a post of this one; the last one of them.
  std::atomic<std::uint32_t> awaited, awaited_by;
  Note notes[compared_notes];
};

/// Names of call sites; each is looked up once.
struct Sites {
  std::mutex mutex;
  hang::Symbols symbols;
  Sites();
};

/// Is it checked, and how is its memory shared?
bool are_compared(const pt2pt::Engine& e);

struct Doing {
  Does does;
  const datatype::Type* type;  // of the target's elements
  datatype::Operation operation = datatype::Operation::null;
  bool brings = false;
  bool is_kept = true;  // an operation with a request may be over earlier
  bool passive = false;
};
/// Before an access, if the window is not simple: tell the trace, and ask the book. The target is
/// locked afterwards, if that was still to do.
Err watch(Window& win, const Doing& doing, const Place& place);

/// Accesses of this rank that a call ends: all, or those that bring data.
enum class Forget : std::uint64_t { all, those_that_bring };
void forget(Window& win, int rank, Forget which);
void forget_all(Window& win, Forget which);

// --- synchronization, if accesses are compared
void note_fence(Window& win, int assert);
Err check_fence(Window& win, int assert);
/// Posts for this rank that it has not answered, or ranks that wait for one of its own: at a call
/// that all members make, neither can be answered any more.
Err check_posts(Window& win, const char* call);
void note_post(Window& win, int assert);
void note_wait(Window& win);
/// This rank waits for a post of `target`, which is not there yet; and does not any more.
Err begin_await_post(Window& win, Target& target, int assert);
void end_await_post(Window& win, Target& target);
Err check_unchecked_lock(Window& win, int rank);

// --- what a target answers (serve.cc)
void serve_visit(Window& win, const wire::Cell& cell);
void serve_forget(Window& win, const wire::Cell& cell);
void take_seen(const wire::Cell& cell);

}  // namespace weft::rma
