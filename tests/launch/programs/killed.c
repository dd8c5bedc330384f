// SPDX-License-Identifier: Apache-2.0
// One end of a channel is killed while the other one waits for it, or has messages delegated: what
// waits returns an error within 2 s. Argument: who waits, and how. Rank 1 is killed, or with
// "receive" rank 0; the other one prints "ok".
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <weft/channel.h>

enum { bytes = 100000, k = 2, patience_s = 2 };
static char data[bytes];

static void die_soon(void) {
  usleep(100000);  // by then the other one waits, asleep
  raise(SIGKILL);
}

static int is(const char* word, const char* other) {
  return strcmp(word, other) == 0;
}

// Until a call fails: sends of which nobody receives one.
static int send_all(WEFT_Channel channel) {
  int code = MPI_SUCCESS;
  for (int i = 0; i < k + 2 && code == MPI_SUCCESS; ++i) code = WEFT_Channel_send(channel, data);
  return code;
}

static int delegate_all(WEFT_Channel channel, int wait) {
  WEFT_Channel_request requests[k + 3] = {{0}};
  int code = MPI_SUCCESS, sent = 0;
  for (; sent < (wait ? k : k + 3) && code == MPI_SUCCESS; ++sent)
    code = WEFT_Channel_send_delegated(channel, data, &requests[sent]);
  if (!wait || code != MPI_SUCCESS) return code;
  usleep(200000);
  // All have room, and are complete. Further ones have none.
  for (int i = 0; i < sent && code == MPI_SUCCESS; ++i) code = WEFT_Channel_wait(&requests[i]);
  if (code != MPI_SUCCESS) return code;
  for (int i = 0; i < 3 && code == MPI_SUCCESS; ++i) {
    code = WEFT_Channel_send_delegated(channel, data, &requests[i]);
    if (code == MPI_SUCCESS) code = WEFT_Channel_wait(&requests[i]);
  }
  return code;
}

int main(int argc, char** argv) {
  int rank;
  const char* how = argc > 1 ? argv[1] : "send";
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  const int zero = 0, one = 1, threads = argc > 2 ? atoi(argv[2]) : 0;
  WEFT_Channel channel;
  if (WEFT_Channel_create(MPI_COMM_WORLD,
                          &(WEFT_Channel_options){.type = MPI_BYTE,
                                                  .count = bytes,
                                                  .asynchrony = is(how, "synchronous") ? 0 : k,
                                                  .sender_count = 1,
                                                  .senders = &zero,
                                                  .receiver_count = 1,
                                                  .receivers = &one,
                                                  .threads = threads > 0 ? "couriers" : NULL,
                                                  .thread_count = threads},
                          &channel) != MPI_SUCCESS)
    return 1;
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == (is(how, "receive") ? 0 : 1)) die_soon();
  const double begin = MPI_Wtime();
  int code = MPI_SUCCESS, class;
  if (is(how, "receive")) {
    const void* message;
    code = WEFT_Channel_receive(channel, &message, NULL);
  } else if (is(how, "send") || is(how, "synchronous")) {
    code = send_all(channel);
  } else if (is(how, "delegate")) {
    code = delegate_all(channel, 0);
  } else if (is(how, "wait")) {
    code = delegate_all(channel, 1);
  } else {  // "free": with messages delegated that have no room
    WEFT_Channel_request requests[k + 2];
    for (int i = 0; i < k + 1; ++i) WEFT_Channel_send_delegated(channel, data, &requests[i]);
    usleep(200000);
    code = WEFT_Channel_send_delegated(channel, data, &requests[k + 1]);
  }
  const double took = MPI_Wtime() - begin;
  MPI_Error_class(code, &class);
  char text[MPI_MAX_ERROR_STRING] = "";
  int length;
  MPI_Error_string(code, text, &length);
  const double before_free = MPI_Wtime();
  WEFT_Channel_free(&channel);
  const double free_took = MPI_Wtime() - before_free;
  if (class == MPI_ERR_PROC_ABORTED && took < patience_s && free_took < patience_s)
    printf("ok: %s\n", text);
  else
    printf("class %d after %.2f s, free after %.2f s: %s\n", class, took, free_took, text);
  fflush(stdout);
  _exit(0);  // MPI_Finalize would wait for the one that was killed
}
