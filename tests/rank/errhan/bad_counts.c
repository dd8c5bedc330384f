// SPDX-License-Identifier: Apache-2.0
// Counts, displacements and their products that 64 bits do not hold: an error, not a small message.
#include "bad.h"

static const MPI_Comm world = MPI_COMM_WORLD;
static const MPI_Count huge = (MPI_Count)1 << 62, large = (MPI_Count)1 << 40;

static void types(void) {
  MPI_Datatype wide, type;
  const MPI_Count one = 1, zero = 0, far = INT64_MAX - 1, half = INT64_MAX / 2;
  const MPI_Count whole[2] = {large, large}, part[2] = {1, 1}, from[2] = {0, 0};
  OK(MPI_Type_contiguous_c(large, MPI_INT, &wide));
  BAD(MPI_Type_contiguous_c(huge, MPI_INT, &type), MPI_ERR_COUNT, "64 bits");
  BAD(MPI_Type_contiguous_c(large, wide, &type), MPI_ERR_COUNT, "64 bits");
  BAD(MPI_Type_vector_c(large, 1, large, MPI_INT, &type), MPI_ERR_COUNT, "64 bits");
  BAD(MPI_Type_create_hvector_c(3, 1, huge, MPI_INT, &type), MPI_ERR_COUNT, "64 bits");
  BAD(MPI_Type_indexed_c(1, &one, &half, MPI_INT, &type), EITHER(MPI_ERR_ARG, MPI_ERR_COUNT),
      "64 bits");
  BAD(MPI_Type_create_hindexed_c(1, &one, &far, MPI_INT, &type), EITHER(MPI_ERR_ARG, MPI_ERR_COUNT),
      "64 bits");
  BAD(MPI_Type_create_struct_c(1, &huge, &zero, (MPI_Datatype[]){MPI_INT}, &type), MPI_ERR_COUNT,
      "64 bits");
  BAD(MPI_Type_create_resized_c(MPI_INT, huge, huge + (huge - 1), &type),
      EITHER(MPI_ERR_ARG, MPI_ERR_COUNT), "64 bits");
  BAD(MPI_Type_create_subarray_c(2, whole, part, from, MPI_ORDER_C, MPI_INT, &type),
      EITHER(MPI_ERR_ARG, MPI_ERR_COUNT), "64 bits");
  OK(MPI_Type_free(&wide));
}

static void data(void) {
  int a[4] = {0}, b[4];
  char packed[16];
  MPI_Request request;
  MPI_Status status;
  MPI_Count at = 0, *counts = alloc(sizeof(MPI_Count) * size);
  MPI_Aint* places = alloc(sizeof(MPI_Aint) * size);
  for (int i = 0; i < size; ++i) counts[i] = huge, places[i] = 0;
  BAD(MPI_Send_c(a, huge, MPI_INT, rank, 0, world), MPI_ERR_COUNT, "count is 46116", "64 bits");
  BAD(MPI_Isend_c(a, huge, MPI_INT, rank, 0, world, &request), MPI_ERR_COUNT, "64 bits");
  BAD(MPI_Recv_c(a, huge, MPI_INT, rank, 0, world, &status), MPI_ERR_COUNT, "64 bits");
  BAD(MPI_Recv_init_c(a, huge, MPI_INT, rank, 0, world, &request), MPI_ERR_COUNT, "64 bits");
  BAD(MPI_Sendrecv_replace_c(a, huge, MPI_INT, rank, 0, rank, 0, world, &status), MPI_ERR_COUNT,
      "64 bits");
  BAD(MPI_Bcast_c(a, huge, MPI_INT, 0, world), MPI_ERR_COUNT, "64 bits");
  BAD(MPI_Allreduce_c(a, b, huge, MPI_INT, MPI_SUM, world), MPI_ERR_COUNT, "64 bits");
  BAD(MPI_Allgather_c(a, huge, MPI_INT, b, huge, MPI_INT, world), MPI_ERR_COUNT, "64 bits");
  BAD(MPI_Allgatherv_c(a, 1, MPI_INT, b, counts, places, MPI_INT, world), MPI_ERR_COUNT,
      "recvcounts", "64 bits");
  BAD(MPI_Alltoallv_c(a, counts, places, MPI_INT, b, counts, places, MPI_INT, world), MPI_ERR_COUNT,
      "64 bits");
  BAD(MPI_Reduce_scatter_c(a, b, counts, MPI_INT, MPI_SUM, world), MPI_ERR_COUNT, "64 bits");
  BAD(MPI_Ialltoall_c(a, huge, MPI_INT, b, huge, MPI_INT, world, &request), MPI_ERR_COUNT,
      "64 bits");
  BAD(MPI_Pack_size_c(huge, MPI_INT, world, &at), MPI_ERR_COUNT, "64 bits");
  at = 0;
  BAD(MPI_Pack_c(a, huge, MPI_INT, packed, sizeof packed, &at, world), MPI_ERR_COUNT, "64 bits");
  BAD(MPI_Unpack_c(packed, sizeof packed, &at, a, huge, MPI_INT, world), MPI_ERR_COUNT, "64 bits");
  BAD(MPI_Status_set_elements_c(&status, MPI_INT, huge), MPI_ERR_COUNT, "64 bits");
  BAD(MPI_Status_set_elements_c(&status, MPI_INT, -1), MPI_ERR_COUNT, "-1");
  free(counts);
  free(places);
}

int main(int argc, char** argv) {
  start_returning(&argc, &argv);
  types();
  data();
  return finish();
}
