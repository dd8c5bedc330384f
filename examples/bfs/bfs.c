/* SPDX-License-Identifier: Apache-2.0 */
/* Breadth-first search, level by level, on a Kronecker (R-MAT) graph as Graph500 has it. Vertex v
   belongs to rank v % size. The threads of a rank share each level's vertices and send the
   neighbours they find to the owners (MPI_THREAD_MULTIPLE):

     blocking      threads in pairs: one sends (MPI_Send), the other receives (MPI_Recv)
     nonblocking   every thread sends (MPI_Isend) and receives (MPI_Irecv, MPI_Test) by turns

     one-sided     every thread tells the owners by MPI_Accumulate; a fence ends the level (-o)

     bfs [-s scale: 2^scale vertices] [-e edges per vertex] [-t threads] [-r searches] [-b | -o]

   Every tree is checked: levels, tree edges, and that no edge leaves what was visited. */
#include <mpi.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { most_threads = 64, chunk = 256, words = 2 * chunk + 1 };
typedef int64_t vertex;

static struct {
  int scale, edge_factor, threads, searches, blocking, one_sided;
  int rank, size;
  vertex vertices, mine; /* in all, and of this rank: local i is vertex i * size + rank */
  vertex *begin, *end;   /* neighbours of local i: end[begin[i]] to end[begin[i + 1]] */
  _Atomic vertex* parent;
  int* level;
  vertex *frontier, *next;
  vertex frontier_count;
  _Atomic vertex next_count;
  int depth;
  pthread_barrier_t gate;
  /* One-sided: for each vertex of this rank the least claim so far, which is level * vertices +
     parent, so the first level wins; what this rank's vertices of a level claim; and who is new. */
  MPI_Win win;
  vertex *claim, *key;
} g;

/* --- the graph ------------------------------------------------------------------------------- */
static uint64_t mixed(uint64_t x) {
  x += 0x9e3779b97f4a7c15U;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9U;
  x = (x ^ x >> 27) * 0x94d049bb133111ebU;
  return x ^ x >> 31;
}

/* Edge number k of the graph: the same whoever asks. */
static void edge(uint64_t k, vertex* from, vertex* to) {
  vertex u = 0, v = 0;
  for (int bit = 0; bit < g.scale; ++bit) {
    const unsigned dice = (unsigned)(mixed(k * 64 + (uint64_t)bit) % 100);
    u = 2 * u + (dice >= 76); /* A 57 %, B 19 %, C 19 %, D 5 % */
    v = 2 * v + ((dice >= 57 && dice < 76) || dice >= 95);
  }
  /* Numbers say nothing about degrees any more. */
  *from = (vertex)(mixed((uint64_t)u) % (uint64_t)g.vertices);
  *to = (vertex)(mixed((uint64_t)v) % (uint64_t)g.vertices);
}

static void* memory(size_t bytes) {
  void* p = calloc(bytes + 1, 1);
  if (p == NULL) MPI_Abort(MPI_COMM_WORLD, 1);
  return p;
}

/* Each rank makes a part of the edges and sends both directions to the owners. */
static void make_graph(void) {
  const vertex edges = g.vertices * g.edge_factor;
  const vertex first = edges * g.rank / g.size, last = edges * (g.rank + 1) / g.size;
  int *to_count = memory(sizeof(int) * (size_t)g.size),
      *from_count = memory(sizeof(int) * (size_t)g.size);
  int *to_at = memory(sizeof(int) * (size_t)g.size),
      *from_at = memory(sizeof(int) * (size_t)g.size);
  int out = 0, in = 0;
  vertex u, v;
  for (vertex k = first; k < last; ++k) {
    edge((uint64_t)k, &u, &v);
    to_count[u % g.size] += 2;
    to_count[v % g.size] += 2;
  }
  MPI_Alltoall(to_count, 1, MPI_INT, from_count, 1, MPI_INT, MPI_COMM_WORLD);
  for (int r = 0; r < g.size; ++r) {
    to_at[r] = out, from_at[r] = in;
    out += to_count[r], in += from_count[r];
  }
  vertex *sent = memory(sizeof(vertex) * (size_t)out), *got = memory(sizeof(vertex) * (size_t)in);
  int* fill = memory(sizeof(int) * (size_t)g.size);
  for (vertex k = first; k < last; ++k) {
    edge((uint64_t)k, &u, &v);
    for (int turn = 0; turn < 2; ++turn) {
      const vertex owner = (turn ? v : u) % g.size;
      vertex* at = sent + to_at[owner] + fill[owner];
      at[0] = turn ? v : u, at[1] = turn ? u : v;
      fill[owner] += 2;
    }
  }
  MPI_Alltoallv(sent, to_count, to_at, MPI_INT64_T, got, from_count, from_at, MPI_INT64_T,
                MPI_COMM_WORLD);
  g.begin = memory(sizeof(vertex) * (size_t)(g.mine + 2));
  g.end = memory(sizeof(vertex) * (size_t)(in / 2));
  for (int i = 0; i < in; i += 2) ++g.begin[got[i] / g.size + 2];
  for (vertex i = 2; i <= g.mine + 1; ++i) g.begin[i] += g.begin[i - 1];
  for (int i = 0; i < in; i += 2) g.end[g.begin[got[i] / g.size + 1]++] = got[i + 1];
  free(sent), free(got), free(fill), free(to_count), free(from_count), free(to_at), free(from_at);
}

