/* SPDX-License-Identifier: Apache-2.0
 *
 * Who hears what comes from other nodes for a communication context in which nobody waits
 * (src/pt2pt/contexts.h): a thread that sleeps in another context, whatever the order in which the news
 * comes, the context's own thread T calls, waits and goes away, and servers of other contexts fall
 * asleep, wake for reasons of their own and leave.
 *
 * Contexts J and I have servers, K has T. `parked` is K's word and says whose server to wake; `watched`
 * that the watcher's thread does so. What is done with K's lock is done so here, but each step of it is
 * one of its own, because words and `watched` are read without it.
 *
 * Nobody sleeps for ever while there is news: no end but with the news taken.
 *
 * -DNO_HAND_OVER shows that T must see to K when it leaves it.
 * -DLEAVES_LATE shows that it must say so before it asks who sleeps.
 * -DNO_SECOND_LOOK shows that who names a server must see whether it still sleeps.
 * -DWORD_LAST shows that a server which wakes must take its own word back before those of others.
 * -DNO_HAND_ON shows that a server which leaves must see to what it had adopted.
 * -DNO_NAME_AGAIN shows that a server must name itself again where its own look has taken its name away.
 * -DFIRES_LATE shows that the watcher must say that K is watched no longer before it reads the word.
 * -DNO_LAST_LOOK shows that a server must look at what nobody watches before it sleeps.
 */
#define J 1
#define I 2
#define CALLS 2

byte parked = 0;                /* K's word */
bit word[3], sleeps[3];         /* J's and I's own */
byte asleep = 0;                /* Contexts::asleep */
bit attended = 0;               /* Engine::attended of K */
bit watched = 0, armed = 0;     /* Lane::watched_; what the kernel has */
bit unwatched = 0;              /* Engine::unwatched */
bit locked = 0;                 /* K's lock */
bit news = 0, handled = 0;

inline lock() { atomic { !locked -> locked = 1 } }
inline unlock() { locked = 0 }
inline wake(s) { atomic { if :: word[s] -> word[s] = 0; sleeps[s] = 0 :: else fi } }
inline wake_named() {
  atomic { who = parked; parked = 0 };
  if :: who != 0 -> wake(who); who = 0 :: else fi
}

/* A look at K's end of the network */
inline look() { atomic { if :: news -> news = 0; handled = 1 :: else fi } }
inline send() {
  if
  :: watched -> watched = 0; unwatched = 1; parked = 0
  :: else
  fi
}
inline arm() { look(); watched = 1; armed = 1 }  /* armed last: what fires after that finds it watched */

/* name_sleeper() */
inline name(known) {
  known = 0;
  do
  :: asleep == 0 -> break
  :: else ->
     if :: word[J] -> who = J :: else -> if :: word[I] -> who = I :: else -> who = 0 fi fi;
     if :: who == 0 -> break :: else fi;
     known = 1;
     if
     :: atomic { parked == 0 -> parked = who }
     :: atomic { parked != 0 -> who = 0 }
     fi;
#ifdef NO_SECOND_LOOK
     break
#else
     if :: who == 0 || word[who] -> break :: else fi;
     atomic { if :: parked == who -> parked = 0 :: else fi };
     known = 0
#endif
  od;
  who = 0
}

inline hand_over() {
  if
  :: parked != 0 && !unwatched
  :: else ->
     if
     :: asleep == 0
     :: else ->
        unwatched = 0;
        arm();
        name(known);
        if :: known && !watched -> wake_named() :: else fi;
        known = 0
     fi
  fi
}

inline begin_sleep(s) {
  word[s] = 1;
  asleep++;
  if
  :: !attended -> atomic { if :: parked == 0 -> parked = s :: else fi }
  :: else
  fi
}

/* look_after_others() before a sleep */
inline before_sleep(s) {
#ifndef NO_LAST_LOOK
  do
  :: attended || watched -> break
  :: else ->
     lock();
     look();
     if :: unwatched = 1; parked = 0 :: skip fi;            /* it may send an answer */
     arm();
#ifndef NO_NAME_AGAIN
     atomic { if :: parked == 0 -> parked = s :: else fi };
#endif
     known = watched;
     unlock();
     if :: known -> known = 0 :: else -> word[s] = 0 fi;  /* it looks again */
     break
  od
#else
  skip
#endif
}

inline end_sleep(s) {
#ifndef WORD_LAST
  word[s] = 0;
#endif
  atomic { if :: parked == s -> parked = 0 :: else fi };
#ifdef WORD_LAST
  word[s] = 0;
#endif
  asleep--
}

proctype sender() { news = 1 }

proctype watcher() {
  byte who;
end:
  do
  :: atomic { armed && news -> armed = 0 };
#ifdef FIRES_LATE
     if :: parked != 0 -> wake_named() :: else fi;
     watched = 0
#else
     watched = 0;
     if :: parked != 0 -> wake_named() :: else fi
#endif
  od
}

/* T calls, and waits at times; then it goes away. */
proctype thread() {
  byte n, who;
  bit known;
  for (n : 1 .. CALLS) {
    lock();
    if
    :: send()
    :: attended = 1;
       unwatched = 1;                   /* take_from_others() */
       parked = 0;
       unlock();
       lock();
       if :: look() :: skip fi;
#ifndef LEAVES_LATE
       attended = 0
#endif
    fi;
#ifndef NO_HAND_OVER
    hand_over();
#endif
#ifdef LEAVES_LATE
    attended = 0;
#endif
    unlock()
  }
}

/* Waits in J for something that comes only after K's news was handled. */
proctype stays() {
  byte who;
  bit known;
  do
  :: handled -> break
  :: else ->
     begin_sleep(J);
     before_sleep(J);
     atomic { if :: word[J] && !handled -> sleeps[J] = 1 :: else fi };
     !sleeps[J] || handled;
     end_sleep(J)
  od
}

/* Waits in I, wakes for a reason of its own, and leaves without a look at K. */
proctype leaves() {
  byte who;
  bit known;
  begin_sleep(I);
  before_sleep(I);
  atomic { if :: word[I] -> sleeps[I] = 1 :: else fi };
  if
  :: !sleeps[I]
  :: sleeps[I] = 0                                          /* by time */
  fi;
  end_sleep(I);
#ifndef NO_HAND_ON
  if
  :: asleep > 0 && parked == 0 && !attended ->
     name(known);
     if :: known && !attended && !watched -> wake_named() :: else fi;
     known = 0
  :: else
  fi
#endif
}

init { atomic { run sender(); run watcher(); run thread(); run stays(); run leaves() } }
