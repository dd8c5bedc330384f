// SPDX-License-Identifier: Apache-2.0
//
// What the other rooms know of a datatype: sizes, bounds, and three operations on buffers (pack,
// unpack, copy). How a type is built and compiled is this folder's business.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/err.h"
#include "base/pool.h"

namespace weft::datatype {

struct Construction;  // how the type was made (envelope and contents)
struct Layout;        // compiled at commit: where the bytes are

/// The machine type under a predefined datatype (several MPI names share one), for reductions.
enum class Basic : std::uint8_t {
  none, i8, i16, i32, i64, u8, u16, u32, u64, f16, bf16, f32, f64, f80,
  c32, c64, c80,                       // float, double, long double _Complex
  logical1, logical2, logical4, logical8, boolean, character, byte,
  pair_float_int, pair_double_int, pair_long_int, pair_2int, pair_short_int, pair_longdouble_int,
  pair_2real, pair_2double_precision,  // Fortran's MINLOC/MAXLOC pairs
};

struct Type : Object {
  std::int64_t size = 0;         // bytes of data in one element
  std::int64_t lb = 0;
  std::int64_t extent = 0;
  std::int64_t true_lb = 0;
  std::int64_t true_extent = 0;
  bool dense = false;            // any count of elements is one block of size*count bytes at true_lb
  bool committed = false;
  bool predefined = false;
  Basic basic = Basic::none;     // of a predefined type; of a derived one if all of its data is of it
  Construction* construction = nullptr;
  Layout* layout = nullptr;      // null while dense or not committed
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

/// Keep a type alive while an operation uses it, and let it go (the last one destroys it). No effect
/// on predefined types, which are constant. Under the rank's lock.
void retain(const Type& type);
void release(const Type& type);

/// Copy bytes [offset, offset + n) of the packed form of `from` to `out`; n = min(max, what is left).
/// Returns n. Any offset is legal. cost: no allocation.
std::int64_t pack(const ConstBuffer& from, std::int64_t offset, void* out, std::int64_t max);
/// The reverse: `n` bytes of packed data at `in` are bytes [offset, offset + n) of `to`.
void unpack(const Buffer& to, std::int64_t offset, const void* in, std::int64_t n);
/// Copy `bytes` bytes of data from one typed buffer to another without a packed form between.
void copy(const ConstBuffer& from, const Buffer& to, std::int64_t bytes);

/// Where the data starts; only for a dense type: the data is one block.
inline const std::byte* block(const ConstBuffer& b) {
  return static_cast<const std::byte*>(b.data) + b.type->true_lb;
}
inline std::byte* block(const Buffer& b) { return static_cast<std::byte*>(b.data) + b.type->true_lb; }

/// The predefined type of an ABI handle value (MPI_INT, ...), nullptr if it is none. The table is
/// constant and shared by all ranks.
const Type* predefined(std::uintptr_t handle);

}  // namespace weft::datatype
