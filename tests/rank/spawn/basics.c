// SPDX-License-Identifier: Apache-2.0
// basics [MODE]: 1 to 4 children: messages of all lengths both ways, collectives, duplicates, parts
// and the merged communicator, MPI_Comm_disconnect. Children in the mode given, else the parents'.
#include <unistd.h>

#include "family.h"

enum { most = 3 << 20 };

// Each rank of one side exchanges messages with each of the other.
static void exchange(MPI_Comm inter, int is_child) {
  int me, theirs;
  OK(MPI_Comm_rank(inter, &me));
  OK(MPI_Comm_remote_size(inter, &theirs));
  unsigned char *out = alloc(most), *in = alloc(most);
  const int lengths[] = {0, 1, 31, 1000, 20000, 300000, most};
  for (size_t k = 0; k < sizeof lengths / sizeof *lengths; ++k)
    for (int i = 0; i < theirs; ++i) {
      MPI_Status status;
      MPI_Request requests[2];
      const int n = lengths[k];
      const unsigned mine = (unsigned)(is_child * 50 + me * 7 + i);
      const unsigned its = (unsigned)(!is_child * 50 + i * 7 + me);
      fill(out, (size_t)n, mine);
      memset(in, 0, (size_t)n);
      OK(MPI_Irecv(in, n, MPI_BYTE, i, (int)k, inter, &requests[0]));
      OK(MPI_Isend(out, n, MPI_BYTE, i, (int)k, inter, &requests[1]));
      OK(MPI_Wait(&requests[0], &status));
      OK(MPI_Wait(&requests[1], MPI_STATUS_IGNORE));
      STATUS(&status, i, (int)k, n);
      FILLED(in, (size_t)n, its);
    }
  free(out);
  free(in);
}

static void collectives(MPI_Comm inter, int is_child) {
  int me, theirs, value = -1, sum = 0;
  OK(MPI_Comm_rank(inter, &me));
  OK(MPI_Comm_remote_size(inter, &theirs));
  OK(MPI_Barrier(inter));
  if (!is_child) value = 4711;
  OK(MPI_Bcast(&value, 1, MPI_INT, is_child ? 0 : me == 0 ? MPI_ROOT : MPI_PROC_NULL, inter));
  EQ(value, 4711);
  value = me + 1;
  OK(MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, inter));
  EQ(sum, theirs * (theirs + 1) / 2);
}

static void merged(MPI_Comm inter, int is_child) {
  MPI_Comm all, odd;
  int me, n, sum = 0, part, *ranks;
  OK(MPI_Intercomm_merge(inter, is_child, &all));
  OK(MPI_Comm_rank(all, &me));
  OK(MPI_Comm_size(all, &n));
  int theirs;
  OK(MPI_Comm_remote_size(inter, &theirs));
  EQ(n, size + theirs);
  EQ(me, is_child ? theirs + rank : rank);
  for (int count = 1; count <= 100000; count *= 100) {
    long *data = alloc((size_t)count * sizeof *data), *got = alloc((size_t)count * sizeof *got);
    for (int i = 0; i < count; ++i) data[i] = me + i;
    OK(MPI_Allreduce(data, got, count, MPI_LONG, MPI_SUM, all));
    for (int i = 0; i < count; i += 97) EQ(got[i], (long)n * i + (long)n * (n - 1) / 2);
    OK(MPI_Bcast(data, count, MPI_LONG, n - 1, all));
    EQ(data[count - 1], n - 1 + count - 1);
    free(data);
    free(got);
  }
  ranks = alloc((size_t)n * sizeof *ranks);
  OK(MPI_Allgather(&me, 1, MPI_INT, ranks, 1, MPI_INT, all));
  for (int i = 0; i < n; ++i) EQ(ranks[i], i);
  free(ranks);
  OK(MPI_Comm_split(all, me % 2, me, &odd));
  OK(MPI_Comm_size(odd, &part));
  EQ(part, me % 2 ? n / 2 : (n + 1) / 2);
  OK(MPI_Allreduce(&me, &sum, 1, MPI_INT, MPI_SUM, odd));
  EQ(sum, me % 2 ? part * part : part * (part - 1));
  OK(MPI_Comm_free(&odd));
  OK(MPI_Comm_disconnect(&all));
}

static void all_of_it(MPI_Comm inter, int is_child) {
  MPI_Comm copy;
  exchange(inter, is_child);
  collectives(inter, is_child);
  OK(MPI_Comm_dup(inter, &copy));
  collectives(copy, is_child);
  merged(copy, is_child);
  OK(MPI_Comm_free(&copy));
}

int main(int argc, char** argv) {
  if (start_family(&argc, &argv)) {
    char name[MPI_MAX_OBJECT_NAME];
    int length, sum = 0;
    MPI_Comm again;
    EQ(argc, 2);
    CHECK(strcmp(argv[1], "a word") == 0, "the argument is %s", argv[1]);
    OK(MPI_Comm_get_name(parents, name, &length));
    OK(MPI_Comm_get_parent(&again));
    CHECK(again == parents, "MPI_Comm_get_parent differs the second time");
    OK(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    EQ(sum, size * (size - 1) / 2);
    EQ(atoi(getenv("WEFT_RANK")), rank);
    EQ(atoi(getenv("WEFT_SIZE")), size);
    all_of_it(parents, 1);
    OK(MPI_Comm_disconnect(&parents));
    OK(MPI_Comm_get_parent(&again));
    CHECK(again == MPI_COMM_NULL, "there is a parent after MPI_Comm_disconnect");
    return finish_child();
  }
  for (int n = 1; n <= 4; n += n < 2 ? 1 : 2) {
    int theirs = 0, flag = 0;
    MPI_Comm children = spawn(argv[0], "a word", n, argc > 1 ? argv[1] : "");
    OK(MPI_Comm_test_inter(children, &flag));
    EQ(flag, 1);
    OK(MPI_Comm_remote_size(children, &theirs));
    EQ(theirs, n);
    all_of_it(children, 0);
    OK(MPI_Comm_disconnect(&children));
  }
  return finish();
}
