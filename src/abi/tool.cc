// SPDX-License-Identifier: Apache-2.0
//
// MPI_T on top of the tables of parameters and counters. Handles and sessions are objects of the
// rank (object/tool.h), so wrong ones are told from live ones.
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

namespace weft::abi::tool {
namespace {

using object::CvarHandle;
using object::PvarHandle;
using object::PvarSession;

constexpr int counter_count = static_cast<int>(std::size(counter_table));

int param_count() {
  return static_cast<int>(param_table().size());
}

Err bad_index(int index, const char* what, int count) {
  return fail(MPI_T_ERR_INVALID_INDEX, "the index is %d; there are %d %s, numbered from 0", index,
              count, what);
}

Err bad_name(const char* name, const char* what, const char* teller) {
  return fail(MPI_T_ERR_INVALID_NAME, "no %s is called \"%s\"; %s tells the names", what, name,
              teller);
}

Err bad_session() {
  return fail(
      MPI_T_ERR_INVALID_SESSION,
      "pe_session is no session of this rank, or was freed; MPI_T_pvar_session_create makes "
      "one");
}

Err bad_handle(const char* what, const char* maker) {
  return fail(MPI_T_ERR_INVALID_HANDLE, "the handle is of no %s, or was freed; %s makes one", what,
              maker);
}
Err bad_cvar() {
  return bad_handle("control variable", "MPI_T_cvar_handle_alloc");
}
Err bad_pvar() {
  return bad_handle("performance variable of this session", "MPI_T_pvar_handle_alloc");
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
  if (c.is_mark()) return MPI_T_PVAR_CLASS_HIGHWATERMARK;
  if (std::string_view(c.unit) == "ns") return MPI_T_PVAR_CLASS_TIMER;
  return std::string_view(c.unit) == "bytes" ? MPI_T_PVAR_CLASS_AGGREGATE
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
    if (room_of(param_table()[static_cast<std::size_t>(i)]) ==
        all[static_cast<std::size_t>(category)])
      out.push_back(i);
  return out;
}

Err check_category(int index) {
  const int count = static_cast<int>(rooms().size()) + 1;
  return index >= 0 && index < count ? ok : bad_index(index, "categories", count);
}
bool is_counters(int index) {
  return index == static_cast<int>(rooms().size());
}

const ParamDef* param_of(MPI_T_cvar_handle handle) {
  if (!is_live(handle, Kind::cvar_handle)) return nullptr;
  return &param_table()[static_cast<std::size_t>(reinterpret_cast<CvarHandle*>(handle)->index)];
}

PvarSession* session_of(MPI_T_pvar_session handle) {
  return is_live(handle, Kind::pvar_session) ? reinterpret_cast<PvarSession*>(handle) : nullptr;
}

PvarHandle* pvar_of(PvarSession* session, MPI_T_pvar_handle handle) {
  if (!is_live(handle, Kind::pvar_handle)) return nullptr;
  auto* pvar = reinterpret_cast<PvarHandle*>(handle);
  return pvar->session == session ? pvar : nullptr;
}

const CounterDef& def_of(const PvarHandle& pvar) {
  return counter_table[pvar.index];
}

/// The values of a variable: one, or one per level.
using Values = std::vector<std::uint64_t>;

std::size_t value_bytes(const PvarHandle& pvar) {
  return static_cast<std::size_t>(def_of(pvar).elements) * sizeof(std::uint64_t);
}

Values counter(Rank& rank, const PvarHandle& pvar) {
  const CounterDef& def = def_of(pvar);
  const Counters all = rank.all_counters();
  return Values(def.of(all), def.of(all) + def.elements);
}

Values value_of(Rank& rank, const PvarHandle& pvar) {
  const Values now = counter(rank, pvar);
  if (def_of(pvar).is_mark()) return now;
  Values values = pvar.before;
  if (pvar.running)
    for (std::size_t i = 0; i < values.size(); ++i) values[i] += now[i] - pvar.since[i];
  return values;
}

void set_value(Rank& rank, PvarHandle& pvar, const Values& values) {
  pvar.before = values;
  pvar.since = counter(rank, pvar);
}

/// Do `what` to one handle, or to all of the session that are no marks. A mark refuses with
/// `refusal`.
template <class What>
Err for_handles(Rank& rank, MPI_T_pvar_session session, MPI_T_pvar_handle handle, int refusal,
                What what) {
  PvarSession* s = session_of(session);
  if (s == nullptr) return bad_session();
  if (handle == MPI_T_PVAR_ALL_HANDLES) {
    for (PvarHandle* pvar : s->handles)
      if (!def_of(*pvar).is_mark()) what(*pvar);
    return ok;
  }
  PvarHandle* pvar = pvar_of(s, handle);
  if (pvar == nullptr) return bad_pvar();
  if (def_of(*pvar).is_mark())
    return fail(refusal, "%s is a high-water mark: it runs always and is read-only",
                def_of(*pvar).name);
  what(*pvar);
  return ok;
}

}  // namespace

Err ready(const Rank& rank) {
  if (rank.tool_inits > 0) return ok;
  return fail(MPI_T_ERR_NOT_INITIALIZED,
              "called before MPI_T_init_thread, or after the last MPI_T_finalize");
}

Err init(Rank& rank, int required, int* provided) {
  if (required != MPI_THREAD_SINGLE && required != MPI_THREAD_FUNNELED &&
      required != MPI_THREAD_SERIALIZED && required != MPI_THREAD_MULTIPLE)
    return fail(MPI_T_ERR_INVALID, "required is %d, which is no level of thread support", required);
  ++rank.tool_inits;
  put(provided, required);
  return ok;
}

Err finalize(Rank& rank) {
  --rank.tool_inits;
  return ok;
}

Err cvar_count(Rank& rank, int* count) {
  put(count, param_count());
  return ok;
}

Err cvar_info(Rank& rank, int index, Text name, int* verbosity, MPI_Datatype* type,
              MPI_T_enum* values, Text help, int* bind, int* scope) {
  if (index < 0 || index >= param_count())
    return bad_index(index, "control variables", param_count());
  const ParamDef& p = param_table()[static_cast<std::size_t>(index)];
  put(name, p.name);
  put(verbosity, static_cast<int>(MPI_T_VERBOSITY_USER_BASIC));
  put(type, p.type == ParamType::boolean   ? MPI_INT
            : p.type == ParamType::integer ? MPI_LONG_LONG
                                           : MPI_CHAR);
  put(values, MPI_T_ENUM_NULL);
  put(help, p.help);
  put(bind, static_cast<int>(MPI_T_BIND_NO_OBJECT));
  put(scope, static_cast<int>(MPI_T_SCOPE_CONSTANT));
  return ok;
}

Err cvar_index(Rank& rank, const char* name, int* index) {
  for (int i = 0; i < param_count(); ++i) {
    if (std::strcmp(param_table()[static_cast<std::size_t>(i)].name, name) != 0) continue;
    *index = i;
    return ok;
  }
  return bad_name(name, "control variable", "MPI_T_cvar_get_info");
}

Err cvar_alloc(Rank& rank, int index, MPI_T_cvar_handle* handle, int* count) {
  if (index < 0 || index >= param_count())
    return bad_index(index, "control variables", param_count());
  const ParamDef& p = param_table()[static_cast<std::size_t>(index)];
  CvarHandle* made = rank.store.tools.cvars.create();
  made->index = index;
  *handle = reinterpret_cast<MPI_T_cvar_handle>(made);
  const auto length = static_cast<int>(rank.process->params.text(p.id).size()) + 1;
  put(count, p.type == ParamType::text ? length : 1);
  return ok;
}

Err cvar_free(Rank& rank, MPI_T_cvar_handle* handle) {
  if (param_of(*handle) == nullptr) return bad_cvar();
  rank.store.tools.cvars.destroy(reinterpret_cast<CvarHandle*>(*handle));
  *handle = MPI_T_CVAR_HANDLE_NULL;
  return ok;
}

Err cvar_read(Rank& rank, MPI_T_cvar_handle handle, void* value) {
  const ParamDef* p = param_of(handle);
  if (p == nullptr) return bad_cvar();
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
  const ParamDef* p = param_of(handle);
  if (p == nullptr) return bad_cvar();
  return fail(MPI_T_ERR_CVAR_SET_NEVER,
              "%s is constant once the process runs; set it in the environment", p->name);
}

Err pvar_count(Rank& rank, int* count) {
  put(count, counter_count);
  return ok;
}

Err pvar_info(Rank& rank, int index, Text name, Text help, const PvarInfo& info) {
  if (index < 0 || index >= counter_count)
    return bad_index(index, "performance variables", counter_count);
  const CounterDef& c = counter_table[index];
  put(name, c.name);
  put(help, std::string(c.help) + " [" + c.unit + "]");
  put(info.verbosity, static_cast<int>(MPI_T_VERBOSITY_USER_BASIC));
  put(info.var_class, var_class_of(c));
  put(info.type, MPI_UNSIGNED_LONG_LONG);
  put(info.values, MPI_T_ENUM_NULL);
  put(info.bind, static_cast<int>(MPI_T_BIND_NO_OBJECT));
  put(info.readonly, c.is_mark() ? 1 : 0);
  put(info.continuous, c.is_mark() ? 1 : 0);
  put(info.atomic, c.is_mark() ? 0 : 1);
  return ok;
}

Err pvar_index(Rank& rank, const char* name, int var_class, int* index) {
  for (int i = 0; i < counter_count; ++i) {
    if (std::strcmp(counter_table[i].name, name) != 0 ||
        var_class_of(counter_table[i]) != var_class)
      continue;
    *index = i;
    return ok;
  }
  return bad_name(name, "performance variable of this class", "MPI_T_pvar_get_info");
}

Err pvar_session_create(Rank& rank, MPI_T_pvar_session* session) {
  *session = reinterpret_cast<MPI_T_pvar_session>(rank.store.tools.sessions.create());
  return ok;
}

Err pvar_session_free(Rank& rank, MPI_T_pvar_session* session) {
  PvarSession* s = session_of(*session);
  if (s == nullptr) return bad_session();
  for (PvarHandle* handle : s->handles) rank.store.tools.pvars.destroy(handle);
  rank.store.tools.sessions.destroy(s);
  *session = MPI_T_PVAR_SESSION_NULL;
  return ok;
}

Err pvar_alloc(Rank& rank, MPI_T_pvar_session session, int index, MPI_T_pvar_handle* handle,
               int* count) {
  PvarSession* s = session_of(session);
  if (s == nullptr) return bad_session();
  if (index < 0 || index >= counter_count)
    return bad_index(index, "performance variables", counter_count);
  PvarHandle* made = rank.store.tools.pvars.create();
  made->index = index;
  made->session = s;
  made->since.assign(static_cast<std::size_t>(counter_table[index].elements), 0);
  made->before = made->since;
  s->handles.push_back(made);
  *handle = reinterpret_cast<MPI_T_pvar_handle>(made);
  put(count, counter_table[index].elements);
  return ok;
}

Err pvar_free(Rank& rank, MPI_T_pvar_session session, MPI_T_pvar_handle* handle) {
  PvarSession* s = session_of(session);
  if (s == nullptr) return bad_session();
  PvarHandle* pvar = pvar_of(s, *handle);
  if (pvar == nullptr) return bad_pvar();
  std::erase(s->handles, pvar);
  rank.store.tools.pvars.destroy(pvar);
  *handle = MPI_T_PVAR_HANDLE_NULL;
  return ok;
}

Err pvar_start(Rank& rank, MPI_T_pvar_session session, MPI_T_pvar_handle handle) {
  return for_handles(rank, session, handle, MPI_T_ERR_PVAR_NO_STARTSTOP, [&](PvarHandle& pvar) {
    if (!pvar.running) pvar.since = counter(rank, pvar);
    pvar.running = true;
  });
}

Err pvar_stop(Rank& rank, MPI_T_pvar_session session, MPI_T_pvar_handle handle) {
  return for_handles(rank, session, handle, MPI_T_ERR_PVAR_NO_STARTSTOP, [&](PvarHandle& pvar) {
    pvar.before = value_of(rank, pvar);
    pvar.running = false;
  });
}

Err pvar_reset(Rank& rank, MPI_T_pvar_session session, MPI_T_pvar_handle handle) {
  return for_handles(rank, session, handle, MPI_T_ERR_PVAR_NO_WRITE,
                     [&](PvarHandle& pvar) { set_value(rank, pvar, Values(pvar.before.size())); });
}

Err pvar_read(Rank& rank, MPI_T_pvar_session session, MPI_T_pvar_handle handle, void* value) {
  PvarSession* s = session_of(session);
  if (s == nullptr) return bad_session();
  const PvarHandle* pvar = pvar_of(s, handle);
  if (pvar == nullptr) return bad_pvar();
  std::memcpy(value, value_of(rank, *pvar).data(), value_bytes(*pvar));
  return ok;
}

Err pvar_write(Rank& rank, MPI_T_pvar_session session, MPI_T_pvar_handle handle,
               const void* value) {
  if (handle == MPI_T_PVAR_ALL_HANDLES) return bad_pvar();
  return for_handles(rank, session, handle, MPI_T_ERR_PVAR_NO_WRITE, [&](PvarHandle& pvar) {
    const auto* first = static_cast<const std::uint64_t*>(value);
    set_value(rank, pvar, Values(first, first + pvar.before.size()));
  });
}

Err pvar_readreset(Rank& rank, MPI_T_pvar_session session, MPI_T_pvar_handle handle, void* value) {
  if (handle == MPI_T_PVAR_ALL_HANDLES) return bad_pvar();
  return for_handles(rank, session, handle, MPI_T_ERR_PVAR_NO_ATOMIC, [&](PvarHandle& pvar) {
    std::memcpy(value, value_of(rank, pvar).data(), value_bytes(pvar));
    set_value(rank, pvar, Values(pvar.before.size()));
  });
}

Err category_count(Rank& rank, int* count) {
  put(count, static_cast<int>(rooms().size()) + 1);
  return ok;
}

Err category_info(Rank& rank, int index, Text name, Text help, int* cvars, int* pvars,
                  int* categories) {
  WEFT_TRY(check_category(index));
  const std::string_view which =
      is_counters(index) ? "counters" : rooms()[static_cast<std::size_t>(index)];
  put(name, which);
  put(help, is_counters(index) ? std::string("what this rank did, counted")
                               : "parameters of weft's " + std::string(which));
  put(cvars, static_cast<int>(params_of(index).size()));
  put(pvars, is_counters(index) ? counter_count : 0);
  put(categories, 0);
  return ok;
}

Err category_index(Rank& rank, const char* name, int* index) {
  auto all = rooms();
  all.push_back("counters");
  const auto at = std::find(all.begin(), all.end(), std::string_view(name));
  if (at == all.end()) return bad_name(name, "category", "MPI_T_category_get_info");
  *index = static_cast<int>(at - all.begin());
  return ok;
}

Err category_cvars(Rank& rank, int index, int length, int* indices) {
  WEFT_TRY(check_category(index));
  const auto all = params_of(index);
  for (int i = 0; i < std::min(length, static_cast<int>(all.size())); ++i)
    indices[i] = all[static_cast<std::size_t>(i)];
  return ok;
}

Err category_pvars(Rank& rank, int index, int length, int* indices) {
  WEFT_TRY(check_category(index));
  for (int i = 0; is_counters(index) && i < std::min(length, counter_count); ++i) indices[i] = i;
  return ok;
}

Err category_none(Rank& rank, int index, int* count) {
  WEFT_TRY(check_category(index));
  put(count, 0);
  return ok;
}

Err none(Rank& rank, int* count) {
  put(count, 0);
  return ok;
}

Err nothing(Rank& rank, int cls) {
  return fail(cls, "there are no events, event sources and enumerations here");
}

}  // namespace weft::abi::tool
