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
#include "sync/lock.h"

namespace weft::datatype {

/// The derived types of one rank.
class Context {
 public:
  Context() = default;
  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  sync::RankLock* lock = nullptr;  // guards all of it, if not null: the rank's object lock
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
/// A box of an array: three arrays of ndims numbers.
struct Subarray {
  Numbers sizes, subsizes, starts;
};
Err create_subarray(Maker by, int ndims, const Subarray& array, int order, const Type& old,
                    Type** out);
/// The part of process `rank` of `size` in an array of ndims dimensions that is dealt out.
struct Darray {
  int size, rank, ndims;
  Numbers gsizes;
  const int *distributions, *arguments, *psizes;
  int order;
};
Err create_darray(Maker by, const Darray& array, const Type& old, Type** out);
Err create_resized(Maker by, const Type& old, std::int64_t lb, std::int64_t extent, Type** out);
Err create_dup(Context& context, const Type& old, Type** out);

/// Make a type usable in communication: its layout program is compiled. Committing again is legal.
void commit(const Type& type);
/// The user gives the handle up (MPI_Type_free): an error for predefined types.
Err free(const Type& type);

// Predefined types by property (§19.1.5, §6.9.4). The same question gives the same type again.
Err create_f90_real(Context& context, int p, int r, const Type** out);
Err create_f90_complex(Context& context, int p, int r, const Type** out);
Err create_f90_integer(Context& context, int r, const Type** out);
Err match_size(int type_class, int size, const Type** out);
/// *out is nullptr (MPI_DATATYPE_NULL) if there is no such pair.
Err value_index(Context& context, const Type& value, const Type& index, const Type** out);

/// MPI_Type_get_envelope (§5.1.13). The form without large counts leaves that number out.
struct Envelope {
  std::int64_t integers = 0, addresses = 0, large_counts = 0, types = 0;
  int combiner = 0;
};
Envelope envelope(const Type& type);
/// Room for MPI_Type_get_contents; the form with int counts leaves large_counts null.
struct Contents {
  std::int64_t max_integers, max_addresses, max_large_counts, max_types;
  int* integers;
  MPI_Aint* addresses;
  MPI_Count* large_counts;
  MPI_Datatype* types;  // handles the user owns
};
Err contents(const Type& type, const Contents& out);

/// A count, size or extent for an int argument: MPI_UNDEFINED if it does not fit.
int as_int(std::int64_t value);
/// MPI_Get_count (§3.2.5): elements of `type` in a message of `bytes`, or MPI_UNDEFINED.
std::int64_t count_of(const Type& type, std::int64_t bytes);
/// MPI_Get_elements (§5.1.11): basic elements in a message of `bytes`, or MPI_UNDEFINED.
std::int64_t elements_of(const Type& type, std::int64_t bytes);
/// MPI_Status_set_elements: the bytes of a message of that many basic elements.
std::int64_t bytes_of_elements(const Type& type, std::int64_t elements);

// MPI_Pack and MPI_Unpack (§5.2). `*position` is advanced.
Err pack_at(const ConstBuffer& from, void* out, std::int64_t room, std::int64_t* position);
Err unpack_at(const void* in, std::int64_t size, std::int64_t* position, const Buffer& to);
/// MPI_Pack_size: an upper bound, exact here.
Err pack_size(std::int64_t count, const Type& type, std::int64_t* bytes);

// The portable representation (§5.3, §14.5.2); datarep must be "external32".
Err pack_external(const char* datarep, const ConstBuffer& from, void* out, std::int64_t room,
                  std::int64_t* position);
Err unpack_external(const char* datarep, const void* in, std::int64_t size, std::int64_t* position,
                    const Buffer& to);
Err pack_external_size(const char* datarep, std::int64_t count, const Type& type,
                       std::int64_t* bytes);

}  // namespace weft::datatype
