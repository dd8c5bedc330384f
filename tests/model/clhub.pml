/* SPDX-License-Identifier: Apache-2.0
 *
 * CLHub (src/sync/biased_locks.h): the bias flag, the queue of candidates, the filter that keeps
 * low priority out, and the bound on passing. One holder at a time; a candidate is passed BOUND
 * times at most; nobody waits for ever, as long as the others do not come back for ever.
 *
 * -DFILTER_STAYS shows that the last candidate must lower the filter.
 * -DNO_BOUND shows that without a bound a candidate may be passed more often.
 */
#define THREADS 4
#define ROUNDS 2
#define BOUND 1
#include "queue.pml"

queue high, low;
bit bias = 0, filter = 0;
byte passed = 0, taken = 0;
byte inside = 0;
byte really_passed = 0;  /* ghost: since the candidate was seen */
bit seen = 0;

inline critical_section() { inside++; assert(inside == 1); inside-- }

/* may_pass(), with the flag in hand */
inline try_acquire(got) {
  atomic { if :: bias == 0 -> bias = 1; got = 1 :: else -> got = 0 fi };
  if
  :: got && filter ->
#ifndef NO_BOUND
     if
     :: passed == BOUND -> bias = 0; got = 0
     :: else -> passed++
     fi
#else
     skip
#endif
  :: else
  fi;
  if
  :: got -> atomic { if :: seen -> really_passed++; assert(really_passed <= BOUND + 1) :: else fi };
     taken++
  :: else
  fi
}

inline acquire_as_candidate() {
  join(high); enter(high);
  filter = 1;
  seen = 1;
  atomic { bias == 0 -> bias = 1; seen = 0; really_passed = 0 };
  passed = 0;
  taken++;
#ifndef FILTER_STAYS
  if :: !has_waiters(high) -> filter = 0 :: else fi;
#endif
  leave(high)
}

proctype worker() {
  byte rounds = 0;
  bit got;
  do
  :: rounds == ROUNDS -> break
  :: else ->
     try_acquire(got);
     if :: !got -> acquire_as_candidate() :: else fi;
     critical_section();
     bias = 0;
     rounds++
  od
}

proctype waiting() {
  byte before;
  join(low); enter(low);
  before = taken;
  do
  :: atomic { !filter -> if :: bias == 0 -> bias = 1; break :: else fi }
  :: taken - before >= BOUND -> acquire_as_candidate(); break
  :: else -> !filter && bias == 0 || taken - before >= BOUND  /* until something changes */
  od;
  leave(low);
  critical_section();
  bias = 0
}

init { atomic { run worker(); run worker(); run waiting(); run waiting() } }
