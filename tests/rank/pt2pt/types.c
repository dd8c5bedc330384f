// SPDX-License-Identifier: Apache-2.0
// Non-contiguous data on either side and on both, different layouts of one signature, at sizes of
// each protocol.
#include "../check.h"

enum { layouts = 6 };

// A layout of n doubles, and where element i of the message lies (in doubles from the buffer's
// start).
static MPI_Datatype make(int layout, int n, int* place) {
  MPI_Datatype type, inner;
  int *lengths = alloc(sizeof(int) * n), *shifts = alloc(sizeof(int) * n);
  MPI_Aint* bytes = alloc(sizeof(MPI_Aint) * n);
  MPI_Datatype* types = alloc(sizeof(MPI_Datatype) * n);
  switch (layout) {
    case 0:
      for (int i = 0; i < n; ++i) place[i] = i;
      OK(MPI_Type_contiguous(n, MPI_DOUBLE, &type));
      break;
    case 1:
      for (int i = 0; i < n; ++i) place[i] = 3 * i;
      OK(MPI_Type_vector(n, 1, 3, MPI_DOUBLE, &type));
      break;
    case 2:  // backwards in memory
      for (int i = 0; i < n; ++i)
        bytes[i] = (MPI_Aint)sizeof(double) * (place[i] = 2 * (n - 1 - i));
      OK(MPI_Type_create_hindexed_block(n, 1, bytes, MPI_DOUBLE, &type));
      break;
    case 3: {  // blocks of growing length
      int blocks = 0, done = 0, at = 1;
      for (; done < n; ++blocks) {
        const int length = blocks % 5 < n - done ? blocks % 5 : n - done;
        lengths[blocks] = length;
        shifts[blocks] = at;
        for (int i = 0; i < length; ++i) place[done++] = at + i;
        at += length + 1;
        if (blocks == n - 1 && done < n) {
          for (lengths[blocks] += n - done; done < n; ++done) place[done] = place[done - 1] + 1;
        }
      }
      OK(MPI_Type_indexed(blocks, lengths, shifts, MPI_DOUBLE, &type));
      break;
    }
    case 4:  // a struct of single doubles with gaps
      for (int i = 0; i < n; ++i) {
        lengths[i] = 1;
        types[i] = MPI_DOUBLE;
        bytes[i] = (MPI_Aint)sizeof(double) * (place[i] = 2 * i + i / 10);
      }
      OK(MPI_Type_create_struct(n, lengths, bytes, types, &type));
      break;
    default:  // pairs, nested: vectors of resized vectors
      for (int i = 0; i < n; ++i) place[i] = i / 2 * 7 + i % 2 * 2;
      OK(MPI_Type_vector(2, 1, 2, MPI_DOUBLE, &inner));
      OK(MPI_Type_create_resized(inner, 0, 7 * sizeof(double), &type));
      OK(MPI_Type_free(&inner));
      inner = type;
      OK(MPI_Type_contiguous(n / 2, inner, &type));
      OK(MPI_Type_free(&inner));
  }
  OK(MPI_Type_commit(&type));
  free(lengths);
  free(shifts);
  free(bytes);
  free(types);
  return type;
}

static void pass(int from_layout, int to_layout, int n) {
  const int room = 8 * n + 16;
  int *out_place = alloc(sizeof(int) * n), *in_place = alloc(sizeof(int) * n);
  double *out = alloc(sizeof(double) * room), *in = alloc(sizeof(double) * room);
  MPI_Datatype out_type = make(from_layout, n, out_place), in_type = make(to_layout, n, in_place);
  MPI_Request request;
  MPI_Status status;
  int count = 0, wrong = 0, touched = 0;
  for (int i = 0; i < room; ++i) out[i] = in[i] = -1;
  for (int i = 0; i < n; ++i) out[out_place[i]] = rank * 1e6 + i;
  for (int late = 0; late < 2; ++late) {
    for (int i = 0; i < room; ++i) in[i] = -1;
    if (late) {
      OK(MPI_Isend(out, 1, out_type, right_of(rank), 1, MPI_COMM_WORLD, &request));
      OK(MPI_Recv(in, 1, in_type, left_of(rank), 1, MPI_COMM_WORLD, &status));
      OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    } else {
      OK(MPI_Irecv(in, 1, in_type, left_of(rank), 1, MPI_COMM_WORLD, &request));
      OK(MPI_Send(out, 1, out_type, right_of(rank), 1, MPI_COMM_WORLD));
      OK(MPI_Wait(&request, &status));
    }
    OK(MPI_Get_count(&status, in_type, &count));
    EQ(count, 1);
    for (int i = 0; i < n; ++i) {
      wrong += in[in_place[i]] != left_of(rank) * 1e6 + i;
      in[in_place[i]] = -1;
    }
    for (int i = 0; i < room; ++i) touched += in[i] != -1;
    CHECK(!wrong && !touched, "layout %d to %d, %d doubles, %s: %d wrong, %d gaps overwritten",
          from_layout, to_layout, n, late ? "send first" : "receive first", wrong, touched);
  }
  OK(MPI_Type_free(&out_type));
  OK(MPI_Type_free(&in_type));
  free(out_place);
  free(in_place);
  free(out);
  free(in);
}

int main(int argc, char** argv) {
  start(&argc, &argv);
  const int counts[] = {2, 6, 50, 600, 5000, 60000};
  for (int i = 0; i < 6; ++i) {
    for (int from = 0; from < layouts; ++from) {
      for (int to = 0; to < layouts; ++to) pass(from, to, counts[i]);
    }
  }
  return finish();
}
