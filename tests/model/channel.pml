/* SPDX-License-Identifier: Apache-2.0
 *
 * A row of a channel (src/channel/row.h) and its waits (src/channel/channel.cc): every message
 * arrives whole, once, in order; no more than K wait to be received when a send returns; nobody
 * sleeps for ever.
 *
 * Sender: waits until n - released <= BUFFERS, writes the payload, then the number, rings, waits
 * until n - received <= K. Receiver: waits for the number, says `received`, rings, reads the payload,
 * says `released`, rings. Who rings does so after its store, without a fence: its processor may
 * delay the store behind the load of the other's park word. Who sleeps sets its park word, runs
 * membarrier(), which drains the other's store buffer, and looks once more.
 *
 * Stores leave a processor in their order (x86, or release): the delayed one here is the last.
 *
 *   -DK=0 holds
 *   -DK=2 holds
 *   -DNUMBER_FIRST shows that the payload must be written before the number
 *   -DNO_ROOM shows that the sender must wait for `released`
 *   -DRELEASE_EARLY shows that a message must be read before it is released
 *   -DNO_DEGREE shows that a send must wait for `received`
 *   -DNO_BARRIER shows that a sleeper needs the membarrier
 *   -DNO_LAST_LOOK shows that it must look once more
 *   -DNO_RING shows that `released` must be told, too (K = 0: no other message follows to be told)
 */
#ifdef NO_RING
#define K 0
#endif
#ifndef K
#define K 1
#endif
#define BUFFERS (K + 1)
#define MESSAGES 4
#define SENDER 0
#define RECEIVER 1

byte number[BUFFERS], payload[BUFFERS];
byte sent, received, released;    /* in memory */
bit word[2], asleep[2];

/* One store of each side that only its own processor sees yet. */
byte late_number; bit is_late_number;          /* the sender's, into buffer (late_number - 1) */
byte late_received; bit is_late_received;      /* the receiver's */
byte late_released; bit is_late_released;

inline drain_sender() {
  if
  :: is_late_number -> number[(late_number - 1) % BUFFERS] = late_number; is_late_number = 0
  :: else
  fi
}
inline drain_receiver() {
  if
  :: is_late_received -> received = late_received; is_late_received = 0
  :: else
  fi;
  if
  :: is_late_released -> released = late_released; is_late_released = 0
  :: else
  fi
}
inline drain(side) {
  if
  :: side == SENDER -> drain_sender()
  :: else -> drain_receiver()
  fi
}

/* After a store that may be late: it becomes visible before or after the look at the word. */
inline ring(me, other) {
  if
  :: atomic { drain(me) }
  :: skip
  fi;
  if
  :: atomic { word[other] == 1 -> word[other] = 0; drain(me); asleep[other] = 0 }
  :: atomic { word[other] == 0 -> skip }
  fi;
  atomic { drain(me) }
}

/* Until `ready`. A look that finds nothing may go on looking (which changes nothing), or sleep. */
#ifdef NO_BARRIER
#define BARRIER(other) skip
#else
#define BARRIER(other) drain(other)
#endif
#ifdef NO_LAST_LOOK
#define LAST(ready) 0
#else
#define LAST(ready) (ready)
#endif
#define AWAIT(me, other, ready) \
  do \
  :: atomic { (ready) -> break } \
  :: atomic { !(ready) -> word[me] = 1 }; \
     atomic { BARRIER(other) }; \
     if \
     :: atomic { LAST(ready) -> word[me] = 0 } \
     :: atomic { !LAST(ready) -> \
          if \
          :: word[me] == 1 -> asleep[me] = 1 \
          :: else \
          fi }; \
        asleep[me] == 0 \
     fi \
  od

proctype sender() {
  byte n;
  for (n : 1 .. MESSAGES) {
#ifndef NO_ROOM
    AWAIT(SENDER, RECEIVER, n - released <= BUFFERS);
#endif
#ifdef NUMBER_FIRST
    atomic { late_number = n; is_late_number = 1; drain_sender() };
    payload[(n - 1) % BUFFERS] = n;
#else
    payload[(n - 1) % BUFFERS] = 0;       /* half written */
    payload[(n - 1) % BUFFERS] = n;
    atomic { late_number = n; is_late_number = 1 };
#endif
    sent = n;
    ring(SENDER, RECEIVER);
#ifndef NO_DEGREE
    AWAIT(SENDER, RECEIVER, n - received <= K);
#endif
    assert(n - received <= K);
  }
}

proctype receiver() {
  byte n;
  for (n : 1 .. MESSAGES) {
    AWAIT(RECEIVER, SENDER, number[(n - 1) % BUFFERS] == n);
    atomic { late_received = n; is_late_received = 1 };
    ring(RECEIVER, SENDER);
#ifdef RELEASE_EARLY
    atomic { late_released = n; is_late_released = 1 };
    ring(RECEIVER, SENDER);
    assert(payload[(n - 1) % BUFFERS] == n);
#else
    assert(payload[(n - 1) % BUFFERS] == n);
    atomic { late_released = n; is_late_released = 1 };
#ifdef NO_RING
    atomic { drain_receiver() };
#else
    ring(RECEIVER, SENDER);
#endif
#endif
  }
}

init {
  atomic { run sender(); run receiver() }
}
