// SPDX-License-Identifier: Apache-2.0
// One message of 2^31 + 5 bytes, as bytes and as a derived type; needs 2 GiB of memory per rank.
#include "../check.h"

int main(int argc, char** argv) {
  start(&argc, &argv);
  const MPI_Count huge = ((MPI_Count)1 << 31) + 5;
  unsigned char* data = alloc(huge);
  MPI_Status status;
  MPI_Count count = 0;
  const int peer = rank ^ 1;
  for (int round = 0; round < 2 && peer < size; ++round) {
    MPI_Datatype type = MPI_BYTE;
    MPI_Count elements = huge;
    if (round == 1) {  // the same bytes as one element
      OK(MPI_Type_contiguous_c(huge, MPI_BYTE, &type));
      OK(MPI_Type_commit(&type));
      elements = 1;
    }
    if (rank % 2 == 0) {
      memset(data, 0x40 + round, huge);
      data[huge - 1] = 0x99;
      data[(MPI_Count)1 << 31] = 0x77;
      OK(MPI_Send_c(data, elements, type, peer, round, MPI_COMM_WORLD));
    } else {
      memset(data, 0, huge);
      OK(MPI_Recv_c(data, elements, type, peer, round, MPI_COMM_WORLD, &status));
      OK(MPI_Get_count_c(&status, MPI_BYTE, &count));
      EQ(count, huge);
      EQ(data[huge - 1], 0x99);
      EQ(data[(MPI_Count)1 << 31], 0x77);
      for (MPI_Count i = 0; i < huge - 10; i += 4093) {
        if (data[i] != 0x40 + round && i != (MPI_Count)1 << 31)
          DIE("byte %lld is 0x%02x", (long long)i, data[i]);
      }
    }
    if (round == 1) OK(MPI_Type_free(&type));
  }
  free(data);
  return finish();
}
