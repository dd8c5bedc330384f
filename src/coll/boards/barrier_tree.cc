// SPDX-License-Identifier: Apache-2.0
//
// Barrier: ranks arrive along the mapped 4-ary tree, flags only; release in one stage per level
// (two with sockets): one rank of each group awaits the outer one's flag, then the others that
// one's.
//
// source   Li, Hoefler, Snir, section 2.6
// steps    2(p-1) flags; on the longest path 3 ceil(log_4 q) + 3 ceil(log_4 s) up, a stage per
//          level down
// example  2 groups of 3: 1,2 -> 0; 4,5 -> 3; 3 -> 0; then 0 -> 3 and 0 -> 1,2; 3 -> 4,5.
#include "coll/boards/algorithms.h"

namespace weft::coll {

void barrier_arrive(Schedule& s, const Site& node) {
  const Tree& up = node.ground.up;
  lay_tree(node.levels(), barrier_arity, 0, node.me.rank, &node.ground.up);
  for (const int child : up.children) s.await_phase(child, 1);
  if (up.parent < 0) return;
  s.signal(1);
  s.wake(up.parent);
}

void barrier_leave(Schedule& s, const Site& node) {
  const Tree& down = node.ground.down;
  lay_tree(node.levels(), star, 0, node.me.rank, &node.ground.down);
  if (down.parent >= 0) s.await_phase(down.parent, 2);
  s.signal(2);
  for (const int child : down.children) s.wake(child);
}

void barrier_tree(Schedule& s, const Site& node) {
  barrier_arrive(s, node);
  barrier_leave(s, node);
}

}  // namespace weft::coll
