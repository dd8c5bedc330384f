// SPDX-License-Identifier: Apache-2.0
#include "rank_files.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include <filesystem>

namespace weft::launch {

std::string file_of_rank(const std::string& pattern, int rank) {
  std::string out;
  for (std::size_t at = 0; at < pattern.size(); ++at) {
    if (pattern[at] != '%') {
      out += pattern[at];
      continue;
    }
    switch (pattern[++at]) {
      case 'r':
        out += std::to_string(rank);
        break;
      case 'h': {
        char host[256] = "";
        gethostname(host, sizeof host - 1);
        out += host;
        break;
      }
      case '%':
        out += '%';
        break;
      default:  // MPICH's %g and %p: the group of processes and the proxy, of which there is one
        out += '0';
    }
  }
  return out;
}

int open_file_of_rank(const std::string& pattern, int rank) {
  const std::string path = file_of_rank(pattern, rank);
  constexpr int flags = O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC;
  const int fd = open(path.c_str(), flags, 0666);
  if (fd >= 0 || errno != ENOENT) return fd;
  std::error_code error;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), error);
  if (!error) return open(path.c_str(), flags, 0666);
  errno = error.value();
  return -1;
}

}  // namespace weft::launch
