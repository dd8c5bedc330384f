// SPDX-License-Identifier: Apache-2.0
// Same bits: with coll.reproducible every reduction gives exactly c0 op (c1 op (c2 ...)), and every
// scan exactly (c0 op c1) op c2, whichever way it goes. The ways are asked for by hints of
// communicators, which are tested here too. Sums of numbers of very different size, so that every
// other order gives other bits.
#include "forms.h"

enum { longest = 20011 };
static const int tried[] = {1, 7, 700, longest};

static double value(int who, long i) {
  const unsigned long long h =
      ((unsigned long long)who * 7919 + (unsigned long long)i) * 0x9e3779b97f4a7c15ull;
  const double mantissa = (double)(h >> 11) / (double)(1ull << 53) - 0.5;
  static const double scales[] = {1e-8, 1.0, 1e8, 1e16};
  return mantissa * scales[(h >> 5) & 3];
}
static double from_right(int ranks, long i) {
  double sum = value(ranks - 1, i);
  for (int who = ranks - 2; who >= 0; --who) sum = value(who, i) + sum;
  return sum;
}
static double from_left(int ranks, long i) {
  double sum = value(0, i);
  for (int who = 1; who < ranks; ++who) sum = sum + value(who, i);
  return sum;
}

static void same(const double* got, double (*want)(int, long), int ranks, long first, long count,
                 const char* call, const char* way) {
  for (long i = 0; i < count; ++i) {
    const double expected = want(ranks, first + i);
    CHECK(memcmp(&got[i], &expected, sizeof expected) == 0,
          "%s (%s), element %ld of %ld is %a, expected %a", call, way, first + i, count, got[i],
          expected);
    if (failures) return;
  }
}

static void add(void* in, void* inout, int* length, MPI_Datatype* type) {
  (void)type;
  for (int i = 0; i < *length; ++i) ((double*)inout)[i] = ((double*)in)[i] + ((double*)inout)[i];
}

static MPI_Comm with_way(const char* collective, const char* way) {
  MPI_Comm comm;
  MPI_Info info;
  char key[64], got[64];
  int flag = 0, room = sizeof got;
  snprintf(key, sizeof key, "weft_coll_%s", collective);
  OK(MPI_Info_create(&info));
  OK(MPI_Info_set(info, key, way));
  OK(MPI_Info_set(info, "weft_coll_reproducible", "1"));
  OK(MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &comm));
  OK(MPI_Info_free(&info));
  OK(MPI_Comm_get_info(comm, &info));
  OK(MPI_Info_get_string(info, key, &room, got, &flag));
  CHECK(flag && strcmp(got, way) == 0, "the hint %s is '%s', expected '%s'", key,
        flag ? got : "not there", way);
  OK(MPI_Info_free(&info));
  return comm;
}

static void reductions(const char* way, MPI_Op op) {
  MPI_Comm all = with_way("allreduce", way), one = with_way("reduce", way),
           part = with_way("reduce_scatter", way);
  for (int k = 0; k < 4; ++k) {
    const int n = tried[k];
    double *mine = alloc(sizeof(double) * n * size), *got = alloc(sizeof(double) * n * size);
    for (long i = 0; i < (long)n * size; ++i) mine[i] = value(rank, i);
    COLL(Allreduce, allreduce, mine, got, n, MPI_DOUBLE, op, all);
    same(got, from_right, size, 0, n, "allreduce", way);
    memcpy(got, mine, sizeof(double) * n);
    COLL(Allreduce, allreduce, MPI_IN_PLACE, got, n, MPI_DOUBLE, op, all);
    same(got, from_right, size, 0, n, "allreduce in place", way);
    const int root = n % size;
    COLL(Reduce, reduce, mine, got, n, MPI_DOUBLE, op, root, one);
    if (rank == root) same(got, from_right, size, 0, n, "reduce", way);
    COLL(Reduce_scatter_block, reduce_scatter_block, mine, got, n, MPI_DOUBLE, op, part);
    same(got, from_right, size, (long)n * rank, n, "reduce_scatter_block", way);
    free(mine);
    free(got);
  }
  OK(MPI_Comm_free(&all));
  OK(MPI_Comm_free(&one));
  OK(MPI_Comm_free(&part));
}

static void scans(const char* way, MPI_Op op) {
  MPI_Comm comm = with_way("scan", way);
  for (int k = 0; k < 4; ++k) {
    const int n = tried[k];
    double *mine = alloc(sizeof(double) * n), *got = alloc(sizeof(double) * n);
    for (long i = 0; i < n; ++i) mine[i] = value(rank, i);
    COLL(Scan, scan, mine, got, n, MPI_DOUBLE, op, comm);
    same(got, from_left, rank + 1, 0, n, "scan", way);
    COLL(Exscan, exscan, mine, got, n, MPI_DOUBLE, op, comm);
    if (rank > 0) same(got, from_left, rank, 0, n, "exscan", way);
    free(mine);
    free(got);
  }
  OK(MPI_Comm_free(&comm));
}

/// Hints that weft does not have, or not with this value, are not kept.
static void other_hints(void) {
  MPI_Comm comm;
  MPI_Info info;
  int keys = -1;
  OK(MPI_Info_create(&info));
  OK(MPI_Info_set(info, "weft_coll_teleport", "slots"));
  OK(MPI_Info_set(info, "somebody_elses", "hint"));
  OK(MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &comm));
  OK(MPI_Info_free(&info));
  OK(MPI_Comm_get_info(comm, &info));
  OK(MPI_Info_get_nkeys(info, &keys));
  EQ(keys, 0);
  OK(MPI_Info_free(&info));
  OK(MPI_Comm_free(&comm));
}

int main(int argc, char** argv) {
  start_form(&argc, &argv);
  MPI_Op user;
  OK(MPI_Op_create(add, 0, &user));
  static const char* const ways[] = {"auto", "slots", "direct", "strips", "ordered"};
  for (int w = 0; w < 5; ++w) {
    reductions(ways[w], MPI_SUM);
    reductions(ways[w], user);
  }
  static const char* const scan_ways[] = {"auto",  "slots", "pieces", "recursive_doubling",
                                          "chain", "linear"};
  for (int w = 0; w < 6; ++w) {
    scans(scan_ways[w], MPI_SUM);
    scans(scan_ways[w], user);
  }
  other_hints();
  OK(MPI_Op_free(&user));
  return finish();
}
