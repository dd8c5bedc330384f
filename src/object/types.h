// SPDX-License-Identifier: Apache-2.0
//
// What a rank keeps with a datatype beside its shape: name and attributes. A derived type carries
// it (Type::attachment); predefined types are constant and shared by all ranks, so theirs is in the
// Store. What datatypes are is src/datatype.
#pragma once

#include <string>

#include "base/err.h"
#include "object/objects.h"

namespace weft::object {

struct TypeExtra {
  Store* store = nullptr;
  bool named = false;
  std::string name;
  Attributes attributes;
};

/// Made at the first use.
TypeExtra& extra(Store& store, const datatype::Type& type);

void set_type_name(Store& store, const datatype::Type& type, const char* text);
/// `type` is null for MPI_DATATYPE_NULL, which has a name too.
void get_type_name(Store& store, const datatype::Type* type, char* text, int* length);
/// MPI_Type_dup and MPI_Type_free: with the callbacks of attributes.
Err dup_type(Store& store, const datatype::Type& type, MPI_Datatype* out);
Err free_type(Store& store, MPI_Datatype* handle);
/// Context::forget: drop what is kept with a derived type that dies.
void forget_type(datatype::Type& type);

}  // namespace weft::object
