// SPDX-License-Identifier: Apache-2.0
//
// Delegated sends, without communication threads, with one and with several: every message arrives
// whole and in order, also among messages that are sent otherwise; k under way never block, one
// more does; wait gives the buffer back; what is pending at the end of a channel, of MPI, or of its
// receiver is over.
#include <unistd.h>

#include "../check.h"
#include "receive.h"

static int kts = 0;  // communication threads

static WEFT_Channel make(int k, int bytes, int receivers) {
  int* ranks = alloc(sizeof(int) * (size_t)size);
  for (int i = 0; i < receivers; ++i) ranks[i] = i + 1;
  const int sender = 0;
  WEFT_Channel channel;
  OK(WEFT_Channel_create(MPI_COMM_WORLD,
                         &(WEFT_Channel_options){.type = MPI_BYTE,
                                                 .count = bytes,
                                                 .asynchrony = k,
                                                 .sender_count = 1,
                                                 .senders = &sender,
                                                 .receiver_count = receivers,
                                                 .receivers = ranks,
                                                 .threads = kts > 0 ? "couriers" : NULL,
                                                 .thread_count = kts},
                         &channel));
  free(ranks);
  return channel;
}

// Every third is sent at once, every fifth is built in place. Buffers are used again after wait.
static void order(int k, int bytes, int messages, int receivers) {
  WEFT_Channel channel = make(k, bytes, receivers);
  if (rank == 0) {
    enum { most = 8 };
    WEFT_Channel_request requests[most] = {{0}};
    char* buffers[most];
    for (int i = 0; i < most; ++i) buffers[i] = alloc((size_t)bytes);
    for (int n = 0; n < messages * receivers; ++n) {
      const int at = n % most;
      const unsigned seed = (unsigned)(n / receivers);
      void* place;
      int done = 0;
      if (n % 7 == 0)
        while (!done) OK(WEFT_Channel_test(&requests[at], &done));
      OK(WEFT_Channel_wait(&requests[at]));
      EQ(requests[at].channel == WEFT_CHANNEL_NULL, 1);
      if (n % 5 == 4) {
        OK(WEFT_Channel_reserve(channel, &place));
        fill(place, (size_t)bytes, seed);
        OK(WEFT_Channel_commit(channel, place));
        continue;
      }
      fill(buffers[at], (size_t)bytes, seed);
      if (n % 3 == 2) {
        int sent = 0;
        if (n % 2 == 0)
          while (!sent) OK(WEFT_Channel_try_send(channel, buffers[at], &sent));
        else
          OK(WEFT_Channel_send(channel, buffers[at]));
      } else
        OK(WEFT_Channel_send_delegated(channel, buffers[at], &requests[at]));
    }
    for (int i = 0; i < most; ++i) OK(WEFT_Channel_wait(&requests[i]));
    for (int i = 0; i < most; ++i) free(buffers[i]);
    OK(WEFT_Channel_close(channel));
  } else if (rank <= receivers) {
    for (int n = 0; n < messages; ++n) receive(channel, (size_t)bytes, (unsigned)n);
    is_over(channel);
  }
  OK(WEFT_Channel_free(&channel));
}

