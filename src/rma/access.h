// SPDX-License-Identifier: Apache-2.0
//
// One-sided operations (MPI-5.0 §12.3). On this node they are over when the call returns, and those
// with a request give a complete one; to other nodes they begin (away.cc). Arguments are checked;
// MPI_PROC_NULL is a target to which nothing happens.
#pragma once

#include <mpi.h>

#include <atomic>
#include <cstdint>
#include <cstring>

#include "base/err.h"
#include "datatype/reduce.h"
#include "datatype/type.h"
#include "rma/window.h"

namespace weft::rma {

using datatype::Buffer;
using datatype::ConstBuffer;
using datatype::Type;

/// Where an operation goes: `count` elements of `type`, `disp` units behind the window's base
/// (behind address 0 in a dynamic one).
struct Place {
  int rank;
  std::int64_t disp;
  std::int64_t count;
  const Type* type;
};

Err put(const ConstBuffer& from, const Place& to, Window& win);
Err get(const Buffer& to, const Place& from, Window& win);
/// `away`: the request of one on a rank of another node, if it is to have one (written then only).
Err accumulate(const ConstBuffer& from, const Place& to, const object::Op& op, Window& win,
               MPI_Request* away = nullptr);
Err get_accumulate(const ConstBuffer& from, const Buffer& result, const Place& to,
                   const object::Op& op, Window& win, MPI_Request* away = nullptr);
Err fetch_and_op(const void* from, void* result, const Place& to, const object::Op& op,
                 Window& win);
Err compare_and_swap(const void* from, const void* compare, void* result, const Place& to,
                     Window& win);

// The same, and a request.
Err rput(const ConstBuffer& from, const Place& to, Window& win, MPI_Request* out);
Err rget(const Buffer& to, const Place& from, Window& win, MPI_Request* out);
Err raccumulate(const ConstBuffer& from, const Place& to, const object::Op& op, Window& win,
                MPI_Request* out);
Err rget_accumulate(const ConstBuffer& from, const Buffer& result, const Place& to,
                    const object::Op& op, Window& win, MPI_Request* out);

// --- between the files of this room

inline bool is_away(Window& win, int rank) {
  return win.exchange != nullptr && rank != MPI_PROC_NULL && win.find_near(rank) == nullptr;
}

inline bool is_word(std::int64_t bytes) {
  return bytes > 0 && bytes <= 8 && (bytes & (bytes - 1)) == 0;
}
/// Copy into the memory of a window. What is an aligned word of a machine is one store: a program
/// may look at its memory until another rank has written it (§12.7).
inline void store(std::byte* to, const std::byte* from, std::int64_t bytes) {
  const auto whole = [&]<class Word>(Word word) {
    std::memcpy(&word, from, sizeof word);
    // release: pairs with the program's look at it
    std::atomic_ref(*reinterpret_cast<Word*>(to)).store(word, std::memory_order_release);
  };
  if (is_word(bytes) &&
      (reinterpret_cast<std::uintptr_t>(to) & static_cast<std::uintptr_t>(bytes - 1)) == 0) {
    if (bytes == 8) return whole(std::uint64_t{});
    if (bytes == 4) return whole(std::uint32_t{});
    if (bytes == 1) return whole(std::uint8_t{});
    return whole(std::uint16_t{});
  }
  std::memcpy(to, from, static_cast<std::size_t>(bytes));
}
/// The same out of it. (memcpy of 8 bytes that the compiler knows is one load.)
inline void load(std::byte* to, const std::byte* from, std::int64_t bytes) {
  if (bytes == 8)
    std::memcpy(to, from, 8);
  else
    std::memcpy(to, from, static_cast<std::size_t>(bytes));
}

/// target[i] = in[i] op target[i], and the old values to `out` unless it is null.
struct Elements {
  void* target;
  const void* in;  // not used by no_op; need not be aligned
  void* out;
  std::int64_t n;
};
/// Numbers of which the processor changes a sum at once, and which are never moved as one.
inline bool is_usual_number(datatype::Basic b) {
  using enum datatype::Basic;
  return (b > i8 && b <= u64 && b != u8) || b == f32 || b == f64;
}
/// Accumulate usual numbers, aligned, in memory that all members reach; sum, replace or no_op.
void change_numbers(Window& win, Target& target, datatype::Operation op, const Type& type,
                    const Elements& e);

/// The memory that an operation touches, checked; `target` is null for MPI_PROC_NULL.
struct Reached {
  Target* target = nullptr;
  /// The place as a buffer. It can be dereferenced if `direct`; else it lies in another process.
  Buffer buffer{};
  bool direct = false;
};
/// Is there an epoch for it, is it in the window? Locks the target if that is still to do.
Err reach(Window& win, const Place& place, Reached* out);
/// Between memory here and memory of another process.
Err kernel_put(const ConstBuffer& from, const Reached& to, std::int64_t bytes);
Err kernel_get(const Buffer& to, const Reached& from, std::int64_t bytes);
/// The kernel could not copy: why?
Err kernel_failed(const Target& target);

}  // namespace weft::rma
