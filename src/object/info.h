// SPDX-License-Identifier: Apache-2.0
//
// Info objects (MPI-5.0 §10): ordered lists of (key, value) strings, also usable before MPI_Init.
#pragma once

#include <string>

#include "base/err.h"
#include "object/objects.h"

namespace weft::object {

void create_info(Store& store, MPI_Info* out);
/// The keys that MPI_INFO_ENV has, for a program started by itself with these arguments.
Err create_env_info(Store& store, int argc, char** argv, MPI_Info* out);
/// `info` may be null (MPI_INFO_NULL): an empty one.
void dup_info(Store& store, const Info* info, MPI_Info* out);
Err free_info(Store& store, MPI_Info* handle);

Err info_set(Info& info, const char* key, const char* value);
Err info_delete(Info& info, const char* key);
/// MPI_Info_get_string (§10): *buflen becomes the room that the value needs.
Err info_get_string(const Info& info, const char* key, int* buflen, char* value, int* flag);
/// MPI_Info_get and MPI_Info_get_valuelen, deprecated since MPI-4.0.
Err info_get(const Info& info, const char* key, int valuelen, char* value, int* flag);
Err info_get_valuelen(const Info& info, const char* key, int* valuelen, int* flag);
int info_nkeys(const Info& info);
Err info_nthkey(const Info& info, int n, char* key);

/// The value of `key`, nullptr if `info` is null or has no such key.
const std::string* info_find(const Info* info, const char* key);
/// The same for a boolean value; `fallback` if it is absent or neither "true" nor "false".
bool info_flag(const Info* info, const char* key, bool fallback);

/// What a rank knows about its start.
struct Start {
  std::string command, arguments;  // arguments separated by spaces
  int maxprocs = 1;
  const char* thread_level = nullptr;  // "MPI_THREAD_SINGLE", ...; null before MPI_Init
};
/// Command and arguments; argv as main has it, or nullptr.
void set_command(Start& start, int argc, char* const* argv);
void fill_env_info(Info& info, const Start& start);

}  // namespace weft::object
