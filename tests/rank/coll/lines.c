// SPDX-License-Identifier: Apache-2.0
// What crosses the sockets of a declared machine, in lines and exactly, of each algorithm along the
// hierarchy: p ranks, q in each of s sockets, m lines. The first argument is q. The algorithms are
// asked for by hints of communicators. Blocking, nonblocking and persistent calls move the same.
#include <sys/syscall.h>  // the process's number; getpid is the rank's
#include <unistd.h>

#include "forms.h"

enum { outer_levels = 2 };            // Machine and NUMANode, one part each; then the sockets
enum { most_levels = 16, few = 96 };  // few lines can be cut into tiles for any p here
static MPI_T_pvar_session session;
static int p, q, s;

static int threads;  // ranks of one process read each other's buffers

enum { copied, folded, copies, steps, counters };
static const char* const names[] = {"coll_lines_copied", "coll_lines_folded", "coll_copies",
                                    "coll_steps"};
static MPI_T_pvar_handle handles[counters];

static void begin(void) {
  for (int i = 0; i < counters; ++i) {
    int index = -1, elements = 0;
    OK(MPI_T_pvar_get_index(names[i], MPI_T_PVAR_CLASS_COUNTER, &index));
    OK(MPI_T_pvar_handle_alloc(session, index, NULL, &handles[i], &elements));
    EQ(elements, i <= folded ? most_levels : 1);
    OK(MPI_T_pvar_start(session, handles[i]));
  }
}

// What all ranks counted since begin(): across sockets, at all levels, the most of one.
struct sums {
  long across[counters], all[counters], most[counters];
};

static struct sums end(void) {
  struct sums found;
  long first[counters] = {0}, total[counters] = {0};
  for (int i = 0; i < counters; ++i) {
    uint64_t values[most_levels] = {0};
    OK(MPI_T_pvar_read(session, handles[i], values));
    OK(MPI_T_pvar_handle_free(session, &handles[i]));
    for (int l = 0; l < outer_levels; ++l) first[i] += (long)values[l];
    for (int l = 0; l < most_levels; ++l) total[i] += (long)values[l];
  }
  OK(MPI_Allreduce(first, found.across, counters, MPI_LONG, MPI_SUM, MPI_COMM_WORLD));
  OK(MPI_Allreduce(total, found.all, counters, MPI_LONG, MPI_SUM, MPI_COMM_WORLD));
  OK(MPI_Allreduce(total, found.most, counters, MPI_LONG, MPI_MAX, MPI_COMM_WORLD));
  return found;
}

static int log2_up(int n) {
  int steps = 0;
  while ((1 << steps) < n) ++steps;
  return steps;
}

static MPI_Comm going(const char* key, const char* name) {
  MPI_Comm comm;
  MPI_Info info;
  OK(MPI_Info_create(&info));
  OK(MPI_Info_set(info, key, name));
  OK(MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &comm));
  OK(MPI_Info_free(&info));
  return comm;
}

static void number(long* v, int n) {
  for (int i = 0; i < n; ++i) v[i] = rank + 3 * i;
}
static void verify(const char* name, const long* v, int n) {
  const long ranks = (long)p * (p - 1) / 2;
  for (int i = 0; i < n; ++i)
    if (v[i] != ranks + 3L * i * p) DIE("%s: item %d is %ld", name, i, v[i]);
}

// Ranks that nobody folds into: every other one of a socket, where the tree is binary.
static int leaves(void) {
  return s * (q / 2);
}
// Ranks of a socket that others read from in a 4-ary tree: every fourth one, if one follows it.
static int readers_in_tree(void) {
  return (q + 2) / 4;
}

// Children of the root of a 4-ary tree of x.
static int children_in_tree(int x) {
  int children = 0;
  for (int stride = 1; stride < x; stride *= 4) {
    const int others = (x - 1) / stride;
    children += others < 3 ? others : 3;
  }
  return children;
}

// `read_from`: ranks that others read from; through areas each of them makes a copy more.
static void broadcast(const char* name, int m, long across, int read_from) {
  MPI_Comm comm = going("weft_coll_bcast", name);
  long* data = alloc(m * 64);
  for (int root = 0; root < p; root += q + 1) {
    number(data, m * 8);
    begin();
    COLL(Bcast, bcast, data, m * 8, MPI_LONG, root, comm);
    const struct sums found = end();
    for (int i = 0; i < m * 8; ++i)
      if (data[i] != root + 3 * i) DIE("%s: item %d is %ld", name, i, data[i]);
    EQ(found.across[copied], across);
    EQ(found.all[copied], (long)(p - 1) * m);
    EQ(found.all[folded], 0);
    if (m > few) continue;
    EQ(found.all[copies], p - 1 + (threads ? 0 : read_from));
    EQ(found.most[steps], 1);
  }
  free(data);
  OK(MPI_Comm_free(&comm));
}

// `made`: copies by ranks of one process, and through areas; `most`: folds of one rank.
static void reduction(const char* name, int m, long across, int made, int staged, int most) {
  MPI_Comm comm = going("weft_coll_reduce", name);
  long *out = alloc(m * 64), *in = alloc(m * 64);
  for (int root = 0; root < p; root += q + 1) {
    number(out, m * 8);
    begin();
    COLL(Reduce, reduce, out, in, m * 8, MPI_LONG, MPI_SUM, root, comm);
    const struct sums found = end();
    if (rank == root) verify(name, in, m * 8);
    EQ(found.across[folded], across);
    EQ(found.all[folded], (long)(p - 1) * m);
    if (m > few) continue;
    EQ(found.all[copies], threads ? made : staged);
    EQ(found.most[steps], most);
  }
  free(out);
  free(in);
  OK(MPI_Comm_free(&comm));
}

