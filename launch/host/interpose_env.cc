// SPDX-License-Identifier: Apache-2.0
//
// An environment per rank. The rank's `environ` points to an array of its own; getenv reads it
// without a lock, as libc's does, so arrays and strings that were replaced are never freed.
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <mutex>
#include <string>

#include "host.h"
#include "next.h"

using namespace weft::host;

namespace {

/// The entry `name`=… in `array`, or nullptr.
char** find_entry(char** array, const char* name, std::size_t length) {
  for (char** e = array; e && *e; e++)
    if (strncmp(*e, name, length) == 0 && (*e)[length] == '=') return e;
  return nullptr;
}

int set_entry(Rank& rank, char* entry, std::size_t length, bool overwrite) {
  std::scoped_lock guard(rank.lock);
  if (char** e = find_entry(rank.environ_array(), entry, length)) {
    if (overwrite) *e = entry;
    return 0;
  }
  std::size_t count = 0;
  char** old = rank.environ_array();
  while (old && old[count]) count++;
  auto** grown = static_cast<char**>(malloc((count + 2) * sizeof(char*)));
  if (!grown) return -1;
  if (count > 0) memcpy(grown, old, count * sizeof(char*));
  grown[count] = entry;
  grown[count + 1] = nullptr;
  rank.environ_array() = grown;
  return 0;
}

int remove_entry(Rank& rank, const char* name, std::size_t length) {
  std::scoped_lock guard(rank.lock);
  while (char** e = find_entry(rank.environ_array(), name, length))
    for (; *e; e++) e[0] = e[1];
  return 0;
}

bool is_name(const char* name) {
  return name && *name && !strchr(name, '=');
}

}  // namespace

extern "C" {
#pragma GCC visibility push(default)

char* getenv(const char* name) {
  const std::size_t length = strlen(name);
  Rank* rank = current();
  char** e = find_entry(rank ? rank->environ_array() : environ, name, length);
  return e ? *e + length + 1 : nullptr;
}

char* secure_getenv(const char* name) {
  static constinit Next<char*(const char*)> real{"secure_getenv"};
  return current() ? getenv(name) : real(name);
}

int setenv(const char* name, const char* value, int overwrite) {
  static constinit Next<int(const char*, const char*, int)> real{"setenv"};
  Rank* rank = current();
  if (!rank) return real(name, value, overwrite);
  if (!is_name(name)) {
    errno = EINVAL;
    return -1;
  }
  char* entry = strdup((std::string(name) + '=' + value).c_str());
  return entry ? set_entry(*rank, entry, strlen(name), overwrite != 0) : -1;
}

int putenv(char* entry) {
  static constinit Next<int(char*)> real{"putenv"};
  Rank* rank = current();
  if (!rank) return real(entry);
  const std::size_t length = strcspn(entry, "=");
  return entry[length] ? set_entry(*rank, entry, length, true) : remove_entry(*rank, entry, length);
}

int unsetenv(const char* name) {
  static constinit Next<int(const char*)> real{"unsetenv"};
  Rank* rank = current();
  if (!rank) return real(name);
  if (!is_name(name)) {
    errno = EINVAL;
    return -1;
  }
  return remove_entry(*rank, name, strlen(name));
}

int clearenv() {
  static constinit Next<int()> real{"clearenv"};
  Rank* rank = current();
  if (!rank) return real();
  rank->environ_array() = nullptr;
  return 0;
}

#pragma GCC visibility pop
}
