// SPDX-License-Identifier: Apache-2.0
// Gather, Scatter and their v forms: every root, in place, gaps, uneven and zero counts, unequal
// layouts.
#include "forms.h"

static void gather(int root, int count, int in_place) {
  const long total = (long)size * count;
  int *out = alloc(sizeof(int) * (count + 1)), *in = alloc(sizeof(int) * (total + 1));
  for (int i = 0; i < count; ++i) out[i] = item(rank, 0, i);
  for (long i = 0; i <= total; ++i) in[i] = -1;
  if (rank == root && in_place) {
    memcpy(in + (long)rank * count, out, sizeof(int) * count);
    COLL(Gather, gather, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, in, count, MPI_INT, root,
         MPI_COMM_WORLD);
  } else {
    COLL(Gather, gather, out, count, MPI_INT, rank == root ? in : NULL, rank == root ? count : 0,
         MPI_INT, root, MPI_COMM_WORLD);
  }
  for (long i = 0; i < total && rank == root; ++i) {
    const int want = item((int)(i / (count ? count : 1)), 0, i % count);
    if (in[i] != want)
      DIE("gather root %d, count %d: item %ld is %d, expected %d", root, count, i, in[i], want);
  }
  CHECK(in[total] == -1, "gather root %d, count %d: written past the end", root, count);
  free(out);
  free(in);
}

static void scatter(int root, int count, int in_place) {
  const long total = (long)size * count;
  int *out = alloc(sizeof(int) * (total + 1)), *in = alloc(sizeof(int) * (count + 1));
  for (long i = 0; i < total; ++i) out[i] = item(root, (int)(i / (count ? count : 1)), i % count);
  for (int i = 0; i <= count; ++i) in[i] = -1;
  if (rank == root && in_place) {
    COLL(Scatter, scatter, out, count, MPI_INT, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, root,
         MPI_COMM_WORLD);
    memcpy(in, out + (long)rank * count, sizeof(int) * count);
  } else {
    COLL(Scatter, scatter, rank == root ? out : NULL, rank == root ? count : 0, MPI_INT, in, count,
         MPI_INT, root, MPI_COMM_WORLD);
  }
  for (int i = 0; i < count; ++i) {
    const int want = item(root, rank, i);
    if (in[i] != want)
      DIE("scatter root %d, count %d: item %d is %d, expected %d", root, count, i, in[i], want);
  }
  CHECK(in[count] == -1, "scatter root %d, count %d: written past the end", root, count);
  free(out);
  free(in);
}

static int uneven(int who, int count) {
  return who % 3 == 1 ? 0 : count + who * 5;
}

// Uneven counts (some zero), gaps between the parts, parts in reverse order.
static void v_forms(int root, int count, int in_place) {
  int *counts = alloc(sizeof(int) * size), *places = alloc(sizeof(int) * size), at = 3;
  for (int who = size - 1; who >= 0; --who) {
    counts[who] = uneven(who, count);
    places[who] = at;
    at += counts[who] + 2;
  }
  const int mine = counts[rank], use = in_place && rank == root;
  int *all = alloc(sizeof(int) * at), *part = alloc(sizeof(int) * (mine + 1)), wrong = 0;
  for (int i = 0; i < at; ++i) all[i] = -1;
  for (int i = 0; i < mine; ++i) part[i] = all[places[rank] + i] = item(rank, 2, i);
  if (!use) {
    for (int i = 0; i < at; ++i) all[i] = -1;
  }
  if (use) {
    COLL(Gatherv, gatherv, MPI_IN_PLACE, 0, MPI_INT, all, counts, places, MPI_INT, root,
         MPI_COMM_WORLD);
  } else if (rank == root) {
    COLL(Gatherv, gatherv, part, mine, MPI_INT, all, counts, places, MPI_INT, root, MPI_COMM_WORLD);
  } else {
    COLL(Gatherv, gatherv, part, mine, MPI_INT, NULL, NULL, NULL, MPI_INT, root, MPI_COMM_WORLD);
  }
  if (rank == root) {
    long filled = 0;
    for (int who = 0; who < size; ++who) {
      for (int i = 0; i < counts[who]; ++i) wrong += all[places[who] + i] != item(who, 2, i);
      filled += counts[who];
    }
    for (int i = 0; i < at; ++i) filled -= all[i] != -1;
    CHECK(wrong == 0 && filled == 0, "gatherv root %d, count %d: %d items wrong, gaps written: %ld",
          root, count, wrong, -filled);
    for (int who = 0; who < size; ++who) {
      for (int i = 0; i < counts[who]; ++i) all[places[who] + i] = item(root, who, i + 9);
    }
  }
  for (int i = 0; i <= mine; ++i) part[i] = -1;
  if (use) {
    COLL(Scatterv, scatterv, all, counts, places, MPI_INT, MPI_IN_PLACE, 0, MPI_INT, root,
         MPI_COMM_WORLD);
    memcpy(part, all + places[rank], sizeof(int) * mine);
  } else if (rank == root) {
    COLL(Scatterv, scatterv, all, counts, places, MPI_INT, part, mine, MPI_INT, root,
         MPI_COMM_WORLD);
  } else {
    COLL(Scatterv, scatterv, NULL, NULL, NULL, MPI_INT, part, mine, MPI_INT, root, MPI_COMM_WORLD);
  }
  for (int i = 0; i < mine; ++i) wrong += part[i] != item(root, rank, i + 9);
  CHECK(wrong == 0 && part[mine] == -1, "scatterv root %d, count %d: %d items wrong", root, count,
        wrong);
  free(counts);
  free(places);
  free(all);
  free(part);
}

// A matrix is gathered by columns: contiguous rows at the senders, interleaved columns at the root.
static void columns(int root) {
  enum { height = 200 };
  int part[height], *matrix = alloc(sizeof(int) * height * size), wrong = 0;
  MPI_Datatype column, spaced;
  OK(MPI_Type_vector(height, 1, size, MPI_INT, &column));
  OK(MPI_Type_create_resized(column, 0, sizeof(int), &spaced));
  OK(MPI_Type_commit(&spaced));
  for (int i = 0; i < height; ++i) part[i] = item(rank, 3, i);
  COLL(Gather, gather, part, height, MPI_INT, matrix, 1, spaced, root, MPI_COMM_WORLD);
  for (int i = 0; i < height * size && rank == root; ++i)
    wrong += matrix[i] != item(i % size, 3, i / size);
  memset(part, 0, sizeof part);
  COLL(Scatter, scatter, matrix, 1, spaced, part, height, MPI_INT, root, MPI_COMM_WORLD);
  for (int i = 0; i < height; ++i) wrong += part[i] != item(rank, 3, i);
  CHECK(wrong == 0, "columns, root %d: %d items wrong", root, wrong);
  OK(MPI_Type_free(&column));
  OK(MPI_Type_free(&spaced));
  free(matrix);
}

int main(int argc, char** argv) {
  start_form(&argc, &argv);
  for (int root = 0; root < size; ++root) {
    for (int i = 0; i < counts_tried; ++i) {
      for (int in_place = 0; in_place < 2; ++in_place) {
        if (counts_[i] == 0 && in_place) continue;
        gather(root, counts_[i], in_place);
        scatter(root, counts_[i], in_place);
        if (counts_[i] < 10000) v_forms(root, counts_[i], in_place);
      }
    }
    columns(root);
  }
  return finish();
}
