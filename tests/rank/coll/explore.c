// SPDX-License-Identifier: Apache-2.0
// Collectives try several ways while they run (docs/collectives.md). Thousands of them, of several
// sizes on several communicators in an order that is drawn, some ranks late: every byte arrives
// whichever way it goes, reductions keep their bits, and all ranks count the same looks, verdicts
// and changes of way. WEFT_COLL_EXPLORE=<much> comes from the testlist, so that every way is tried.
#include <unistd.h>

#include "../counter.h"
#include "elements.h"

enum { kinds = 8, sums = 3, sizes = 3, comms = 3, most = 12800, calls = 4000, stretch = 200 };
// 20, 40 and 100 KiB.
static const int counts[sizes] = {2560, 5120, most};

static unsigned state = 1;
static unsigned draw(unsigned below) {
  state = state * 1664525u + 1013904223u;
  return (state >> 10) % below;
}

// A communicator; `first`: what a sum was the first time, by kind and size.
struct place {
  MPI_Comm comm;
  int rank, size;
  double* first[sums][sizes];
};
static struct place places[comms];
static long *one, *all, *from;

static long wrong_blocks(const struct place* p, int operation, int count, int first) {
  long wrong = 0;
  for (int r = 0; r < p->size; ++r)
    wrong += wrong_in(all + (long)r * count, r, operation, first, count);
  return wrong;
}

// The order of the operands shows in the last bits.
static long sum(struct place* p, int kind, int count, int root, int in_place) {
  double *in = (double*)from, *out = (double*)all;
  double* const own = in_place && kind != 1 ? out : in;
  for (int i = 0; i < count; ++i) own[i] = 1.0 / (3 + i + 7 * p->rank);
  const void* send = own == out ? MPI_IN_PLACE : in;
  int have = count;
  if (kind == 0) {
    OK(MPI_Allreduce(send, out, count, MPI_DOUBLE, MPI_SUM, p->comm));
  } else if (kind == 1) {
    OK(MPI_Reduce(send, out, count, MPI_DOUBLE, MPI_SUM, root, p->comm));
    if (p->rank != root) return 0;
  } else {
    have = count / p->size;
    OK(MPI_Reduce_scatter_block(send, out, have, MPI_DOUBLE, MPI_SUM, p->comm));
  }
  const size_t bytes = sizeof(double) * (size_t)have;
  double** first = &p->first[kind][count == counts[0] ? 0 : count == counts[1] ? 1 : 2];
  if (*first == NULL) *first = memcpy(alloc(bytes), out, bytes);
  return memcmp(*first, out, bytes) != 0;
}

static long run(struct place* p, int kind, int operation, int count, int root, int in_place) {
  const int is_root = p->rank == root;
  const long mine = (long)p->rank * count;
  switch (kind) {
    case 0:
      write_elements(one, p->rank, operation, count);
      OK(MPI_Bcast(one, count, MPI_LONG, root, p->comm));
      return wrong_in(one, root, operation, 0, count);
    case 1:
      write_elements(in_place && is_root ? all + mine : one, p->rank, operation, count);
      OK(MPI_Gather(in_place && is_root ? MPI_IN_PLACE : one, count, MPI_LONG, all, count, MPI_LONG,
                    root, p->comm));
      return is_root ? wrong_blocks(p, operation, count, 0) : 0;
    case 2:
      if (is_root) write_elements(from, p->rank, operation, (long)p->size * count);
      OK(MPI_Scatter(from, count, MPI_LONG, one, count, MPI_LONG, root, p->comm));
      return wrong_in(one, root, operation, mine, count);
    case 3:
      write_elements(in_place ? all + mine : one, p->rank, operation, count);
      OK(MPI_Allgather(in_place ? MPI_IN_PLACE : one, count, MPI_LONG, all, count, MPI_LONG,
                       p->comm));
      return wrong_blocks(p, operation, count, 0);
    case 4:
      write_elements(in_place ? all : from, p->rank, operation, (long)p->size * count);
      OK(MPI_Alltoall(in_place ? MPI_IN_PLACE : from, count, MPI_LONG, all, count, MPI_LONG,
                      p->comm));
      return wrong_blocks(p, operation, count, (int)mine);
    default:
      return sum(p, kind - 5, count, root, in_place);
  }
}

