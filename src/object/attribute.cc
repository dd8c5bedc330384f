// SPDX-License-Identifier: Apache-2.0
//
// Attributes. Callbacks may set and delete attributes of the same object, so no reference into a
// list of entries or the keyval table is kept across one; nor is the object lock.
#include "object/attribute.h"

#include <algorithm>

#include "object/store.h"

namespace weft::object {
namespace {

const char* name_of(Target target) {
  switch (target) {
    case Target::comm:
      return "communicators";
    case Target::type:
      return "datatypes";
    default:
      return "windows";
  }
}

bool is_predefined(int keyval) {
  return (keyval >= MPI_TAG_UB && keyval <= MPI_UNIVERSE_SIZE) ||
         (keyval >= MPI_WIN_BASE && keyval <= MPI_WIN_MODEL);
}

/// The keyval, if it may be used on objects of this kind. A freed one that attributes still use
/// works on for them: they can be read and deleted (§7.7.2).
Result<Keyval*> known(Store& store, Target target, int keyval) {
  if (is_predefined(keyval))
    return fail(MPI_ERR_KEYVAL, "keyval %d is predefined: its value can only be read", keyval);
  if (keyval == MPI_KEYVAL_INVALID)
    return fail(MPI_ERR_KEYVAL,
                "the keyval is MPI_KEYVAL_INVALID (made by no MPI_*_create_keyval, or freed)");
  Keyval* found = store.keyvals.find(keyval);
  if (found == nullptr)
    return fail(MPI_ERR_KEYVAL,
                "keyval %d was not made by an MPI_*_create_keyval or has been freed", keyval);
  if (found->target != target)
    return fail(MPI_ERR_KEYVAL, "keyval %d is for %s, not for %s", keyval, name_of(found->target),
                name_of(target));
  return found;
}

auto find(Attributes& attributes, int keyval) {
  return std::find_if(attributes.entries.begin(), attributes.entries.end(),
                      [&](const auto& e) { return e.first == keyval; });
}

/// Call the delete callback for one attribute and forget the attribute.
Err remove(Store& store, const Holder& holder, int keyval) {
  const Keyval with = *store.keyvals.find(keyval);
  if (with.remove != nullptr) {
    void* const value = find(*holder.attributes, keyval)->second;
    const sync::Away away(store.lock);
    const int code = with.remove(holder.handle, keyval, value, with.extra);
    if (code != MPI_SUCCESS)
      return fail(code, "the delete callback of keyval %d returned error %d", keyval, code);
  }
  const auto at = find(*holder.attributes, keyval);
  if (at == holder.attributes->entries.end()) return ok;  // the callback itself deleted it
  holder.attributes->entries.erase(at);
  --store.keyvals.find(keyval)->attributes;
  store.keyvals.drop_if_unused(keyval);
  return ok;
}

void add(Store& store, Attributes& attributes, int keyval, void* value) {
  attributes.entries.emplace_back(keyval, value);
  ++store.keyvals.find(keyval)->attributes;
}

// MPI_COMM_DUP_FN and its siblings are the constant 1 in the standard ABI, the NULL functions 0.
bool is_dup(Keyval::Copy* copy) {
  return reinterpret_cast<std::uintptr_t>(copy) == 1;
}

}  // namespace

int Keyvals::create(const Keyval& keyval) {
  int at;
  if (!free_.empty()) {
    at = free_.back();
    free_.pop_back();
  } else {
    at = static_cast<int>(table_.size());
    table_.emplace_back();
  }
  table_[static_cast<std::size_t>(at)] = keyval;
  return first + at;
}

Keyval* Keyvals::find(int keyval) {
  const std::size_t at = static_cast<std::size_t>(keyval) - first;
  if (keyval < first || at >= table_.size()) return nullptr;
  Keyval& found = table_[at];
  return found.freed && found.attributes == 0 ? nullptr : &found;
}

void Keyvals::drop_if_unused(int keyval) {
  const std::size_t at = static_cast<std::size_t>(keyval) - first;
  if (table_[at].freed && table_[at].attributes == 0) free_.push_back(static_cast<int>(at));
}

Err create_keyval(Store& store, Target target, void* copy, void* remove, int* keyval, void* extra) {
  Keyval made;
  made.target = target;
  made.freed = false;
  made.copy = reinterpret_cast<Keyval::Copy*>(copy);
  made.remove = reinterpret_cast<Keyval::Delete*>(remove);
  made.extra = extra;
  *keyval = store.keyvals.create(made);
  return ok;
}

Err free_keyval(Store& store, Target target, int* keyval) {
  const Result<Keyval*> found = known(store, target, *keyval);
  if (!found) return found.err;
  found.value->freed = true;  // again, if attributes keep it: harmless, and MPICH's tests do it
  store.keyvals.drop_if_unused(*keyval);
  *keyval = MPI_KEYVAL_INVALID;
  return ok;
}

Err set_attribute(Store& store, const Holder& holder, int keyval, void* value) {
  const Result<Keyval*> found = known(store, holder.target, keyval);
  if (!found) return found.err;
  if (found.value->freed)
    return fail(MPI_ERR_KEYVAL, "keyval %d has been freed: no new attribute can be set with it",
                keyval);
  // The keyval must outlive the callback.
  ++found.value->attributes;
  Err err = ok;
  if (find(*holder.attributes, keyval) != holder.attributes->entries.end())
    err = remove(store, holder, keyval);
  if (!err) add(store, *holder.attributes, keyval, value);
  --store.keyvals.find(keyval)->attributes;
  store.keyvals.drop_if_unused(keyval);
  return err;
}

Err get_attribute(Store& store, const Holder& holder, int keyval, void* value, int* flag) {
  const Result<Keyval*> found = known(store, holder.target, keyval);
  if (!found) return found.err;
  const auto at = find(*holder.attributes, keyval);
  *flag = at != holder.attributes->entries.end();
  if (*flag) *static_cast<void**>(value) = at->second;
  return ok;
}

Err delete_attribute(Store& store, const Holder& holder, int keyval) {
  const Result<Keyval*> found = known(store, holder.target, keyval);
  if (!found) return found.err;
  if (find(*holder.attributes, keyval) == holder.attributes->entries.end()) return ok;
  return remove(store, holder, keyval);
}

Err copy_attributes(Store& store, const Holder& from, const Holder& to) {
  const sync::Guard guard(store.lock);
  const auto entries = from.attributes->entries;  // callbacks may change the list
  for (const auto& [keyval, value] : entries) {
    const Keyval* with = store.keyvals.find(keyval);
    if (with == nullptr || with->copy == nullptr) continue;
    void* out = value;
    int flag = 1;
    if (!is_dup(with->copy)) {
      flag = 0;
      const Keyval callback = *with;
      const auto copy = [&] {
        const sync::Away away(store.lock);
        return callback.copy(from.handle, keyval, callback.extra, value, &out, &flag);
      };
      const int code = copy();
      if (code != MPI_SUCCESS) {
        (void)delete_attributes(store, to);
        return fail(code, "the copy callback of keyval %d returned error %d", keyval, code);
      }
    }
    if (flag && store.keyvals.find(keyval) != nullptr) add(store, *to.attributes, keyval, out);
  }
  return ok;
}

Err delete_attributes(Store& store, const Holder& holder) {
  const sync::Guard guard(store.lock);
  while (!holder.attributes->entries.empty())
    WEFT_TRY(remove(store, holder, holder.attributes->entries.back().first));
  return ok;
}

Holder holder(Comm& comm) {
  return {Target::comm, handle_of(comm), &comm.attributes};
}

Err get_comm_attribute(Comm& comm, int keyval, void* value, int* flag) {
  Store& store = *comm.store;
  const WorldFacts& facts = store.facts;
  const int* answer = nullptr;
  switch (keyval) {
    case MPI_TAG_UB:
      answer = &facts.tag_ub;
      break;
    case MPI_IO:
      answer = &facts.io;
      break;
    case MPI_HOST:
      answer = &facts.host;
      break;
    case MPI_WTIME_IS_GLOBAL:
      answer = &facts.wtime_is_global;
      break;
    case MPI_APPNUM:
      answer = &facts.appnum;
      break;
    case MPI_LASTUSEDCODE:
      answer = &store.error_codes.last_used();
      break;
    case MPI_UNIVERSE_SIZE:
      answer = &facts.universe_size;
      break;
    default:
      return get_attribute(store, holder(comm), keyval, value, flag);
  }
  *flag = 1;
  *static_cast<const int**>(value) = answer;
  return ok;
}

}  // namespace weft::object
