/* SPDX-License-Identifier: Apache-2.0
 *
 * The parking protocol of src/sync/wait.h: no lost wake-up.
 *
 * Waker: publish news; (no fence) read the park word; if set: clear it, wake all sleepers.
 * Sleeper: set the word; membarrier; look for news; if none: sleep while the word is set.
 *
 * The waker's processor may delay its store (the news) behind its own later load (the word): a
 * one-entry store buffer per waker, which drains at any time. membarrier() drains the buffers of all
 * wakers. Two sleeping threads share one word, as two waiting threads of a rank do.
 *
 *   spin -a park.pml && cc -O2 -o pan pan.c && ./pan        (deadlock = lost wake-up)
 *   -DNO_BARRIER shows that the protocol is wrong without the membarrier.
 */
#define WAKERS 2
#define SLEEPERS 2

byte news = 0;              /* messages in memory, visible to the sleepers */
bit buffered[WAKERS];       /* a store of news that only its own processor sees */
bit word = 0;
bit asleep[SLEEPERS];
byte sleeping = 0;          /* Engine::sleeping, under the rank's lock */
byte taken = 0;

inline drain(i) { atomic { if :: buffered[i] -> news++; buffered[i] = 0 :: else fi } }

proctype waker(byte i) {
  buffered[i] = 1;                       /* publish: the store may wait in the buffer */
  if                                     /* the load of the word may pass the store ... */
  :: drain(i)                            /* ... or not */
  :: skip
  fi;
  if
  :: atomic { word == 1 -> word = 0;     /* wake_slow: a locked instruction drains the buffer */
       if :: buffered[i] -> news++; buffered[i] = 0 :: else fi;
       asleep[0] = 0; asleep[1] = 0 }
  :: atomic { word == 0 -> skip }
  fi;
  drain(i);                              /* the store becomes visible sooner or later */
}

proctype sleeper(byte i) {
  do
  :: atomic { taken == WAKERS -> break }
  :: atomic { taken < WAKERS -> sleeping++; word = 1 };
#ifndef NO_BARRIER
     atomic { drain(0); drain(1) };      /* membarrier */
#endif
     if
     :: atomic { news > 0 ->             /* looked once more: news */
          news--; taken++; sleeping--;
          if :: sleeping == 0 -> word = 0 :: else fi;
          /* the completion of the other thread's operation wakes it (pt2pt::complete) */
          if :: sleeping > 0 -> word = 0; asleep[0] = 0; asleep[1] = 0 :: else fi }
     :: atomic { news == 0 && taken == WAKERS -> sleeping--;
          if :: sleeping == 0 -> word = 0 :: else fi }
     :: atomic { news == 0 && taken < WAKERS ->
          if :: word == 1 -> asleep[i] = 1 :: else fi };   /* futex_wait(word == 1) */
        asleep[i] == 0;                  /* blocked until woken: a deadlock if nobody does */
        atomic { sleeping-- }
     fi
  od
}

init {
  atomic { run waker(0); run waker(1); run sleeper(0); run sleeper(1) }
}
