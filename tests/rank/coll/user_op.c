// SPDX-License-Identifier: Apache-2.0
// User operations in every reduction: one that is not commutative (the order of ranks must be
// kept), one that is, and operations on derived types with gaps; the function sees whole elements
// of the right type.
#include "forms.h"

// The map x -> a x + b modulo a prime; composition is associative and not commutative.
typedef struct {
  long a, b;
} Map;
enum { prime = 1000003 };

static Map then(Map first, Map second) {
  return (Map){first.a * second.a % prime, (second.a * first.b + second.b) % prime};
}
static Map map_of(int who, long i) {
  return (Map){(who * 37 + i * 11 + 2) % prime, (who * 101 + i * 7 + 1) % prime};
}
static Map composed(int ranks, long i) {
  Map all = map_of(0, i);
  for (int who = 1; who < ranks; ++who) all = then(all, map_of(who, i));
  return all;
}

static MPI_Datatype map_type;
static int wrong_type;

static void compose(void* in, void* inout, int* length, MPI_Datatype* type) {
  const Map* left = in;
  Map* right = inout;
  MPI_Count bytes = 0;
  MPI_Type_size_c(*type, &bytes);
  if (bytes != sizeof(Map)) wrong_type = 1;
  for (int i = 0; i < *length; ++i) right[i] = then(left[i], right[i]);
}

static void compose_c(void* in, void* inout, MPI_Count* length, MPI_Datatype* type) {
  int n = (int)*length;
  compose(in, inout, &n, type);
}

static void compare(const char* what, const Map* got, long from, long count, int ranks) {
  ++checks;
  for (long i = 0; i < count; ++i) {
    const Map want = composed(ranks, from + i);
    if (got[i].a != want.a || got[i].b != want.b) {
      DIE("%s: item %ld of %ld is (%ld, %ld), expected (%ld, %ld): operands out of rank order?",
          what, i, count, got[i].a, got[i].b, want.a, want.b);
    }
  }
}

static void ordered(int count, MPI_Op op) {
  const long room = (long)(count + 1) * size;
  Map *out = alloc(sizeof(Map) * room), *in = alloc(sizeof(Map) * room);
  int *counts = alloc(sizeof(int) * size), before = 0;
  for (long i = 0; i < room; ++i) out[i] = map_of(rank, i);
  for (int root = 0; root < size; ++root) {
    COLL(Reduce, reduce, out, in, count, map_type, op, root, MPI_COMM_WORLD);
    if (rank == root) compare("Reduce", in, 0, count, size);
    memcpy(in, out, sizeof(Map) * count);
    COLL(Reduce, reduce, rank == root ? MPI_IN_PLACE : in, rank == root ? in : NULL, count,
         map_type, op, root, MPI_COMM_WORLD);
    if (rank == root) compare("Reduce in place", in, 0, count, size);
  }
  COLL(Allreduce, allreduce, out, in, count, map_type, op, MPI_COMM_WORLD);
  compare("Allreduce", in, 0, count, size);
  COLL(Scan, scan, out, in, count, map_type, op, MPI_COMM_WORLD);
  compare("Scan", in, 0, count, rank + 1);
  COLL(Exscan, exscan, out, in, count, map_type, op, MPI_COMM_WORLD);
  if (rank > 0) compare("Exscan", in, 0, count, rank);
  memcpy(in, out, sizeof(Map) * count);
  COLL(Exscan, exscan, MPI_IN_PLACE, in, count, map_type, op, MPI_COMM_WORLD);
  if (rank > 0) compare("Exscan in place", in, 0, count, rank);
  COLL(Reduce_scatter_block, reduce_scatter_block, out, in, count, map_type, op, MPI_COMM_WORLD);
  compare("Reduce_scatter_block", in, (long)rank * count, count, size);
  for (int who = 0; who < size; ++who) {
    counts[who] = who % 2 ? count + 1 : count / 2;
    before += who < rank ? counts[who] : 0;
  }
  COLL(Reduce_scatter, reduce_scatter, out, in, counts, map_type, op, MPI_COMM_WORLD);
  compare("Reduce_scatter", in, before, counts[rank], size);
  free(out);
  free(in);
  free(counts);
}

// Sum of the second int of each triple; the elements have a gap in front, a gap behind, and their
// own extent.
static void add_middle(void* in, void* inout, int* length, MPI_Datatype* type) {
  MPI_Aint low, extent;
  MPI_Type_get_extent(*type, &low, &extent);
  for (int i = 0; i < *length; ++i) {
    const char* from = (const char*)in + i * extent;
    char* to = (char*)inout + i * extent;
    ((int*)to)[1] += ((const int*)from)[1];
  }
}

static void with_gaps(int count) {
  int *out = alloc(sizeof(int) * 4 * count), *in = alloc(sizeof(int) * 4 * count), wrong = 0;
  const int one = 1, shift = 1;
  MPI_Datatype middle, type;
  MPI_Op op;
  OK(MPI_Type_indexed(1, &one, &shift, MPI_INT, &middle));
  OK(MPI_Type_create_resized(middle, 0, 4 * sizeof(int), &type));
  OK(MPI_Type_commit(&type));
  OK(MPI_Op_create(add_middle, 1, &op));
  for (int i = 0; i < 4 * count; ++i) {
    out[i] = i % 4 == 1 ? rank + i : -9;
    in[i] = -5;
  }
  COLL(Allreduce, allreduce, out, in, count, type, op, MPI_COMM_WORLD);
  for (int i = 0; i < 4 * count; ++i)
    wrong += in[i] != (i % 4 == 1 ? size * (size - 1) / 2 + size * i : -5);
  CHECK(wrong == 0, "Allreduce of %d elements with gaps: %d places wrong", count, wrong);
  for (int i = 0; i < 4 * count; ++i) in[i] = -5;
  COLL(Reduce, reduce, out, in, count, type, op, size - 1, MPI_COMM_WORLD);
  for (int i = 0; i < 4 * count && rank == size - 1; ++i)
    wrong += in[i] != (i % 4 == 1 ? size * (size - 1) / 2 + size * i : -5);
  CHECK(wrong == 0, "Reduce of %d elements with gaps: %d places wrong", count, wrong);
  OK(MPI_Op_free(&op));
  CHECK(op == MPI_OP_NULL, "Op_free left the handle as it was");
  OK(MPI_Type_free(&middle));
  OK(MPI_Type_free(&type));
  free(out);
  free(in);
}

int main(int argc, char** argv) {
  start_form(&argc, &argv);
  MPI_Op op, large;
  int commutes = 1;
  OK(MPI_Type_contiguous(2, MPI_LONG, &map_type));
  OK(MPI_Type_commit(&map_type));
  OK(MPI_Op_create(compose, 0, &op));
  OK(MPI_Op_create_c(compose_c, 0, &large));
  OK(MPI_Op_commutative(op, &commutes));
  EQ(commutes, 0);
  const int counts[] = {0, 1, 5, 300, 9000};
  for (int i = 0; i < 5; ++i) {
    ordered(counts[i], op);
    if (counts[i] < 1000) ordered(counts[i], large);
    if (counts[i]) with_gaps(counts[i]);
  }
  EQ(wrong_type, 0);
  OK(MPI_Op_free(&op));
  OK(MPI_Op_free(&large));
  OK(MPI_Type_free(&map_type));
  return finish();
}
