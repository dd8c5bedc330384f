// SPDX-License-Identifier: Apache-2.0
//
// What asks no other rank: attached memory, attributes, hints.
#include "rma/window.h"

#include <algorithm>
#include <cstring>

#include "object/group.h"
#include "object/info.h"
#include "object/store.h"

namespace weft::rma {
namespace {

Err check_dynamic(const Window& win, bool dynamic) {
  if ((win.flavor == MPI_WIN_FLAVOR_DYNAMIC) == dynamic) return ok;
  return fail(MPI_ERR_RMA_FLAVOR,
              dynamic ? "the window is not dynamic: memory can be attached to one made by "
                        "MPI_Win_create_dynamic only"
                      : "the window is dynamic, so it has no memory of its own");
}

/// Tell others of a region, or (end 0) that entry `begin` is free again.
void list(Words& words, std::uint64_t begin, std::uint64_t end) {
  for (Region& region : words.regions)
    if (region.end.load() == 0) {
      region.begin.store(begin);
      region.end.store(end);
      return;
    }
  words.unlisted.fetch_add(1);
}

void unlist(Words& words, std::uint64_t begin) {
  for (Region& region : words.regions)
    if (region.end.load() != 0 && region.begin.load() == begin) {
      region.end.store(0);
      return;
    }
  words.unlisted.fetch_sub(1);
}

// The hints of §12.2, and what holds without them.
struct Hint {
  const char* key;
  const char* usual;
};
constexpr Hint known_hints[] = {{"no_locks", "false"},
                                {"accumulate_ordering", "rar,raw,war,waw"},
                                {"accumulate_ops", "same_op_no_op"},
                                {"mpi_accumulate_granularity", "0"},
                                {"same_size", "false"},
                                {"same_disp_unit", "false"},
                                {"alloc_shared_noncontig", "false"}};

}  // namespace

Target* Window::find_near(int rank) {
  if (here.empty()) return &targets[static_cast<std::size_t>(rank)];
  const auto at = std::lower_bound(here.begin(), here.end(), rank);
  return at != here.end() && *at == rank ? &targets[static_cast<std::size_t>(at - here.begin())]
                                         : nullptr;
}

Remote& Window::away(int rank) {
  Remote& remote = remotes[rank];
  remote.rank = rank;
  remote.world_rank = comm.group->members[static_cast<std::size_t>(rank)];
  return remote;
}

Err attach(Window& win, void* base, std::int64_t bytes) {
  WEFT_TRY(check_dynamic(win, true));
  if (bytes < 0)
    return fail(MPI_ERR_SIZE, "size is %lld; expected 0 or more bytes",
                static_cast<long long>(bytes));
  const auto begin = reinterpret_cast<std::uint64_t>(base);
  const std::uint64_t end = begin + static_cast<std::uint64_t>(bytes);
  for (const auto& [other, other_end] : win.attached)
    if (begin < other_end && other < end)
      return fail(MPI_ERR_RMA_ATTACH,
                  "%lld bytes at %p overlap memory that is attached to the window already "
                  "(%llu bytes at %p)",
                  static_cast<long long>(bytes), base,
                  static_cast<unsigned long long>(other_end - other),
                  reinterpret_cast<void*>(other));
  win.attached.emplace_back(begin, end);
  if (bytes > 0) list(*win.mine().words, begin, end);
  return ok;
}

Err detach(Window& win, const void* base) {
  WEFT_TRY(check_dynamic(win, true));
  const auto begin = reinterpret_cast<std::uint64_t>(base);
  const auto at = std::find_if(win.attached.begin(), win.attached.end(),
                               [&](const auto& region) { return region.first == begin; });
  if (at == win.attached.end())
    return fail(MPI_ERR_RMA_ATTACH, "no memory that begins at %p is attached to the window", base);
  if (at->second > begin) unlist(*win.mine().words, begin);
  win.attached.erase(at);
  return ok;
}

Err shared_query(Window& win, int rank, std::int64_t* bytes, std::int64_t* unit, void* baseptr) {
  WEFT_TRY(check_dynamic(win, false));
  const Target* found = nullptr;
  if (rank != MPI_PROC_NULL)
    found = win.near(rank);
  else
    for (const Target& target : win.targets)
      if (found == nullptr && target.bytes > 0) found = &target;
  void* base = nullptr;
  *bytes = 0;
  *unit = found != nullptr ? found->unit : 1;
  // Contiguous memory has a place for those that have none of it, too.
  const bool is_anywhere = object::info_flag(win.hints, "alloc_shared_noncontig", false);
  if (found != nullptr && found->here != nullptr && (found->bytes > 0 || !is_anywhere)) {
    base = found->here;
    *bytes = found->bytes;
  }
  std::memcpy(baseptr, &base, sizeof base);
  return ok;
}

void get_group(const Window& win, MPI_Group* out) {
  object::share_group(*win.comm.store, *win.comm.group, out);
}

Err get_attribute(Window& win, int keyval, void* value, int* flag) {
  void* answer = nullptr;
  switch (keyval) {
    case MPI_WIN_BASE:
      answer = win.base;
      break;
    case MPI_WIN_SIZE:
      answer = &win.size;
      break;
    case MPI_WIN_DISP_UNIT:
      answer = &win.disp_unit;
      break;
    case MPI_WIN_CREATE_FLAVOR:
      answer = &win.flavor;
      break;
    case MPI_WIN_MODEL:
      answer = &win.model;
      break;
    default:
      return object::get_attribute(*win.comm.store, holder(win), keyval, value, flag);
  }
  *flag = 1;
  std::memcpy(value, &answer, sizeof answer);
  return ok;
}

Err set_hints(Window& win, const Info* info) {
  const sync::Guard guard(win.comm.store->lock);
  for (const Hint& hint : known_hints) {
    const std::string* value = object::info_find(info, hint.key);
    if (value == nullptr) continue;
    if (win.hints == nullptr) win.hints = win.comm.store->infos.create();
    WEFT_TRY(object::info_set(*win.hints, hint.key, value->c_str()));
  }
  return ok;
}

Err get_hints(const Window& win, MPI_Info* out) {
  object::Store& store = *win.comm.store;
  object::dup_info(store, win.hints, out);
  Info& info = *store.info(*out);
  for (const Hint& hint : known_hints)
    if (object::info_find(&info, hint.key) == nullptr)
      WEFT_TRY(object::info_set(info, hint.key, hint.usual));
  return object::info_set(info, "weft_access", win.direct ? "direct" : "kernel");
}

}  // namespace weft::rma
