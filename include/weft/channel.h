/* SPDX-License-Identifier: Apache-2.0 */
/* Channels: named, typed ways for messages between ranks of a node (Buono, De Matteis, Mencagli,
   Vanneschi: Optimizing Message-Passing on Multicore Architectures using Hardware Multi-Threading,
   §IV). A message is copied once, by its sender, into a buffer of the channel; the receiver gets a
   pointer to it. A sender that builds its message in the channel's buffer copies nothing.

   All messages of a channel have the same type and length, which are given when it is made, so
   send and receive cannot disagree about them. docs/channels.md has an example and costs.

   All functions return MPI_SUCCESS, or an error of MPI after the error handler of the channel's
   communicator was called. They may be called between MPI_Init and MPI_Finalize. A rank's calls on
   one channel are made by one thread at a time; with MPI_THREAD_MULTIPLE threads may use different
   channels at once. A call that waits looks after the rank's MPI messages meanwhile. */
#pragma once

#include <mpi.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct WEFT_Channel_s* WEFT_Channel;
#define WEFT_CHANNEL_NULL ((WEFT_Channel)0)

/* Which receiver a message goes to, if there are several. */
enum {
  WEFT_CHANNEL_ROUND_ROBIN = 0, /* one after the other */
  WEFT_CHANNEL_ON_DEMAND = 1    /* who has the fewest messages that it has not released */
};

/* What a channel is; the same on all ranks. Ranks are those of the communicator. Every sender has
   k + 1 buffers for each receiver. */
typedef struct {
  MPI_Datatype type; /* of the elements; committed */
  MPI_Count count;   /* elements of a message */
  int asynchrony;    /* k: messages sent and not received, from one sender to one receiver, that
                        never block; 0: a send returns when its message is received (§IV.A) */
  int sender_count;
  const int* senders;
  int receiver_count;
  const int* receivers;
  int distribution; /* WEFT_CHANNEL_ROUND_ROBIN, WEFT_CHANNEL_ON_DEMAND */
  /* Communication threads for this rank's delegated sends (§IV.B); each rank may say otherwise.
     Channels of a process that give the same name share them; who is first begins them, they end
     with the last channel. */
  const char* threads; /* a name; NULL: none */
  int thread_count;    /* how many, 1 or more; 0 is 1 */
  const int* cpus;     /* where they run; NULL: where the process may */
  int cpu_count;
} WEFT_Channel_options;

/* Collective over `comm`, an intracommunicator. Ranks that neither send nor receive get a channel,
   too. MPI_ERR_ARG: the ranks' options differ, or make no sense; MPI_ERR_NO_MEM: no room. */
int WEFT_Channel_create(MPI_Comm comm, const WEFT_Channel_options* options, WEFT_Channel* channel);

/* Give up this rank's end; local. It closes a sender's end (WEFT_Channel_close), and from now on
   sends to this rank are errors. Messages it holds go with it. *channel becomes WEFT_CHANNEL_NULL.
 */
int WEFT_Channel_free(WEFT_Channel* channel);

/* --- The sender's side. An error if the receiver has freed its end, or has ended. */

/* Send `count` elements at `message`, copied once. Blocks while k messages to the receiver are not
   received; the buffer is the caller's again when it returns. */
int WEFT_Channel_send(WEFT_Channel channel, const void* message);

/* The same, if it need not wait: *sent is 1, or 0 and nothing has happened. Not for k = 0. */
int WEFT_Channel_try_send(WEFT_Channel channel, const void* message, int* sent);

/* A buffer of the channel, to build the next message in: `count` elements, without gaps if the type
   has any (as MPI_Pack has them), at the start of a cache line. One at a time. It may hold an old
   message. Waits until there is one. */
int WEFT_Channel_reserve(WEFT_Channel channel, void** message);
/* *message is NULL if commit or reserve would have to wait. Not for k = 0. */
int WEFT_Channel_try_reserve(WEFT_Channel channel, void** message);

/* Send what was reserved; as WEFT_Channel_send, without a copy. */
int WEFT_Channel_commit(WEFT_Channel channel, void* message);

/* A delegated send. */
typedef struct {
  WEFT_Channel channel;
  unsigned long long queued, handed;
  int row;
} WEFT_Channel_request;

/* Send by reference (§IV.B): returns at once, and `message` belongs to the channel until the
   request is complete. Blocks only when more than k messages (k = 0: more than one) to the receiver
   are not received. Messages keep their order, also with those that are sent otherwise. Without
   communication threads the copy is made at once if there is room, else by later calls on the
   channel. */
int WEFT_Channel_send_delegated(WEFT_Channel channel, const void* message,
                                WEFT_Channel_request* request);

/* Until the message's buffer is the caller's again (k = 0: until it is received). The caller
   copies, too, if nobody else has begun to. request->channel becomes WEFT_CHANNEL_NULL; a request
   that is so already is complete. */
int WEFT_Channel_wait(WEFT_Channel_request* request);
/* *flag says whether it is so. */
int WEFT_Channel_test(WEFT_Channel_request* request, int* flag);

/* This rank sends no more; waits for what is delegated. */
int WEFT_Channel_close(WEFT_Channel channel);

/* --- The receiver's side. */

/* Wait for the next message. *message points to it, in the channel's buffer (without gaps), until
   it is released; NULL when all senders have closed the channel and everything is received. *source
   is the sender's rank (`source` may be NULL). An error if all k + 1 buffers are received and not
   released, or a sender has ended without closing its end. */
int WEFT_Channel_receive(WEFT_Channel channel, const void** message, int* source);

/* The same without waiting: *flag is 1 if *message is set, as above; 0 if there is none yet. */
int WEFT_Channel_try_receive(WEFT_Channel channel, const void** message, int* source, int* flag);

/* The message is not needed any more. Messages of one sender are released in the order in which
   they were received. */
int WEFT_Channel_release(WEFT_Channel channel, const void* message);

#ifdef __cplusplus
}
#endif
