/* SPDX-License-Identifier: Apache-2.0
 *
 * The lock of a rank whose calls all come from one thread, as yet (src/sync/sole_lock.h): the owner
 * goes in by a store and a load without a fence between them, until another thread ends that; from
 * then on all take the context's own lock.
 *
 * The owner's processor may delay its store of `depth` behind its own later loads: a one-entry store
 * buffer, which drains at any time. membarrier() drains it. The others' operations are locked ones.
 *
 * No two threads are inside, and nobody is when it ends: the assertions. Nobody waits for ever: no
 * deadlock.
 *
 * -DNO_BARRIER shows that the membarrier is needed.
 * -DNO_RECHECK shows that the owner must look at `revoked` after its store.
 * -DNO_JOIN shows that who comes while another ends it has to wait for that one.
 * -DSTAYS_IN shows that the owner must go out again before it waits for the end.
 */
#define OTHERS 2
#define TIMES 2

bit depth = 0, delayed = 0, value;    /* in memory; a store that only the owner sees, and of what */
bit revoked = 0, shared = 0;
bit ending = 0, lock = 0;             /* mutexes: of the end; the context's own */
byte holders = 0;

inline drain() { if :: delayed -> depth = value; delayed = 0 :: else fi }
/* A second store waits for the first. */
inline put(v) { atomic { drain(); delayed = 1; value = v } }

inline critical() {
  holders++;
  assert(holders == 1);
  holders--
}

/* SoleLock::join() */
inline join() {
  if
  :: shared
#ifdef NO_JOIN
  :: revoked
#endif
  :: else ->
     atomic { !ending -> ending = 1 };
     if
     :: !shared ->
        revoked = 1;
#ifndef NO_BARRIER
        atomic { drain() };            /* membarrier */
#endif
        atomic { !depth };             /* an owner that goes in now finds `revoked` */
        assert(holders == 0);
        shared = 1
     :: else
     fi;
     ending = 0
  fi
}

inline by_lock() {
  join();
  atomic { !lock -> lock = 1 };
  critical();
  lock = 0
}

proctype owner() {
  byte n;
  bit seen, owns = 1;
  for (n : 1 .. TIMES) {
    if
    :: owns ->
#ifdef NO_RECHECK
       seen = revoked;
       put(1);
#else
       put(1);
       seen = revoked;
#endif
       if
       :: !seen -> critical(); put(0)
       :: else ->
          owns = 0;
#ifndef STAYS_IN
          put(0);
#endif
          atomic { drain() };          /* join() locks a mutex */
          by_lock()
       fi
    :: else -> by_lock()
    fi
  }
}

proctype memory() {                    /* the buffer drains sooner or later */
end:
  do
  :: atomic { delayed -> drain() }
  od
}

proctype other() { by_lock() }

init {
  byte n;
  atomic {
    run owner(); run memory();
    for (n : 1 .. OTHERS) { run other() }
  }
}
