/* SPDX-License-Identifier: Apache-2.0
 *
 * The parking lock of src/sync/park_lock.h: one holder at a time, and no lost wake-up, neither
 * between `awake`, `asleep` and `granted`, nor between the fast path and the queue.
 *
 * Each thread takes the lock ROUNDS times. A waiting thread may fall asleep at any time; the holder
 * hands the lock to any waiting thread (the order in the queue is no matter here).
 *
 *   spin -a park_lock.pml && cc -O2 -DSAFETY -o pan pan.c && ./pan     (deadlock = lost wake-up)
 *   -DNO_RECHECK shows that a thread must not sleep without comparing the word first.
 */
#define THREADS 3
#define ROUNDS 2
#define vacant 0
#define held 1
#define wanted 2
#define awake 0
#define asleep 1
#define granted 2

byte word = vacant;
bit guard = 0;
bit queued[THREADS];
byte state[THREADS];
bit in_kernel[THREADS];
byte inside = 0;

inline lock_guard() { atomic { guard == 0 -> guard = 1 } }

inline wait_for_grant(me) {
  do
  :: atomic { state[me] == granted -> break }
  :: atomic { state[me] == awake -> state[me] = asleep };
#ifdef NO_RECHECK
     in_kernel[me] = 1;
#else
     atomic { if :: state[me] == asleep -> in_kernel[me] = 1 :: else fi }; /* futex_wait */
#endif
     in_kernel[me] == 0
  od
}

proctype thread(byte me) {
  byte rounds = 0, before, next;
  do
  :: rounds == ROUNDS -> break
  :: else ->
     atomic { if :: word == vacant -> word = held; before = vacant :: else before = held fi };
     if
     :: before == vacant
     :: else ->
        state[me] = awake;
        lock_guard();
        atomic { before = word; word = wanted };
        if
        :: before == vacant -> word = held; guard = 0
        :: else -> queued[me] = 1; guard = 0; wait_for_grant(me)
        fi
     fi;
     inside++;
     assert(inside == 1);
     inside--;
     /* release */
     atomic { if :: word == held -> word = vacant; before = vacant :: else before = wanted fi };
     if
     :: before == vacant
     :: else ->
        lock_guard();
        assert(queued[0] || queued[1] || queued[2]);
        if
        :: queued[0] -> next = 0
        :: queued[1] -> next = 1
        :: queued[2] -> next = 2
        fi;
        queued[next] = 0;
        if :: !queued[0] && !queued[1] && !queued[2] -> word = held :: else fi;
        guard = 0;
        atomic { before = state[next]; state[next] = granted };
        if :: before == asleep -> in_kernel[next] = 0 :: else fi /* futex_wake */
     fi;
     rounds++
  od
}

init { atomic { run thread(0); run thread(1); run thread(2) } }
