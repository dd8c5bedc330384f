// SPDX-License-Identifier: Apache-2.0
// Chapter 8, virtual topologies: grids, graphs, distributed graphs, neighborhood collectives.
#include "rules.h"

static MPI_Comm grid(int periodic) {  // two dimensions, of all ranks
  MPI_Comm made;
  int dims[2] = {0, 0}, periods[2] = {periodic, periodic};
  OK(MPI_Dims_create(size, 2, dims));
  OK(MPI_Cart_create(comm, 2, dims, periods, 0, &made));
  return made;
}

static void dims_create(void) {
  int dims[3] = {0, 0, 0};
  OK(MPI_Dims_create(24, 3, dims));
  EQ(dims[0], 4), EQ(dims[1], 3), EQ(dims[2], 2);
  int given[3] = {0, 3, 0};
  OK(MPI_Dims_create(24, 3, given));
  EQ(given[0], 4), EQ(given[1], 3), EQ(given[2], 2);
  int wrong[2] = {0, 5};
  FAILS(MPI_Dims_create(24, 2, wrong), MPI_ERR_DIMS);
}

static void row_major(void) {
  MPI_Comm cart = grid(0);
  int dims[2], periods[2], at[2], where = -1;
  OK(MPI_Cart_get(cart, 2, dims, periods, at));
  EQ(at[0] * dims[1] + at[1], rank);
  for (int who = 0; who < size; ++who) {
    OK(MPI_Cart_coords(cart, who, 2, at));
    EQ(at[0], who / dims[1]), EQ(at[1], who % dims[1]);
    OK(MPI_Cart_rank(cart, at, &where));
    EQ(where, who);
  }
  OK(MPI_Comm_free(&cart));
}

static void periodic_rank(void) {
  MPI_Comm cart = grid(1);
  int dims[2], periods[2], at[2], where = -1;
  OK(MPI_Cart_get(cart, 2, dims, periods, at));
  at[0] -= dims[0], at[1] += 3 * dims[1];
  OK(MPI_Cart_rank(cart, at, &where));
  EQ(where, rank);
  OK(MPI_Comm_free(&cart));
  cart = grid(0);
  at[0] = -1, at[1] = 0;
  FAILS(MPI_Cart_rank(cart, at, &where), MPI_ERR_ARG);
  OK(MPI_Comm_free(&cart));
}

static void shift(void) {
  MPI_Comm cart;
  int from = -1, to = -1, periodic = 0;
  OK(MPI_Cart_create(comm, 1, &size, &periodic, 0, &cart));
  OK(MPI_Cart_shift(cart, 0, 1, &from, &to));
  EQ(from, rank == 0 ? MPI_PROC_NULL : rank - 1),
      EQ(to, rank == size - 1 ? MPI_PROC_NULL : rank + 1);
  OK(MPI_Cart_shift(cart, 0, -1, &from, &to));
  EQ(to, rank == 0 ? MPI_PROC_NULL : rank - 1);
  OK(MPI_Comm_free(&cart));
  periodic = 1;
  OK(MPI_Cart_create(comm, 1, &size, &periodic, 0, &cart));
  OK(MPI_Cart_shift(cart, 0, size + 1, &from, &to));
  EQ(to, right), EQ(from, left);
  OK(MPI_Comm_free(&cart));
}

static void smaller_grid(void) {
  MPI_Comm cart;
  const int one = 1, periodic = 0;
  OK(MPI_Cart_create(comm, 1, &one, &periodic, 0, &cart));
  CHECK((cart != MPI_COMM_NULL) == (rank == 0),
        "a rank outside the grid got a communicator, or rank 0 none");
  if (cart != MPI_COMM_NULL) OK(MPI_Comm_free(&cart));
}

