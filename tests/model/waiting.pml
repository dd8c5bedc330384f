/* SPDX-License-Identifier: Apache-2.0
 *
 * Selective reactivation (src/pt2pt/waiting.cc): several threads of a rank in blocking calls. One or
 * more, the servers, look after messages; the others sleep until what each waits for is complete, or
 * until a server that leaves hands its role over. Thread 0 waits for two requests at once, thread 1 for a
 * generalized one that another thread (worker) completes, thread 2 for a message that it only probes
 * for (a watcher). The worker also takes messages out of the mailbox, the sleeping server's too.
 * One of those that wait for a signal is the deputy, who is awake: a server that leaves tells nobody
 * while there is one; whoever is first, the deputy or a thread that comes, is the server then.
 *
 * Everything but the sleeping is done under the rank's lock, so it is atomic here. The memory order
 * of the park word is park.pml's matter, that of a signal park_lock.pml's.
 *
 * No deadlock: no wake-up is lost. No thread is woken in vain: the assertion. And with a fair
 * scheduler every thread ends, whoever serves: `all_end`.
 *
 * -DSERVERS=2 holds too: of three threads two may be servers at once.
 * -DNO_HANDOVER shows that a server that leaves must name another.
 * -DNO_LAST_LOOK shows that the server must look once more after announcing its sleep.
 * -DNO_WAKE shows that who completes what the sleeping server waits for must wake it.
 * -DCOUNT_ONE shows that a thread which waits for two must not be signalled at the first.
 * -DNAME_OVER shows that of two servers one must not announce its sleep over a wake-up that the other
 * may not have met yet (with SERVERS 2).
 * -DTIRED shows that a deputy which goes to sleep must look whether there is a server.
 * -DSIGNALLED shows that who signals a deputy that is to follow the server must name another.
 */
#define THREADS 3
#define WATCHER 2
#define NOBODY 9
#ifndef SERVERS
#ifdef NAME_OVER
#define SERVERS 2
#else
#define SERVERS 1
#endif
#endif

byte need[THREADS], got[THREADS];   /* requests, complete ones */
byte inbox[THREADS];                /* messages for each that nobody has looked at */
byte pending[THREADS];              /* completions until the thread is to be woken */
bit named[THREADS], listed[THREADS], given[THREADS];
bit serves[THREADS];
byte servers = 0, deputy = NOBODY;
bit vacant = 0;                     /* a server has left, and nobody was told */
byte sleeping = 0;                  /* threads at the park word, or about to be */
bit word = 0, in_kernel[THREADS];
byte ended = 0;

#define is_done(t) (got[t] == need[t])
#define no_news (inbox[0] + inbox[1] + inbox[2] == 0)

ltl all_end { <> (ended == THREADS) }

inline wake() {
  if :: word -> word = 0; in_kernel[0] = 0; in_kernel[1] = 0; in_kernel[2] = 0 :: else fi
}

inline leave_list(t) {
  listed[t] = 0;
  if :: deputy == t -> deputy = NOBODY :: else fi
}

#define wants_server (servers < SERVERS)

inline make_server(t) { serves[t] = 1; servers++; vacant = 0 }
inline name(t) { make_server(t); leave_list(t); given[t] = 1 }

inline name_server() {
#ifdef NO_HANDOVER
  vacant = 0;
#else
  if
  :: deputy != NOBODY -> vacant = 1
  :: else ->
     vacant = 0;
     if
     :: listed[0] -> name(0)
     :: listed[1] -> name(1)
     :: !listed[0] && !listed[1] && listed[WATCHER] -> name(WATCHER)
     :: else
     fi
  fi
#endif
}

inline give_signal(t) {
  leave_list(t);
  given[t] = 1;
#ifndef SIGNALLED
  if :: vacant -> name_server() :: else fi
#endif
}

inline name_thread(t) {
  named[t] = (t != WATCHER);
  pending[t] = need[t] - got[t];
#ifdef COUNT_ONE
  if :: pending[t] > 1 -> pending[t] = 1 :: else fi
#endif
}