/* --- a level --------------------------------------------------------------------------------- */
static void visit(vertex v, vertex parent) {
  const vertex i = v / g.size;
  vertex none = -1;
  if (atomic_load_explicit(&g.parent[i], memory_order_relaxed) >= 0 ||
      !atomic_compare_exchange_strong(&g.parent[i], &none, parent))
    return;
  g.level[i] = g.depth + 1;
  g.next[atomic_fetch_add(&g.next_count, 1)] = v;
}

/* A message: how many pairs (vertex, parent), and the pairs. The last of a level has less than
 * chunk. */
struct courier {
  int me;
  int lane; /* tag of its messages */
  int lasts;
  vertex (*out)[words]; /* one for each rank */
  vertex in[words];
  MPI_Request* sending;
  MPI_Request receiving;
  pthread_t thread;
};

static void unpack(struct courier* c) {
  for (vertex i = 0; i < c->in[0]; ++i) visit(c->in[1 + 2 * i], c->in[2 + 2 * i]);
  c->lasts += c->in[0] < chunk;
}

static void receive_if_there(struct courier* c) {
  int there = 0;
  if (c->lasts == g.size - 1) return;
  MPI_Test(&c->receiving, &there, MPI_STATUS_IGNORE);
  if (!there) return;
  unpack(c);
  if (c->lasts < g.size - 1)
    MPI_Irecv(c->in, words, MPI_INT64_T, MPI_ANY_SOURCE, c->lane, MPI_COMM_WORLD, &c->receiving);
}

static void wait_for_buffer(struct courier* c, int to) {
  int sent = 0;
  while (MPI_Test(&c->sending[to], &sent, MPI_STATUS_IGNORE), !sent) receive_if_there(c);
}

static void send(struct courier* c, int to) {
  const int count = (int)(1 + 2 * c->out[to][0]);
  if (g.blocking) {
    MPI_Send(c->out[to], count, MPI_INT64_T, to, c->lane, MPI_COMM_WORLD);
  } else {
    MPI_Isend(c->out[to], count, MPI_INT64_T, to, c->lane, MPI_COMM_WORLD, &c->sending[to]);
    receive_if_there(c);
  }
}

static void offer(struct courier* c, vertex v, vertex parent) {
  const int to = (int)(v % g.size);
  if (to == g.rank) return visit(v, parent);
  vertex* out = c->out[to];
  if (!g.blocking && out[0] == 0) wait_for_buffer(c, to);
  out[1 + 2 * out[0]] = v, out[2 + 2 * out[0]] = parent;
  if (++out[0] < chunk) return;
  send(c, to);
  if (!g.blocking) wait_for_buffer(c, to);
  out[0] = 0;
}

/* Part `lane` of `lanes` of the level's vertices. */
static void expand(struct courier* c, int lanes) {
  for (vertex k = g.frontier_count * c->lane / lanes; k < g.frontier_count * (c->lane + 1) / lanes;
       ++k) {
    const vertex u = g.frontier[k], i = u / g.size;
    for (vertex e = g.begin[i]; e < g.begin[i + 1]; ++e) offer(c, g.end[e], u);
  }
  for (int to = 0; to < g.size; ++to)
    if (to != g.rank) send(c, to);
}

