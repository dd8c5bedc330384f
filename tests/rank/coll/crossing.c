// SPDX-License-Identifier: Apache-2.0
// What leaves each node, in messages and bytes, of collectives in phases over N nodes: not more
// than what their algorithms say, whoever is the root and however ranks lie. Counted by the sender:
// coll_net_messages, coll_net_bytes. q: ranks of the largest node.
#include "forms.h"

static MPI_T_pvar_session session;
static MPI_T_pvar_handle handles[2];
static MPI_Comm here;  // the ranks of this node
static int N, q;

struct left {
  long messages, bytes;  // of the node that most leaves
  long all_bytes;
};

static void read_counters(long* values) {
  for (int i = 0; i < 2; ++i) {
    uint64_t value = 0;
    OK(MPI_T_pvar_read(session, handles[i], &value));
    values[i] = (long)value;
  }
}
static long before[2];
static void begin(void) {
  read_counters(before);
}
static struct left end(void) {
  long mine[2], node[2], most[2], all[2];
  read_counters(mine);
  for (int i = 0; i < 2; ++i) mine[i] -= before[i];
  OK(MPI_Allreduce(mine, node, 2, MPI_LONG, MPI_SUM, here));
  OK(MPI_Allreduce(node, most, 2, MPI_LONG, MPI_MAX, MPI_COMM_WORLD));
  OK(MPI_Allreduce(mine, all, 2, MPI_LONG, MPI_SUM, MPI_COMM_WORLD));
  return (struct left){most[0], most[1], all[1]};
}
static long log2_up(int n) {
  long steps = 0;
  while ((1 << steps) < n) ++steps;
  return steps;
}

static MPI_Comm going(const char* call, const char* way, int backwards) {
  MPI_Comm comm, ordered;
  MPI_Info info;
  char key[64];
  snprintf(key, sizeof key, "weft_coll_%s", call);
  OK(MPI_Comm_split(MPI_COMM_WORLD, 0, backwards ? -(rank * 5 % 7 * 100 + rank) : rank, &ordered));
  OK(MPI_Info_create(&info));
  OK(MPI_Info_set(info, key, way));
  OK(MPI_Comm_dup_with_info(ordered, info, &comm));
  OK(MPI_Info_free(&info));
  OK(MPI_Comm_free(&ordered));
  return comm;
}

#define AT_MOST(what, value, bound)                                                             \
  CHECK((value) <= (bound), "%s: %s is %ld, at most %ld expected", what, #value, (long)(value), \
        (long)(bound))

static void vectors(int* out, int* in, int count, int mixed) {
  const long n = 4L * count, all_but_one = 2 * n * (N - 1) / N + 8L * N;  // parts are whole items
  for (int i = 0; i < 3; ++i) {
    const char* way = (const char*[]){"nodes", "nodes_parts", "nodes_segments"}[i];
    MPI_Comm comm = going("allreduce", way, mixed);
    begin();
    COLL(Allreduce, allreduce, out, in, count, MPI_INT, MPI_SUM, comm);
    const struct left x = end();
    // In parts a few items more; recursive doubling of two nodes sends n each.
    AT_MOST(way, x.bytes, N == 2 ? n : count < 4096 ? n * log2_up(N) * 2 : all_but_one * 3 / 2);
    CHECK(x.all_bytes >= n * (N - 1), "%s: only %ld bytes crossed", way, x.all_bytes);
    OK(MPI_Comm_free(&comm));
  }
  for (int i = 0; i < 2; ++i) {
    const char* way = i ? "nodes_segments" : "nodes";
    MPI_Comm comm = going("bcast", way, mixed);
    for (int root = 0; root < size; root += 1 + size / 3) {
      begin();
      COLL(Bcast, bcast, out, count, MPI_INT, root, comm);
      const struct left x = end();
      AT_MOST(way, x.bytes, n * log2_up(N));
      AT_MOST(way, x.all_bytes, 2 * n * (N - 1));
    }
    OK(MPI_Comm_free(&comm));
    comm = going("reduce", way, mixed);
    for (int root = 0; root < size; root += 1 + size / 3) {
      begin();
      COLL(Reduce, reduce, out, in, count, MPI_INT, MPI_SUM, root, comm);
      const struct left x = end();
      AT_MOST(way, x.bytes, n);
      CHECK(x.all_bytes == n * (N - 1), "%s: %ld bytes crossed in a reduce", way, x.all_bytes);
    }
    OK(MPI_Comm_free(&comm));
  }
}

