/* SPDX-License-Identifier: Apache-2.0
 *
 * The single copy of src/pt2pt/transfer.cc: every chunk of every message is copied once, each side
 * learns once that all are there, and nobody waits for ever.
 *
 * A sender offers messages in one copy job, each when the last is over, to two receivers in turns. A
 * receiver shows its buffer, and takes chunks when it has waited long enough: at any time, also when
 * the sender has copied all and has offered the job anew. Who has copied the chunk that was ready
 * last tells the other, and the job is the sender's again.
 *
 *   -DNO_NUMBER shows what happens if the word with the next chunk does not name the offer.
 */
#define OFFERS 4
#define CHUNKS 2

mtype = { offered, shown, copied, done };
chan to_sender = [4] of { mtype };
chan to_receiver[2] = [4] of { mtype, byte };

byte next_offer = 0, next_chunk = 0;  /* one word */
byte finished = 0;
byte buffer = 0;                      /* the offer whose buffer the job names */
byte copies[8];                       /* of each chunk of each offer */
bit over[5];                          /* the receiver has its message */

/* One compare-and-swap; a failed one is no step. */
inline take(mine, chunk) {
  atomic {
    if
#ifdef NO_NUMBER
    :: next_chunk < CHUNKS -> chunk = next_chunk; next_chunk++
#else
    :: next_offer == mine && next_chunk < CHUNKS -> chunk = next_chunk; next_chunk++
#endif
    :: else -> chunk = CHUNKS
    fi
  }
}

inline copy(mine, chunk, last) {
  assert(buffer == mine);             /* the job's fields are those of this offer */
  copies[(mine - 1) * CHUNKS + chunk]++;
  atomic { finished++; last = (finished == CHUNKS) }
}

inline check(mine) {
  atomic {
    assert(copies[(mine - 1) * CHUNKS] == 1 && copies[(mine - 1) * CHUNKS + 1] == 1);
    assert(!over[mine]);
    over[mine] = 1
  }
}

proctype sender() {
  byte k = 1, chunk;
  bit listed, last;
  do
  :: k > OFFERS -> break
  :: else ->
    atomic { next_offer = k; next_chunk = 0 };
    to_receiver[k % 2] ! offered, k;
    listed = 0;
    do
    :: to_sender ? shown -> listed = 1
    :: to_sender ? done -> break
    :: listed ->
      take(k, chunk);
      if
      :: chunk == CHUNKS -> listed = 0
      :: else ->
        copy(k, chunk, last);
        if
        :: last -> to_receiver[k % 2] ! copied, k; break
        :: else
        fi
      fi
    od;
    k++
  od;
  assert(empty(to_sender))
}

proctype receiver(byte i) {
  byte k, n, other, chunk;
  bit takes, last;
  do
  :: n == OFFERS / 2 -> break
  :: else ->
    to_receiver[i] ? offered, k;
    n++;
    buffer = k;
    finished = 0;
    to_sender ! shown;
    takes = 1;
    do
    :: to_receiver[i] ? copied, other -> assert(other == k); check(k); break
    :: takes ->                       /* out of patience */
      take(k, chunk);
      if
      :: chunk == CHUNKS -> takes = 0
      :: else ->
        copy(k, chunk, last);
        if
        :: last -> check(k); to_sender ! done; break
        :: else
        fi
      fi
    od
  od
}

init {
  atomic { run sender(); run receiver(0); run receiver(1) }
}
