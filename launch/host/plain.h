// SPDX-License-Identifier: Apache-2.0
//
// Descriptors past ThreadSanitizer, to which a number is one file of the whole process: on ranks'
// threads the host closes and makes them so (rank_functions.cc does it for ranks' own code).
#pragma once

#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace weft::host {

inline int plain_close(int fd) {
  return static_cast<int>(syscall(SYS_close, fd));
}
inline int plain_dup3(int from, int to, int flags) {
  return static_cast<int>(syscall(SYS_dup3, from, to, flags));
}
inline int plain_pipe2(int (&ends)[2], int flags) {
  return static_cast<int>(syscall(SYS_pipe2, ends, flags));
}

}  // namespace weft::host

/// fclose of a rank.
extern "C" int fclose_of_rank(FILE* f);
