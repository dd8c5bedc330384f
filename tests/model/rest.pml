/* SPDX-License-Identifier: Apache-2.0
 *
 * A rank whose calls come from one thread, and its progress thread, which rests (src/progress/charge.cc,
 * Engine::framed in src/pt2pt/engine.h). While it rests, calls hold no lock and only look, as they end, whether
 * they leave something behind; then they say `yes`, and call it. The lock itself is sole_lock.pml's: here it is
 * one atomic step.
 *
 * No two threads are inside: the assertion. What is left behind gets done, though the rank makes no further
 * call: no end but with nothing begun.
 *
 * -DSAYS_EARLY shows that the guest must say `at_end` as the last that it does inside.
 * -DCALLS_INSIDE shows that a call must not call the guest before its end.
 * -DNO_LOOK shows that a call must look as it ends.
 * -DNO_YES shows that it must say `yes` before it calls.
 */
#define CALLS 3

mtype = { at_end, yes };
mtype framed = yes;
bit begun = 0;                         /* something that goes on without the rank */
bit rests = 0, called = 0;             /* Contexts::background_rests; a signal */
bit locked = 0;                        /* the sole lock */
byte holders = 0;

inline enter() { holders++; assert(holders == 1) }
inline leave() { holders-- }
inline call_guest() {
#ifndef NO_YES
  framed = yes;
#endif
  if
  :: atomic { rests -> rests = 0; called = 1 }
  :: else
  fi
}

proctype rank() {
  byte n;
  for (n : 1 .. CALLS) {
    if
    :: framed == yes ->
       atomic { !locked -> locked = 1 };
       enter();
       if :: begun = 1 :: begun = 0 :: skip fi;
       if :: rests && begun -> call_guest() :: else fi;
       leave();
       locked = 0
    :: else ->
       enter();
       if :: begun = 1 :: skip fi;
#ifdef CALLS_INSIDE
       if :: begun -> call_guest() :: else fi;
#endif
       leave();
#ifndef NO_LOOK
       if :: begun -> call_guest() :: else fi
#endif
    fi
  }
}

proctype guest() {
  do
  :: atomic { !locked -> locked = 1 };
     if
     :: begun ->                       /* it goes on with it, sooner or later to its end */
        enter();
        if :: begun = 0 :: skip fi;
        leave();
        locked = 0
     :: else ->
#ifdef SAYS_EARLY
        framed = at_end;
#endif
        enter();                       /* a last look */
        leave();
        rests = 1;
#ifndef SAYS_EARLY
        framed = at_end;
#endif
        locked = 0;
end:    called;
        called = 0
     fi
  od
}

init { atomic { run rank(); run guest() } }

/* At the end the guest sleeps, and nothing is begun. */
active proctype end_of_all() {
  timeout -> assert(!begun)
}
