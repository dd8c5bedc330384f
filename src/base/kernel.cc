// SPDX-License-Identifier: Apache-2.0
#include "base/kernel.h"

#include <unistd.h>

#include <cstdio>
#include <cstring>

namespace weft {

std::string first_line(const std::string& path) {
  char text[512] = "";
  if (std::FILE* file = std::fopen(path.c_str(), "re")) {
    if (std::fgets(text, sizeof text, file) == nullptr) text[0] = 0;
    std::fclose(file);
  }
  text[std::strcspn(text, "\n")] = 0;
  return text;
}

std::string kernel_id() {
  const std::string id = first_line("/proc/sys/kernel/random/boot_id");
  return id.empty() ? "unknown" : id;
}

std::string network_id() {
  char text[64] = "";
  if (readlink("/proc/self/ns/net", text, sizeof text - 1) < 0) text[0] = 0;
  return text;
}

}  // namespace weft
