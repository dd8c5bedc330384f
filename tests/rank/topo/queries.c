// SPDX-License-Identifier: Apache-2.0
// Grids and graphs as the standard's examples and corner cases have them (MPI-5.0 §8.5): no
// dimensions, periods of one, more ranks than points, partial grids, MPI_Dims_create.
#include "../check.h"

static void no_dimensions(void) {
  MPI_Comm point, part;
  int n = -1, unused = 77, kind;
  OK(MPI_Cart_create(MPI_COMM_WORLD, 0, NULL, NULL, 1, &point));
  EQ(point == MPI_COMM_NULL, rank != 0);
  if (point == MPI_COMM_NULL) return;
  OK(MPI_Topo_test(point, &kind));
  EQ(kind, MPI_CART);
  OK(MPI_Cartdim_get(point, &n));
  EQ(n, 0);
  OK(MPI_Cart_get(point, 0, &unused, &unused, &unused));
  OK(MPI_Cart_coords(point, 0, 0, &unused));
  EQ(unused, 77);
  OK(MPI_Cart_rank(point, NULL, &n));
  EQ(n, 0);
  OK(MPI_Cart_sub(point, NULL, &part));
  OK(MPI_Cartdim_get(part, &n));
  EQ(n, 0);
  OK(MPI_Comm_free(&part));
  OK(MPI_Comm_free(&point));
}

static void rows_and_points(void) {
  const int dims[] = {size, 1}, periods[] = {0, 1}, keep_rows[] = {1, 0}, keep_none[] = {0, 0};
  MPI_Comm grid, column, point, copy;
  MPI_Request request;
  int n, source, dest, coords[2], got_dims[2], got_periods[2];
  OK(MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 1, &grid));
  OK(MPI_Comm_idup(grid, &copy, &request));
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  OK(MPI_Cart_get(copy, 2, got_dims, got_periods, coords));
  EQ(got_dims[0], size);
  EQ(got_periods[0] * 10 + got_periods[1], 1);
  OK(MPI_Cart_shift(copy, 1, 5, &source, &dest));  // around a dimension of one
  OK(MPI_Comm_rank(copy, &n));
  EQ(source, n);
  EQ(dest, n);
  OK(MPI_Cart_shift(copy, 0, 0, &source, &dest));
  EQ(source, n);
  OK(MPI_Cart_shift(copy, 0, -1, &source, &dest));
  EQ(dest, n > 0 ? n - 1 : MPI_PROC_NULL);
  EQ(source, n + 1 < size ? n + 1 : MPI_PROC_NULL);
  OK(MPI_Cart_sub(copy, keep_rows, &column));
  OK(MPI_Comm_size(column, &n));
  EQ(n, size);
  OK(MPI_Comm_free(&column));
  OK(MPI_Cart_sub(copy, keep_none, &point));
  OK(MPI_Comm_size(point, &n));
  EQ(n, 1);
  OK(MPI_Cartdim_get(point, &n));
  EQ(n, 0);
  OK(MPI_Comm_split(grid, 0, 0, &column));  // a topology is not inherited by other constructions
  OK(MPI_Topo_test(column, &n));
  EQ(n, MPI_UNDEFINED);
  OK(MPI_Comm_free(&column));
  OK(MPI_Comm_free(&point));
  OK(MPI_Comm_free(&copy));
  OK(MPI_Comm_free(&grid));
}

// The example of MPI_Graph_create, as far as there are ranks.
static void graph(void) {
  const int index[] = {2, 3, 4, 6}, edges[] = {1, 3, 0, 3, 0, 2};
  MPI_Comm four;
  int where = 0, n = 0, m = 0, got_index[4], got_edges[6], found[2];
  OK(MPI_Graph_create(MPI_COMM_WORLD, 0, NULL, NULL, 0, &four));
  CHECK(four == MPI_COMM_NULL, "a graph of no nodes gave a communicator");
  if (size < 4) return;
  OK(MPI_Graph_map(MPI_COMM_WORLD, 4, index, edges, &where));
  EQ(where == MPI_UNDEFINED, rank >= 4);
  OK(MPI_Graph_create(MPI_COMM_WORLD, 4, index, edges, 1, &four));
  EQ(four == MPI_COMM_NULL, rank >= 4);
  if (four == MPI_COMM_NULL) return;
  OK(MPI_Graphdims_get(four, &n, &m));
  EQ(n, 4);
  EQ(m, 6);
  OK(MPI_Graph_get(four, 4, 6, got_index, got_edges));
  EQ(memcmp(index, got_index, sizeof index), 0);
  EQ(memcmp(edges, got_edges, sizeof edges), 0);
  OK(MPI_Graph_neighbors_count(four, 3, &n));
  EQ(n, 2);
  OK(MPI_Graph_neighbors(four, 3, 2, found));
  EQ(found[0] * 10 + found[1], 2);
  OK(MPI_Comm_free(&four));
}

// Everybody sends to the next; told by the last rank alone, with weights.
static void dist_graph(void) {
  const int teller = rank == size - 1;
  int *who = alloc(sizeof(int) * size), *next = alloc(sizeof(int) * size),
      *one = alloc(sizeof(int) * size), *weight = alloc(sizeof(int) * size);
  int ins, outs, weighted, source = -1, dest = -1, in_weight = -1, out_weight = -1;
  for (int i = 0; i < size; ++i) who[i] = i, next[i] = right_of(i), one[i] = 1, weight[i] = 100 + i;
  MPI_Comm ring;
  OK(MPI_Dist_graph_create(MPI_COMM_WORLD, teller ? size : 0, who, one, next,
                           teller ? weight : MPI_WEIGHTS_EMPTY, MPI_INFO_NULL, 1, &ring));
  OK(MPI_Dist_graph_neighbors_count(ring, &ins, &outs, &weighted));
  EQ(ins * 100 + outs * 10 + weighted, 111);
  OK(MPI_Dist_graph_neighbors(ring, 1, &source, &in_weight, 1, &dest, &out_weight));
  EQ(source, left_of(rank));
  EQ(dest, right_of(rank));
  EQ(in_weight, 100 + left_of(rank));
  EQ(out_weight, 100 + rank);
  source = -1;
  OK(MPI_Dist_graph_neighbors(ring, 0, &source, &in_weight, 0, &dest, &out_weight));  // fewer: fine
  EQ(source, -1);
  OK(MPI_Comm_free(&ring));
  free(who);
  free(next);
  free(one);
  free(weight);
}

static void dims(void) {
  int d[3] = {0, 0, 0}, fixed[3] = {0, 3, 0}, full[2] = {2, 3};
  OK(MPI_Dims_create(1, 0, NULL));
  OK(MPI_Dims_create(24, 3, d));
  EQ(d[0] * 100 + d[1] * 10 + d[2], 432);
  OK(MPI_Dims_create(12, 3, fixed));
  EQ(fixed[0] * 100 + fixed[1] * 10 + fixed[2], 232);
  OK(MPI_Dims_create(6, 2, full));
  EQ(full[0] * 10 + full[1], 23);
}

int main(int argc, char** argv) {
  start(&argc, &argv);
  no_dimensions();
  rows_and_points();
  graph();
  dist_graph();
  dims();
  return finish();
}
