// SPDX-License-Identifier: Apache-2.0
//
// Small words for the expressions of spec/overlay.toml: what turns a C argument into what the rooms
// below take, and their results into what the caller's pointers take.
#pragma once

#include <mpi.h>

#include <climits>
#include <cstddef>
#include <cstdint>

#include "base/err.h"
#include "coll/coll.h"
#include "datatype/api.h"
#include "object/attribute.h"
#include "object/errors.h"
#include "object/objects.h"
#include "pt2pt/pt2pt.h"

namespace weft::abi {

/// An array's length for std::span.
inline std::size_t size(int n) {
  return n > 0 ? static_cast<std::size_t>(n) : 0;
}

/// The buffers of v-collectives are one type for both directions; send buffers are only read.
inline void* mut(const void* p) {
  return const_cast<void*>(p);
}

inline coll::Counts counts(const int* data) {
  return {data, false};
}
inline coll::Counts counts(const MPI_Count* data) {
  return {data, true};
}

inline coll::How nonblocking(MPI_Request* out) {
  return {coll::How::nonblocking, out};
}
inline coll::How persistent(MPI_Request* out) {
  return {coll::How::persistent, out};
}

/// *to = value; ok.
template <class T, class U>
Err store(T* to, U value) {
  *to = static_cast<T>(value);
  return ok;
}

/// The same for a lower bound and an extent.
template <class T, class U>
Err store(T* lb, T* extent, U lb_value, U extent_value) {
  *lb = static_cast<T>(lb_value);
  *extent = static_cast<T>(extent_value);
  return ok;
}

/// What does not fit in an int is MPI_UNDEFINED there.
inline std::int64_t fitting(const int*, std::int64_t value) {
  return value > INT_MAX ? int{MPI_UNDEFINED} : value;
}
inline std::int64_t fitting(const MPI_Count*, std::int64_t value) {
  return value;
}

/// A 64-bit result for an int or MPI_Count variable: passed as its address, written when the call
/// is over. What does not fit in an int becomes MPI_UNDEFINED.
template <class T>
class Into {
 public:
  explicit Into(T* to) : to_(to), value_(*to) {}
  ~Into() { *to_ = static_cast<T>(fitting(to_, value_)); }
  operator std::int64_t*() { return &value_; }

 private:
  T* to_;
  std::int64_t value_;
};
inline Into<int> into(int* to) {
  return Into<int>(to);
}
inline Into<MPI_Count> into(MPI_Count* to) {
  return Into<MPI_Count>(to);
}

/// A new datatype for the caller's handle variable: passed as Type**, its handle is written when
/// the call is over if a type was made.
class TypeOut {
 public:
  explicit TypeOut(MPI_Datatype* to) : to_(to) {}
  ~TypeOut() {
    if (made_ != nullptr) *to_ = datatype::handle(*made_);
  }
  operator const datatype::Type**() { return &made_; }
  operator datatype::Type**() { return const_cast<datatype::Type**>(&made_); }

 private:
  MPI_Datatype* to_;
  const datatype::Type* made_ = nullptr;
};
inline TypeOut out(MPI_Datatype* to) {
  return TypeOut(to);
}

inline Err value_index(datatype::Context& context, const datatype::Type& value,
                       const datatype::Type& index, MPI_Datatype* pair) {
  const datatype::Type* type = nullptr;
  WEFT_TRY(datatype::value_index(context, value, index, &type));
  *pair = type != nullptr ? datatype::handle(*type) : MPI_DATATYPE_NULL;
  return ok;
}

/// MPI_Type_get_envelope: the form with int counts leaves the number of large counts out.
template <class T>
Err envelope(const datatype::Type& type, T* integers, T* addresses, T* large_counts, T* types,
             int* combiner) {
  const datatype::Envelope e = datatype::envelope(type);
  *integers = static_cast<T>(e.integers);
  *addresses = static_cast<T>(e.addresses);
  if (large_counts != nullptr) *large_counts = static_cast<T>(e.large_counts);
  *types = static_cast<T>(e.types);
  *combiner = e.combiner;
  return ok;
}
inline Err envelope(const datatype::Type& type, int* integers, int* addresses, int* types,
                    int* combiner) {
  return envelope<int>(type, integers, addresses, nullptr, types, combiner);
}

using Handler = object::Errhandler::What;
using object::Target;
using pt2pt::Mode;

/// Callbacks have a type per kind of object; the room below keeps them as void*.
template <class F>
Err create_errhandler(object::Store& store, Handler what, F* function, MPI_Errhandler* out) {
  return object::create_errhandler(store, what, reinterpret_cast<void*>(function), out);
}
template <class Copy, class Delete>
Err create_keyval(object::Store& store, Target target, Copy* copy, Delete* remove, int* keyval,
                  void* extra) {
  return object::create_keyval(store, target, reinterpret_cast<void*>(copy),
                               reinterpret_cast<void*>(remove), keyval, extra);
}

}  // namespace weft::abi