static unsigned long long counted_alike(const char* name) {
  const unsigned long long mine = counted();
  unsigned long long least = 0, most_of_one = 0;
  OK(MPI_Allreduce(&mine, &least, 1, MPI_UNSIGNED_LONG_LONG, MPI_MIN, MPI_COMM_WORLD));
  OK(MPI_Allreduce(&mine, &most_of_one, 1, MPI_UNSIGNED_LONG_LONG, MPI_MAX, MPI_COMM_WORLD));
  CHECK(least == most_of_one, "%s: %llu of one rank, %llu of another", name, least, most_of_one);
  return mine;
}

// Calls on `used` communicators, with so much of a counter.
static unsigned long long run_rows(const char* counter, int used, int operation) {
  open_counter(counter, MPI_T_PVAR_CLASS_COUNTER);
  const int late = (int)draw((unsigned)size);
  struct place* most_at = NULL;
  int most_kind = 0, most_count = 0;
  for (int i = 0; i < calls; ++i, ++operation) {
    struct place* p = &places[draw((unsigned)used)];
    int kind = (int)draw(kinds), count = counts[draw(sizes)];
    const int in_place = (int)draw(2);
    // Three of four calls are of one kind and size for a while, so that looks come to an end.
    if (i % stretch == 0) most_at = p, most_kind = (int)draw(kinds), most_count = count;
    if (draw(4) != 0) p = most_at, kind = most_kind, count = most_count;
    const int root = (int)draw((unsigned)p->size);
    if (rank == late && i % 50 == 0) usleep(200);
    const long wrong = run(p, kind, operation, count, root, in_place);
    CHECK(wrong == 0, "operation %d, kind %d, root %d, %d items: %ld wrong", i, kind, root, count,
          wrong);
  }
  const unsigned long long got = counted_alike(counter);
  close_counter();
  return got;
}

int main(int argc, char** argv) {
  start(&argc, &argv);
  const size_t room = sizeof(long) * most * (size_t)size;
  one = alloc(sizeof(long) * most), all = alloc(room), from = alloc(room);
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &places[0].comm));
  OK(MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &places[1].comm));
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &places[2].comm));
  for (int i = 0; i < comms; ++i) {
    OK(MPI_Comm_rank(places[i].comm, &places[i].rank));
    OK(MPI_Comm_size(places[i].comm, &places[i].size));
  }
  const int alone = size == 1;
  // All calls of a size on one communicator, so that a verdict comes for certain.
  const unsigned long long verdicts = run_rows("coll_verdicts", 1, 0);
  CHECK(alone ? verdicts == 0 : verdicts >= 1, "%llu verdicts", verdicts);
  const unsigned long long explored = run_rows("coll_explored", comms, calls);
  CHECK(alone ? explored == 0 : explored > 100, "%llu calls explored", explored);
  run_rows("coll_changes", comms, 2 * calls);

  // A communicator that is told not to.
  MPI_Info info;
  OK(MPI_Info_create(&info));
  OK(MPI_Info_set(info, "weft_coll_explore", "0"));
  OK(MPI_Comm_set_info(places[0].comm, info));
  OK(MPI_Info_free(&info));
  EQ(run_rows("coll_explored", 1, 3 * calls), 0);
  for (int i = 0; i < comms; ++i) {
    OK(MPI_Comm_free(&places[i].comm));
    for (int k = 0; k < sums * sizes; ++k) free(places[i].first[k / sizes][k % sizes]);
  }
  free(one), free(all), free(from);
  return finish();
}
