// SPDX-License-Identifier: Apache-2.0
// Alltoall, Alltoallv and Alltoallw: in place or not, uneven and zero counts, gaps, one type per
// pair.
#include "forms.h"

static void even(int count, int in_place) {
  const long total = (long)size * count;
  int *out = alloc(sizeof(int) * (total + 1)), *in = alloc(sizeof(int) * (total + 1));
  for (long i = 0; i < total; ++i) out[i] = item(rank, (int)(i / count), i % count);
  for (long i = 0; i <= total; ++i) in[i] = -1;
  if (in_place) {
    memcpy(in, out, sizeof(int) * total);
    COLL(Alltoall, alltoall, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, in, count, MPI_INT,
         MPI_COMM_WORLD);
  } else {
    COLL(Alltoall, alltoall, out, count, MPI_INT, in, count, MPI_INT, MPI_COMM_WORLD);
  }
  for (long i = 0; i < total; ++i) {
    const int want = item((int)(i / count), rank, i % count);
    if (in[i] != want)
      DIE("alltoall count %d%s: item %ld is %d, expected %d", count, in_place ? " in place" : "", i,
          in[i], want);
  }
  CHECK(in[total] == -1, "alltoall count %d: written past the end", count);
  free(out);
  free(in);
}

static int pair_count(int from, int to, int count, int symmetric) {
  if (symmetric && from > to) return pair_count(to, from, count, 0);
  return (from + 2 * to) % 4 == 1 ? 0 : count + (from * 3 + to * 5) % 11;
}

// `w`: every pair has a type of its own and displacements are bytes; else one type and
// displacements in elements.
static void uneven(int count, int in_place, int w) {
  int *out_counts = alloc(sizeof(int) * size), *out_at = alloc(sizeof(int) * size), outs = 2,
      wrong = 0;
  int *in_counts = alloc(sizeof(int) * size), *in_at = alloc(sizeof(int) * size), ins = 1;
  MPI_Datatype *types = alloc(sizeof(MPI_Datatype) * size),
               *one_type = alloc(sizeof(MPI_Datatype) * size);
  for (int who = 0; who < size; ++who) {
    out_counts[who] = pair_count(rank, who, count, in_place);
    in_counts[who] = pair_count(who, rank, count, in_place);
    out_at[who] = outs;
    outs += out_counts[who] + 1;
  }
  for (int who = size - 1; who >= 0; --who) {
    in_at[who] = ins;
    ins += in_counts[who] + 2;
  }
  int *out = alloc(sizeof(int) * outs), *in = alloc(sizeof(int) * ins);
  long filled = 0;
  for (int i = 0; i < outs; ++i) out[i] = -3;
  for (int i = 0; i < ins; ++i) in[i] = -1;
  for (int who = 0; who < size; ++who) {
    for (int i = 0; i < out_counts[who]; ++i) out[out_at[who] + i] = item(rank, who, i);
    for (int i = 0; i < in_counts[who] && in_place; ++i) in[in_at[who] + i] = item(rank, who, i);
    filled += in_counts[who];
    types[who] = MPI_INT;
    one_type[who] = MPI_INT;
  }
  if (w) {
    int* received = alloc(sizeof(int) * size);
    for (int who = 0; who < size; ++who) {
      // Received as one element of a contiguous type, sent as ints.
      OK(MPI_Type_contiguous(in_counts[who], MPI_INT, &types[who]));
      OK(MPI_Type_commit(&types[who]));
      received[who] = 1;
      in_at[who] *= (int)sizeof(int);
      out_at[who] *= (int)sizeof(int);
    }
    if (in_place) {
      COLL(Alltoallw, alltoallw, MPI_IN_PLACE, NULL, NULL, NULL, in, received, in_at, types,
           MPI_COMM_WORLD);
    } else {
      COLL(Alltoallw, alltoallw, out, out_counts, out_at, one_type, in, received, in_at, types,
           MPI_COMM_WORLD);
    }
    for (int who = 0; who < size; ++who) {
      OK(MPI_Type_free(&types[who]));
      in_at[who] /= (int)sizeof(int);
    }
    free(received);
  } else if (in_place) {
    COLL(Alltoallv, alltoallv, MPI_IN_PLACE, NULL, NULL, MPI_INT, in, in_counts, in_at, MPI_INT,
         MPI_COMM_WORLD);
  } else {
    COLL(Alltoallv, alltoallv, out, out_counts, out_at, MPI_INT, in, in_counts, in_at, MPI_INT,
         MPI_COMM_WORLD);
  }
  for (int who = 0; who < size; ++who) {
    for (int i = 0; i < in_counts[who]; ++i) wrong += in[in_at[who] + i] != item(who, rank, i);
  }
  for (int i = 0; i < ins; ++i) filled -= in[i] != -1;
  CHECK(wrong == 0 && filled == 0, "alltoall%c count %d%s: %d items wrong, gaps written: %ld",
        w ? 'w' : 'v', count, in_place ? " in place" : "", wrong, -filled);
  free(out_counts);
  free(out_at);
  free(in_counts);
  free(in_at);
  free(types);
  free(one_type);
  free(out);
  free(in);
}

int main(int argc, char** argv) {
  start_form(&argc, &argv);
  for (int i = 0; i < counts_tried; ++i) {
    for (int in_place = 0; in_place < 2; ++in_place) {
      even(counts_[i], in_place);
      uneven(counts_[i], in_place, 0);
      uneven(counts_[i], in_place, 1);
    }
  }
  return finish();
}
