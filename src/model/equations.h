// SPDX-License-Identifier: Apache-2.0
//
// The cost formulas of Li, Hoefler, Snir: NUMA-Aware Shared-Memory Collective Communication for
// MPI, HPDC 2013, for any number of levels. With two levels (alpha: inside a socket, q ranks each;
// beta: between s sockets), and with Machine::copy and reduce zero, they are the printed equations;
// a fold and a copy of a line are priced as section 3.4 does where it checks them (2 Rl and Rl).
//
// m: the vector, in lines. n: how many parts a tree joins in one step.
#pragma once

#include "model/machine.h"

namespace weft::model {

/// ceil(log_n x) for x >= 1, n >= 2: the steps in which n-ary trees join x parts.
int tree_steps(int x, int n);

/// (1): an n-ary tree over `q` parts of a level whose accesses share its bandwidth. The paper
/// counts n^i accesses i steps below the root, and sums one step more than its own unfolding in
/// section 3.4 has; here the accesses that happen are counted (the same if q is a power of n).
double reduce_tree_contended(const Machine& x, const Level& level, int q, int n, double m);
/// (2): the same between `s` sockets, where no link is shared.
double reduce_tree_linked(const Machine& x, const Level& level, int s, int n, double m);
/// (3): (1) at the inner levels, (2) at the outermost.
double reduce_tree(const Machine& x, int n, double m);

/// (4), right: everybody reads the root's vector at once; a link serves a whole socket.
double bcast_one_stage(const Machine& x, double m);
/// (4), left: one rank of each part reads it first, level by level, then those inside.
double bcast_staged(const Machine& x, double m);
/// (4)
double bcast(const Machine& x, double m);
/// Section 3.1, in words only: in each step n ranks read from one that has the vector.
double bcast_tree(const Machine& x, int n, double m);

/// (5)
double reduce_bcast(const Machine& x, int n, double m);

/// (6); all numbers of parts are powers of two.
double dissemination_power_of_two(const Machine& x, double m);
/// (7): the r ranks more than a power of two q' in each innermost part give their vector to
/// somebody, and get the result. 2(a + Brm) are the two copies.
double dissemination_other(const Machine& x, double m);
/// (6) or (7)
double dissemination(const Machine& x, double m);

/// (8): the ranks of an innermost part fold one tile each.
double tiled_reduce_inside(const Machine& x, double m);
/// (9): the tiles, side by side, in trees over the other levels.
double tiled_reduce_between(const Machine& x, double m);
/// (10)
double tiled_reduce(const Machine& x, double m);
/// (11)
double tiled_reduce_bcast(const Machine& x, double m);

/// Section 3.2, without equations there: p tiles over the whole machine. Naive: all begin with the
/// same rank's vector, so its part serves everybody; cyclic: each begins with its own.
double naive_tiled_reduce(const Machine& x, double m);
double cyclic_tiled_reduce(const Machine& x, double m);

/// Section 2.6: (5) for flags alone; each step reads one line.
double barrier(const Machine& x, int n);

}  // namespace weft::model
