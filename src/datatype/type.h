// SPDX-License-Identifier: Apache-2.0
//
// What the other rooms know of a datatype: sizes, bounds, and three operations on buffers (pack,
// unpack, copy). How a type is built and compiled is this folder's business.
#pragma once

#include <mpi.h>

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/err.h"
#include "base/pool.h"

namespace weft::datatype {

struct Construction;  // how the type was made (envelope and contents)
struct Layout;        // compiled at commit: where the bytes are

/// The machine type under a predefined datatype (several MPI names share one), for reductions.
enum class Basic : std::uint8_t {
  none,
  // The first 15 can be the value of a pair.
  i8,
  i16,
  i32,
  i64,
  u8,
  u16,
  u32,
  u64,
  i128,
  f16,
  bf16,
  f32,
  f64,
  f80,
  f128,
  c16,
  c32,
  c64,
  c80,
  c128,  // complex, named by the width of one part
  logical1,
  logical2,
  logical4,
  logical8,
  logical16,
  boolean,
  character,
  byte,
  pair_2real,
  pair_2double_precision,  // Fortran's pairs of two reals
  pairs = 128,             // value-index pairs: pair_of(value, index)
  pair_float_int = pairs + 2 * 11,
  pair_double_int = pairs + 2 * 12,
  pair_long_int = pairs + 2 * 3,
  pair_2int = pairs + 2 * 2,
  pair_short_int = pairs + 2 * 1,
  pair_longdouble_int = pairs + 2 * 13,
};

/// The pair of a value and an index, as MPI_MINLOC and MPI_MAXLOC take it; none if there is no
/// such. The index is i32 or i64.
constexpr Basic pair_of(Basic value, Basic index) {
  const int v = static_cast<int>(value) - 1;
  if (v < 0 || v > 14 || (index != Basic::i32 && index != Basic::i64)) return Basic::none;
  return static_cast<Basic>(static_cast<int>(Basic::pairs) + 2 * v + (index == Basic::i64));
}
constexpr bool is_pair(Basic b) {
  return b >= Basic::pair_2real;
}
static_assert(pair_of(Basic::f32, Basic::i32) == Basic::pair_float_int);
static_assert(pair_of(Basic::f64, Basic::i32) == Basic::pair_double_int);
static_assert(pair_of(Basic::i64, Basic::i32) == Basic::pair_long_int);
static_assert(pair_of(Basic::i32, Basic::i32) == Basic::pair_2int);
static_assert(pair_of(Basic::i16, Basic::i32) == Basic::pair_short_int);
static_assert(pair_of(Basic::f80, Basic::i32) == Basic::pair_longdouble_int);

struct Type : Object {
  std::int64_t size = 0;  // bytes of data in one element
  std::int64_t lb = 0;
  std::int64_t extent = 0;
  std::int64_t true_lb = 0;
  std::int64_t true_extent = 0;
  bool dense = false;  // any count of elements is one block of size*count bytes at true_lb
  bool committed = false;
  bool predefined = false;
  bool marked_lb = false;  // the lower bound was set (resized, subarray, darray), not computed
  bool marked_ub = false;
  Basic basic = Basic::none;  // of a predefined type; of a derived one if all of its data is of it
  std::int32_t align = 1;     // largest alignment of its basic types
  std::int64_t elements = 0;  // basic elements, as MPI_Get_elements counts them
  Construction* construction = nullptr;  // null for the predefined types that have a name
  const Layout* layout = nullptr;        // null while dense or not committed
  /// What higher rooms keep with a derived type (name, attributes); given to Context::forget when
  /// the type is destroyed. Predefined types are constant: what belongs to them is kept per rank.
  void* attachment = nullptr;

