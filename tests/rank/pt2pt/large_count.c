// SPDX-License-Identifier: Apache-2.0
// Counts beyond 2^31 in little memory: types whose extent is huge and whose data is small, large
// counts of empty types, and statuses that count more than an int holds.
#include "../check.h"

int main(int argc, char** argv) {
  start(&argc, &argv);
  const MPI_Count huge = ((MPI_Count)1 << 31) + 5;
  MPI_Request request;
  MPI_Status status;
  MPI_Count count = 0;
  int small_count = 0, out = 7, in = -1;
  // 2^31+5 copies of an empty type: a message of no bytes.
  MPI_Datatype empty;
  OK(MPI_Type_contiguous(0, MPI_INT, &empty));
  OK(MPI_Type_commit(&empty));
  OK(MPI_Irecv_c(&in, huge, empty, left_of(rank), 1, MPI_COMM_WORLD, &request));
  OK(MPI_Send_c(&out, huge, empty, right_of(rank), 1, MPI_COMM_WORLD));
  OK(MPI_Wait(&request, &status));
  STATUS(&status, left_of(rank), 1, 0);
  EQ(in, -1);
  // A receive buffer announced as larger than an int can say takes a small message.
  OK(MPI_Irecv_c(&in, huge, MPI_BYTE, left_of(rank), 2, MPI_COMM_WORLD, &request));
  OK(MPI_Send_c(&out, sizeof out, MPI_BYTE, right_of(rank), 2, MPI_COMM_WORLD));
  OK(MPI_Wait(&request, &status));
  STATUS(&status, left_of(rank), 2, sizeof out);
  EQ(in, 7);
  // Sizes and extents of a type that describes 12 GiB.
  MPI_Datatype gigabyte, twelve;
  MPI_Count type_size = 0, low = -1, extent = 0;
  OK(MPI_Type_contiguous(1 << 30, MPI_BYTE, &gigabyte));
  OK(MPI_Type_vector(12, 1, 2, gigabyte, &twelve));
  OK(MPI_Type_size_c(twelve, &type_size));
  EQ(type_size, (MPI_Count)12 << 30);
  OK(MPI_Type_size(twelve, &small_count));
  EQ(small_count, MPI_UNDEFINED);
  OK(MPI_Type_get_extent_c(twelve, &low, &extent));
  EQ(low, 0);
  EQ(extent, (MPI_Count)23 << 30);
  OK(MPI_Type_commit(&twelve));
  // Elements of a status that reports 3 * 2^31 ints.
  OK(MPI_Status_set_elements_c(&status, MPI_INT, 3 * huge));
  OK(MPI_Get_elements_c(&status, MPI_INT, &count));
  EQ(count, 3 * huge);
  OK(MPI_Get_count(&status, MPI_INT, &small_count));
  EQ(small_count, MPI_UNDEFINED);
  OK(MPI_Type_contiguous_c(huge, MPI_SHORT, &empty));
  OK(MPI_Type_size_c(empty, &type_size));
  EQ(type_size, 2 * huge);
  OK(MPI_Type_free(&empty));
  OK(MPI_Type_free(&gigabyte));
  OK(MPI_Type_free(&twelve));
  return finish();
}