static struct sums reduction_for_all(const char* name, int m) {
  MPI_Comm comm = going("weft_coll_allreduce", name);
  long *out = alloc(m * 64), *in = alloc(m * 64);
  number(out, m * 8);
  begin();
  COLL(Allreduce, allreduce, out, in, m * 8, MPI_LONG, MPI_SUM, comm);
  const struct sums found = end();
  verify(name, in, m * 8);
  free(out);
  free(in);
  OK(MPI_Comm_free(&comm));
  return found;
}

// `made`: copies by ranks of one process; through areas `staged` more.
static void reduce_and_spread(const char* name, int m, long folds, long copies_across, int made,
                              int staged) {
  const struct sums found = reduction_for_all(name, m);
  EQ(found.across[folded], folds);
  EQ(found.across[copied], copies_across);
  EQ(found.all[folded], (long)(p - 1) * m);
  if (m <= few) EQ(found.all[copies], made + (threads ? 0 : staged));
}

// The largest powers of two of ranks in a socket and of sockets take part; each of the others is
// read once and reads once. Half of the reads are copies that are folded afterwards.
static void dissemination(int m) {
  const struct sums found = reduction_for_all("dissemination", m);
  int each = 1, sockets = 1;
  while (2 * each <= q) each *= 2;
  while (2 * sockets <= s) sockets *= 2;
  const int active = each * sockets, excess = p - active;
  EQ(found.all[folded] + found.all[copied], ((long)active * log2_up(active) + 2 * excess) * m);
  EQ(found.across[folded] + found.across[copied], (long)active * log2_up(sockets) * m);
  if (m > few) return;
  EQ(found.most[steps], log2_up(active) + (excess > 0));
}

// Each rank folds its predecessor's result, or copies it and folds its own vector behind it.
static void chain(int m) {
  MPI_Comm comm = going("weft_coll_scan", "chain");
  long *out = alloc(m * 64), *in = alloc(m * 64);
  for (int inclusive = 0; inclusive < 2; ++inclusive) {
    number(out, m * 8);
    begin();
    if (inclusive)
      COLL(Scan, scan, out, in, m * 8, MPI_LONG, MPI_SUM, comm);
    else
      COLL(Exscan, exscan, out, in, m * 8, MPI_LONG, MPI_SUM, comm);
    const struct sums found = end();
    const long ranks = rank + inclusive, of_ranks = ranks * (ranks - 1) / 2;
    for (int i = 0; i < m * 8 && ranks > 0; ++i)
      if (in[i] != of_ranks + 3L * i * ranks) DIE("scan: item %d is %ld", i, in[i]);
    EQ(found.across[folded] + found.across[copied], (long)(s - 1) * m);
    EQ(found.all[folded] + found.all[copied], (long)(p - 1) * m);
    if (m > few) continue;
    EQ(found.all[copies], !inclusive ? 2 * p - 2 : threads ? p : 2 * p - 1);
    EQ(found.most[steps], 1);
  }
  free(out);
  free(in);
  OK(MPI_Comm_free(&comm));
}

int main(int argc, char** argv) {
  int provided;
  OK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
  start_form(&argc, &argv);
  p = size;
  q = argc > 2 ? atoi(argv[2]) : p;
  s = p / q;
  OK(MPI_T_pvar_session_create(&session));
  const int own_process = (int)syscall(SYS_getpid);
  int first = 0;
  OK(MPI_Allreduce(&own_process, &first, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD));
  int differ = own_process != first;
  OK(MPI_Allreduce(MPI_IN_PLACE, &differ, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD));
  threads = !differ;
  const int up = log2_up(q) + log2_up(s), inner = p - leaves();
  for (int m = few; m <= few * 16; m *= 16) {  // one strip, and several
    broadcast("one_stage", m, (long)(p - q) * m, 1);
    broadcast("two_stage", m, (long)(s - 1) * m, s);
    broadcast("tree", m, (long)(s - 1) * m, s * readers_in_tree());
    reduction("tree", m, (long)(s - 1) * m, inner, p, up);
    reduction("tree_4", m, (long)(s - 1) * m, s * readers_in_tree(), p,
              children_in_tree(q) + children_in_tree(s));
    broadcast("tree_2", m, (long)(s - 1) * m, s * (q / 2));
    reduction("tiled_naive", m, (long)(p - q) * m, 2 * p - 1, 2 * p, 2 * p - 2);
    reduction("tiled_cyclic", m, (long)(p - q) * m, 2 * p - 1, 2 * p, 2 * p - 2);
    reduction("tiled_hierarchical", m, (long)(s - 1) * m, p + q - 1, p + q,
              2 * (q - 1) + log2_up(s));
    const long all_across = (long)(p - q) * m, once = (long)(s - 1) * m;
    reduce_and_spread("tree", m, once, once, inner + p - 1, leaves() + s);
    reduce_and_spread("tiled_naive", m, all_across, all_across, p * p, p);
    reduce_and_spread("tiled_cyclic", m, all_across, all_across, p * p, p);
    reduce_and_spread("tiled_hierarchical", m, once, once, p * q + q * (s - 1), p);
    dissemination(m / 2);
    chain(m);
  }
  OK(MPI_T_pvar_session_free(&session));
  return finish();
}
