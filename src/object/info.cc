// SPDX-License-Identifier: Apache-2.0
//
// Info objects. Lookups are linear: an info has a handful of keys.
#include "object/info.h"

#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstring>

#include "object/store.h"

namespace weft::object {
namespace {

Err check_key(const char* key) {
  const std::size_t length = std::strlen(key);
  if (length == 0) return fail(MPI_ERR_INFO_KEY, "the key is an empty string");
  if (length >= MPI_MAX_INFO_KEY)
    return fail(MPI_ERR_INFO_KEY,
                "the key \"%.40s...\" has %zu characters; a key may have at most %d", key, length,
                MPI_MAX_INFO_KEY - 1);
  return ok;
}

auto find(auto& entries, const char* key) {
  return std::find_if(entries.begin(), entries.end(),
                      [&](const auto& e) { return e.first == key; });
}

void copy_text(const std::string& from, char* to, std::size_t room) {
  const std::size_t n = std::min(from.size(), room - 1);
  std::memcpy(to, from.data(), n);
  to[n] = 0;
}

void put(Info& info, const char* key, const std::string& value) {
  if (!value.empty()) (void)info_set(info, key, value.substr(0, MPI_MAX_INFO_VAL - 1).c_str());
}

Info* make_info(Store& store) {
  Info* info = store.infos.create();
  info->store = &store;
  return info;
}

}  // namespace

void create_info(Store& store, MPI_Info* out) {
  *out = reinterpret_cast<MPI_Info>(make_info(store));
}

Err create_env_info(Store& store, int argc, char** argv, MPI_Info* out) {
  Start start;
  set_command(start, argc, argv);
  Info* info = make_info(store);
  fill_env_info(*info, start);
  *out = reinterpret_cast<MPI_Info>(info);
  return ok;
}

void dup_info(Store& store, const Info* info, MPI_Info* out) {
  Info* copy = make_info(store);
  if (info != nullptr) copy->entries = info->entries;
  *out = reinterpret_cast<MPI_Info>(copy);
}

Err free_info(Store& store, MPI_Info* handle) {
  Info* info = store.info(*handle);
  if (info == store.info_env)
    return fail(MPI_ERR_INFO, "MPI_INFO_ENV is predefined and cannot be freed");
  store.infos.destroy(info);
  *handle = MPI_INFO_NULL;
  return ok;
}

Err info_set(Info& info, const char* key, const char* value) {
  WEFT_TRY(check_key(key));
  const std::size_t length = std::strlen(value);
  if (length >= MPI_MAX_INFO_VAL)
    return fail(MPI_ERR_INFO_VALUE,
                "the value of \"%s\" has %zu characters; a value may have at most "
                "%d",
                key, length, MPI_MAX_INFO_VAL - 1);
  const auto at = find(info.entries, key);
  if (at != info.entries.end()) {
    at->second = value;
  } else {
    info.entries.emplace_back(key, value);
  }
  return ok;
}

Err info_delete(Info& info, const char* key) {
  WEFT_TRY(check_key(key));
  const auto at = find(info.entries, key);
  if (at == info.entries.end())
    return fail(MPI_ERR_INFO_NOKEY, "the info has no key \"%s\"; it has %zu others", key,
                info.entries.size());
  info.entries.erase(at);
  return ok;
}

Err info_get_string(const Info& info, const char* key, int* buflen, char* value, int* flag) {
  WEFT_TRY(check_key(key));
  if (*buflen < 0)
    return fail(MPI_ERR_ARG, "buflen is %d; it is the room for the value and not negative",
                *buflen);
  const std::string* found = info_find(&info, key);
  *flag = found != nullptr;
  if (found == nullptr) return ok;
  if (*buflen > 0) copy_text(*found, value, static_cast<std::size_t>(*buflen));
  *buflen = static_cast<int>(found->size()) + 1;
  return ok;
}

Err info_get(const Info& info, const char* key, int valuelen, char* value, int* flag) {
  WEFT_TRY(check_key(key));
  if (valuelen < 0)
    return fail(MPI_ERR_ARG, "valuelen is %d; it is the length of the value and not negative",
                valuelen);
  const std::string* found = info_find(&info, key);
  *flag = found != nullptr;
  if (found != nullptr) copy_text(*found, value, static_cast<std::size_t>(valuelen) + 1);
  return ok;
}

Err info_get_valuelen(const Info& info, const char* key, int* valuelen, int* flag) {
  WEFT_TRY(check_key(key));
  const std::string* found = info_find(&info, key);
  *flag = found != nullptr;
  if (found != nullptr) *valuelen = static_cast<int>(found->size());
  return ok;
}

int info_nkeys(const Info& info) {
  return static_cast<int>(info.entries.size());
}

Err info_nthkey(const Info& info, int n, char* key) {
  if (n < 0 || n >= info_nkeys(info))
    return fail(MPI_ERR_ARG, "n is %d; the info has %d keys, numbered from 0", n, info_nkeys(info));
  copy_text(info.entries[static_cast<std::size_t>(n)].first, key, MPI_MAX_INFO_KEY);
  return ok;
}

const std::string* info_find(const Info* info, const char* key) {
  if (info == nullptr) return nullptr;
  const auto at = find(info->entries, key);
  return at == info->entries.end() ? nullptr : &at->second;
}

bool info_flag(const Info* info, const char* key, bool fallback) {
  const std::string* value = info_find(info, key);
  if (value == nullptr) return fallback;
  if (*value == "true") return true;
  return *value == "false" ? false : fallback;
}

void set_command(Start& start, int argc, char* const* argv) {
  if (argc > 0 && argv != nullptr && argv[0] != nullptr) start.command = argv[0];
  for (int i = 1; i < argc && argv != nullptr && argv[i] != nullptr; ++i) {
    if (i > 1) start.arguments += ' ';
    start.arguments += argv[i];
  }
}

void fill_env_info(Info& info, const Start& start) {
  put(info, "command", start.command);
  put(info, "argv", start.arguments);
  put(info, "maxprocs", std::to_string(start.maxprocs));
  put(info, "soft", std::to_string(start.maxprocs));
  utsname node;
  if (uname(&node) == 0) {
    put(info, "host", node.nodename);
    put(info, "arch", node.machine);
  }
  char directory[PATH_MAX];
  if (getcwd(directory, sizeof directory) != nullptr) put(info, "wdir", directory);
  if (start.thread_level != nullptr) put(info, "thread_level", start.thread_level);
}

}  // namespace weft::object
