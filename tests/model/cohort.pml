/* SPDX-License-Identifier: Apache-2.0
 *
 * The cohort lock inside HCLHub (src/sync/biased_locks.h): a queue per memory domain and a flag
 * among the first of each, which stays in a domain while it has waiters, KEPT times at most. One
 * holder at a time; no domain waits for ever.
 *
 * -DKEEP_FOR_NOBODY shows that the flag may be kept only for somebody who waits.
 */
#define THREADS 3
#define ROUNDS 3
#define KEPT 1
#include "queue.pml"

queue domain[2];
bit keeps_flag[2], flag = 0;
byte kept[2];
byte inside = 0;

proctype thread(byte d) {
  byte rounds = 0;
  do
  :: rounds == ROUNDS -> break
  :: else ->
     join(domain[d]); enter(domain[d]);
     if :: !keeps_flag[d] -> atomic { flag == 0 -> flag = 1 } :: else fi;
     keeps_flag[d] = 0;
     inside++; assert(inside == 1); inside--;
#ifdef KEEP_FOR_NOBODY
     keeps_flag[d] = kept[d] < KEPT;
#else
     keeps_flag[d] = has_waiters(domain[d]) && kept[d] < KEPT;
#endif
     if
     :: keeps_flag[d] -> kept[d]++
     :: else -> kept[d] = 0; flag = 0
     fi;
     assert(kept[d] <= KEPT);
     leave(domain[d]);
     rounds++
  od
}

init { atomic { run thread(0); run thread(0); run thread(1) } }
