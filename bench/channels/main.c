/* SPDX-License-Identifier: Apache-2.0 */
/* Messages between two ranks, through channels of weft or by MPI_Send and MPI_Recv. Rows (see
   rows.h; the sender stamps every line of a message, the receiver looks at every line where it gets
   it):

     lat      ping-pong, half a round trip
     stream   rank 0 sends 64 messages, rank 1 answers with one; per message

   With -DWITH_CHANNELS the environment says how: CHANNEL=send (WEFT_Channel_send, k = 4),
   CHANNEL=place (built in the channel's buffer), else MPI. */
#include "../messages.h"

static enum { by_mpi, by_send, in_place } way = by_mpi;

#ifdef WITH_CHANNELS
#include <weft/channel.h>

static WEFT_Channel to = WEFT_CHANNEL_NULL, from = WEFT_CHANNEL_NULL;
static long made_for = -1; /* bytes */

static void make_channels(const struct bench* b) {
  if (made_for == b->bytes) return;
  made_for = b->bytes;
  if (to != WEFT_CHANNEL_NULL) WEFT_Channel_free(&to);
  if (from != WEFT_CHANNEL_NULL) WEFT_Channel_free(&from);
  for (int sender = 0; sender < 2; ++sender) {
    const int receiver = 1 - sender;
    WEFT_Channel_create(MPI_COMM_WORLD,
                        &(WEFT_Channel_options){.type = MPI_BYTE,
                                                .count = b->bytes,
                                                .asynchrony = b->bytes <= 4096 ? 64 : 4,
                                                .sender_count = 1,
                                                .senders = &sender,
                                                .receiver_count = 1,
                                                .receivers = &receiver},
                        sender == b->rank ? &to : &from);
  }
}
#endif

static void send_one(struct bench* b) {
  void* place = b->data[0];
#ifdef WITH_CHANNELS
  if (way == in_place) WEFT_Channel_reserve(to, &place);
#endif
  touch(b, place);
#ifdef WITH_CHANNELS
  if (way == in_place) {
    WEFT_Channel_commit(to, place);
    return;
  }
  if (way == by_send) {
    WEFT_Channel_send(to, place);
    return;
  }
#endif
  MPI_Send(place, b->count, MPI_BYTE, 1 - b->rank, 1, MPI_COMM_WORLD);
}

static void receive_one(struct bench* b) {
#ifdef WITH_CHANNELS
  if (way != by_mpi) {
    const void* message;
    WEFT_Channel_receive(from, &message, NULL);
    check(b, message);
    WEFT_Channel_release(from, message);
    return;
  }
#endif
  MPI_Recv(b->data[1], b->count, MPI_BYTE, 1 - b->rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  check(b, b->data[1]);
}

static void one_way(struct bench* b, int sender) {
  ++b->stamp;
  if (b->rank == sender)
    send_one(b);
  else
    receive_one(b);
}

static void begin(struct bench* b) {
#ifdef WITH_CHANNELS
  if (way != by_mpi) make_channels(b);
#endif
}

static void there_and_back(struct bench* b) {
  begin(b);
  one_way(b, 0);
  one_way(b, 1);
}

enum { in_a_row = 64 };

static void many(struct bench* b) {
  begin(b);
  for (int i = 0; i < in_a_row; ++i) one_way(b, 0);
  one_way(b, 1);
}

static const struct row rows[] = {
    {"lat", there_and_back, 2, 2, 2, 1, 0, {8, 56, 64, 4096, 65536, 1 << 20}},
    {"stream", many, 2, 2, in_a_row, 1, 0, {8, 56, 64, 4096, 65536, 1 << 20}},
};

int main(int argc, char** argv) {
  const char* name = getenv("CHANNEL");
  if (name != NULL) way = strcmp(name, "place") == 0 ? in_place : by_send;
  return run_rows(argc, argv, rows, sizeof rows / sizeof *rows);
}
