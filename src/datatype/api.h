// SPDX-License-Identifier: Apache-2.0
//
// Datatypes as the entry points see them: constructors, commit, what was constructed, sizes and
// counts, MPI_Pack and its kin (MPI-5.0 chapter 5, §14.5.2, §19.1.5). Errors carry a sentence.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <vector>

#include "base/err.h"
#include "datatype/type.h"

namespace weft::datatype {

/// The derived types of one rank. Guarded by the rank's lock.
class Context {
 public:
  Context() = default;
  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  Pool<Type, Kind::datatype> types;
  /// Called with each type that has an attachment, just before it is destroyed.
  void (*forget)(Type&) = nullptr;
  /// Predefined types without a name (Fortran sizes, value-index pairs); made once, kept for good.
  std::vector<Type*> unnamed;
};

/// Who makes a type: the rank's context, and whether by a function with large counts (_c), which
/// MPI_Type_get_envelope must tell apart. A Context& alone means: with int counts.
struct Maker {
  Context& context;
  bool large = false;
  Maker(Context& c, bool l = false) : context(c), large(l) {}
};

/// A user's array of numbers: elements are int, or 64 bits (MPI_Aint, MPI_Count).
struct Numbers {
  const void* data = nullptr;
  bool wide = false;
  Numbers() = default;
  Numbers(const int* d) : data(d) {}
  Numbers(const std::int64_t* d) : data(d), wide(true) {}
  std::int64_t operator[](std::int64_t i) const {
    return wide ? static_cast<const std::int64_t*>(data)[i] : static_cast<const int*>(data)[i];
  }
};

// Constructors (§5.1.2-§5.1.5). The new type holds its components. Strides and displacements are in
// extents of `old`; of the h-forms, of struct and of resized in bytes.
Err create_contiguous(Maker by, std::int64_t count, const Type& old, Type** out);
Err create_vector(Maker by, std::int64_t count, std::int64_t blocklength, std::int64_t stride,
                  const Type& old, Type** out);
Err create_hvector(Maker by, std::int64_t count, std::int64_t blocklength, std::int64_t stride,
                   const Type& old, Type** out);
Err create_indexed(Maker by, std::int64_t count, Numbers blocklengths, Numbers displacements,
                   const Type& old, Type** out);
Err create_hindexed(Maker by, std::int64_t count, Numbers blocklengths, Numbers displacements,
                    const Type& old, Type** out);
Err create_indexed_block(Maker by, std::int64_t count, std::int64_t blocklength,
                         Numbers displacements, const Type& old, Type** out);
Err create_hindexed_block(Maker by, std::int64_t count, std::int64_t blocklength,
                          Numbers displacements, const Type& old, Type** out);
Err create_struct(Maker by, std::int64_t count, Numbers blocklengths, Numbers displacements,
                  const MPI_Datatype* types, Type** out);
Err create_resized(Maker by, const Type& old, std::int64_t lb, std::int64_t extent, Type** out);
Err create_dup(Context& context, const Type& old, Type** out);

/// Make a type usable in communication: its layout program is compiled. Committing again is legal.
void commit(const Type& type);
/// The user gives the handle up (MPI_Type_free): an error for predefined types.
Err free(const Type& type);

}  // namespace weft::datatype
