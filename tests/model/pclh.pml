/* SPDX-License-Identifier: Apache-2.0
 *
 * P-CLH (src/sync/fifo_locks.h): a queue for each of two priorities and a gate between their first
 * ones, which threads of high priority hand on with their queue. One holder at a time; nobody waits
 * for ever.
 *
 * -DALWAYS_HAND_ON shows that the gate may be handed on only to somebody.
 */
#define THREADS 4
#define ROUNDS 2
#include "queue.pml"

queue high, low, gate;
bit handed_on = 0, is_low = 0;
byte inside = 0;

inline critical_section() { inside++; assert(inside == 1); inside-- }

inline release() {
  if
  :: is_low -> leave(gate); leave(low)
  :: else ->
#ifdef ALWAYS_HAND_ON
     handed_on = 1;
#else
     handed_on = has_waiters(high);
#endif
     if :: !handed_on -> leave(gate) :: else fi;
     leave(high)
  fi
}

proctype worker() {
  byte rounds = 0;
  bit got;
  do
  :: rounds == ROUNDS -> break
  :: else ->
     if
     :: join(high); enter(high);
        if :: !handed_on -> join(gate); enter(gate) :: else fi;
        got = 1
     :: try_enter(high, got);
        if
        :: got && !handed_on ->
           try_enter(gate, got);
           if :: !got -> leave(high) :: else fi
        :: else
        fi
     fi;
     if
     :: got -> handed_on = 0; is_low = 0; critical_section(); release()
     :: else
     fi;
     rounds++
  od
}

proctype waiting() {
  byte rounds = 0;
  do
  :: rounds == ROUNDS -> break
  :: else ->
     join(low); enter(low); join(gate); enter(gate);
     is_low = 1;
     critical_section();
     release();
     rounds++
  od
}

init { atomic { run worker(); run worker(); run waiting(); run waiting() } }
