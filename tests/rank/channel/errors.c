// SPDX-License-Identifier: Apache-2.0
//
// What is wrong is an error at the call, with a sentence: bad handles and arguments, ranks that do
// not agree, the wrong side, use after free, release twice, and peers that have left.
#include <weft/channel.h>

#include "../check.h"

// The call fails with this class, and its sentence has these words.
#define FAILS(call, wanted, words) fails_(__LINE__, (call), (wanted), (words), #call)
static void fails_(int line, int code, int wanted, const char* words, const char* call) {
  char text[MPI_MAX_ERROR_STRING + 1] = "";
  int class = -1, length;
  if (code != MPI_SUCCESS) {
    OK(MPI_Error_class(code, &class));
    OK(MPI_Error_string(code, text, &length));
  }
  CHECK(class == wanted && strstr(text, words) != NULL,
        "line %d: %s gave class %d (expected %d): \"%s\" (expected: %s)", line, call, class, wanted,
        text, words);
}

static const int zero = 0, one = 1;
static WEFT_Channel_options pair(int k) {
  return (WEFT_Channel_options){.type = MPI_INT,
                                .count = 4,
                                .asynchrony = k,
                                .sender_count = 1,
                                .senders = &zero,
                                .receiver_count = 1,
                                .receivers = &one};
}
static WEFT_Channel make(int k) {
  const WEFT_Channel_options options = pair(k);
  WEFT_Channel channel;
  OK(WEFT_Channel_create(MPI_COMM_WORLD, &options, &channel));
  return channel;
}

static void options(void) {
  WEFT_Channel channel = WEFT_CHANNEL_NULL;
  WEFT_Channel_options o = pair(1);
#define REFUSED(class, words) \
  FAILS(WEFT_Channel_create(MPI_COMM_WORLD, &o, &channel), class, words), o = pair(1)
  o.type = MPI_DATATYPE_NULL;
  REFUSED(MPI_ERR_TYPE, "options.type");
  o.count = -1;
  REFUSED(MPI_ERR_COUNT, "options.count");
  o.asynchrony = -2;
  REFUSED(MPI_ERR_ARG, "options.asynchrony is -2");
  o.distribution = 7;
  REFUSED(MPI_ERR_ARG, "options.distribution is 7");
  o.sender_count = 0;
  REFUSED(MPI_ERR_ARG, "sender_count is 0");
  o.receivers = NULL;
  REFUSED(MPI_ERR_ARG, "receiver");
  o.senders = &size;
  REFUSED(MPI_ERR_RANK, "sender");
  const int twice[] = {1, 1};
  o.receivers = twice;
  o.receiver_count = 2;
  REFUSED(MPI_ERR_RANK, "rank 1 is twice");
  o.asynchrony = 2000000000;
  o.count = 2000000000;
  REFUSED(MPI_ERR_NO_MEM, "no room for 2000000001 buffers");
  FAILS(WEFT_Channel_create(MPI_COMM_WORLD, NULL, &channel), MPI_ERR_ARG, "options");
  FAILS(WEFT_Channel_create(MPI_COMM_WORLD, &o, NULL), MPI_ERR_ARG, "channel");
  FAILS(WEFT_Channel_create(MPI_COMM_NULL, &o, &channel), MPI_ERR_COMM, "comm");
  EQ(channel == WEFT_CHANNEL_NULL, 1);

  // Rank 1 wants something else: everybody learns it.
  const int differs = rank == 1;
  o.type = differs ? MPI_FLOAT : MPI_INT;
  REFUSED(MPI_ERR_ARG, "rank 1 of MPI_COMM_WORLD passed another type");
  o.count = differs ? 5 : 4;
  REFUSED(MPI_ERR_ARG, "another count");
  o.asynchrony = differs ? 2 : 1;
  REFUSED(MPI_ERR_ARG, "another asynchrony");
  o.distribution = differs;
  REFUSED(MPI_ERR_ARG, "another distribution");
  o.receivers = differs ? &zero : &one;
  REFUSED(MPI_ERR_ARG, "another list of receivers");
  o.count = differs ? -1 : 4;
  REFUSED(differs ? MPI_ERR_COUNT : MPI_ERR_ARG,
          differs ? "options.count" : "rank 1 of MPI_COMM_WORLD passed wrong options");
}

