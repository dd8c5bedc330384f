// SPDX-License-Identifier: Apache-2.0
// A test whose ranks spawn ranks of the same program: which side a rank is on, and in which mode
// the children are.
#ifndef WEFT_TESTS_RANK_SPAWN_FAMILY_H
#define WEFT_TESTS_RANK_SPAWN_FAMILY_H

#include "../check.h"

static MPI_Comm parents = MPI_COMM_NULL;

// MPI_Init; true in a spawned rank.
CHECK_UNUSED static int start_family(int* argc, char*** argv) {
  start(argc, argv);
  OK(MPI_Comm_get_parent(&parents));
  return parents != MPI_COMM_NULL;
}

// What a spawned rank's main returns: it says nothing, its exit code does.
CHECK_UNUSED static int finish_child(void) {
  OK(MPI_Finalize());
  return failures != 0;
}

// "": as the parents.
CHECK_UNUSED static MPI_Info info_of_mode(const char* mode) {
  MPI_Info info = MPI_INFO_NULL;
  if (*mode == 0) return info;
  OK(MPI_Info_create(&info));
  OK(MPI_Info_set(info, "weft_ranks", mode));
  return info;
}

// All ranks of the world spawn `n` ranks of this program, which get one argument.
CHECK_UNUSED static MPI_Comm spawn(const char* program, const char* argument, int n,
                                   const char* mode) {
  MPI_Comm children = MPI_COMM_NULL;
  MPI_Info info = info_of_mode(mode);
  char word[64];
  snprintf(word, sizeof word, "%s", argument);
  char* words[] = {word, NULL};
  int codes[64];
  for (int i = 0; i < n; ++i) codes[i] = -1;
  OK(MPI_Comm_spawn(program, words, n, info, 0, MPI_COMM_WORLD, &children, codes));
  for (int i = 0; i < n; ++i) EQ(codes[i], MPI_SUCCESS);
  if (info != MPI_INFO_NULL) OK(MPI_Info_free(&info));
  return children;
}

#endif
