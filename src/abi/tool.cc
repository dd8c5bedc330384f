// SPDX-License-Identifier: Apache-2.0
//
// MPI_T on top of the tables of parameters and counters. A cvar handle is the address of its table
// entry; a pvar handle belongs to a session, which owns it.
#include "abi/tool.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "base/counters.h"
#include "base/params.h"

struct MPI_T_pvar_handle_t {
  int index;
};
struct MPI_T_pvar_session_t {
  std::vector<MPI_T_pvar_handle> handles;
};

namespace weft::abi::tool {
namespace {

struct CounterDef {
  const char* name;
  const char* unit;
  const char* help;
  std::size_t offset;
};
constexpr CounterDef counters[] = {
#define X(name, unit, help) {#name, unit, help, offsetof(Counters, name)},
    WEFT_COUNTERS(X)
#undef X
};
constexpr int counter_count = static_cast<int>(std::size(counters));

int param_count() { return static_cast<int>(param_table().size()); }

Err error(int cls) { return Err{cls}; }

Err ready(const Rank& rank) {
  return rank.tool_inits > 0 ? ok : error(MPI_T_ERR_NOT_INITIALIZED);
}

template <class T>
void put(T* to, T value) {
  if (to != nullptr) *to = value;
}

/// §15.3.3: at most size-1 characters and a zero; *size becomes what the whole text needs.
void put(Text to, std::string_view text) {
  if (to.size == nullptr) return;
  if (to.to != nullptr && *to.size > 0) {
    const std::size_t n = std::min(text.size(), static_cast<std::size_t>(*to.size) - 1);
    std::memcpy(to.to, text.data(), n);
    to.to[n] = '\0';
  }
  *to.size = static_cast<int>(text.size()) + 1;
}

int var_class_of(const CounterDef& c) {
  return std::string_view(c.name).find("peak") != std::string_view::npos
             ? MPI_T_PVAR_CLASS_HIGHWATERMARK
             : MPI_T_PVAR_CLASS_COUNTER;
}

std::string_view room_of(const ParamDef& p) {
  const std::string_view name = p.name;
  return name.substr(0, std::min(name.find('.'), name.size()));
}

/// The rooms in the order of the table; "counters" follows them.
std::vector<std::string_view> rooms() {
  std::vector<std::string_view> out;
  for (const ParamDef& p : param_table())
    if (out.empty() || std::find(out.begin(), out.end(), room_of(p)) == out.end())
      out.push_back(room_of(p));
  return out;
}

std::vector<int> params_of(int category) {
  const auto all = rooms();
  std::vector<int> out;
  if (category >= static_cast<int>(all.size())) return out;
  for (int i = 0; i < param_count(); ++i)
    if (room_of(param_table()[static_cast<std::size_t>(i)]) == all[static_cast<std::size_t>(category)])
      out.push_back(i);
  return out;
}

bool is_category(int index) { return index >= 0 && index <= static_cast<int>(rooms().size()); }
bool is_counters(int index) { return index == static_cast<int>(rooms().size()); }

const ParamDef* param_of(MPI_T_cvar_handle handle) {
  for (const ParamDef& p : param_table())
    if (reinterpret_cast<MPI_T_cvar_handle>(const_cast<ParamDef*>(&p)) == handle) return &p;
  return nullptr;
}

bool owns(MPI_T_pvar_session session, MPI_T_pvar_handle handle) {
  return session != nullptr && handle != nullptr &&
         std::find(session->handles.begin(), session->handles.end(), handle) != session->handles.end();
}

}  // namespace

Err init(Rank& rank, int required, int* provided) {
  ++rank.tool_inits;
  put(provided, required);
  return ok;
}

Err finalize(Rank& rank) {
  WEFT_TRY(ready(rank));
  --rank.tool_inits;
  return ok;
}

Err cvar_count(Rank& rank, int* count) {
  WEFT_TRY(ready(rank));
  put(count, param_count());
  return ok;
}

Err cvar_info(Rank& rank, int index, Text name, int* verbosity, MPI_Datatype* type, MPI_T_enum* values,
              Text help, int* bind, int* scope) {
  WEFT_TRY(ready(rank));
  if (index < 0 || index >= param_count()) return error(MPI_T_ERR_INVALID_INDEX);
  const ParamDef& p = param_table()[static_cast<std::size_t>(index)];
  put(name, p.name);
  put(verbosity, static_cast<int>(MPI_T_VERBOSITY_USER_BASIC));
  put(type, p.type == ParamType::boolean ? MPI_INT
            : p.type == ParamType::integer ? MPI_LONG_LONG : MPI_CHAR);
  put(values, MPI_T_ENUM_NULL);
  put(help, p.help);
  put(bind, static_cast<int>(MPI_T_BIND_NO_OBJECT));
  put(scope, static_cast<int>(MPI_T_SCOPE_CONSTANT));
  return ok;
}

Err cvar_index(Rank& rank, const char* name, int* index) {
  WEFT_TRY(ready(rank));
  if (name == nullptr || index == nullptr) return error(MPI_T_ERR_INVALID);
  for (int i = 0; i < param_count(); ++i) {
    if (std::strcmp(param_table()[static_cast<std::size_t>(i)].name, name) != 0) continue;
    *index = i;
    return ok;
  }
  return error(MPI_T_ERR_INVALID_NAME);
}

Err cvar_alloc(Rank& rank, int index, MPI_T_cvar_handle* handle, int* count) {
  WEFT_TRY(ready(rank));
  if (index < 0 || index >= param_count()) return error(MPI_T_ERR_INVALID_INDEX);
  if (handle == nullptr) return error(MPI_T_ERR_INVALID);
  const ParamDef& p = param_table()[static_cast<std::size_t>(index)];
  *handle = reinterpret_cast<MPI_T_cvar_handle>(const_cast<ParamDef*>(&p));
  const auto length = static_cast<int>(rank.process->params.text(p.id).size()) + 1;
  put(count, p.type == ParamType::text ? length : 1);
  return ok;
}

Err cvar_free(Rank& rank, MPI_T_cvar_handle* handle) {
  WEFT_TRY(ready(rank));
  if (handle == nullptr || param_of(*handle) == nullptr) return error(MPI_T_ERR_INVALID_HANDLE);
  *handle = MPI_T_CVAR_HANDLE_NULL;
  return ok;
}

Err cvar_read(Rank& rank, MPI_T_cvar_handle handle, void* value) {
  WEFT_TRY(ready(rank));
  const ParamDef* p = param_of(handle);
  if (p == nullptr) return error(MPI_T_ERR_INVALID_HANDLE);
  if (value == nullptr) return error(MPI_T_ERR_INVALID);
  const Params& params = rank.process->params;
  if (p->type == ParamType::boolean) {
    *static_cast<int*>(value) = params.boolean(p->id) ? 1 : 0;
  } else if (p->type == ParamType::integer) {
    *static_cast<long long*>(value) = params.integer(p->id);
  } else {
    std::memcpy(value, params.text(p->id).c_str(), params.text(p->id).size() + 1);
  }
  return ok;
}

Err cvar_write(Rank& rank, MPI_T_cvar_handle handle) {
  WEFT_TRY(ready(rank));
  return error(param_of(handle) == nullptr ? MPI_T_ERR_INVALID_HANDLE : MPI_T_ERR_CVAR_SET_NEVER);
}

Err pvar_count(Rank& rank, int* count) {
  WEFT_TRY(ready(rank));
  put(count, counter_count);
  return ok;
}

Err pvar_info(Rank& rank, int index, Text name, Text help, const PvarInfo& info) {
  WEFT_TRY(ready(rank));
  if (index < 0 || index >= counter_count) return error(MPI_T_ERR_INVALID_INDEX);
  const CounterDef& c = counters[index];
  put(name, c.name);
  put(help, std::string(c.help) + " [" + c.unit + "]");
  put(info.verbosity, static_cast<int>(MPI_T_VERBOSITY_USER_BASIC));
  put(info.var_class, var_class_of(c));
  put(info.type, MPI_UNSIGNED_LONG_LONG);
  put(info.values, MPI_T_ENUM_NULL);
  put(info.bind, static_cast<int>(MPI_T_BIND_NO_OBJECT));
  put(info.readonly, 1);
  put(info.continuous, 1);
  put(info.atomic, 0);
  return ok;
}

Err pvar_index(Rank& rank, const char* name, int var_class, int* index) {
  WEFT_TRY(ready(rank));
  if (name == nullptr || index == nullptr) return error(MPI_T_ERR_INVALID);
  for (int i = 0; i < counter_count; ++i) {
    if (std::strcmp(counters[i].name, name) != 0 || var_class_of(counters[i]) != var_class) continue;
    *index = i;
    return ok;
  }
  return error(MPI_T_ERR_INVALID_NAME);
}

Err pvar_session_create(Rank& rank, MPI_T_pvar_session* session) {
  WEFT_TRY(ready(rank));
  if (session == nullptr) return error(MPI_T_ERR_INVALID);
  *session = new MPI_T_pvar_session_t;
  return ok;
}

Err pvar_session_free(Rank& rank, MPI_T_pvar_session* session) {
  WEFT_TRY(ready(rank));
  if (session == nullptr || *session == MPI_T_PVAR_SESSION_NULL)
    return error(MPI_T_ERR_INVALID_SESSION);
  for (MPI_T_pvar_handle handle : (*session)->handles) delete handle;
  delete *session;
  *session = MPI_T_PVAR_SESSION_NULL;
  return ok;
}

Err pvar_alloc(Rank& rank, MPI_T_pvar_session session, int index, MPI_T_pvar_handle* handle,
               int* count) {
  WEFT_TRY(ready(rank));
  if (session == MPI_T_PVAR_SESSION_NULL) return error(MPI_T_ERR_INVALID_SESSION);
  if (index < 0 || index >= counter_count) return error(MPI_T_ERR_INVALID_INDEX);
  if (handle == nullptr) return error(MPI_T_ERR_INVALID);
  *handle = new MPI_T_pvar_handle_t{index};
  session->handles.push_back(*handle);
  put(count, 1);
  return ok;
}

Err pvar_free(Rank& rank, MPI_T_pvar_session session, MPI_T_pvar_handle* handle) {
  WEFT_TRY(ready(rank));
  if (handle == nullptr || !owns(session, *handle)) return error(MPI_T_ERR_INVALID_HANDLE);
  std::erase(session->handles, *handle);
  delete *handle;
  *handle = MPI_T_PVAR_HANDLE_NULL;
  return ok;
}

Err pvar_read(Rank& rank, MPI_T_pvar_session session, MPI_T_pvar_handle handle, void* value) {
  WEFT_TRY(ready(rank));
  if (!owns(session, handle)) return error(MPI_T_ERR_INVALID_HANDLE);
  if (value == nullptr) return error(MPI_T_ERR_INVALID);
  const auto* base = reinterpret_cast<const std::byte*>(&rank.counters);
  std::memcpy(value, base + counters[handle->index].offset, sizeof(std::uint64_t));
  return ok;
}

Err pvar_refuse(Rank& rank, MPI_T_pvar_session session, MPI_T_pvar_handle handle, int refusal) {
  WEFT_TRY(ready(rank));
  if (session == MPI_T_PVAR_SESSION_NULL) return error(MPI_T_ERR_INVALID_SESSION);
  if (handle == MPI_T_PVAR_ALL_HANDLES) return ok;  // continuous and read-only ones are left alone
  return error(owns(session, handle) ? refusal : MPI_T_ERR_INVALID_HANDLE);
}

Err category_count(Rank& rank, int* count) {
  WEFT_TRY(ready(rank));
  put(count, static_cast<int>(rooms().size()) + 1);
  return ok;
}

Err category_info(Rank& rank, int index, Text name, Text help, int* cvars, int* pvars,
                  int* categories) {
  WEFT_TRY(ready(rank));
  if (!is_category(index)) return error(MPI_T_ERR_INVALID_INDEX);
  const std::string_view which = is_counters(index) ? "counters" : rooms()[static_cast<std::size_t>(index)];
  put(name, which);
  put(help, is_counters(index) ? std::string("what this rank did, counted")
                               : "parameters of weft's " + std::string(which));
  put(cvars, static_cast<int>(params_of(index).size()));
  put(pvars, is_counters(index) ? counter_count : 0);
  put(categories, 0);
  return ok;
}

Err category_index(Rank& rank, const char* name, int* index) {
  WEFT_TRY(ready(rank));
  if (name == nullptr || index == nullptr) return error(MPI_T_ERR_INVALID);
  auto all = rooms();
  all.push_back("counters");
  const auto at = std::find(all.begin(), all.end(), std::string_view(name));
  if (at == all.end()) return error(MPI_T_ERR_INVALID_NAME);
  *index = static_cast<int>(at - all.begin());
  return ok;
}

Err category_cvars(Rank& rank, int index, int length, int* indices) {
  WEFT_TRY(ready(rank));
  if (!is_category(index)) return error(MPI_T_ERR_INVALID_INDEX);
  const auto all = params_of(index);
  for (int i = 0; i < std::min(length, static_cast<int>(all.size())); ++i)
    indices[i] = all[static_cast<std::size_t>(i)];
  return ok;
}

Err category_pvars(Rank& rank, int index, int length, int* indices) {
  WEFT_TRY(ready(rank));
  if (!is_category(index)) return error(MPI_T_ERR_INVALID_INDEX);
  for (int i = 0; is_counters(index) && i < std::min(length, counter_count); ++i) indices[i] = i;
  return ok;
}

Err category_none(Rank& rank, int index, int* count) {
  WEFT_TRY(ready(rank));
  if (!is_category(index)) return error(MPI_T_ERR_INVALID_INDEX);
  put(count, 0);
  return ok;
}

Err none(Rank& rank, int* count) {
  WEFT_TRY(ready(rank));
  put(count, 0);
  return ok;
}

Err nothing(Rank& rank, int cls) {
  WEFT_TRY(ready(rank));
  return error(cls);
}

}  // namespace weft::abi::tool