static void handles(void) {
  int data[4] = {0}, flag;
  const void* message = NULL;
  WEFT_Channel null = WEFT_CHANNEL_NULL;
  FAILS(WEFT_Channel_send(null, data), MPI_ERR_ARG, "channel");
  FAILS(WEFT_Channel_free(&null), MPI_ERR_ARG, "channel");
  FAILS(WEFT_Channel_free(NULL), MPI_ERR_ARG, "channel");
  FAILS(WEFT_Channel_send((WEFT_Channel)data, data), MPI_ERR_ARG, "channel");
  MPI_Comm dup;
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &dup));
  FAILS(WEFT_Channel_receive((WEFT_Channel)dup, &message, NULL), MPI_ERR_ARG, "channel");
  OK(MPI_Comm_free(&dup));
  WEFT_Channel channel = make(1), kept = channel;
  if (rank == 0) {
    FAILS(WEFT_Channel_send(channel, NULL), MPI_ERR_ARG, "message");
    FAILS(WEFT_Channel_try_send(channel, data, NULL), MPI_ERR_ARG, "sent");
    FAILS(WEFT_Channel_receive(channel, &message, NULL), MPI_ERR_RANK,
          "rank 0 of MPI_COMM_WORLD is none of the channel's receivers");
    FAILS(WEFT_Channel_commit(channel, data), MPI_ERR_OTHER, "no message is reserved");
    void* place;
    OK(WEFT_Channel_reserve(channel, &place));
    FAILS(WEFT_Channel_reserve(channel, &place), MPI_ERR_OTHER, "reserved and not committed");
    FAILS(WEFT_Channel_send(channel, data), MPI_ERR_OTHER, "reserved and not committed");
    FAILS(WEFT_Channel_close(channel), MPI_ERR_OTHER, "reserved and not committed");
    FAILS(WEFT_Channel_commit(channel, data), MPI_ERR_BUFFER, "is reserved");
    OK(WEFT_Channel_commit(channel, place));
    OK(WEFT_Channel_send(channel, data));
    OK(WEFT_Channel_close(channel));
    FAILS(WEFT_Channel_send(channel, data), MPI_ERR_OTHER, "has closed the channel");
  } else if (rank == 1) {
    FAILS(WEFT_Channel_send(channel, data), MPI_ERR_RANK, "none of the channel's senders");
    FAILS(WEFT_Channel_receive(channel, NULL, NULL), MPI_ERR_ARG, "message");
    FAILS(WEFT_Channel_try_receive(channel, &message, NULL, NULL), MPI_ERR_ARG, "flag");
    FAILS(WEFT_Channel_release(channel, data), MPI_ERR_BUFFER, "not the oldest");
    const void* second = NULL;
    OK(WEFT_Channel_receive(channel, &message, NULL));
    OK(WEFT_Channel_receive(channel, &second, NULL));
    FAILS(WEFT_Channel_receive(channel, &second, NULL), MPI_ERR_OTHER, "all 2 buffers");
    FAILS(WEFT_Channel_release(channel, second), MPI_ERR_BUFFER, "not the oldest");
    OK(WEFT_Channel_release(channel, message));
    FAILS(WEFT_Channel_release(channel, message), MPI_ERR_BUFFER, "not the oldest");
    OK(WEFT_Channel_release(channel, second));
    OK(WEFT_Channel_try_receive(channel, &message, NULL, &flag));
  } else {
    FAILS(WEFT_Channel_send(channel, data), MPI_ERR_RANK, "none of the channel's senders");
  }
  OK(WEFT_Channel_free(&channel));
  FAILS(WEFT_Channel_send(kept, data), MPI_ERR_ARG, "channel");
  FAILS(WEFT_Channel_free(&kept), MPI_ERR_ARG, "channel");
  channel = make(0);
  if (rank == 0) {
    FAILS(WEFT_Channel_try_send(channel, data, &flag), MPI_ERR_OTHER, "synchronous");
    void* place;
    FAILS(WEFT_Channel_try_reserve(channel, &place), MPI_ERR_OTHER, "synchronous");
  }
  OK(WEFT_Channel_free(&channel));
}

