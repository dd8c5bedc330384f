// SPDX-License-Identifier: Apache-2.0
// The last rank, or with ranks as threads the last process, is killed while the others wait for it.
// As errors return, each of their calls fails with MPI_ERR_PROC_ABORTED, which names it, and they
// go on: they make a communicator of their own and compute a sum. Arguments: what they wait in, how
// many ranks die, and anything if errors are to be fatal. Prints "ok: TEXT" for each rank that
// lives.
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { many = 2 << 20, patience_s = 5 };
static int rank, size, dead, first_dead;
static char data[many], more[many];

static int is(const char* word, const char* other) {
  return strcmp(word, other) == 0;
}

static int wait_in(const char* how) {
  const int victim = size - 1;
  const MPI_Comm world = MPI_COMM_WORLD;
  MPI_Request requests[2];
  MPI_Status status;
  int flag = 0, code = MPI_SUCCESS, sum = 0;
  if (is(how, "recv")) return MPI_Recv(data, 8, MPI_CHAR, victim, 1, world, &status);
  if (is(how, "any")) return MPI_Recv(data, 8, MPI_CHAR, MPI_ANY_SOURCE, 1, world, &status);
  if (is(how, "send")) return MPI_Send(data, many, MPI_CHAR, victim, 1, world);
  if (is(how, "ssend")) return MPI_Ssend(data, 8, MPI_CHAR, victim, 1, world);
  if (is(how, "flood"))  // of what is pushed, until there is no room
    while ((code = MPI_Send(data, 4096, MPI_CHAR, victim, 1, world)) == MPI_SUCCESS) usleep(10);
  if (is(how, "flood")) return code;
  if (is(how, "probe")) return MPI_Probe(victim, 1, world, &status);
  if (is(how, "sendrecv"))
    return MPI_Sendrecv(data, many, MPI_CHAR, victim, 1, more, many, MPI_CHAR, victim, 1, world,
                        &status);
  if (is(how, "waitall")) {
    MPI_Irecv(data, 8, MPI_CHAR, victim, 1, world, &requests[0]);
    MPI_Isend(more, many, MPI_CHAR, victim, 1, world, &requests[1]);
    MPI_Status both[2];
    code = MPI_Waitall(2, requests, both);
    if (both[0].MPI_ERROR != MPI_ERR_PROC_ABORTED || both[1].MPI_ERROR != MPI_ERR_PROC_ABORTED)
      return MPI_ERR_OTHER;
    return code;
  }
  if (is(how, "test")) {
    MPI_Irecv(data, 8, MPI_CHAR, victim, 1, world, &requests[0]);
    while (flag == 0 && code == MPI_SUCCESS) code = MPI_Test(&requests[0], &flag, &status);
    return code;
  }
  if (is(how, "barrier")) return MPI_Barrier(world);
  if (is(how, "allreduce")) return MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, world);
  if (is(how, "bcast")) return MPI_Bcast(data, many, MPI_CHAR, victim, world);
  if (is(how, "long")) return MPI_Allreduce(data, more, many, MPI_CHAR, MPI_MAX, world);
  if (is(how, "alltoall")) return MPI_Alltoall(data, 1000, MPI_CHAR, more, 1000, MPI_CHAR, world);
  if (is(how, "ibarrier")) {
    MPI_Ibarrier(world, &requests[0]);
    return MPI_Wait(&requests[0], &status);
  }
  if (is(how, "iallreduce")) {
    MPI_Iallreduce(data, more, many, MPI_CHAR, MPI_MAX, world, &requests[0]);
    while (flag == 0 && code == MPI_SUCCESS) code = MPI_Test(&requests[0], &flag, &status);
    return code;
  }
  if (is(how, "split")) {
    MPI_Comm part;
    return MPI_Comm_split(world, 0, rank, &part);
  }
  printf("unknown: %s\n", how);
  exit(3);
}

static int sum_of_survivors(void) {
  MPI_Group all, living;
  MPI_Comm comm;
  int range[3] = {0, first_dead - 1, 1}, sum = 0;
  MPI_Comm_group(MPI_COMM_WORLD, &all);
  MPI_Group_range_incl(all, 1, &range, &living);
  if (MPI_Comm_create_group(MPI_COMM_WORLD, living, 7, &comm) != MPI_SUCCESS) return -1;
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm);
  if (rank + 1 < first_dead) MPI_Send(&sum, 1, MPI_INT, rank + 1, 3, MPI_COMM_WORLD);
  int from_below = sum;
  if (rank > 0) MPI_Recv(&from_below, 1, MPI_INT, rank - 1, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Comm_free(&comm);
  MPI_Group_free(&all);
  MPI_Group_free(&living);
  return from_below == sum ? sum : -2;
}

int main(int argc, char** argv) {
  const char* how = argc > 1 ? argv[1] : "recv";
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  dead = argc > 2 ? atoi(argv[2]) : 1;
  first_dead = size - dead;
  if (argc < 4) MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank >= first_dead) {
    usleep(rank == first_dead ? 150000 : 10000000);
    raise(SIGKILL);
  }
  double begin = MPI_Wtime();
  int code = wait_in(how), class, length;
  const double took = MPI_Wtime() - begin;
  char text[MPI_MAX_ERROR_STRING] = "";
  MPI_Error_class(code, &class);
  MPI_Error_string(code, text, &length);
  begin = MPI_Wtime();
  const int sum = sum_of_survivors(), expected = first_dead * (first_dead - 1) / 2;
  const int again = MPI_Barrier(MPI_COMM_WORLD);
  int class_again;
  MPI_Error_class(again, &class_again);
  const double more_took = MPI_Wtime() - begin;
  const int wanted = is(how, "waitall") ? MPI_ERR_IN_STATUS : MPI_ERR_PROC_ABORTED;
  if (class == wanted && class_again == MPI_ERR_PROC_ABORTED && sum == expected &&
      took < patience_s && more_took < patience_s)
    printf("ok: %s\n", text);
  else
    printf("%s: class %d after %.2f s, sum %d of %d, then class %d after %.2f s: %s\n", how, class,
           took, sum, expected, class_again, more_took, text);
  MPI_Finalize();
  return 0;
}
