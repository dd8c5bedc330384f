// SPDX-License-Identifier: Apache-2.0
// Rank 0 receives from one channel, but rank 1 sends to another one, and both wait.
#include <mpi.h>
#include <weft/channel.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, value = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  WEFT_Channel channels[2];
  for (int i = 0; i < 2; i++)
    WEFT_Channel_create(MPI_COMM_WORLD,
                        &(WEFT_Channel_options){.type = MPI_INT,
                                                .count = 1,
                                                .asynchrony = 0,
                                                .sender_count = 1,
                                                .senders = (int[]){1},
                                                .receiver_count = 1,
                                                .receivers = (int[]){0}},
                        &channels[i]);
  const void* message;
  int source;
  if (rank == 0) WEFT_Channel_receive(channels[0], &message, &source);
  if (rank == 1) WEFT_Channel_send(channels[1], &value);
  MPI_Finalize();
  return 0;
}