// The receiver leaves while its sender waits, or before it sends.
static void deserted(int k, int wait_first) {
  WEFT_Channel channel = make(k);
  int data[4] = {0}, i = 0, code = MPI_SUCCESS;
  if (rank == 0) {
    if (wait_first) {  // All places are taken, and only then does rank 1 leave.
      for (; i < k; ++i) OK(WEFT_Channel_send(channel, data));
      OK(MPI_Send(data, 1, MPI_INT, 1, 0, MPI_COMM_WORLD));
    } else {
      OK(MPI_Recv(data, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    }
    for (; i < k + 3 && code == MPI_SUCCESS; ++i) code = WEFT_Channel_send(channel, data);
    FAILS(code, MPI_ERR_OTHER, "rank 1 of MPI_COMM_WORLD receives no more");
    EQ(i, wait_first ? k + 1 : 1);
  } else if (rank == 1) {
    if (wait_first) OK(MPI_Recv(data, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    const double begin = MPI_Wtime();
    while (wait_first && MPI_Wtime() < begin + 0.02) continue;
  }
  if (rank != 0) OK(WEFT_Channel_free(&channel));
  if (rank == 1 && !wait_first) OK(MPI_Send(data, 1, MPI_INT, 0, 0, MPI_COMM_WORLD));
  if (rank == 0) OK(WEFT_Channel_free(&channel));
}

// The sender leaves while messages are under way, and one waits.
static void ended(void) {
  WEFT_Channel channel = make(2);
  const void* message = NULL;
  int data[4];
  if (rank == 0) {
    for (int i = 0; i < 2; ++i) {
      fill(data, sizeof data, (unsigned)i);
      OK(WEFT_Channel_send(channel, data));
    }
    OK(WEFT_Channel_free(&channel));
  } else if (rank == 1) {
    for (int i = 0; i < 2; ++i) {
      OK(WEFT_Channel_receive(channel, &message, NULL));
      FILLED(message, sizeof data, (unsigned)i);
    }
    OK(WEFT_Channel_receive(channel, &message, NULL));
    CHECK(message == NULL, "a message after the end");
  }
  if (rank != 0) OK(WEFT_Channel_free(&channel));
}

int main(int argc, char** argv) {
  start(&argc, &argv);
  OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
  options();
  handles();
  for (int k = 0; k < 3; ++k)
    for (int wait_first = 0; wait_first < 2; ++wait_first) deserted(k, wait_first);
  ended();
  // The communicator may go before its channel; MPI_Finalize takes channels that are left.
  MPI_Comm dup;
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &dup));
  const WEFT_Channel_options o = pair(1);
  WEFT_Channel channel, left;
  OK(WEFT_Channel_create(dup, &o, &channel));
  OK(WEFT_Channel_create(dup, &o, &left));
  OK(MPI_Comm_free(&dup));
  int data[4] = {1, 2, 3, 4};
  const void* message;
  if (rank == 0) OK(WEFT_Channel_send(channel, data));
  if (rank == 1) {
    OK(WEFT_Channel_receive(channel, &message, NULL));
    EQ(((const int*)message)[2], 3);
  }
  OK(WEFT_Channel_free(&channel));
  if (rank == 0) OK(WEFT_Channel_send(left, data));
  if (rank == 1) {  // rank 0 is in MPI_Finalize then, or on its way
    OK(WEFT_Channel_receive(left, &message, NULL));
    OK(WEFT_Channel_receive(left, &message, NULL));
    CHECK(message == NULL, "a message after MPI_Finalize");
  }
  return finish();
}