static void zero_dims(void) {
  MPI_Comm cart;
  int n = -1, where = -1;
  OK(MPI_Cart_create(comm, 0, NULL, NULL, 0, &cart));
  CHECK((cart != MPI_COMM_NULL) == (rank == 0), "a grid without dimensions has rank 0 only");
  if (cart == MPI_COMM_NULL) return;
  OK(MPI_Cartdim_get(cart, &n));
  EQ(n, 0);
  OK(MPI_Cart_rank(cart, NULL, &where));
  EQ(where, 0);
  OK(MPI_Comm_free(&cart));
}

static void cart_sub(void) {
  MPI_Comm cart = grid(1), row;
  int dims[2], periods[2], at[2], n = -1, me = -1, kind = -1;
  const int remain[2] = {0, 1}, none[2] = {0, 0};
  OK(MPI_Cart_get(cart, 2, dims, periods, at));
  OK(MPI_Cart_sub(cart, remain, &row));
  OK(MPI_Comm_size(row, &n));
  OK(MPI_Comm_rank(row, &me));
  EQ(n, dims[1]), EQ(me, at[1]);
  OK(MPI_Topo_test(row, &kind));
  EQ(kind, MPI_CART);
  OK(MPI_Comm_free(&row));
  OK(MPI_Cart_sub(cart, none, &row));
  OK(MPI_Comm_size(row, &n));
  EQ(n, 1);
  OK(MPI_Cartdim_get(row, &n));
  EQ(n, 0);
  OK(MPI_Comm_free(&row));
  OK(MPI_Comm_free(&cart));
}

static void topo_test(void) {
  MPI_Comm cart = grid(0), copy, part;
  int kind = -1;
  OK(MPI_Topo_test(comm, &kind));
  EQ(kind, MPI_UNDEFINED);
  OK(MPI_Comm_dup(cart, &copy));
  OK(MPI_Topo_test(copy, &kind));
  EQ(kind, MPI_CART);
  OK(MPI_Comm_split(cart, 0, rank, &part));
  OK(MPI_Topo_test(part, &kind));
  EQ(kind, MPI_UNDEFINED);
  OK(MPI_Comm_free(&copy));
  OK(MPI_Comm_free(&part));
  OK(MPI_Comm_free(&cart));
}

static void graph(void) {  // a ring
  MPI_Comm made;
  int *index = alloc(sizeof(int) * size), *edges = alloc(sizeof(int) * 2 * size), n = -1, m = -1,
      near[2];
  for (int i = 0; i < size; ++i)
    index[i] = 2 * (i + 1), edges[2 * i] = left_of(i), edges[2 * i + 1] = right_of(i);
  OK(MPI_Graph_create(comm, size, index, edges, 0, &made));
  OK(MPI_Graphdims_get(made, &n, &m));
  EQ(n, size), EQ(m, 2 * size);
  OK(MPI_Graph_neighbors_count(made, rank, &n));
  EQ(n, 2);
  OK(MPI_Graph_neighbors(made, rank, 2, near));
  EQ(near[0], left), EQ(near[1], right);
  OK(MPI_Comm_free(&made));
  free(index), free(edges);
}

static void dist_graph(void) {  // each rank names the edge of its right neighbor
  MPI_Comm made;
  int source = right, degree = 1, dest = right_of(right), weight = 7, in = -1, out = -1,
      weighted = -1;
  OK(MPI_Dist_graph_create(comm, 1, &source, &degree, &dest, &weight, MPI_INFO_NULL, 0, &made));
  OK(MPI_Dist_graph_neighbors_count(made, &in, &out, &weighted));
  EQ(in, 1), EQ(out, 1), EQ(weighted != 0, 1);
  int from = -1, to = -1, win = -1, wout = -1;
  OK(MPI_Dist_graph_neighbors(made, 1, &from, &win, 1, &to, &wout));
  EQ(from, left), EQ(to, right), EQ(win, 7), EQ(wout, 7);
  OK(MPI_Comm_free(&made));
}

