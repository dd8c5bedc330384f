// SPDX-License-Identifier: Apache-2.0
//
// What the entry points of one-sided operations try first: a right call of the usual kind, whose
// two types are the same predefined one and whose target's memory is here, is a comparison each and
// then loads and stores. Each function says whether it has done the operation; if not, it has done
// nothing, and the usual way (Entry, checks, rma) does it, or says what is wrong.
//
// No call here begins anything that another thread has to go on with, or waits, so there is no
// frame. Windows that are traced, timed or compared, or have members on other nodes, are not
// is_simple. A window lives only while MPI is initialized.
#pragma once

#include <mpi.h>

#include <cstdint>

#include "abi/entry.h"
#include "datatype/type.h"
#include "rma/access.h"
#include "rma/window.h"

namespace weft::abi::one_sided {

/// A window of the calling thread's rank, else null.
[[gnu::always_inline]] inline rma::Window* window(MPI_Win handle) {
  Rank* const rank = world::this_thread_rank;
  return rank != nullptr ? window_of(*rank, handle) : nullptr;
}

/// Elements at the origin, and as many of the same type at the target.
struct Both {
  const void* here;
  std::int64_t count;
  MPI_Datatype type;
  int rank;
  MPI_Aint disp;
  std::int64_t target_count;
  MPI_Datatype target_type;
};

/// An operation on elements that are one block on both sides.
struct Blocks {
  rma::Window* win;  // null: not of this kind
  rma::Target* target;
  std::byte* there;
  std::int64_t bytes;
  const datatype::Type* type;
};

[[gnu::always_inline]] inline Blocks blocks(const Both& a, MPI_Win handle) {
  rma::Window* const win = window(handle);
  const datatype::Type* const type = datatype::dense_predefined(a.type);
  if (win == nullptr || type == nullptr || is_constant(a.here) || a.type != a.target_type ||
      a.count != a.target_count || a.count < 1 || a.count > rma::straight_bytes)
    return {};
  const std::int64_t bytes = a.count * type->size;
  if (bytes > rma::straight_bytes) return {};
  rma::Target* const target = win->open_target(a.rank);
  if (target == nullptr) return {};
  std::byte* const there = target->at(a.disp, bytes);
  return {there != nullptr ? win : nullptr, target, there, bytes, type};
}

[[gnu::always_inline]] inline bool put(const Both& a, MPI_Win handle) {
  const Blocks b = blocks(a, handle);
  if (b.win == nullptr) return false;
  count_one(b.win->counters->rma_puts);
  rma::store(b.there, static_cast<const std::byte*>(a.here), b.bytes);
  b.win->note_stores();
  return true;
}

[[gnu::always_inline]] inline bool get(const Both& a, MPI_Win handle) {
  const Blocks b = blocks(a, handle);
  if (b.win == nullptr) return false;
  count_one(b.win->counters->rma_gets);
  rma::load(static_cast<std::byte*>(const_cast<void*>(a.here)), b.there, b.bytes);
  return true;
}

/// The operations of counters and flags; the others take the usual way.
[[gnu::always_inline]] inline datatype::Operation usual(MPI_Op op) {
  using enum datatype::Operation;
  return op == MPI_SUM ? sum : op == MPI_REPLACE ? replace : op == MPI_NO_OP ? no_op : null;
}

[[gnu::always_inline]] inline bool accumulate(const Both& a, MPI_Op op, MPI_Win handle,
                                              void* result = nullptr) {
  const datatype::Operation operation = usual(op);
  const Blocks b = blocks(a, handle);
  if (b.win == nullptr || operation == datatype::Operation::null ||
      !rma::is_usual_number(b.type->basic) || !b.win->direct)
    return false;
  // All their sizes are powers of two.
  if ((reinterpret_cast<std::uintptr_t>(b.there) & static_cast<std::uintptr_t>(b.type->size - 1)) !=
      0)
    return false;
  count_one(b.win->counters->rma_accumulates);
  rma::change_numbers(*b.win, *b.target, operation, *b.type, {b.there, a.here, result, a.count});
  return true;
}

[[gnu::always_inline]] inline bool fetch_and_op(const void* from, void* result, MPI_Datatype type,
                                                int rank, MPI_Aint disp, MPI_Op op,
                                                MPI_Win handle) {
  return !is_constant(result) &&
         accumulate({from, 1, type, rank, disp, 1, type}, op, handle, result);
}

/// Calls that change the window take its context's lock, if the rank has several threads.
[[gnu::always_inline]] inline rma::Window* unshared_window(MPI_Win handle) {
  rma::Window* const win = window(handle);
  // acquire: as Entry
  return win != nullptr && world::this_thread_rank->engine.framed.load(std::memory_order_acquire) ==
                               pt2pt::Engine::Framed::no
             ? win
             : nullptr;
}
[[gnu::always_inline]] inline bool lock(int type, int rank, int assert, MPI_Win handle) {
  rma::Window* const win = unshared_window(handle);
  return win != nullptr && rma::lock_at_once(*win, type, rank, assert);
}
[[gnu::always_inline]] inline bool unlock(int rank, MPI_Win handle) {
  rma::Window* const win = unshared_window(handle);
  return win != nullptr && rma::unlock_at_once(*win, rank);
}

/// All operations on a simple window are over; what is left is their order.
[[gnu::always_inline]] inline bool flush(int rank, MPI_Win handle) {
  rma::Window* const win = window(handle);
  return win != nullptr && win->flush_at_once(rank);
}

}  // namespace weft::abi::one_sided
