// SPDX-License-Identifier: Apache-2.0
// Neighborhood collectives on grids of every shape, graphs and distributed graphs, compared with
// the model's sends and receives: every int of the receive buffer, gaps and blocks beyond the
// border of a grid too.
#include "model.h"

static unsigned seed_ = 1;
static int random_below(int n) {  // the same on all ranks
  seed_ = seed_ * 1103515245u + 12345u;
  return (int)(seed_ >> 16) % n;
}

enum what { gather, gatherv, all, allv, allw, whats };
static const char* const names[] = {"allgather", "allgatherv", "alltoall", "alltoallv",
                                    "alltoallw"};

static void lay_out(struct blocks* b, int n, int gap) {
  b->total = gap;
  for (int i = 0; i < n; ++i) {
    b->at[i] = b->total;
    b->total += b->counts[i] + gap;
  }
  b->data = alloc(sizeof(int) * b->total);
  for (int i = 0; i < b->total; ++i) b->data[i] = -1;
}

// The blocks of one operation: uniform, per sender (allgatherv), or per edge with gaps between.
static void plan(const struct neighborhood* n, enum what what, int count, struct blocks* out,
                 struct blocks* in) {
  const int varies = what == gatherv || what >= allv;
  struct blocks mine = {.data = out->counts}, theirs = {.data = in->counts};
  for (int i = 0; i < degree_most; ++i) mine.at[i] = theirs.at[i] = i;
  for (int i = 0; i < degree_most; ++i) mine.counts[i] = theirs.counts[i] = 1;
  for (int i = 0; i < n->out.n; ++i) {
    const int more = what == gatherv ? n->rank % 3 : (n->rank + 2 * i) % 4;
    out->counts[i] = !varies ? count : more == 1 ? 0 : count + more;
  }
  for (int i = 0; i < n->in.n; ++i) in->counts[i] = count;
  model_exchange(n, &mine, &theirs);
  lay_out(out, n->out.n, what >= allv ? 1 : 0);
  lay_out(in, n->in.n, varies ? 2 : 0);
  for (int i = 0; i < n->out.n; ++i)
    for (int k = 0; k < out->counts[i]; ++k)
      out->data[out->at[i] + k] = item(n->rank, what < all ? 0 : i, k);
}

static void all_w(const struct neighborhood* n, const struct blocks* out, const struct blocks* in,
                  int large) {
  MPI_Aint out_at[degree_most], in_at[degree_most];
  MPI_Datatype ints[degree_most], whole[degree_most];
  MPI_Count counts[degree_most], ones[degree_most];
  int one[degree_most];
  // The small form from and to MPI_BOTTOM: displacements may be addresses.
  const MPI_Aint out_base = large ? 0 : (MPI_Aint)out->data,
                 in_base = large ? 0 : (MPI_Aint)in->data;
  for (int i = 0; i < n->out.n; ++i) {
    out_at[i] = out_base + out->at[i] * (MPI_Aint)sizeof(int);
    ints[i] = MPI_INT;
    counts[i] = out->counts[i];
  }
  for (int i = 0; i < n->in.n; ++i) {  // received as one element of a contiguous type
    in_at[i] = in_base + in->at[i] * (MPI_Aint)sizeof(int);
    ones[i] = one[i] = 1;
    OK(MPI_Type_contiguous(in->counts[i], MPI_INT, &whole[i]));
    OK(MPI_Type_commit(&whole[i]));
  }
  if (large)
    COLL_C(Neighbor_alltoallw, neighbor_alltoallw, out->data, counts, out_at, ints, in->data, ones,
           in_at, whole, n->comm);
  else
    COLL(Neighbor_alltoallw, neighbor_alltoallw, MPI_BOTTOM, out->counts, out_at, ints, MPI_BOTTOM,
         one, in_at, whole, n->comm);
  for (int i = 0; i < n->in.n; ++i) OK(MPI_Type_free(&whole[i]));
}

static void call(const struct neighborhood* n, enum what what, int count, const struct blocks* out,
                 const struct blocks* in) {
  const int first = n->out.n ? out->counts[0] : 0;
  switch (what) {
    case gather:
      COLL(Neighbor_allgather, neighbor_allgather, out->data, count, MPI_INT, in->data, count,
           MPI_INT, n->comm);
      break;
    case gatherv:
      COLL(Neighbor_allgatherv, neighbor_allgatherv, out->data, first, MPI_INT, in->data,
           in->counts, in->at, MPI_INT, n->comm);
      break;
    case all:
      COLL(Neighbor_alltoall, neighbor_alltoall, out->data, count, MPI_INT, in->data, count,
           MPI_INT, n->comm);
      break;
    case allv:
      COLL(Neighbor_alltoallv, neighbor_alltoallv, out->data, out->counts, out->at, MPI_INT,
           in->data, in->counts, in->at, MPI_INT, n->comm);
      break;
    default:
      all_w(n, out, in, 0);
  }
}

static void call_large(const struct neighborhood* n, enum what what, int count,
                       const struct blocks* out, const struct blocks* in) {
  const MPI_Count first = n->out.n ? out->counts[0] : 0;
  MPI_Count out_counts[degree_most], in_counts[degree_most];
  MPI_Aint out_at[degree_most], in_at[degree_most];
  for (int i = 0; i < n->out.n; ++i) out_counts[i] = out->counts[i], out_at[i] = out->at[i];
  for (int i = 0; i < n->in.n; ++i) in_counts[i] = in->counts[i], in_at[i] = in->at[i];
  switch (what) {
    case gather:
      COLL_C(Neighbor_allgather, neighbor_allgather, out->data, count, MPI_INT, in->data, count,
             MPI_INT, n->comm);
      break;
    case gatherv:
      COLL_C(Neighbor_allgatherv, neighbor_allgatherv, out->data, first, MPI_INT, in->data,
             in_counts, in_at, MPI_INT, n->comm);
      break;
    case all:
      COLL_C(Neighbor_alltoall, neighbor_alltoall, out->data, count, MPI_INT, in->data, count,
             MPI_INT, n->comm);
      break;
    case allv:
      COLL_C(Neighbor_alltoallv, neighbor_alltoallv, out->data, out_counts, out_at, MPI_INT,
             in->data, in_counts, in_at, MPI_INT, n->comm);
      break;
    default:
      all_w(n, out, in, 1);
  }
}

