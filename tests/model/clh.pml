/* SPDX-License-Identifier: Apache-2.0
 *
 * The queue lock of src/sync/clh.h, of which the other locks are made: one holder at a time, nobody
 * forgotten, first come first served, with nodes that are used again by whichever thread finds them
 * free, and with try_acquire().
 *
 * -DNO_USES shows why the tail counts how often its node was used: else try_acquire() takes a node
 * that was used again meanwhile for the one it looked at.
 */
#define THREADS 3
#define NODES 4        /* one per thread and the one that is granted; take() finds a free one */
#define unused 0
#define waiting 1
#define granted 2
#define USES 8

byte state[NODES];
byte uses[NODES];
byte tail = 0;         /* a node, and (below) its uses */
byte tail_uses = 0;
byte holder;
byte inside = 0;
byte joined = 0, served = 0;  /* numbers of arrival: ghosts */

/* The first free node from where the thread's hash points to. There is always one. */
inline take(mine) {
  mine = me;
  do
  :: atomic { state[mine] == unused -> state[mine] = waiting; break }
  :: state[mine] != unused -> mine = (mine + 1) % NODES
  od;
#ifndef NO_USES
  uses[mine] = (uses[mine] + 1) % USES;
#endif
}

proctype thread(byte me; byte left) {
  byte mine, before, before_uses, number;
  bit got;
  do
  :: left == 0 -> break
  :: else ->
     if
     :: take(mine);                                   /* acquire() */
        atomic { before = tail; tail = mine; tail_uses = uses[mine]; number = joined; joined++ };
        state[before] == granted;
        state[before] = unused;
        got = 1
     :: atomic { before = tail; before_uses = tail_uses };  /* try_acquire() */
        if
        :: state[before] != granted -> got = 0
        :: else ->
           take(mine);
           atomic {
             if
             :: tail == before && tail_uses == before_uses ->
                tail = mine; tail_uses = uses[mine]; number = joined; joined++; got = 1
             :: else -> got = 0
             fi
           };
           if :: got -> state[before] = unused :: else -> state[mine] = unused fi
        fi
     fi;
     if
     :: got ->
        holder = mine;
        inside++;
        assert(inside == 1);
        assert(number == served);
        served++;
        inside--;
        state[holder] = granted
     :: else
     fi;
     left--
  od
}

init { atomic { state[0] = granted; run thread(0, 2); run thread(1, 2); run thread(0, 1) } }
