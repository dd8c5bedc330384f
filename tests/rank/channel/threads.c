// SPDX-License-Identifier: Apache-2.0
//
// MPI_THREAD_MULTIPLE: several threads of two ranks, each with channels of its own, while others
// send and receive MPI messages. Everything arrives; who waits in a channel looks after messages,
// too.
#include <pthread.h>

#include "../check.h"
#include "receive.h"

enum { threads = 4, messages = 300, bytes = 200 };

static WEFT_Channel there[threads], back[threads];

static void* run(void* argument) {
  const int me = (int)(intptr_t)argument;
  char data[bytes], got[bytes];
  WEFT_Channel_request request;
  for (int i = 0; i < messages && rank < 2; ++i) {
    const unsigned seed = (unsigned)(i + 1000 * me);
    fill(data, bytes, seed);
    if (me % 2 == 1) {
      OK(MPI_Sendrecv(data, bytes, MPI_BYTE, 1 - rank, me, got, bytes, MPI_BYTE, 1 - rank, me,
                      MPI_COMM_WORLD, MPI_STATUS_IGNORE));
      FILLED(got, bytes, seed);
    }
    if (rank == 0) {
      if (i % 2 == 0) {
        OK(WEFT_Channel_send(there[me], data));
      } else {
        OK(WEFT_Channel_send_delegated(there[me], data, &request));
        OK(WEFT_Channel_wait(&request));
      }
      receive(back[me], bytes, seed);
    } else {
      receive(there[me], bytes, seed);
      OK(WEFT_Channel_send(back[me], data));
    }
  }
  return NULL;
}

int main(int argc, char** argv) {
  int provided;
  OK(MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided));
  EQ(provided, MPI_THREAD_MULTIPLE);
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  MPI_Comm comms[2] = {MPI_COMM_WORLD};
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &comms[1]));  // of another context
  for (int i = 0; i < threads; ++i)
    for (int sender = 0; sender < 2; ++sender) {
      const int receiver = 1 - sender;
      OK(WEFT_Channel_create(comms[i / 2],
                             &(WEFT_Channel_options){.type = MPI_BYTE,
                                                     .count = bytes,
                                                     .asynchrony = i % 3,
                                                     .sender_count = 1,
                                                     .senders = &sender,
                                                     .receiver_count = 1,
                                                     .receivers = &receiver,
                                                     .threads = i == 2 ? "couriers" : NULL},
                             sender == 0 ? &there[i] : &back[i]));
    }
  pthread_t running[threads];
  for (int i = 0; i < threads; ++i) pthread_create(&running[i], NULL, run, (void*)(intptr_t)i);
  for (int i = 0; i < threads; ++i) pthread_join(running[i], NULL);
  for (int i = 0; i < threads; ++i) {
    OK(WEFT_Channel_free(&there[i]));
    OK(WEFT_Channel_free(&back[i]));
  }
  OK(MPI_Comm_free(&comms[1]));
  return finish();
}
