/* SPDX-License-Identifier: Apache-2.0
 *
 * The lock of a rank whose calls all come from one thread, as yet (src/sync/sole_lock.h): the owner
 * goes in by a store and a load without a fence between them, until another thread ends that; from
 * then on all take the context's own lock.
 *
 * The owner's processor may delay its store of `depth` behind its own later loads: a one-entry store
 * buffer, which drains at any time. membarrier() drains it. The others' operations are locked ones.
 *
 * A guest visits meanwhile, more than once: it closes the lock, runs the membarrier, and is inside if
 * the owner is not; else it goes again. The owner that finds a visitor waits for it to go.
 *
 * No two threads are inside, and nobody is when it ends: the assertions. Nobody waits for ever: no
 * deadlock.
 *
 * -DNO_BARRIER shows that the membarrier is needed.
 * -DNO_RECHECK shows that the owner must look whether it is closed after its store.
 * -DNO_JOIN shows that who comes while another ends it has to wait for that one.
 * -DSTAYS_IN shows that the owner must go out again before it waits for the end.
 * -DNO_VISIT_BARRIER shows that a visit needs the membarrier, too.
 * -DVISITS_ANYWAY shows that the guest must look whether the owner is inside.
 * -DNO_MUTEX shows that a visit and the end exclude each other.
 * -DSTAYS_WANTED shows that the guest must look whether it is wanted.
 */
#define OTHERS 2
#define TIMES 2

bit depth = 0, delayed = 0, value;    /* in memory; a store that only the owner sees, and of what */
byte closed = 0;                      /* 1: by a visitor, 2: for good */
bit shared = 0;
byte wanting = 0;
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
  :: closed == 2
#endif
  :: else ->
     wanting++;
     atomic { !ending -> ending = 1 };
     wanting--;
     if
     :: !shared ->
        closed = 2;
#ifndef NO_BARRIER
        atomic { drain() };            /* membarrier */
#endif
        atomic { !depth };             /* an owner that goes in now finds it closed */
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
  byte n, seen;
  bit owns = 1;
  for (n : 1 .. TIMES) {
    if
    :: owns ->
#ifdef NO_RECHECK
       seen = closed;
       put(1);
#else
       put(1);
       seen = closed;
#endif
       if
       :: seen == 0
       :: else ->                      /* wait_for_visitor() */
          atomic { drain(); wanting++ };   /* a locked operation */
          atomic { closed != 1 -> seen = closed };
          wanting--
       fi;
       if
       :: seen == 0 -> critical(); put(0)
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

/* SoleLock::visit(), leave_visit() */
proctype guest() {
  byte n;
  for (n : 1 .. TIMES) {
#ifndef NO_MUTEX
    atomic { !ending -> ending = 1 };
#endif
    if
    :: !shared ->
       closed = 1;
#ifndef NO_VISIT_BARRIER
       atomic { drain() };             /* membarrier */
#endif
       if
#ifndef VISITS_ANYWAY
       :: depth -> skip
#endif
       :: else ->
          critical();
#ifdef STAYS_WANTED
          false                        /* as long as there is something to do: without end */
#else
          if :: wanting :: !wanting fi /* it goes sooner or later */
#endif
       fi;
       closed = 0
    :: else
    fi;
#ifndef NO_MUTEX
    ending = 0
#endif
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
    run owner(); run guest(); run memory();
    for (n : 1 .. OTHERS) { run other() }
  }
}
