/* SPDX-License-Identifier: Apache-2.0
 *
 * The lock of a rank whose calls all come from one thread, as yet (src/sync/sole_lock.h): the owner
 * goes in by a store and a load without a fence between them, until others revoke that.
 *
 * The owner's processor may delay its store of `inside` behind its own later loads: a one-entry store
 * buffer, which drains at any time. membarrier() drains it. The others' operations are locked ones.
 *
 * No two threads are inside: the assertion. Nobody waits for ever: no deadlock.
 *
 * -DNO_BARRIER shows that the membarrier is needed.
 * -DNO_RECHECK shows that the owner must look at `revoked` after its store.
 * -DONE_BARRIER shows that every newcomer needs a membarrier of its own.
 */
#define OTHERS 2
#define TIMES 2

bit inside = 0, delayed = 0, value;   /* in memory; a store that only the owner sees, and of what */
bit revoked = 0, flag = 0;
byte holders = 0;

inline drain() { if :: delayed -> inside = value; delayed = 0 :: else fi }
/* A second store waits for the first. */
inline put(v) { atomic { drain(); delayed = 1; value = v } }

inline critical() {
  holders++;
  assert(holders == 1);
  holders--
}

inline by_flag() {
  atomic { !flag -> flag = 1 };
  atomic { !inside };                  /* an owner that goes in now finds `revoked` */
  critical();
  flag = 0
}

proctype owner() {
  byte n;
  bit seen;
  for (n : 1 .. TIMES) {
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
       put(0);
       atomic { drain(); !flag -> flag = 1 };  /* a locked operation drains the buffer */
       critical();
       flag = 0
    fi
  }
}

proctype memory() {                    /* the buffer drains sooner or later */
end:
  do
  :: atomic { delayed -> drain() }
  od
}

proctype other() {
#ifdef ONE_BARRIER
  if
  :: atomic { revoked -> skip }
  :: atomic { !revoked -> revoked = 1 }; atomic { drain() }
  fi;
#else
  revoked = 1;
#ifndef NO_BARRIER
  atomic { drain() };                  /* membarrier */
#endif
#endif
  by_flag()
}

init {
  byte n;
  atomic {
    run owner(); run memory();
    for (n : 1 .. OTHERS) { run other() }
  }
}