static void compare(MPI_Comm comm, int count, int large) {
  const struct neighborhood n = neighborhood_of(comm);
  for (enum what what = 0; what < whats; ++what) {
    struct blocks out, in;
    plan(&n, what, count, &out, &in);
    struct blocks want = in;
    want.data = alloc(sizeof(int) * in.total);
    memcpy(want.data, in.data, sizeof(int) * in.total);
    if (large)
      call_large(&n, what, count, &out, &in);
    else
      call(&n, what, count, &out, &in);
    model_exchange(&n, &out, &want);
    for (int i = 0; i < in.total; ++i)
      if (in.data[i] != want.data[i])
        DIE("%s%s, %d ints: item %d of the receive buffer is %d, expected %d", names[what],
            large ? "_c" : "", count, i, in.data[i], want.data[i]);
    ++checks;
    free(out.data);
    free(in.data);
    free(want.data);
  }
}

static void compare_all(MPI_Comm comm, int most) {
  static const int some[] = {1, 0, 7, 1000, 20011};
  for (int i = 0; i < most; ++i) compare(comm, some[i], i % 2 == 0);
}

// All grids of at most three dimensions that fit, periodic and not.
static void grids(int ndims, int d, int* dims, int points) {
  if (d < ndims) {
    for (dims[d] = 1; points * dims[d] <= size; ++dims[d])
      grids(ndims, d + 1, dims, points * dims[d]);
    return;
  }
  for (int mask = 0; mask < 1 << ndims; ++mask) {
    int periods[3];
    MPI_Comm grid;
    for (int i = 0; i < ndims; ++i) periods[i] = mask >> i & 1;
    OK(MPI_Cart_create(MPI_COMM_WORLD, ndims, dims, periods, mask & 1, &grid));
    if (grid == MPI_COMM_NULL) continue;
    compare_all(grid, ndims < 2 ? 5 : ndims < 3 ? 3 : 1);
    OK(MPI_Comm_free(&grid));
  }
}

// The edges of `of`, with each edge in both directions: graphs for MPI_Graph_create.
static void graph(int nodes, int edges) {
  int table[8][degree_most], degree[8] = {0}, index[8], list[8 * degree_most], n = 0;
  for (int e = 0; e < edges; ++e) {
    const int a = random_below(nodes), b = random_below(nodes);
    table[a][degree[a]++] = b;
    if (a != b) table[b][degree[b]++] = a;
  }
  for (int i = 0; i < nodes; ++i) {
    for (int k = 0; k < degree[i]; ++k) list[n++] = table[i][k];
    index[i] = n;
  }
  MPI_Comm comm, copy;
  OK(MPI_Graph_create(MPI_COMM_WORLD, nodes, index, list, edges & 1, &comm));
  if (comm == MPI_COMM_NULL) return;
  OK(MPI_Comm_dup(comm, &copy));
  OK(MPI_Comm_free(&comm));
  compare_all(copy, 4);
  OK(MPI_Comm_free(&copy));
}

// Random edges with loops and parallel ones; told by their ends, or by anybody.
static void dist_graph(int edges, int weighted) {
  int from[degree_most], to[degree_most], by[degree_most], weight[degree_most];
  int sources[degree_most], destinations[degree_most], ins = 0, outs = 0;
  int told[degree_most], told_to[degree_most], degrees[degree_most], told_weight[degree_most],
      n = 0;
  for (int e = 0; e < edges; ++e) {
    from[e] = random_below(size);
    to[e] = edges % 3 == 0 ? 0 : random_below(size);  // some graphs have a hub
    by[e] = random_below(size);
    weight[e] = e;
    if (to[e] == rank) sources[ins++] = from[e];
    if (from[e] == rank) destinations[outs++] = to[e];
    if (by[e] != rank) continue;
    told[n] = from[e];
    told_to[n] = to[e];
    told_weight[n] = e;
    degrees[n++] = 1;
  }
  const int* none = weighted ? MPI_WEIGHTS_EMPTY : MPI_UNWEIGHTED;
  MPI_Comm adjacent, general;
  OK(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, ins, sources, weighted && ins ? weight : none,
                                    outs, destinations, weighted && outs ? weight : none,
                                    MPI_INFO_NULL, edges & 1, &adjacent));
  compare_all(adjacent, 4);
  OK(MPI_Comm_free(&adjacent));
  OK(MPI_Dist_graph_create(MPI_COMM_WORLD, n, told, degrees, told_to,
                           weighted && n ? told_weight : none, MPI_INFO_NULL, edges & 1, &general));
  compare_all(general, 4);
  OK(MPI_Comm_free(&general));
}

int main(int argc, char** argv) {
  start_form(&argc, &argv);
  int dims[3];
  for (int ndims = 0; ndims <= 3; ++ndims) grids(ndims, 0, dims, 1);
  for (int i = 0; i < 8; ++i) graph(1 + random_below(size), i);
  for (int edges = 0; edges < 40; edges += 5) dist_graph(edges, edges & 1);
  return finish();
}
