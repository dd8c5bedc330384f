// SPDX-License-Identifier: Apache-2.0
// What a neighborhood collective must do, said with sends and receives: the neighbors as the
// queries tell them, and a tag per edge, so that nothing here depends on the order of messages.
#ifndef WEFT_TESTS_RANK_TOPO_MODEL_H
#define WEFT_TESTS_RANK_TOPO_MODEL_H

#include "../coll/forms.h"

enum { degree_most = 64 };

struct side {
  int n, who[degree_most], tag[degree_most];
};
struct neighborhood {
  MPI_Comm comm;
  int rank;
  struct side in, out;
};

// The k-th edge between two ranks at one end is the k-th at the other.
static void number_edges(struct side* s) {
  for (int i = 0; i < s->n; ++i) {
    s->tag[i] = 0;
    for (int k = 0; k < i; ++k) s->tag[i] += s->who[k] == s->who[i];
  }
}

CHECK_UNUSED static struct neighborhood neighborhood_of(MPI_Comm comm) {
  struct neighborhood n = {.comm = comm};
  int kind, weighted;
  OK(MPI_Comm_rank(comm, &n.rank));
  OK(MPI_Topo_test(comm, &kind));
  if (kind == MPI_CART) {
    int dims;
    OK(MPI_Cartdim_get(comm, &dims));
    n.in.n = 2 * dims;
    for (int d = 0; d < dims; ++d)
      OK(MPI_Cart_shift(comm, d, 1, &n.in.who[2 * d], &n.in.who[2 * d + 1]));
    n.out = n.in;
    // What goes down arrives from above.
    for (int i = 0; i < n.in.n; ++i) n.in.tag[i] = i, n.out.tag[i] = i ^ 1;
    return n;
  }
  if (kind == MPI_GRAPH) {
    OK(MPI_Graph_neighbors_count(comm, n.rank, &n.in.n));
    OK(MPI_Graph_neighbors(comm, n.rank, degree_most, n.in.who));
    n.out = n.in;
  } else {
    OK(MPI_Dist_graph_neighbors_count(comm, &n.in.n, &n.out.n, &weighted));
    OK(MPI_Dist_graph_neighbors(comm, degree_most, n.in.who, MPI_UNWEIGHTED, degree_most, n.out.who,
                                MPI_UNWEIGHTED));
  }
  number_edges(&n.in);
  number_edges(&n.out);
  return n;
}

// Block i of `out` is counts[i] ints at at[i], and goes along edge i; likewise `in`.
struct blocks {
  int counts[degree_most], at[degree_most], *data, total;
};

CHECK_UNUSED static void model_exchange(const struct neighborhood* n, const struct blocks* out,
                                        const struct blocks* in) {
  MPI_Request requests[2 * degree_most];
  int k = 0;
  for (int i = 0; i < n->in.n; ++i)
    OK(MPI_Irecv(in->data + in->at[i], in->counts[i], MPI_INT, n->in.who[i], n->in.tag[i], n->comm,
                 &requests[k++]));
  for (int i = 0; i < n->out.n; ++i)
    OK(MPI_Isend(out->data + out->at[i], out->counts[i], MPI_INT, n->out.who[i], n->out.tag[i],
                 n->comm, &requests[k++]));
  OK(MPI_Waitall(k, requests, MPI_STATUSES_IGNORE));
}

#endif