static void blocks(int* out, int* in, int count, int mixed) {
  const long n = 4L * count;
  MPI_Comm comm = going("barrier", "nodes", mixed);
  begin();
  COLL(Barrier, barrier, comm);
  struct left x = end();
  AT_MOST("barrier", x.messages, log2_up(N));
  CHECK(x.all_bytes == 0, "barrier: %ld bytes", x.all_bytes);
  OK(MPI_Comm_free(&comm));

  comm = going("allgather", "nodes", mixed);
  begin();
  COLL(Allgather, allgather, out, count, MPI_INT, in, count, MPI_INT, comm);
  x = end();
  CHECK(x.all_bytes == n * size * (N - 1), "allgather: %ld bytes", x.all_bytes);
  AT_MOST("allgather", x.messages, N - 1);
  OK(MPI_Comm_free(&comm));

  comm = going("alltoall", "nodes", mixed);
  long crossing = 0;  // pairs of ranks on two nodes
  int mine;
  OK(MPI_Comm_size(here, &mine));
  long others = (size - mine);
  OK(MPI_Allreduce(&others, &crossing, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD));
  begin();
  COLL(Alltoall, alltoall, out, count, MPI_INT, in, count, MPI_INT, comm);
  x = end();
  CHECK(x.all_bytes == n * crossing, "alltoall: %ld bytes, not %ld", x.all_bytes, n * crossing);
  AT_MOST("alltoall", x.messages, N - 1);
  MPI_Comm parts = going("alltoall", "nodes_parts", mixed);
  begin();
  COLL(Alltoall, alltoall, out, count, MPI_INT, in, count, MPI_INT, parts);
  x = end();
  CHECK(x.all_bytes == n * crossing, "parts: %ld bytes, not %ld", x.all_bytes, n * crossing);
  if (size == N * q) AT_MOST("alltoall in parts", x.messages, q * (N - 1));
  OK(MPI_Comm_free(&parts));
  int *counts = alloc(sizeof(int) * size), *at = alloc(sizeof(int) * size);
  for (int r = 0; r < size; ++r) {
    counts[r] = count;
    at[r] = r * count;
  }
  begin();
  COLL(Alltoallv, alltoallv, out, counts, at, MPI_INT, in, counts, at, MPI_INT, comm);
  x = end();
  CHECK(x.all_bytes == n * crossing, "alltoallv: %ld bytes, not %ld", x.all_bytes, n * crossing);
  if (n <= 1024) AT_MOST("alltoallv", x.messages, N - 1);
  OK(MPI_Comm_free(&comm));

  for (int v = 0; v < 2; ++v) {
    comm = going("gather", "nodes", mixed);
    MPI_Comm back = going("scatter", "nodes", mixed);
    for (int root = 0; root < size; root += 1 + size / 3) {
      begin();
      if (v)
        COLL(Gatherv, gatherv, out, count, MPI_INT, in, counts, at, MPI_INT, root, comm);
      else
        COLL(Gather, gather, out, count, MPI_INT, in, count, MPI_INT, root, comm);
      x = end();
      AT_MOST("gather", x.all_bytes, n * (size - 1) * (v ? 1 : log2_up(N)));
      if (n <= 1024) AT_MOST("gather", x.messages, 1);
      begin();
      if (v)
        COLL(Scatterv, scatterv, in, counts, at, MPI_INT, out, count, MPI_INT, root, back);
      else
        COLL(Scatter, scatter, in, count, MPI_INT, out, count, MPI_INT, root, back);
      x = end();
      AT_MOST("scatter", x.all_bytes, n * (size - 1) * (v ? 1 : log2_up(N)));
      if (n <= 1024) AT_MOST("scatter", x.messages, N - 1);
    }
    OK(MPI_Comm_free(&comm));
    OK(MPI_Comm_free(&back));
  }
  for (int r = 0; r < size; ++r) counts[r] = count;
  comm = going("reduce_scatter", "nodes", mixed);
  begin();
  COLL(Reduce_scatter, reduce_scatter, out, in, counts, MPI_INT, MPI_SUM, comm);
  x = end();
  AT_MOST("reduce_scatter", x.bytes, n * size * (N - 1 + log2_up(N)));
  OK(MPI_Comm_free(&comm));
  free(counts);
  free(at);
}

int main(int argc, char** argv) {
  int provided, first;
  OK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
  start_form(&argc, &argv);
  OK(MPI_T_pvar_session_create(&session));
  for (int i = 0; i < 2; ++i) {
    int index = -1, elements = 0;
    OK(MPI_T_pvar_get_index(i ? "coll_net_bytes" : "coll_net_messages",
                            i ? MPI_T_PVAR_CLASS_AGGREGATE : MPI_T_PVAR_CLASS_COUNTER, &index));
    OK(MPI_T_pvar_handle_alloc(session, index, NULL, &handles[i], &elements));
    OK(MPI_T_pvar_start(session, handles[i]));
  }
  OK(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &here));
  int here_rank;
  OK(MPI_Comm_rank(here, &here_rank));
  OK(MPI_Comm_size(here, &q));
  first = here_rank == 0;
  OK(MPI_Allreduce(&first, &N, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
  OK(MPI_Allreduce(MPI_IN_PLACE, &q, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD));
  CHECK(N > 1, "this is about several nodes, not %d", N);
  const int longest = 100000;
  int *out = alloc(sizeof(int) * longest * size), *in = alloc(sizeof(int) * longest * size);
  memset(out, 0, sizeof(int) * longest * size);
  for (int mixed = 0; mixed < 2; ++mixed) {
    vectors(out, in, 2, mixed);
    vectors(out, in, longest, mixed);
    blocks(out, in, 2, mixed);
    blocks(out, in, 3000, mixed);
  }
  free(out);
  free(in);
  OK(MPI_Comm_free(&here));
  OK(MPI_T_pvar_session_free(&session));
  return finish();
}
