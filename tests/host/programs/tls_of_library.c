// SPDX-License-Identifier: Apache-2.0
// The other way round: the program addresses a thread-local variable of a library from the thread
// pointer, so the library's block must lie at a fixed place for every rank.
#include "standin.h"

#ifdef LIBRARY
__thread char of_library[256] = "of the library";
#else
extern __thread char of_library[256];
int main(void) {
  of_library[0] = (char)t_rank();
  t_barrier();
  return t_report("tls_of_library", of_library[0] == (char)t_rank() && of_library[13] == 'y');
}
#endif