static void adjacent_order(void) {
  MPI_Comm made;
  const int sources[2] = {right, left}, dests[2] = {left, right};
  int got[2] = {-1, -1}, to[2] = {-1, -1}, in = -1, out = -1, weighted = -1;
  OK(MPI_Dist_graph_create_adjacent(comm, 2, sources, MPI_UNWEIGHTED, 2, dests, MPI_UNWEIGHTED,
                                    MPI_INFO_NULL, 0, &made));
  OK(MPI_Dist_graph_neighbors_count(made, &in, &out, &weighted));
  EQ(weighted, 0);
  OK(MPI_Dist_graph_neighbors(made, 2, got, MPI_UNWEIGHTED, 2, to, MPI_UNWEIGHTED));
  EQ(got[0], right), EQ(got[1], left), EQ(to[0], left), EQ(to[1], right);
  int send[2] = {rank * 10, rank * 10 + 1}, recv[2] = {-1, -1};
  OK(MPI_Neighbor_alltoall(send, 1, MPI_INT, recv, 1, MPI_INT, made));
  if (size > 2) EQ(recv[0], right * 10), EQ(recv[1], left * 10 + 1);
  OK(MPI_Comm_free(&made));
}

static void cart_neighbors(void) {
  MPI_Comm cart;
  const int periodic = 0;
  int all[2] = {-7, -7};
  OK(MPI_Cart_create(comm, 1, &size, &periodic, 0, &cart));
  OK(MPI_Neighbor_allgather(&rank, 1, MPI_INT, all, 1, MPI_INT, cart));
  EQ(all[0], rank == 0 ? -7 : rank - 1);  // first the one at -1, then the one at +1
  EQ(all[1], rank == size - 1 ? -7 : rank + 1);
  OK(MPI_Comm_free(&cart));
}

static void two_both_ways(void) {
  MPI_Comm cart;
  const int two = 2, periodic = 1;
  if (size < 2) return;
  OK(MPI_Cart_create(comm, 1, &two, &periodic, 0, &cart));
  if (cart == MPI_COMM_NULL) return;
  int out[2] = {rank * 10, rank * 10 + 1}, in[2] = {-1, -1};
  OK(MPI_Neighbor_alltoall(out, 1, MPI_INT, in, 1, MPI_INT, cart));
  EQ(in[0], (1 - rank) * 10 + 1), EQ(in[1], (1 - rank) * 10);  // what went down comes from above
  OK(MPI_Comm_free(&cart));
}

static const Rule table[] = {
    {"8.5.2-dims-create", dims_create,
     "dims are as close as possible, in non-increasing order; given ones stay"},
    {"8.5.1-row-major", row_major, "ranks of a grid are in row-major order"},
    {"8.5.5-periodic-rank", periodic_rank,
     "coordinates of a periodic dimension wrap; others must be in range"},
    {"8.5.6-shift", shift, "a shift over the edge gives MPI_PROC_NULL, or wraps if periodic"},
    {"8.5.1-smaller-grid", smaller_grid, "ranks for which a grid has no place get MPI_COMM_NULL"},
    {"8.5.1-zero-dims", zero_dims, "a grid of zero dimensions is one rank"},
    {"8.5.7-cart-sub", cart_sub, "Cart_sub keeps a grid of the remaining dimensions"},
    {"8.5.5-topo-test", topo_test, "Comm_dup keeps the topology, split does not"},
    {"8.5.3-graph", graph, "a graph's neighbors are those given, in that order"},
    {"8.5.4-dist-graph", dist_graph, "any rank may name any edge; weights come back at both ends"},
    {"8.5.4-adjacent-order", adjacent_order, "neighbors come back in the order they were given"},
    {"8.6-cart-neighbors", cart_neighbors,
     "neighbors of a grid: -1, +1 of each dimension; no neighbor, no change"},
    {"8.6-two-both-ways", two_both_ways,
     "in a periodic dimension of two, what is sent down arrives from above"},
};
RULES(table)
