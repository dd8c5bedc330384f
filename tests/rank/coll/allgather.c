// SPDX-License-Identifier: Apache-2.0
// Allgather and Allgatherv: in place or not, uneven and zero counts, gaps, different layouts in and
// out.
#include "forms.h"

static void even(int count, int in_place) {
  const long total = (long)size * count;
  int *out = alloc(sizeof(int) * (count + 1)), *in = alloc(sizeof(int) * (total + 1));
  for (long i = 0; i <= total; ++i) in[i] = -1;
  for (int i = 0; i < count; ++i) out[i] = item(rank, 0, i);
  if (in_place) {
    memcpy(in + (long)rank * count, out, sizeof(int) * count);
    COLL(Allgather, allgather, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, in, count, MPI_INT,
         MPI_COMM_WORLD);
  } else {
    COLL(Allgather, allgather, out, count, MPI_INT, in, count, MPI_INT, MPI_COMM_WORLD);
  }
  for (long i = 0; i < total; ++i) {
    const int want = item((int)(i / count), 0, i % count);
    if (in[i] != want)
      DIE("allgather count %d: item %ld is %d, expected %d", count, i, in[i], want);
  }
  CHECK(in[total] == -1, "allgather count %d: written past the end", count);
  free(out);
  free(in);
}

static void uneven(int count, int in_place) {
  int *counts = alloc(sizeof(int) * size), *places = alloc(sizeof(int) * size), at = 1, wrong = 0;
  for (int who = size - 1; who >= 0; --who) {
    counts[who] = who % 3 == 2 ? 0 : count + 3 * who;
    places[who] = at;
    at += counts[who] + 1;
  }
  const int mine = counts[rank];
  int *out = alloc(sizeof(int) * mine), *in = alloc(sizeof(int) * at);
  long filled = 0;
  for (int i = 0; i < at; ++i) in[i] = -1;
  for (int i = 0; i < mine; ++i) out[i] = item(rank, 1, i);
  if (in_place) {
    memcpy(in + places[rank], out, sizeof(int) * mine);
    COLL(Allgatherv, allgatherv, MPI_IN_PLACE, 0, MPI_INT, in, counts, places, MPI_INT,
         MPI_COMM_WORLD);
  } else {
    COLL(Allgatherv, allgatherv, out, mine, MPI_INT, in, counts, places, MPI_INT, MPI_COMM_WORLD);
  }
  for (int who = 0; who < size; ++who) {
    for (int i = 0; i < counts[who]; ++i) wrong += in[places[who] + i] != item(who, 1, i);
    filled += counts[who];
  }
  for (int i = 0; i < at; ++i) filled -= in[i] != -1;
  CHECK(wrong == 0 && filled == 0, "allgatherv count %d: %d items wrong, gaps written: %ld", count,
        wrong, -filled);
  free(counts);
  free(places);
  free(out);
  free(in);
}

// Sent as every second int, received as pairs with a hole.
static void layouts(int count) {
  int *out = alloc(sizeof(int) * 4 * count), *in = alloc(sizeof(int) * 3 * count * size), wrong = 0;
  MPI_Datatype spaced, pairs, pair;
  OK(MPI_Type_vector(2 * count, 1, 2, MPI_INT, &spaced));
  OK(MPI_Type_contiguous(2, MPI_INT, &pair));
  OK(MPI_Type_create_resized(pair, 0, 3 * sizeof(int), &pairs));
  OK(MPI_Type_commit(&spaced));
  OK(MPI_Type_commit(&pairs));
  for (int i = 0; i < 4 * count; ++i) out[i] = i % 2 ? -2 : item(rank, 2, i / 2);
  for (int i = 0; i < 3 * count * size; ++i) in[i] = -1;
  COLL(Allgather, allgather, out, 1, spaced, in, count, pairs, MPI_COMM_WORLD);
  for (int i = 0; i < 3 * count * size; ++i) {
    const int who = i / (3 * count), k = i % (3 * count);
    wrong += in[i] != (k % 3 == 2 ? -1 : item(who, 2, k / 3 * 2 + k % 3));
  }
  CHECK(wrong == 0, "allgather of layouts, count %d: %d places wrong", count, wrong);
  OK(MPI_Type_free(&spaced));
  OK(MPI_Type_free(&pair));
  OK(MPI_Type_free(&pairs));
  free(out);
  free(in);
}

int main(int argc, char** argv) {
  start_form(&argc, &argv);
  for (int i = 0; i < counts_tried; ++i) {
    for (int in_place = 0; in_place < 2; ++in_place) {
      even(counts_[i], in_place);
      uneven(counts_[i], in_place);
    }
    if (counts_[i]) layouts(counts_[i]);
  }
  return finish();
}