/* A message for t is taken out of the mailbox: complete(), or kept as unexpected; tell_waiters() */
inline deliver(t) {
  inbox[t]--;
  got[t]++;
  complete = 0;
  if
  :: named[t] && pending[t] > 0 -> pending[t]--; complete = (pending[t] == 0)
  :: else
  fi;
  if :: complete && listed[t] -> give_signal(t) :: else fi;
#ifndef NO_WAKE
  if
  :: sleeping > 0 && (complete && serves[t] || listed[WATCHER] || serves[WATCHER]) -> wake()
  :: else
  fi
#endif
}

inline progress() {
  do
  :: inbox[0] > 0 -> deliver(0)
  :: inbox[1] > 0 -> deliver(1)
  :: inbox[2] > 0 -> deliver(2)
  :: no_news -> break
  od
}

inline ask_watchers() {
  if :: listed[WATCHER] && is_done(WATCHER) -> give_signal(WATCHER) :: else fi
}

/* The end of serve() and of wait_among_threads() */
inline end_if_done() {
  if
  :: is_done(me) ->
     if :: serves[me] -> serves[me] = 0; servers--; name_server() :: else fi;
     ended++;
     over = 1
  :: else
  fi
}

proctype thread(byte me) {
  bit complete, over = 0, sleeps, woke_another;
  atomic { progress() };
  do
  :: atomic { !over && !wants_server && !serves[me] && !is_done(me) ->
       given[me] = 0; listed[me] = 1; name_thread(me);
       if :: deputy == NOBODY -> deputy = me :: else fi };
     do                                                 /* wait_for_signal() */
     :: given[me] -> break
     :: atomic { deputy == me && vacant && wants_server -> leave_list(me); make_server(me) }; break
     :: atomic { deputy == me ->                        /* goes to sleep */
          deputy = NOBODY;
#ifndef TIRED
          if :: wants_server -> leave_list(me); make_server(me); given[me] = 1 :: else fi
#endif
        }
     od;
     atomic {
       named[me] = 0;
       assert(is_done(me) || serves[me] || me == WATCHER)
     }
  :: atomic { !over && (wants_server || serves[me] || is_done(me)) ->
       if :: wants_server && !serves[me] && !is_done(me) -> make_server(me) :: else fi;
       end_if_done() };
     do
     :: over -> break
     :: atomic { !over -> progress(); ask_watchers(); end_if_done() }
     :: atomic { !over ->                               /* sleep_at_mailbox() */
          name_thread(me);
          sleeping++;
          woke_another = (!word && sleeping > 1);
          word = 1;
#ifndef NAME_OVER
          if :: woke_another -> wake() :: else fi;
#endif
#ifndef NO_LAST_LOOK
          progress();
          ask_watchers();
#endif
#ifdef NAME_OVER
          sleeps = !is_done(me);
#else
          sleeps = !is_done(me) && !woke_another;
#endif
          if :: !sleeps && sleeping == 1 -> word = 0 :: else fi };
        if
        :: sleeps ->
           atomic { if :: word -> in_kernel[me] = 1 :: else fi };  /* futex_wait(word == 1) */
           !in_kernel[me]
        :: else
        fi;
        atomic { sleeping--; named[me] = 0; end_if_done() }
     od;
     break
  od
}

/* A thread of the rank that does not wait: it looks in passing, and completes thread 1's generalized
   request, of which no message tells */
proctype worker() {
  bit complete;
  atomic { progress() };
  atomic { inbox[1]++; deliver(1) }
}

proctype sender() {
  byte sent[THREADS], to;
  do
  :: atomic { sent[0] < need[0] -> to = 0 }; inbox[to]++; sent[to]++; atomic { wake() }
  :: atomic { sent[2] < need[2] -> to = 2 }; inbox[to]++; sent[to]++; atomic { wake() }
  :: sent[0] == need[0] && sent[2] == need[2] -> break
  od
}

init {
  atomic {
    need[0] = 2; need[1] = 1; need[2] = 1;
    run thread(0); run thread(1); run thread(2); run worker(); run sender()
  }
}
