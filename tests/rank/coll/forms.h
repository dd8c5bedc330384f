// SPDX-License-Identifier: Apache-2.0
// One body of a collective test, run in three forms: COLL(Bcast, bcast, buf, n, type, root, comm)
// is MPI_Bcast, MPI_Ibcast with a wait, or MPI_Bcast_init and a start, as the program's argument
// says (blocking is the default).
#ifndef WEFT_TESTS_RANK_COLL_FORMS_H
#define WEFT_TESTS_RANK_COLL_FORMS_H

#include "../check.h"

enum form { blocking, nonblocking, persistent };
static enum form form = blocking;

#define COLL(Name, name, ...) COLL_AS(Name, name, , __VA_ARGS__)
// The same with large counts, MPI_Bcast_c and so on.
#define COLL_C(Name, name, ...) COLL_AS(Name, name, _c, __VA_ARGS__)
#define COLL_AS(Name, name, suffix, ...)                                    \
  do {                                                                      \
    MPI_Request request_;                                                   \
    if (form == blocking) {                                                 \
      OK(MPI_##Name##suffix(__VA_ARGS__));                                  \
    } else if (form == nonblocking) {                                       \
      OK(MPI_I##name##suffix(__VA_ARGS__, &request_));                      \
      OK(MPI_Wait(&request_, MPI_STATUS_IGNORE));                           \
    } else {                                                                \
      OK(MPI_##Name##_init##suffix(__VA_ARGS__, MPI_INFO_NULL, &request_)); \
      OK(MPI_Start(&request_));                                             \
      OK(MPI_Wait(&request_, MPI_STATUS_IGNORE));                           \
      OK(MPI_Request_free(&request_));                                      \
    }                                                                       \
  } while (0)

CHECK_UNUSED static void start_form(int* argc, char*** argv) {
  start(argc, argv);
  const char* word = *argc > 1 ? (*argv)[1] : "blocking";
  if (strcmp(word, "nonblocking") == 0) {
    form = nonblocking;
  } else if (strcmp(word, "persistent") == 0) {
    form = persistent;
  } else if (strcmp(word, "blocking") != 0) {
    DIE("the form is '%s', expected blocking, nonblocking or persistent", word);
  }
}

// Integer data known from who sent it, to whom, and where it lies.
CHECK_UNUSED static int item(int from, int to, long i) {
  return from * 1000003 + to * 10007 + (int)i * 3 + 1;
}

static const int counts_[] = {0, 1, 7, 64, 1000, 5003, 100003};
enum { counts_tried = 7, count_most = 100003 };

#endif
