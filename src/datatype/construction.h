// SPDX-License-Identifier: Apache-2.0
//
// How a derived type was made, in two forms: the arguments as the user gave them (for
// MPI_Type_get_contents), and a description in one uniform shape (Term) from which bounds, layout,
// element counts and external32 are computed by plain recursion. Private to this folder.
#pragma once

#include <cstdint>
#include <vector>

#include "datatype/api.h"
#include "datatype/layout.h"

namespace weft::datatype {

struct Entry;
/// A type described: either the component `type` itself, or `n` entries one after the other.
struct Term {
  const Type* type = nullptr;
  std::int64_t n = 0;
  const Entry* entries = nullptr;
};
/// `count` times `child`: at disp, disp + stride, disp + 2 stride, ...
struct Entry {
  std::int64_t disp;
  std::int64_t count;
  std::int64_t stride;
  const Term* child;
};

struct Construction {
  Context* context = nullptr;
  int combiner = 0;
  bool large = false;                // made by a function with MPI_Count arguments
  std::vector<std::int64_t> values;  // arguments, in the order of MPI_Type_get_contents: integers
  std::int64_t n_ints = 0;           // ... this many, then addresses (of the small form)
  std::vector<const Type*> types;    // components, kept alive
  Arena arena;                       // of `term` and `layout`
  Term term;
  bool compiled = false;
  Layout layout;
};

/// The two basic types of a pair type with a name, and the displacement of the second; {nullptr} if
/// none.
struct PairParts {
  const Type* value = nullptr;
  const Type* index = nullptr;
  std::int64_t index_disp = 0;
};
PairParts pair_parts(const Type& type);
/// The pair type with a name (MPI_DOUBLE_INT) of exactly these parts, or nullptr.
const Type* named_pair(const Type& value, const Type& index);

/// The named predefined type of a name's constant, for this folder's tables.
const Type& named(std::uintptr_t handle);
/// Bytes of a predefined basic type in external32 (MPI-5.0 §14.5.2).
std::int64_t external_size(const Type& basic);

/// Sizes and bounds of `type` from its description; an error if a number does not fit in 64 bits.
Err compute_bounds(Type& type);

}  // namespace weft::datatype
