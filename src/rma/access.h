// SPDX-License-Identifier: Apache-2.0
//
// One-sided operations (MPI-5.0 §12.3). On this node they are over when the call returns, and those
// with a request give a complete one; to other nodes they begin (away.cc). Arguments are checked;
// MPI_PROC_NULL is a target to which nothing happens.
#pragma once

#include <mpi.h>

#include <cstdint>

#include "base/err.h"
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
