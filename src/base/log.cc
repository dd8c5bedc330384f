// SPDX-License-Identifier: Apache-2.0
//
// One line per message on stderr, in one write: "weft: rank 1: memory: ...".
#include "base/log.h"

#include <cstdarg>
#include <cstdio>
#include <cstring>

namespace weft {
namespace {

int level_of(const char* name, std::size_t length) {
  constexpr const char* names[] = {"error", "info", "debug"};
  for (int i = 0; i < 3; ++i)
    if (std::strlen(names[i]) == length && std::strncmp(names[i], name, length) == 0) return i;
  return -1;
}

}  // namespace

bool Log::is_on(const char* folder, LogLevel level) const {
  int set = 0;
  const std::size_t folder_length = std::strlen(folder);
  for (const char* at = spec_.c_str(); *at != 0;) {
    const std::size_t length = std::strcspn(at, ",");
    const auto* colon = static_cast<const char*>(std::memchr(at, ':', length));
    if (colon == nullptr) {
      if (const int l = level_of(at, length); l >= 0) set = l;
    } else if (static_cast<std::size_t>(colon - at) == folder_length &&
               std::strncmp(at, folder, folder_length) == 0) {
      const int l = level_of(colon + 1, length - folder_length - 1);
      if (l >= 0) return static_cast<int>(level) <= l;
    }
    at += length + (at[length] == ',');
  }
  return static_cast<int>(level) <= set;
}

void Log::write(const char* folder, LogLevel level, const char* format, ...) const {
  if (!is_on(folder, level)) return;
  char text[1024];
  const int head = std::snprintf(text, sizeof text, "weft: rank %d: %s: ", world_rank_, folder);
  va_list args;
  va_start(args, format);
  const int body =
      std::vsnprintf(text + head, sizeof text - static_cast<std::size_t>(head) - 1, format, args);
  va_end(args);
  std::size_t length =
      static_cast<std::size_t>(head) + static_cast<std::size_t>(body > 0 ? body : 0);
  if (length > sizeof text - 2) length = sizeof text - 2;
  text[length] = '\n';
  std::fwrite(text, 1, length + 1, stderr);
}

}  // namespace weft
