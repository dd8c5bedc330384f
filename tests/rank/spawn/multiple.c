// SPDX-License-Identifier: Apache-2.0
// MPI_Comm_spawn_multiple: one world of two commands with their arguments, MPI_APPNUM, directories;
// the info key soft.
#include <unistd.h>

#include "family.h"

static int child(int argc, char** argv) {
  int *appnum = NULL, found = 0;
  char here[4096] = "";
  EQ(size, 4);
  OK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_APPNUM, &appnum, &found));
  EQ(found, 1);
  EQ(*appnum, rank > 0);
  if (rank == 0) {
    EQ(argc, 1);
    CHECK(getcwd(here, sizeof here) && strcmp(here, "/") == 0, "the directory is %s", here);
  } else {
    EQ(argc, 3);
    CHECK(strcmp(argv[1], "two") == 0 && strcmp(argv[2], "") == 0, "arguments are %s and %s",
          argv[1], argv[2]);
  }
  int sum = 0;
  OK(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, parents));
  OK(MPI_Comm_disconnect(&parents));
  return finish_child();
}

int main(int argc, char** argv) {
  if (start_family(&argc, &argv)) return child(argc, argv);
  MPI_Comm children;
  MPI_Info infos[2];
  for (int i = 0; i < 2; ++i) OK(MPI_Info_create(&infos[i]));
  OK(MPI_Info_set(infos[0], "wdir", "/"));
  OK(MPI_Info_set(infos[1], "soft", "1:9:2,11"));  // the most of 4: 3
  char program[4096];                              // from another directory, too
  CHECK(realpath(argv[0], program) != NULL, "%s is nowhere", argv[0]);
  char* commands[] = {program, program};
  char two[] = "two", nothing[] = "";
  char* none[] = {NULL};
  char* words[] = {two, nothing, NULL};
  char** arguments[] = {none, words};
  int most[] = {1, 4}, codes[5], theirs = 0, sum = 0;
  OK(MPI_Comm_spawn_multiple(2, commands, arguments, most, infos, 0, MPI_COMM_WORLD, &children,
                             codes));
  for (int i = 0; i < 5; ++i) EQ(codes[i], i < 4 ? MPI_SUCCESS : MPI_ERR_SPAWN);
  for (int i = 0; i < 2; ++i) OK(MPI_Info_free(&infos[i]));
  OK(MPI_Comm_remote_size(children, &theirs));
  EQ(theirs, 4);
  OK(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, children));
  EQ(sum, 6);
  OK(MPI_Comm_disconnect(&children));
  return finish();
}
