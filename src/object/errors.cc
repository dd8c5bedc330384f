// SPDX-License-Identifier: Apache-2.0
//
// Added error classes and codes live in one table: entry i has number MPI_ERR_LASTCODE + 1 + i.
#include "object/errors.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "object/store.h"

namespace weft::object {
namespace {

constexpr int first_added = MPI_ERR_LASTCODE + 1;

Err check_added(int code) {
  if (code >= first_added) return ok;
  return fail(MPI_ERR_ARG,
              "%d is predefined; only classes and codes made by MPI_Add_error_class and "
              "MPI_Add_error_code can be changed",
              code);
}

Err unknown(int code) {
  return fail(MPI_ERR_ARG,
              "%d is no error code: it is neither predefined nor made by "
              "MPI_Add_error_class or MPI_Add_error_code",
              code);
}

}  // namespace

ErrorCodes::Entry* ErrorCodes::find(int code) {
  const std::size_t at = static_cast<std::size_t>(code) - first_added;
  if (code < first_added || at >= added_.size() || added_[at].cls == 0) return nullptr;
  return &added_[at];
}

int ErrorCodes::add(int cls) {
  const int code = first_added + static_cast<int>(added_.size());
  added_.push_back({cls != 0 ? cls : code, {}});
  last_used_ = code;
  return code;
}

Err ErrorCodes::add_class(int* cls) {
  *cls = add(0);
  return ok;
}

Err ErrorCodes::add_code(int cls, int* code) {
  const Entry* entry = find(cls);
  const bool is_class = entry != nullptr ? entry->cls == cls : class_text(cls) != nullptr;
  if (!is_class)
    return fail(MPI_ERR_ARG,
                "%d is no error class: a code belongs to a predefined class or to one made "
                "by MPI_Add_error_class",
                cls);
  *code = add(cls);
  return ok;
}

Err ErrorCodes::add_string(int code, const char* text) {
  WEFT_TRY(check_added(code));
  Entry* entry = find(code);
  if (entry == nullptr) return unknown(code);
  if (std::strlen(text) >= MPI_MAX_ERROR_STRING)
    return fail(MPI_ERR_ARG, "the string has %zu characters; an error string may have at most %d",
                std::strlen(text), MPI_MAX_ERROR_STRING - 1);
  entry->text = text;
  return ok;
}

Err ErrorCodes::remove(int code, bool is_class) {
  WEFT_TRY(check_added(code));
  Entry* entry = find(code);
  if (entry == nullptr || (entry->cls == code) != is_class)
    return fail(MPI_ERR_ARG, "%d is no error %s made by MPI_Add_error_%s", code,
                is_class ? "class" : "code", is_class ? "class" : "code");
  if (!entry->text.empty())
    return fail(MPI_ERR_ARG,
                "error %s %d has a string; remove that first with "
                "MPI_Remove_error_string",
                is_class ? "class" : "code", code);
  if (is_class)
    for (std::size_t i = 0; i < added_.size(); ++i)
      if (added_[i].cls == code && &added_[i] != entry)
        return fail(MPI_ERR_ARG,
                    "error class %d still has the code %d; remove that first with "
                    "MPI_Remove_error_code",
                    code, first_added + static_cast<int>(i));
  entry->cls = 0;
  while (!added_.empty() && added_.back().cls == 0) added_.pop_back();
  last_used_ = first_added - 1 + static_cast<int>(added_.size());
  return ok;
}

Err ErrorCodes::remove_class(int cls) {
  return remove(cls, true);
}
Err ErrorCodes::remove_code(int code) {
  return remove(code, false);
}

Err ErrorCodes::remove_string(int code) {
  WEFT_TRY(check_added(code));
  Entry* entry = find(code);
  if (entry == nullptr) return unknown(code);
  if (entry->text.empty())
    return fail(MPI_ERR_ARG, "error code %d has no string that could be removed", code);
  entry->text.clear();
  return ok;
}

Err ErrorCodes::class_of(int code, int* cls) const {
  const Entry* entry = find(code);
  if (entry == nullptr && class_text(code) == nullptr) return unknown(code);
  *cls = entry != nullptr ? entry->cls : code;
  return ok;
}

Err ErrorCodes::text_of(int code, char* text, int* length) const {
  const Entry* entry = find(code);
  const char* words = entry != nullptr ? entry->text.c_str() : class_text(code);
  if (words == nullptr) return unknown(code);
  // The user's codes have the user's words only (§9.5).
  const char* why = entry == nullptr && code != MPI_SUCCESS ? last_error_text(code) : nullptr;
  const int n = std::snprintf(text, MPI_MAX_ERROR_STRING, "%s%s%s", words,
                              why != nullptr ? ": " : "", why != nullptr ? why : "");
  *length = std::min(n, MPI_MAX_ERROR_STRING - 1);
  return ok;
}

// --- error handlers -----------------------------------------------------------------------------

Err create_errhandler(Store& store, Errhandler::What what, void* function, MPI_Errhandler* out) {
  Errhandler* errhandler = store.errhandlers.create();
  errhandler->what = what;
  errhandler->function = function;
  errhandler->store = &store;
  *out = handle_of(*errhandler);
  return ok;
}

Err free_errhandler(Store& store, MPI_Errhandler* handle) {
  Errhandler* errhandler = store.errhandler(*handle);
  // MPI_Comm_get_errhandler may have given a predefined one, which is freed like any other
  // (§9.3.1).
  if (errhandler->store != nullptr) --errhandler->handles;
  release(*errhandler);
  *handle = MPI_ERRHANDLER_NULL;
  return ok;
}

Err set_errhandler(Errhandler** slot, Errhandler::What user, Errhandler& errhandler) {
  if (errhandler.store != nullptr && errhandler.what != user)
    return fail(MPI_ERR_ERRHANDLER,
                "the error handler was made for another kind of object; make one with the "
                "MPI_*_create_errhandler of this kind");
  retain(errhandler);
  if (*slot != nullptr) release(**slot);
  *slot = &errhandler;
  return ok;
}

void get_errhandler(Errhandler& current, MPI_Errhandler* out) {
  retain(current);
  if (current.store != nullptr) ++current.handles;
  *out = handle_of(current);
}

Verdict invoke_errhandler(Errhandler& errhandler, void* handle, int* code) {
  switch (errhandler.what) {
    case Errhandler::What::fatal:
      return Verdict::abort_job;
    case Errhandler::What::abort:
      return Verdict::abort_comm;
    case Errhandler::What::returns:
      return Verdict::return_code;
    default:
      break;
  }
  // The function may free its own handler.
  retain(errhandler);
  using Function = void(void** handle, int* code, ...);
  reinterpret_cast<Function*>(errhandler.function)(&handle, code);
  release(errhandler);
  return Verdict::return_code;
}

}  // namespace weft::object
