// SPDX-License-Identifier: Apache-2.0
// Objects made and freed leave nothing behind (MPI-5.0 §2.5.1, §7.4.3): after a first round of
// cycles, a second one needs no more heap, and its handles lie where the first round's lay.
#include <malloc.h>

#include "../check.h"

// The library's own lists may still grow a little when ranks overlap as they did not before; what
// is lost once in a cycle would be at least 16 bytes, or one handle, for each of them.
enum { cycles = 2000, slack = 8 * cycles };

static int highest;  // of the handles seen
static void saw(int handle) {
  if (handle > highest) highest = handle;
}

static void communicators(void) {
  MPI_Comm dup, idup, part, grid;
  MPI_Request request;
  const int dims[1] = {size}, periods[1] = {1};
  int one = 1, sum = 0;
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &dup));
  OK(MPI_Comm_idup(dup, &idup, &request));
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  OK(MPI_Comm_split(dup, rank % 2, rank, &part));
  OK(MPI_Cart_create(dup, 1, dims, periods, 0, &grid));
  OK(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, dup));
  EQ(sum, size);
  OK(MPI_Iallreduce(&one, &sum, 1, MPI_INT, MPI_SUM, part, &request));
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  saw(MPI_Comm_toint(dup));
  saw(MPI_Comm_toint(part));
  OK(MPI_Comm_free(&grid));
  OK(MPI_Comm_free(&part));
  OK(MPI_Comm_free(&idup));
  OK(MPI_Comm_free(&dup));
}

static void types(void) {
  MPI_Datatype vector, indexed, copy;
  const int lengths[2] = {1, 2}, places[2] = {0, 4};
  char out[400] = "", in[400];
  OK(MPI_Type_vector(3, 2, 5, MPI_INT, &vector));
  OK(MPI_Type_indexed(2, lengths, places, vector, &indexed));
  OK(MPI_Type_dup(indexed, &copy));
  OK(MPI_Type_set_name(copy, "a name that is too long to be kept in place"));
  OK(MPI_Type_commit(&copy));
  OK(MPI_Sendrecv(out, 1, copy, rank, 0, in, 1, copy, rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  saw(MPI_Type_toint(copy));
  OK(MPI_Type_free(&vector));
  OK(MPI_Type_free(&indexed));
  OK(MPI_Type_free(&copy));
}

static void requests(void) {
  MPI_Request request[3];
  MPI_Group group;
  MPI_Info info;
  int in = 0, sum = 0;
  OK(MPI_Send_init(&rank, 1, MPI_INT, rank, 0, MPI_COMM_WORLD, &request[0]));
  OK(MPI_Recv_init(&in, 1, MPI_INT, rank, 0, MPI_COMM_WORLD, &request[1]));
  OK(MPI_Allreduce_init(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_SELF, MPI_INFO_NULL,
                        &request[2]));
  OK(MPI_Startall(3, request));
  OK(MPI_Waitall(3, request, MPI_STATUSES_IGNORE));
  EQ(in, rank);
  for (int i = 0; i < 3; ++i) {
    saw(MPI_Request_toint(request[i]));
    OK(MPI_Request_free(&request[i]));
  }
  OK(MPI_Comm_group(MPI_COMM_WORLD, &group));
  saw(MPI_Group_toint(group));
  OK(MPI_Group_free(&group));
  OK(MPI_Info_create(&info));
  OK(MPI_Info_set(info, "key", "value"));
  saw(MPI_Info_toint(info));
  OK(MPI_Info_free(&info));
}

// What the process has allocated. The barriers keep ranks that are threads out of the way.
static long long heap(void) {
  OK(MPI_Barrier(MPI_COMM_WORLD));
  const struct mallinfo2 now = mallinfo2();
  OK(MPI_Barrier(MPI_COMM_WORLD));
  return (long long)(now.uordblks + now.hblkhd);
}

static void check(const char* what, void (*cycle)(void)) {
  for (int i = 0; i < cycles; ++i) cycle();
  const int before = highest;
  const long long used = heap();
  for (int i = 0; i < cycles; ++i) cycle();
  const long long more = heap() - used;
  CHECK(more <= slack, "%d cycles of %s left %lld bytes behind", cycles, what, more);
  CHECK(highest - before < cycles / 2, "%d cycles of %s: handles rose from %d to %d", cycles, what,
        before, highest);
}

int main(int argc, char** argv) {
  start(&argc, &argv);
  check("communicators", communicators);
  check("datatypes", types);
  check("requests, groups and infos", requests);
  return finish();
}