/* The owner of a neighbour has no part in it. A key stays as it is until the fence. */
static void claim(int part, int parts) {
  for (vertex k = g.frontier_count * part / parts; k < g.frontier_count * (part + 1) / parts; ++k) {
    const vertex u = g.frontier[k], i = u / g.size;
    g.key[k] = (g.depth + 1) * g.vertices + u;
    for (vertex e = g.begin[i]; e < g.begin[i + 1]; ++e)
      MPI_Accumulate(&g.key[k], 1, MPI_INT64_T, (int)(g.end[e] % g.size), g.end[e] / g.size, 1,
                     MPI_INT64_T, MPI_MIN, g.win);
  }
}

/* After the level's fence: this rank's vertices that were claimed in it. */
static void take_claims(void) {
  for (vertex i = 0; i < g.mine; ++i)
    if (g.claim[i] / g.vertices == g.depth + 1 && g.parent[i] < 0)
      visit(i * g.size + g.rank, g.claim[i] % g.vertices);
}

static void level(struct courier* c) {
  c->lasts = 0;
  if (g.one_sided) {
    claim(c->me, g.threads);
  } else if (g.blocking && c->me % 2) { /* the receiver of a pair */
    while (c->lasts < g.size - 1) {
      MPI_Recv(c->in, words, MPI_INT64_T, MPI_ANY_SOURCE, c->lane, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
      unpack(c);
    }
  } else if (g.blocking) {
    expand(c, g.threads / 2);
  } else {
    if (g.size > 1)
      MPI_Irecv(c->in, words, MPI_INT64_T, MPI_ANY_SOURCE, c->lane, MPI_COMM_WORLD, &c->receiving);
    expand(c, g.threads);
    while (c->lasts < g.size - 1) receive_if_there(c);
    MPI_Waitall(g.size, c->sending, MPI_STATUSES_IGNORE);
  }
  for (int to = 0; to < g.size; ++to) c->out[to][0] = 0;
}

/* All threads of all ranks, until there is no next level. */
static void* search(void* argument) {
  struct courier* c = argument;
  for (;;) {
    pthread_barrier_wait(&g.gate);
    level(c);
    pthread_barrier_wait(&g.gate);
    if (c->me == 0) {
      if (g.one_sided) {
        MPI_Win_fence(0, g.win);
        take_claims();
      }
      int64_t here = g.next_count, all = 0;
      vertex* free_one = g.frontier;
      MPI_Allreduce(&here, &all, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
      g.frontier = g.next, g.next = free_one;
      g.frontier_count = here, g.next_count = 0;
      g.depth = all > 0 ? g.depth + 1 : -1;
    }
    pthread_barrier_wait(&g.gate);
    if (g.depth < 0) return NULL;
  }
}

/* --- checks ---------------------------------------------------------------------------------- */
/* How many things are wrong with the tree; *visited and *edges of all ranks. */
static int64_t check(vertex root, int64_t* visited, int64_t* edges) {
  const vertex most = (g.vertices + g.size - 1) / g.size;
  int* mine = memory(sizeof(int) * (size_t)most);
  int* all = memory(sizeof(int) * (size_t)(most * g.size));
  int64_t sum[3] = {0, 0, 0};
  for (vertex i = 0; i < most; ++i) mine[i] = i < g.mine && g.parent[i] >= 0 ? g.level[i] : -1;
  MPI_Allgather(mine, (int)most, MPI_INT, all, (int)most, MPI_INT, MPI_COMM_WORLD);
#define LEVEL(v) all[(v) % g.size * most + (v) / g.size]
  for (vertex i = 0; i < g.mine; ++i) {
    const vertex v = i * g.size + g.rank, parent = g.parent[i];
    int tree_edge = v == root ? parent == root && LEVEL(v) == 0 : parent < 0;
    for (vertex e = g.begin[i]; e < g.begin[i + 1]; ++e) {
      const vertex w = g.end[e];
      tree_edge |= w == parent && LEVEL(v) == LEVEL(parent) + 1;
      sum[0] += (LEVEL(v) < 0) != (LEVEL(w) < 0) || abs(LEVEL(v) - LEVEL(w)) > 1;
      sum[2] += parent >= 0;
    }
    sum[0] += !tree_edge;
    sum[1] += parent >= 0;
  }
  MPI_Allreduce(MPI_IN_PLACE, sum, 3, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
  free(mine), free(all);
  *visited = sum[1], *edges = sum[2] / 2;
  return sum[0];
}

static int64_t run(vertex root, struct courier* courier) {
  int64_t visited, edges;
  for (vertex i = 0; i < g.mine; ++i) g.parent[i] = -1;
  for (vertex i = 0; g.one_sided && i < g.mine; ++i) g.claim[i] = INT64_MAX;
  g.depth = 0;
  g.frontier_count = root % g.size == g.rank;
  if (g.frontier_count) {
    g.frontier[0] = root;
    g.parent[root / g.size] = root;
    g.level[root / g.size] = 0;
  }
  if (g.one_sided)
    MPI_Win_fence(0, g.win);
  else
    MPI_Barrier(MPI_COMM_WORLD);
  const double begin = MPI_Wtime();
  for (int t = 1; t < g.threads; ++t)
    if (pthread_create(&courier[t].thread, NULL, search, &courier[t]) != 0)
      MPI_Abort(MPI_COMM_WORLD, 1);
  search(&courier[0]);
  for (int t = 1; t < g.threads; ++t) pthread_join(courier[t].thread, NULL);
  const double seconds = MPI_Wtime() - begin;
  const int64_t wrong = check(root, &visited, &edges);
  if (g.rank == 0)
    printf(
        "bfs: %d ranks x %d threads, %s: from %lld: %lld vertices, %lld edges in %.6f s, %.3g "
        "TEPS: %s\n",
        g.size, g.threads,
        g.one_sided  ? "one-sided"
        : g.blocking ? "blocking"
                     : "nonblocking",
        (long long)root, (long long)visited, (long long)edges, seconds, (double)edges / seconds,
        wrong ? "WRONG" : "ok");
  return wrong;
}

int main(int argc, char** argv) {
  int provided, option;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &g.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &g.size);
  g.scale = 12, g.edge_factor = 16, g.threads = 4, g.searches = 4;
  while ((option = getopt(argc, argv, "s:e:t:r:bo")) != -1) {
    if (option == 's') g.scale = atoi(optarg);
    if (option == 'e') g.edge_factor = atoi(optarg);
    if (option == 't') g.threads = atoi(optarg);
    if (option == 'r') g.searches = atoi(optarg);
    if (option == 'b') g.blocking = 1;
    if (option == 'o') g.one_sided = 1;
  }
  if (provided < MPI_THREAD_MULTIPLE || g.scale < 1 || g.scale > 24 || g.threads < 1 ||
      g.threads > most_threads || (g.blocking && (g.threads % 2 || g.one_sided))) {
    fprintf(stderr,
            "bfs: needs MPI_THREAD_MULTIPLE, scale 1 to 24, 1 to %d threads (an even number with "
            "-b, not with -o)\n",
            most_threads);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  g.vertices = (vertex)1 << g.scale;
  g.mine = (g.vertices - g.rank + g.size - 1) / g.size;
  make_graph();
  g.parent = memory(sizeof *g.parent * (size_t)g.mine);
  g.level = memory(sizeof *g.level * (size_t)g.mine);
  g.frontier = memory(sizeof(vertex) * (size_t)g.mine);
  g.next = memory(sizeof(vertex) * (size_t)g.mine);
  if (g.one_sided) {
    MPI_Win_allocate((MPI_Aint)(sizeof(vertex) * (size_t)g.mine), sizeof(vertex), MPI_INFO_NULL,
                     MPI_COMM_WORLD, &g.claim, &g.win);
    g.key = memory(sizeof(vertex) * (size_t)g.mine);
  }
  pthread_barrier_init(&g.gate, NULL, (unsigned)g.threads);
  struct courier* courier = memory(sizeof *courier * (size_t)g.threads);
  for (int t = 0; t < g.threads; ++t) {
    courier[t].me = t;
    courier[t].lane = g.blocking ? t / 2 : t;
    courier[t].out = memory(sizeof *courier->out * (size_t)g.size);
    courier[t].sending = memory(sizeof(MPI_Request) * (size_t)g.size);
    for (int r = 0; r < g.size; ++r) courier[t].sending[r] = MPI_REQUEST_NULL;
  }
  int64_t wrong = 0;
  for (int k = 0; k < g.searches; ++k) {
    vertex root, other;
    edge(mixed((uint64_t)k) % (uint64_t)(g.vertices * g.edge_factor), &root, &other);
    wrong += run(root, courier);
  }
  for (int t = 0; t < g.threads; ++t) free(courier[t].out), free(courier[t].sending);
  free(courier), free(g.begin), free(g.end), free(g.level), free(g.frontier), free(g.next);
  free((void*)g.parent), free(g.key);
  if (g.one_sided) {
    MPI_Win_fence(MPI_MODE_NOSUCCEED, g.win);
    MPI_Win_free(&g.win);
  }
  MPI_Finalize();
  return wrong != 0;
}
