// SPDX-License-Identifier: Apache-2.0
//
// The predefined datatypes, one row each, and the table made of them at compile time, indexed by
// the handle's low byte. Nothing here is ever written, so all ranks of a process share it. The
// handle values are the standard ABI's (a test compares each row with mpi.h).
#include <array>

#include "base/assert.h"
#include "datatype/construction.h"

namespace weft::datatype {
namespace {

using enum Basic;

struct Row {
  std::uint16_t handle;
  const char* name;
  Basic basic;
  std::uint8_t size, align;
  std::uint8_t external;               // bytes in external32
  std::uint16_t value = 0, index = 0;  // of a pair: the handles of its parts
  std::uint8_t index_disp = 0, extent = 0;
};

constexpr Row rows[] = {
    // Of two names of a handle, that which the standard does not call a synonym (§3.2.2).
    // handle, name, machine type, size, alignment, bytes in external32
    {0x201, "MPI_AINT", i64, 8, 8, 8},
    {0x202, "MPI_COUNT", i64, 8, 8, 8},
    {0x203, "MPI_OFFSET", i64, 8, 8, 8},
    {0x207, "MPI_PACKED", byte, 1, 1, 1},
    {0x208, "MPI_SHORT", i16, 2, 2, 2},
    {0x209, "MPI_INT", i32, 4, 4, 4},
    {0x20a, "MPI_LONG", i64, 8, 8, 4},
    {0x20b, "MPI_LONG_LONG_INT", i64, 8, 8, 8},
    {0x20c, "MPI_UNSIGNED_SHORT", u16, 2, 2, 2},
    {0x20d, "MPI_UNSIGNED", u32, 4, 4, 4},
    {0x20e, "MPI_UNSIGNED_LONG", u64, 8, 8, 4},
    {0x20f, "MPI_UNSIGNED_LONG_LONG", u64, 8, 8, 8},
    {0x210, "MPI_FLOAT", f32, 4, 4, 4},
    {0x212, "MPI_C_COMPLEX", c32, 8, 4, 8},
    {0x213, "MPI_CXX_FLOAT_COMPLEX", c32, 8, 4, 8},
    {0x214, "MPI_DOUBLE", f64, 8, 8, 8},
    {0x216, "MPI_C_DOUBLE_COMPLEX", c64, 16, 8, 16},
    {0x217, "MPI_CXX_DOUBLE_COMPLEX", c64, 16, 8, 16},
    {0x218, "MPI_LOGICAL", logical4, 4, 4, 4},
    {0x219, "MPI_INTEGER", i32, 4, 4, 4},
    {0x21a, "MPI_REAL", f32, 4, 4, 4},
    {0x21b, "MPI_COMPLEX", c32, 8, 4, 8},
    {0x21c, "MPI_DOUBLE_PRECISION", f64, 8, 8, 8},
    {0x21d, "MPI_DOUBLE_COMPLEX", c64, 16, 8, 16},
    {0x21e, "MPI_CHARACTER", character, 1, 1, 1},
    {0x220, "MPI_LONG_DOUBLE", f80, 16, 16, 16},
    {0x224, "MPI_C_LONG_DOUBLE_COMPLEX", c80, 32, 16, 32},
    {0x225, "MPI_CXX_LONG_DOUBLE_COMPLEX", c80, 32, 16, 32},
    // pairs: ..., external32, value, index, displacement of the index, extent
    {0x228, "MPI_FLOAT_INT", pair_float_int, 8, 4, 8, 0x210, 0x209, 4, 8},
    {0x229, "MPI_DOUBLE_INT", pair_double_int, 12, 8, 12, 0x214, 0x209, 8, 16},
    {0x22a, "MPI_LONG_INT", pair_long_int, 12, 8, 8, 0x20a, 0x209, 8, 16},
    {0x22b, "MPI_2INT", pair_2int, 8, 4, 8, 0x209, 0x209, 4, 8},
    {0x22c, "MPI_SHORT_INT", pair_short_int, 6, 4, 6, 0x208, 0x209, 4, 8},
    {0x22d, "MPI_LONG_DOUBLE_INT", pair_longdouble_int, 20, 16, 20, 0x220, 0x209, 16, 32},
    {0x230, "MPI_2REAL", pair_2real, 8, 4, 8, 0x21a, 0x21a, 4, 8},
    {0x231, "MPI_2DOUBLE_PRECISION", pair_2double_precision, 16, 8, 16, 0x21c, 0x21c, 8, 16},
    {0x232, "MPI_2INTEGER", pair_2int, 8, 4, 8, 0x219, 0x219, 4, 8},
    {0x238, "MPI_C_BOOL", boolean, 1, 1, 1},
    {0x239, "MPI_CXX_BOOL", boolean, 1, 1, 1},
    {0x23c, "MPI_WCHAR", none, 4, 4, 2},
    {0x240, "MPI_INT8_T", i8, 1, 1, 1},
    {0x241, "MPI_UINT8_T", u8, 1, 1, 1},
    {0x243, "MPI_CHAR", i8, 1, 1, 1},
    {0x244, "MPI_SIGNED_CHAR", i8, 1, 1, 1},
    {0x245, "MPI_UNSIGNED_CHAR", u8, 1, 1, 1},
    {0x247, "MPI_BYTE", byte, 1, 1, 1},
    {0x248, "MPI_INT16_T", i16, 2, 2, 2},
    {0x249, "MPI_UINT16_T", u16, 2, 2, 2},
    {0x250, "MPI_INT32_T", i32, 4, 4, 4},
    {0x251, "MPI_UINT32_T", u32, 4, 4, 4},
    {0x258, "MPI_INT64_T", i64, 8, 8, 8},
    {0x259, "MPI_UINT64_T", u64, 8, 8, 8},
    {0x2c0, "MPI_LOGICAL1", logical1, 1, 1, 1},
    {0x2c1, "MPI_INTEGER1", i8, 1, 1, 1},
    {0x2c8, "MPI_LOGICAL2", logical2, 2, 2, 2},
    {0x2c9, "MPI_INTEGER2", i16, 2, 2, 2},
    {0x2ca, "MPI_REAL2", f16, 2, 2, 2},
    {0x2d0, "MPI_LOGICAL4", logical4, 4, 4, 4},
    {0x2d1, "MPI_INTEGER4", i32, 4, 4, 4},
    {0x2d2, "MPI_REAL4", f32, 4, 4, 4},
    {0x2d3, "MPI_COMPLEX4", c16, 4, 2, 4},
    {0x2d8, "MPI_LOGICAL8", logical8, 8, 8, 8},
    {0x2d9, "MPI_INTEGER8", i64, 8, 8, 8},
    {0x2da, "MPI_REAL8", f64, 8, 8, 8},
    {0x2db, "MPI_COMPLEX8", c32, 8, 4, 8},
    {0x2e0, "MPI_LOGICAL16", logical16, 16, 16, 16},
    {0x2e1, "MPI_INTEGER16", i128, 16, 16, 16},
    {0x2e2, "MPI_REAL16", f128, 16, 16, 16},
    {0x2e3, "MPI_COMPLEX16", c64, 16, 8, 16},
    {0x2eb, "MPI_COMPLEX32", c128, 32, 16, 32},
};

struct Names {
  std::uint8_t row[predefined_slots];
};
constexpr Names make_names() {
  Names names{};
  for (std::size_t i = 0; i < std::size(rows); ++i)
    names.row[rows[i].handle - first_predefined] = static_cast<std::uint8_t>(i + 1);
  return names;
}
constexpr Names names = make_names();  // slot -> 1 + row, 0: no such type

constexpr Run short_int_runs[] = {{0, 0}, {4, 2}, {0, 6}};
constexpr Node short_int_node = {
    .kind = Node::Kind::blocks, .size = 6, .count = 2, .runs = short_int_runs};
constexpr Layout short_int_layout = {&short_int_node, 0};
// The other pairs with a gap have it at the end only: one block per element.
constexpr Node block12 = {.kind = Node::Kind::block, .size = 12, .length = 12, .child = nullptr};
constexpr Node block20 = {.kind = Node::Kind::block, .size = 20, .length = 20, .child = nullptr};
constexpr Layout block12_layout = {&block12, 0}, block20_layout = {&block20, 0};

constexpr const Row& row_at(std::uintptr_t handle) {
  return rows[names.row[handle - first_predefined] - 1];
}

constexpr const Layout* gap_layout(Basic b) {
  if (b == pair_short_int) return &short_int_layout;
  if (b == pair_double_int || b == pair_long_int) return &block12_layout;
  if (b == pair_longdouble_int) return &block20_layout;
  return nullptr;
}

constexpr std::array<Type, predefined_slots> make_table() {
  std::array<Type, predefined_slots> table{};
  for (const Row& row : rows) {
    Type& t = table[row.handle - first_predefined];
    t.kind = Kind::datatype;
    t.refs = 1;
    t.size = row.size;
    t.extent = row.extent ? row.extent : row.size;
    t.true_extent = row.index ? row.index_disp + row_at(row.index).size : row.size;
    t.layout = gap_layout(row.basic);
    t.dense = t.layout == nullptr;
    t.committed = t.predefined = true;
    t.basic = row.basic;
    t.align = row.align;
    t.elements = row.value ? 2 : 1;
  }
  return table;
}

}  // namespace

constinit const std::array<Type, predefined_slots> predefined_types = make_table();

namespace {

const Row* row_of(const Type& type) {
  const auto at = reinterpret_cast<std::uintptr_t>(&type);
  const auto begin = reinterpret_cast<std::uintptr_t>(predefined_types.data());
  if (at - begin >= sizeof predefined_types) return nullptr;
  return &rows[names.row[(at - begin) / sizeof(Type)] - 1];
}

}  // namespace

const Type* predefined(std::uintptr_t handle) {
  if (handle - first_predefined >= predefined_slots || names.row[handle - first_predefined] == 0)
    return nullptr;
  return &predefined_types[handle - first_predefined];
}

const Type& byte_type() {
  static const Type* const type = predefined(reinterpret_cast<std::uintptr_t>(MPI_BYTE));
  return *type;
}

const Type& named(std::uintptr_t handle) {
  const Type* type = predefined(handle);
  WEFT_ASSERT(type != nullptr);
  return *type;
}

const char* predefined_name(const Type& type) {
  const Row* row = row_of(type);
  return row != nullptr ? row->name : nullptr;
}

MPI_Datatype handle(const Type& type) {
  const Row* row = row_of(type);
  // An MPI_Datatype is not a pointer to const; nobody writes through it.
  if (row == nullptr) return reinterpret_cast<MPI_Datatype>(const_cast<Type*>(&type));
  return reinterpret_cast<MPI_Datatype>(static_cast<std::uintptr_t>(row->handle));
}

const Type* from_handle(MPI_Datatype handle) {
  const auto value = reinterpret_cast<std::uintptr_t>(handle);
  if (value < 0x1000) return predefined(value);
  return is_live(handle, Kind::datatype) ? reinterpret_cast<const Type*>(handle) : nullptr;
}

std::int64_t external_size(const Type& basic) {
  const Row* row = row_of(basic);
  WEFT_ASSERT(row != nullptr);
  return row->external;
}

const Type* named_pair(const Type& value, const Type& index) {
  for (const Row& row : rows)
    if (row.value != 0 && &named(row.value) == &value && &named(row.index) == &index)
      return &named(row.handle);
  return nullptr;
}

PairParts pair_parts(const Type& type) {
  const Row* row = row_of(type);
  if (row == nullptr || row->value == 0) return {};
  return {&named(row->value), &named(row->index), row->index_disp};
}

}  // namespace weft::datatype
