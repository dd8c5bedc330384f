/* SPDX-License-Identifier: Apache-2.0
 *
 * Who looks after a communication context in which nobody waits (src/pt2pt/contexts.h): news there wakes
 * a thread that sleeps in another context, whatever the order in which it comes, the context begins
 * to need progress, and servers of other contexts fall asleep, wake for reasons of their own and leave.
 *
 * Contexts J and I have servers, K has none. `parked` is K's word and says whose server to wake.
 * A sender's processor may delay its store (the news) behind its own later load (K's word).
 *
 * -DNO_LAST_LOOK shows that a server must look at what it adopted before it sleeps.
 * -DNO_BARRIER shows that the barrier has to come between adopting and that look.
 * -DNO_HAND_ON shows that a server which leaves must wake another one.
 * -DNO_KICK shows that a call which leaves a context in need must wake a server.
 * -DCOUNT_LATE shows that a server must count itself before it reads who needs progress.
 */
#define J 1
#define I 2

byte parked = 0;        /* K's word */
bit word[3];            /* J's and I's own */
bit sleeps[3];
byte asleep = 0;        /* Contexts::asleep */
bit needs = 0;          /* Engine::needs_progress of K */
bit news = 0, buffered = 0;
bit handled = 0;

inline drain() { atomic { if :: buffered -> news = 1; buffered = 0 :: else fi } }
inline wake(s) { atomic { if :: word[s] -> word[s] = 0; sleeps[s] = 0 :: else fi } }

/* wake_a_server(): the first whose word names itself */
inline wake_one() {
  if
  :: asleep > 0 ->
     atomic {
       if
       :: word[J] -> word[J] = 0; sleeps[J] = 0
       :: else -> if :: word[I] -> word[I] = 0; sleeps[I] = 0 :: else fi
       fi
     }
  :: else
  fi
}

inline look() { atomic { if :: needs && news -> news = 0; handled = 1 :: else fi } }

inline adopt(s) {
  if
  :: needs -> atomic { if :: parked == 0 -> parked = s :: else fi }
  :: else
  fi
}

inline begin_sleep(s) {
  word[s] = 1;
#ifdef COUNT_LATE
  adopt(s);
  asleep++;
#else
  asleep++;
  adopt(s);
#endif
#ifndef NO_BARRIER
  drain();
#endif
}

inline end_sleep(s) {
  atomic { if :: parked == s -> parked = 0 :: else fi };
  asleep--
}

proctype sender() {
  byte who = 0;
  buffered = 1;
  if
  :: drain()
  :: skip
  fi;
  if
  :: parked != 0 -> atomic { who = parked; parked = 0; drain() };  /* View::wake_slow */
     if :: who != 0 -> wake(who) :: else fi
  :: parked == 0
  fi;
  drain()
}

/* A call in K that leaves something begun, for which the news is. */
proctype caller() {
  needs = 1;
#ifndef NO_KICK
  wake_one()
#endif
}

/* Waits in J for something that comes only after K's news was handled. */
proctype stays() {
  do
  :: handled -> break
  :: else ->
     begin_sleep(J);
#ifndef NO_LAST_LOOK
     look();
#endif
     atomic { if :: word[J] && !handled -> sleeps[J] = 1 :: else fi };
     !sleeps[J] || handled;
     end_sleep(J);
     look()
  od
}

/* Waits in I, wakes for a reason of its own, and leaves without a look at K. */
proctype leaves() {
  begin_sleep(I);
  atomic { if :: word[I] -> sleeps[I] = 1 :: else fi };
  if
  :: !sleeps[I]
  :: atomic { word[I] = 0; sleeps[I] = 0 }
  fi;
  end_sleep(I);
#ifndef NO_HAND_ON
  if :: needs && parked == 0 -> wake_one() :: else fi
#endif
}

init { atomic { run sender(); run caller(); run stays(); run leaves() } }
