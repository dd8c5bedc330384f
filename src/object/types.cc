// SPDX-License-Identifier: Apache-2.0
//
// Delete callbacks of a datatype run when its last reference goes: in MPI_Type_free, where they may
// still refuse, or later when the last operation or type that uses it lets it go.
#include "object/types.h"

#include <cstring>

#include "object/names.h"
#include "object/store.h"

namespace weft::object {
namespace {

TypeExtra* find_extra(Store& store, const datatype::Type& type) {
  if (!type.predefined) return static_cast<TypeExtra*>(type.attachment);
  const auto at = store.type_extras.find(&type);
  return at == store.type_extras.end() ? nullptr : &at->second;
}

}  // namespace

TypeExtra& extra(Store& store, const datatype::Type& type) {
  if (TypeExtra* found = find_extra(store, type)) return *found;
  TypeExtra* made;
  if (type.predefined) {
    made = &store.type_extras[&type];
  } else {
    made = new TypeExtra;
    const_cast<datatype::Type&>(type).attachment = made;  // lives in a pool; not really constant
  }
  made->store = &store;
  return *made;
}

Holder holder(Store& store, const datatype::Type& type) {
  return {Target::type, datatype::handle(type), &extra(store, type).attributes};
}

void set_name(std::string& name, const char* text) {
  name.assign(text, strnlen(text, MPI_MAX_OBJECT_NAME - 1));
}

void get_name(const std::string& name, char* text, int* length) {
  std::memcpy(text, name.c_str(), name.size() + 1);
  *length = static_cast<int>(name.size());
}

void set_type_name(Store& store, const datatype::Type& type, const char* text) {
  TypeExtra& e = extra(store, type);
  e.named = true;
  set_name(e.name, text);
}

void get_type_name(Store& store, const datatype::Type* type, char* text, int* length) {
  if (type == nullptr) return get_name("MPI_DATATYPE_NULL", text, length);
  const TypeExtra* e = find_extra(store, *type);
  if (e != nullptr && e->named) return get_name(e->name, text, length);
  const char* name = datatype::predefined_name(*type);
  get_name(name != nullptr ? name : "", text, length);
}

Err dup_type(Store& store, const datatype::Type& type, MPI_Datatype* out) {
  datatype::Type* copy = nullptr;
  WEFT_TRY(datatype::create_dup(store.types, type, &copy));
  if (find_extra(store, type) != nullptr) {
    const Err err = copy_attributes(store, holder(store, type), holder(store, *copy));
    if (err) {
      datatype::release(*copy);
      return err;
    }
  }
  *out = datatype::handle(*copy);
  return ok;
}

Err free_type(Store& store, MPI_Datatype* handle) {
  const datatype::Type& type = *datatype::from_handle(*handle);
  if (!type.predefined && type.refs == 1 && type.attachment != nullptr)
    WEFT_TRY(delete_attributes(store, holder(store, type)));
  WEFT_TRY(datatype::free(type));
  *handle = MPI_DATATYPE_NULL;
  return ok;
}

void forget_type(datatype::Type& type) {
  auto* e = static_cast<TypeExtra*>(type.attachment);
  // Nobody is left to hear of an error here.
  (void)delete_attributes(*e->store, holder(*e->store, type));
  type.attachment = nullptr;
  delete e;
}

}  // namespace weft::object
