// SPDX-License-Identifier: Apache-2.0
//
// The asynchrony degree: k messages that nobody has received never block their sender, one more
// does; with k = 0 a send returns after its receive. What is held does not count for k, and a
// message that is held stays as it is. Types with gaps arrive without them. Copies are counted.
#include <unistd.h>

#include "../check.h"
#include "../counter.h"
#include "one_to_one.h"
#include "receive.h"

static WEFT_Channel make(int k, MPI_Datatype type, int count) {
  return one_to_one(0, 1, type, count, k);
}

// The sender may send k without a receiver; the next one returns only when one was received.
static void never_blocks(int k) {
  WEFT_Channel channel = make(k, MPI_INT, 5);
  int data[5] = {0}, sent = 1;
  const int token = 1;
  if (rank == 0) {
    const unsigned long long copies = counted();
    for (int i = 0; i < k; ++i) {
      fill(data, sizeof data, (unsigned)i);
      if (i % 2 == 0) {
        OK(WEFT_Channel_send(channel, data));
      } else {
        OK(WEFT_Channel_try_send(channel, data, &sent));
        EQ(sent, 1);
      }
    }
    EQ(counted() - copies, k);
    OK(WEFT_Channel_try_send(channel, data, &sent));
    EQ(sent, 0);
    void* place = data;
    OK(WEFT_Channel_try_reserve(channel, &place));
    CHECK(place == NULL, "more than k messages have room");
    OK(MPI_Send(&token, 1, MPI_INT, 1, 0, MPI_COMM_WORLD));
    fill(data, sizeof data, (unsigned)k);
    OK(WEFT_Channel_send(channel, data));  // waits for the first receive
    int received = 0;
    OK(MPI_Recv(&received, 1, MPI_INT, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    CHECK(received >= 1, "message k + 1 was sent before one was received");
    OK(WEFT_Channel_close(channel));
  } else if (rank == 1) {
    int got, received = 0;
    OK(MPI_Recv(&got, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    usleep(20000);
    const void* message = NULL;
    OK(WEFT_Channel_receive(channel, &message, NULL));
    ++received;
    OK(MPI_Send(&received, 1, MPI_INT, 0, 1, MPI_COMM_WORLD));
    usleep(2000);
    FILLED(message, sizeof data, 0);  // it is held: the sender does not write there
    OK(WEFT_Channel_release(channel, message));
    for (int i = 1; i <= k; ++i) {
      receive(channel, sizeof data, (unsigned)i);
    }
    is_over(channel);
  }
  OK(WEFT_Channel_free(&channel));
}

static void synchronous(void) {
  WEFT_Channel channel = make(0, MPI_DOUBLE, 2);
  for (int i = 0; i < 50; ++i) {
    double data[2] = {i, -i};
    double before;
    if (rank == 0) {
      OK(WEFT_Channel_send(channel, data));
      const double returned = MPI_Wtime();
      OK(MPI_Recv(&before, 1, MPI_DOUBLE, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
      CHECK(returned >= before, "a synchronous send returned %g s before its receive was called",
            before - returned);
    } else if (rank == 1) {
      if (i % 10 == 0) usleep(3000);
      const void* message;
      before = MPI_Wtime();
      OK(WEFT_Channel_receive(channel, &message, NULL));
      CHECK(((const double*)message)[0] == i && ((const double*)message)[1] == -i, "wrong data");
      OK(WEFT_Channel_release(channel, message));
      OK(MPI_Send(&before, 1, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD));
    }
  }
  OK(WEFT_Channel_free(&channel));
}

// A column of a matrix.
static void with_gaps(void) {
  MPI_Datatype column;
  OK(MPI_Type_vector(7, 1, 3, MPI_INT, &column));
  OK(MPI_Type_commit(&column));
  WEFT_Channel channel = make(2, column, 1);
  OK(MPI_Type_free(&column));
  if (rank == 0) {
    int matrix[21];
    for (int i = 0; i < 21; ++i) matrix[i] = i;
    OK(WEFT_Channel_send(channel, matrix));
    OK(WEFT_Channel_send(channel, matrix + 1));
    void* place;
    const unsigned long long copies = counted();
    OK(WEFT_Channel_reserve(channel, &place));
    for (int i = 0; i < 7; ++i) ((int*)place)[i] = 3 * i + 2;
    OK(WEFT_Channel_commit(channel, place));
    EQ(counted() - copies, 0);
  } else if (rank == 1) {
    for (int n = 0; n < 3; ++n) {
      const void* message;
      OK(WEFT_Channel_receive(channel, &message, NULL));
      for (int i = 0; i < 7; ++i) EQ(((const int*)message)[i], 3 * i + n);
      OK(WEFT_Channel_release(channel, message));
    }
  }
  OK(WEFT_Channel_free(&channel));
}

int main(int argc, char** argv) {
  start(&argc, &argv);
  open_counter("channel_copies", MPI_T_PVAR_CLASS_COUNTER);
  static const int degrees[] = {1, 2, 3, 10};
  for (int i = 0; i < 4; ++i) never_blocks(degrees[i]);
  synchronous();
  with_gaps();
  close_counter();
  return finish();
}
