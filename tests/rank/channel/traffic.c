// SPDX-License-Identifier: Apache-2.0
//
// Channels carry what was sent: every kind of call, many lengths and asynchrony degrees, one to one
// in a ring of all ranks, with MPI messages between. What is received is checked byte by byte.
#include "../check.h"
#include "one_to_one.h"

static unsigned random_ = 1;
static unsigned draw(unsigned below) {
  random_ = random_ * 1103515245u + 12345u;
  return (random_ >> 16) % below;
}

// Send message number `n` in one of the ways that there are. False: not now.
static int send_some(WEFT_Channel channel, char* buffer, size_t bytes, int n, int synchronous) {
  void* place = NULL;
  int sent = 0;
  switch (draw(synchronous ? 2 : 4)) {
    case 0:
      fill(buffer, bytes, (unsigned)n);
      OK(WEFT_Channel_send(channel, buffer));
      memset(buffer, 0xee, bytes);  // the buffer is free again
      return 1;
    case 1:
      OK(WEFT_Channel_reserve(channel, &place));
      EQ((uintptr_t)place % 64, 0);
      fill(place, bytes, (unsigned)n);
      OK(WEFT_Channel_commit(channel, place));
      return 1;
    case 2:
      fill(buffer, bytes, (unsigned)n);
      OK(WEFT_Channel_try_send(channel, buffer, &sent));
      return sent;
    default:
      OK(WEFT_Channel_try_reserve(channel, &place));
      if (place == NULL) return 0;
      fill(place, bytes, (unsigned)n);
      OK(WEFT_Channel_commit(channel, place));
      return 1;
  }
}

static int receive_some(WEFT_Channel channel, size_t bytes, int n, int from) {
  const void* message = NULL;
  int source = -1, flag = 1;
  if (draw(2) == 0)
    OK(WEFT_Channel_receive(channel, &message, &source));
  else
    OK(WEFT_Channel_try_receive(channel, &message, &source, &flag));
  if (!flag) return 0;
  EQ(source, from);
  FILLED(message, bytes, (unsigned)n);
  OK(WEFT_Channel_release(channel, message));
  return 1;
}

// Everybody sends `messages` to the right and receives as many from the left. Nobody waits for room
// while its own are not taken: so a sender is never more than `k` ahead.
static void ring(int bytes, int k, int messages) {
  WEFT_Channel to = WEFT_CHANNEL_NULL, from = WEFT_CHANNEL_NULL;
  for (int sender = 0; sender < size; ++sender) {
    const int receiver = right_of(sender);
    WEFT_Channel channel = one_to_one(sender, receiver, MPI_BYTE, bytes, k);
    if (sender == rank) to = channel;
    if (receiver == rank) from = channel;
    if (sender != rank && receiver != rank) OK(WEFT_Channel_free(&channel));
  }
  char* buffer = alloc((size_t)bytes);
  int sent = 0, received = 0;
  while (sent < messages || received < messages) {
    const int ahead = sent - received;  // of those that the left one has certainly sent
    if (sent < messages && (k > 0 ? ahead < k : 0))
      sent += send_some(to, buffer, (size_t)bytes, sent, 0);
    else if (received < messages)
      received += receive_some(from, (size_t)bytes, received, left_of(rank));
    if (draw(16) == 0) {
      int got = -1;
      MPI_Sendrecv(&sent, 1, MPI_INT, rank, 1, &got, 1, MPI_INT, rank, 1, MPI_COMM_WORLD,
                   MPI_STATUS_IGNORE);
      EQ(got, sent);
    }
  }
  free(buffer);
  const void* message = &sent;
  OK(WEFT_Channel_close(to));
  OK(WEFT_Channel_receive(from, &message, NULL));
  CHECK(message == NULL, "a closed channel gave a message");
  OK(WEFT_Channel_free(&to));
  if (size > 1) OK(WEFT_Channel_free(&from));
}

// k = 0: pairs, since a ring of synchronous senders would wait for itself.
static void pairs(int bytes, int messages) {
  const int partner = rank ^ 1;
  char* buffer = alloc((size_t)bytes);
  for (int sender = 0; sender + 1 < size; sender += 2) {
    const int receiver = sender + 1;
    WEFT_Channel channel = one_to_one(sender, receiver, MPI_BYTE, bytes, 0);
    for (int n = 0; n < messages;) {
      if (rank == sender)
        n += send_some(channel, buffer, (size_t)bytes, n, 1);
      else if (rank == receiver)
        n += receive_some(channel, (size_t)bytes, n, partner);
      else
        ++n;
    }
    OK(WEFT_Channel_free(&channel));
    EQ(channel == WEFT_CHANNEL_NULL, 1);
  }
  free(buffer);
}

int main(int argc, char** argv) {
  start(&argc, &argv);
  random_ = (unsigned)rank + 1;
  static const int lengths[] = {0, 1, 8, 33, 55, 56, 57, 64, 120, 121, 1000, 4096, 65536, 1 << 20};
  for (size_t i = 0; i < sizeof lengths / sizeof *lengths; ++i) {
    const int messages = lengths[i] > 100000 ? 20 : 200;
    ring(lengths[i], 1, messages);
    ring(lengths[i], 3, messages);
    pairs(lengths[i], messages);
  }
  ring(8, 64, 5000);
  return finish();
}
