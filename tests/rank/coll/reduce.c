// SPDX-License-Identifier: Apache-2.0
// Reduce, Allreduce, Reduce_scatter, Reduce_scatter_block, Scan and Exscan with MPI_SUM: every
// root, counts from 0 to large, in place and not, zero parts; all ranks get the same bits of a
// floating sum.
#include "forms.h"

static long value(int who, long i) {
  return (long)(who + 1) * (i % 1009 + 1) - who * 7;
}
static long sum(int ranks, long i) {  // of ranks 0 .. ranks-1
  long total = 0;
  for (int who = 0; who < ranks; ++who) total += value(who, i);
  return total;
}

static void compare(const char* what, const long* got, long from, long count, int ranks) {
  ++checks;
  for (long i = 0; i < count; ++i) {
    if (got[i] != sum(ranks, from + i))
      DIE("%s: item %ld of %ld is %ld, expected %ld", what, i, count, got[i], sum(ranks, from + i));
  }
}

static void all(int count, int in_place) {
  long *out = alloc(sizeof(long) * (count + 1)), *in = alloc(sizeof(long) * (count + 1));
  for (int i = 0; i < count; ++i) out[i] = value(rank, i);
  for (int root = 0; root < size; ++root) {
    for (int i = 0; i <= count; ++i) in[i] = i < count && in_place && rank == root ? out[i] : -1;
    if (in_place && rank == root) {
      COLL(Reduce, reduce, MPI_IN_PLACE, in, count, MPI_LONG, MPI_SUM, root, MPI_COMM_WORLD);
    } else {
      COLL(Reduce, reduce, out, rank == root ? in : NULL, count, MPI_LONG, MPI_SUM, root,
           MPI_COMM_WORLD);
    }
    if (rank == root) compare("Reduce", in, 0, count, size);
    CHECK(in[count] == -1, "Reduce of %d wrote past the end", count);
  }
  for (int i = 0; i < count; ++i) in[i] = in_place ? out[i] : -1;
  COLL(Allreduce, allreduce, in_place ? MPI_IN_PLACE : out, in, count, MPI_LONG, MPI_SUM,
       MPI_COMM_WORLD);
  compare("Allreduce", in, 0, count, size);
  for (int i = 0; i < count; ++i) in[i] = in_place ? out[i] : -1;
  COLL(Scan, scan, in_place ? MPI_IN_PLACE : out, in, count, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
  compare("Scan", in, 0, count, rank + 1);
  for (int i = 0; i < count; ++i) in[i] = in_place ? out[i] : -1;
  COLL(Exscan, exscan, in_place ? MPI_IN_PLACE : out, in, count, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
  if (rank > 0) compare("Exscan", in, 0, count, rank);
  CHECK(in[count] == -1, "a reduction of %d wrote past the end", count);
  for (int i = 0; i < count; ++i) {
    if (out[i] != value(rank, i)) DIE("a reduction changed its send buffer at %d", i);
  }
  free(out);
  free(in);
}

// A rank gets its own part at the start of the buffer; what it gave of the others' parts stays.
static void untouched(const long* in, long from, long to, int in_place) {
  ++checks;
  for (long i = from; i < to; ++i)
    if (in[i] != (in_place ? value(rank, i) : -1))
      DIE("a Reduce_scatter of %ld changed item %ld to %ld", from, i, in[i]);
}

static void scattered(int count, int in_place) {
  int* counts = alloc(sizeof(int) * size);
  long total = 0, before = 0;
  for (int who = 0; who < size; ++who) {
    counts[who] = who % 3 == 1 ? 0 : count + 2 * who;
    if (who < rank) before += counts[who];
    total += counts[who];
  }
  const long room = total > (long)count * size ? total : (long)count * size;
  long *out = alloc(sizeof(long) * room), *in = alloc(sizeof(long) * (room + 1));
  for (long i = 0; i < room; ++i) out[i] = value(rank, i);
  for (long i = 0; i <= room; ++i) in[i] = i < room && in_place ? out[i] : -1;
  COLL(Reduce_scatter, reduce_scatter, in_place ? MPI_IN_PLACE : out, in, counts, MPI_LONG, MPI_SUM,
       MPI_COMM_WORLD);
  compare("Reduce_scatter", in, before, counts[rank], size);
  untouched(in, counts[rank], room, in_place);
  for (long i = 0; i <= room; ++i) in[i] = i < room && in_place ? out[i] : -1;
  COLL(Reduce_scatter_block, reduce_scatter_block, in_place ? MPI_IN_PLACE : out, in, count,
       MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
  compare("Reduce_scatter_block", in, (long)rank * count, count, size);
  untouched(in, count, room, in_place);
  CHECK(in[room] == -1, "Reduce_scatter_block wrote past the end");
  free(counts);
  free(out);
  free(in);
}

// Whatever order an implementation adds in, all ranks must hold the same bits.
static void same_bits(int count) {
  double *in = alloc(sizeof(double) * count), *other = alloc(sizeof(double) * count);
  for (int i = 0; i < count; ++i)
    in[i] = 1.0 / (rank * 31 + i + 3) + (i % 3 ? 1e10 : -1e-10) * (rank + 1);
  COLL(Allreduce, allreduce, MPI_IN_PLACE, in, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  OK(MPI_Sendrecv(in, count, MPI_DOUBLE, right_of(rank), 1, other, count, MPI_DOUBLE, left_of(rank),
                  1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  CHECK(memcmp(in, other, sizeof(double) * count) == 0,
        "Allreduce of %d doubles differs between ranks", count);
  free(in);
  free(other);
}

int main(int argc, char** argv) {
  start_form(&argc, &argv);
  for (int i = 0; i < counts_tried; ++i) {
    for (int in_place = 0; in_place < 2; ++in_place) {
      all(counts_[i], in_place);
      scattered(counts_[i], in_place);
    }
    if (counts_[i]) same_bits(counts_[i]);
  }
  return finish();
}
