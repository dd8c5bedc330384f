/* SPDX-License-Identifier: Apache-2.0
 *
 * A CLH lock as the locks made of it see it (clh.pml checks it from within): one holder, and
 * has_waiters(). The order is left open, which allows more than the lock does.
 */
typedef queue {
  byte joined;  /* the holder and who waits */
  bit held
}
inline join(q) { atomic { q.joined++; assert(q.joined <= THREADS) } }
inline enter(q) { atomic { !q.held -> q.held = 1 } }
inline try_enter(q, got) {
  atomic { if :: q.joined == 0 -> q.joined++; q.held = 1; got = 1 :: else -> got = 0 fi }
}
inline leave(q) { atomic { q.held = 0; q.joined-- } }
#define has_waiters(q) (q.joined > 1)