// k delegated sends return while nobody receives; the next one returns after a receive.
static void never_blocks(int k) {
  WEFT_Channel channel = make(k, 100000, 1);
  char* buffers = alloc(100000 * (size_t)(k + 1));
  int token = 1;
  double before;
  if (rank == 0) {
    WEFT_Channel_request* requests = alloc(sizeof *requests * (size_t)(k + 1));
    for (int i = 0; i <= k; ++i) {
      fill(buffers + 100000 * i, 100000, (unsigned)i);
      if (i == k) OK(MPI_Send(&token, 1, MPI_INT, 1, 0, MPI_COMM_WORLD));
      OK(WEFT_Channel_send_delegated(channel, buffers + 100000 * i, &requests[i]));
    }
    const double returned = MPI_Wtime();
    OK(MPI_Recv(&before, 1, MPI_DOUBLE, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    CHECK(returned >= before, "message k + 1 was taken before one was received");
    for (int i = k; i >= 0; --i) OK(WEFT_Channel_wait(&requests[i]));
    free(requests);
  } else if (rank == 1) {
    OK(MPI_Recv(&token, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    usleep(5000);
    before = MPI_Wtime();
    for (int i = 0; i <= k; ++i) receive(channel, 100000, (unsigned)i);
    OK(MPI_Send(&before, 1, MPI_DOUBLE, 0, 1, MPI_COMM_WORLD));
  }
  free(buffers);
  OK(WEFT_Channel_free(&channel));
}

// k = 0: the request is complete when the message is received.
static void synchronous(void) {
  WEFT_Channel channel = make(0, 10, 1);
  char data[10];
  for (int i = 0; i < 10; ++i) {
    double before;
    if (rank == 0) {
      WEFT_Channel_request request;
      fill(data, sizeof data, (unsigned)i);
      OK(WEFT_Channel_send_delegated(channel, data, &request));
      OK(WEFT_Channel_wait(&request));
      const double complete = MPI_Wtime();
      OK(MPI_Recv(&before, 1, MPI_DOUBLE, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
      CHECK(complete >= before, "a synchronous send was complete before its receive");
    } else if (rank == 1) {
      usleep(500);
      before = MPI_Wtime();
      receive(channel, sizeof data, (unsigned)i);
      OK(MPI_Send(&before, 1, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD));
    }
  }
  OK(WEFT_Channel_free(&channel));
}

// The sender frees its end at once; everything arrives.
static void freed_with_pending(void) {
  WEFT_Channel channel = make(5, 50000, 1);
  char* data = alloc(50000);
  fill(data, 50000, 9);
  if (rank == 0) {
    WEFT_Channel_request request;
    for (int i = 0; i < 5; ++i) OK(WEFT_Channel_send_delegated(channel, data, &request));
    OK(WEFT_Channel_free(&channel));
    memset(data, 0, 50000);
  } else {
    if (rank == 1) {
      for (int i = 0; i < 5; ++i) receive(channel, 50000, 9);
      is_over(channel);
    }
    OK(WEFT_Channel_free(&channel));
  }
  free(data);
}

// The receiver leaves with messages under way: that is an error at the wait, or at the next send.
static void deserted(void) {
  OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  WEFT_Channel channel = make(1, 1000, 1);
  char data[1000];
  if (rank == 0) {
    WEFT_Channel_request request = {0}, wrong;
    int code, class;
    OK(code = WEFT_Channel_send_delegated(channel, data, &request));
    OK(MPI_Send(&code, 1, MPI_INT, 1, 0, MPI_COMM_WORLD));
    for (int i = 0; i < 1000 && code == MPI_SUCCESS; ++i)
      code = WEFT_Channel_send_delegated(channel, data, &request);
    CHECK(code != MPI_SUCCESS, "nobody receives, and 1000 sends succeed");
    OK(MPI_Error_class(code, &class));
    EQ(class, MPI_ERR_OTHER);
    wrong = request;
    wrong.queued += 100;
    OK(MPI_Error_class(WEFT_Channel_wait(&wrong), &class));
    EQ(class, MPI_ERR_REQUEST);
    OK(MPI_Error_class(WEFT_Channel_wait(NULL), &class));
    EQ(class, MPI_ERR_ARG);
  } else if (rank == 1) {
    int first;  // is sent: rank 0 has a request
    OK(MPI_Recv(&first, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    usleep(3000);
  }
  OK(WEFT_Channel_free(&channel));
  OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
}

int main(int argc, char** argv) {
  start(&argc, &argv);
  static char last[2000];
  for (kts = 0; kts < 4; ++kts) {
    order(1, 8, 500, 1);
    order(3, 5000, 200, 1);
    order(4, 300000, 20, 1);
    order(2, 2000, 100, size - 1);
    for (int k = 1; k < 5; k += 3) never_blocks(k);
    synchronous();
    freed_with_pending();
    deserted();
  }
  // MPI_Finalize carries what is pending.
  kts = 1;
  WEFT_Channel channel = make(2, sizeof last, 1);
  fill(last, sizeof last, 77);
  if (rank == 0) {
    WEFT_Channel_request request;
    OK(WEFT_Channel_send_delegated(channel, last, &request));
    OK(WEFT_Channel_send_delegated(channel, last, &request));
  } else if (rank == 1) {
    receive(channel, sizeof last, 77);
    receive(channel, sizeof last, 77);
    is_over(channel);
  }
  return finish();
}