  std::int64_t ub() const { return lb + extent; }
};

/// `count` elements of `type` at `data`; the buffer of a send.
struct ConstBuffer {
  const void* data;
  std::int64_t count;
  const Type* type;
  std::int64_t bytes() const { return count * type->size; }
};

/// `count` elements of `type` at `data`; the buffer of a receive.
struct Buffer {
  void* data;
  std::int64_t count;
  const Type* type;
  std::int64_t bytes() const { return count * type->size; }
  operator ConstBuffer() const { return {data, count, type}; }
};
/// Where one kind serves for both: what a send gave is still only read.
inline Buffer writable(const ConstBuffer& b) {
  return {const_cast<void*>(b.data), b.count, b.type};
}

/// Keep a type alive while an operation uses it, and let it go (the last one destroys it). No
/// effect on predefined types, which are constant.
void retain_own(const Type& type);
void release_own(const Type& type);
inline void retain(const Type& type) {
  if (!type.predefined) retain_own(type);
}
inline void release(const Type& type) {
  if (!type.predefined) release_own(type);
}

/// The blocks that an element's bytes lie in are about so long, on average.
std::int64_t block_bytes(const Type& type);
/// Copy bytes [offset, offset + n) of the packed form of `from` to `out`; n = min(max, what is
/// left). Returns n. Any offset is legal. cost: no allocation.
std::int64_t pack(const ConstBuffer& from, std::int64_t offset, void* out, std::int64_t max);
/// The reverse: `n` bytes of packed data at `in` are bytes [offset, offset + n) of `to`.
void unpack(const Buffer& to, std::int64_t offset, const void* in, std::int64_t n);
/// The same, by the calling thread alone: for chunks of a job (parallel/jobs.h).
void pack_alone(const ConstBuffer& from, std::int64_t offset, void* out, std::int64_t n);
void unpack_alone(const Buffer& to, std::int64_t offset, const void* in, std::int64_t n);
/// Copy `bytes` bytes of data from one typed buffer to another without a packed form between.
/// Each byte is copied once; the buffers do not overlap.
void copy(const ConstBuffer& from, const Buffer& to, std::int64_t bytes);
/// The same, of no more than both have, by the calling thread alone.
void copy_alone(const ConstBuffer& from, const Buffer& to, std::int64_t bytes);
/// The contiguous runs of memory that hold the bytes of `of` from `offset` on, in packed order: at
/// most `max` of them (neighbours merged). Returns how many; `*bytes` is what they hold.
int runs(const ConstBuffer& of, std::int64_t offset, struct iovec* out, int max,
         std::int64_t* bytes);

/// Where the data starts; only for a dense type: the data is one block.
inline const std::byte* block(const ConstBuffer& b) {
  return static_cast<const std::byte*>(b.data) + b.type->true_lb;
}
inline std::byte* block(const Buffer& b) {
  return static_cast<std::byte*>(b.data) + b.type->true_lb;
}

/// The predefined type of an ABI handle value (MPI_INT, ...), nullptr if it is none. The table is
/// constant and shared by all ranks.
const Type* predefined(std::uintptr_t handle);
/// The table: by handle, from the first one on.
inline constexpr std::uintptr_t first_predefined = 0x200, predefined_slots = 0xf0;
extern const std::array<Type, predefined_slots> predefined_types;
/// hot: the predefined type of a handle, if its elements follow each other without a gap, else
/// null.
inline const Type* dense_predefined(MPI_Datatype handle) {
  const std::uintptr_t slot = reinterpret_cast<std::uintptr_t>(handle) - first_predefined;
  if (slot >= predefined_slots || !predefined_types[slot].dense) return nullptr;
  return &predefined_types[slot];
}
/// MPI_BYTE.
const Type& byte_type();
/// "MPI_INT" for a predefined type with a name, else nullptr.
const char* predefined_name(const Type& type);
/// Type -> handle: the standard's constant for a named type, else the object's address.
MPI_Datatype handle(const Type& type);
/// Handle -> type; nullptr if it is no live datatype of this process. Safe for any bit pattern.
const Type* from_handle(MPI_Datatype handle);

}  // namespace weft::datatype
