// SPDX-License-Identifier: Apache-2.0
//
// Attributes (MPI-5.0 §7.7): values that users cache on communicators, datatypes and windows under
// keyvals, with callbacks when the object is duplicated or freed. A keyval lives until it is freed
// and no attribute uses it any more. Callbacks may use attributes of the same object.
#pragma once

#include <cstdint>
#include <vector>

#include "base/err.h"
#include "object/objects.h"

namespace weft::object {

/// The kind of object a keyval is for. The three families of callbacks differ in the handle's type
/// only, and all handles are pointers.
enum class Target : std::uint8_t { comm, type, win };

struct Keyval {
  using Copy = int(void* handle, int keyval, void* extra, void* value, void* out, int* flag);
  using Delete = int(void* handle, int keyval, void* value, void* extra);
  Target target{};
  bool freed = true;
  std::int32_t attributes = 0;  // that use it
  Copy* copy = nullptr;         // or one of the constants of the ABI
  Delete* remove = nullptr;
  void* extra = nullptr;
};

/// The keyvals of one rank.
class Keyvals {
 public:
  int create(const Keyval& keyval);
  /// nullptr if the number was never given out or is not in use any more.
  Keyval* find(int keyval);
  /// Forget a keyval that is freed and unused.
  void drop_if_unused(int keyval);

 private:
  static constexpr int first = 1024;  // above the predefined keyvals
  std::vector<Keyval> table_;
  std::vector<int> free_;
};

Err create_keyval(Store& store, Target target, void* copy, void* remove, int* keyval, void* extra);
Err free_keyval(Store& store, Target target, int* keyval);

/// An object with attributes: what kind, its handle for the callbacks, and where they are.
struct Holder {
  Target target;
  void* handle;
  Attributes* attributes;
};
Err set_attribute(Store& store, const Holder& holder, int keyval, void* value);
/// `*value` receives the void* that was set, as the user's `void* attribute_val` means it.
Err get_attribute(Store& store, const Holder& holder, int keyval, void* value, int* flag);
/// No error if there is none: deleting twice is harmless, and others allow it.
Err delete_attribute(Store& store, const Holder& holder, int keyval);
/// For MPI_Comm_dup and its like; on error nothing stays set on `to`. `new_handle` goes to the
/// delete callbacks of that case.
Err copy_attributes(Store& store, const Holder& from, const Holder& to);
/// Delete all, the newest first. An error stops it; what was not deleted stays.
Err delete_attributes(Store& store, const Holder& holder);

// MPI_Comm_get_attr and its siblings; predefined keyvals are answered from the store.
Holder holder(Comm& comm);
Holder holder(Store& store, const datatype::Type& type);
Err get_comm_attribute(Comm& comm, int keyval, void* value, int* flag);

}  // namespace weft::object
