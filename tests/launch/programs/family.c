// SPDX-License-Identifier: Apache-2.0
// family WHAT [MODE [HOST]]: a rank spawns two of this program; then one of the family does
// something while the others wait for it. WHAT: hello, kill (a child), abort (a child), parent (it
// is killed), silent (a child ends without MPI), leave (parents end, children go on), fail (a child
// returns 7), where (children say their number among those on a node), half (only one child uses
// MPI), asked (the rank spawns once it is sent SIGINT), each (every parent spawns for itself).
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char* what;

static int is(const char* word) {
  return strcmp(what, word) == 0;
}

static volatile sig_atomic_t is_asked;
static void hear(int number) {
  (void)number;
  is_asked = 1;
}

static int child(MPI_Comm parents, int rank) {
  int token = 0;
  MPI_Barrier(parents);
  if (is("where"))
    printf("child %d on %s of %s\n", rank, getenv("WEFT_LOCAL_RANK"), getenv("WEFT_LOCAL_SIZE"));
  else
    printf("child %d with %s\n", rank, what);
  fflush(stdout);
  if (rank == 1 && is("kill")) kill(getpid(), SIGKILL);
  if (rank == 1 && is("abort")) MPI_Abort(MPI_COMM_WORLD, 42);
  if (is("kill") || is("abort") || is("parent"))
    MPI_Recv(&token, 1, MPI_INT, 0, 0, parents, MPI_STATUS_IGNORE);
  MPI_Comm_disconnect(&parents);
  if (is("leave")) usleep(300000);
  MPI_Finalize();
  if (is("leave")) printf("child %d is the last\n", rank);
  return rank == 1 && is("fail") ? 7 : 0;
}

int main(int argc, char** argv) {
  int rank, token = 0;
  MPI_Comm parents, children;
  if (argc < 2) return 97;
  what = argv[1];
  if (is("quiet")) return 0;  // a child that is no MPI program
  if (is("half") && argc > 2 && strcmp(getenv("WEFT_RANK"), "1") == 0) return 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_get_parent(&parents);
  if (parents != MPI_COMM_NULL) return child(parents, rank);
  if (is("asked")) {
    signal(SIGINT, hear);
    puts("ready");
    fflush(stdout);
    while (!is_asked) usleep(1000);
  }
  char word[16];
  snprintf(word, sizeof word, "%s", is("silent") ? "quiet" : what);
  char* words[] = {word, is("half") ? word : NULL, NULL};
  MPI_Info info;
  MPI_Info_create(&info);
  if (argc > 2) MPI_Info_set(info, "weft_ranks", argv[2]);
  if (argc > 3) MPI_Info_set(info, "host", argv[3]);
  MPI_Comm_spawn(argv[0], words, 2, info, 0, is("each") ? MPI_COMM_SELF : MPI_COMM_WORLD, &children,
                 MPI_ERRCODES_IGNORE);
  MPI_Info_free(&info);
  if (is("silent")) return MPI_Finalize();
  MPI_Barrier(children);
  printf("parent %d of %s\n", rank, what);
  fflush(stdout);
  if (is("parent") && rank == 0) kill(getpid(), SIGKILL);
  if (is("kill") || is("abort") || is("parent"))
    MPI_Recv(&token, 1, MPI_INT, 0, 0, children, MPI_STATUS_IGNORE);
  MPI_Comm_disconnect(&children);
  return MPI_Finalize();
}
