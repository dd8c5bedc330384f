/* SPDX-License-Identifier: Apache-2.0 */
/* The tree of a Barnes-Hut simulation, built together: its upper part, which all ranks must agree
   on.

   As in figure 27 of Li, Hoefler, Snir (NUMA-Aware Shared-Memory Collective Communication for MPI,
   HPDC 2013), after Zhang, Behzad, Snir (SC 2011): each rank has some of the bodies. It adds up
   what its bodies cost in each of the eight parts of every cube that is still too expensive for one
   rank; an allreduce makes these the costs of all bodies; the parts that are too expensive are
   split again, until none is left. So there is one allreduce per level of the tree, each of another
   length. The leaves, along a space-filling curve, are then dealt out to the ranks.

   The bodies lie densely in the middle and thinly outside (Plummer's model) and move a little
   between steps. They depend on their number alone, so the tree is the same however many ranks
   there are. It is checked in each step: another sum over the bodies, leaf by leaf, must give the
   same costs, no leaf is too expensive, and all ranks have the same tree. Bodies stay at their
   ranks here: sending them to the owners of their leaves, and forces, come after the part that is
   measured.

     barnes_hut [-n bodies] [-s steps] [-l most expensive leaf] [-q] */
#include <math.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { depth_max = 20 }; /* 3 bits of a key per level */

struct body {
  double at[3], speed[3];
  uint64_t key; /* the cubes that hold it, from the largest: 3 bits each */
  int64_t cost;
};

struct leaf {
  uint64_t key; /* its first possible one */
  int level;
  int64_t cost;
};

struct tree {
  struct leaf* leaves;
  int count, room, levels;
  int longest; /* allreduce, in numbers */
  double counting_s, allreduce_s;
};

static void* memory(size_t count, size_t size) {
  void* out = calloc(count > 0 ? count : 1, size);
  if (out == NULL) {
    fprintf(stderr, "barnes_hut: no memory for %zu times %zu bytes\n", count, size);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  return out;
}

/* A number in (0, 1) from a body's number and which one it is. */
static double chance(uint64_t body, uint64_t which) {
  uint64_t h = (body + 1) * 0x9e3779b97f4a7c15u + which * 0xc2b2ae3d27d4eb4fu;
  h = (h ^ (h >> 30)) * 0xbf58476d1ce4e5b9u;
  h = (h ^ (h >> 27)) * 0x94d049bb133111ebu;
  return ((double)((h ^ (h >> 31)) >> 11) + 0.5) / 9007199254740992.0;
}

/* Plummer's model, cut at ten times its radius, in the unit cube. */
static void place(struct body* b, uint64_t number) {
  const double mass = 0.98 * chance(number, 0);
  const double r = 0.05 / sqrt(pow(mass, -2.0 / 3) - 1);
  const double z = 2 * chance(number, 1) - 1, angle = 6.283185307179586 * chance(number, 2);
  const double across = sqrt(1 - z * z);
  const double direction[3] = {across * cos(angle), across * sin(angle), z};
  for (int d = 0; d < 3; ++d) {
    b->at[d] = fmin(fmax(0.5 + r * direction[d], 0), 0.999999);
    b->speed[d] = 0.002 * (chance(number, 3 + (uint64_t)d) - 0.5);
  }
  b->cost = 1 + (int64_t)(7 * chance(number, 6));
}

static void move(struct body* b) {
  for (int d = 0; d < 3; ++d) {
    const double there = b->at[d] + b->speed[d];
    if (there < 0 || there >= 1)
      b->speed[d] = -b->speed[d];
    else
      b->at[d] = there;
  }
}

static uint64_t key_of(const struct body* b) {
  uint64_t key = 0;
  for (int level = 1; level <= depth_max; ++level)
    for (int d = 0; d < 3; ++d) key = key << 1 | ((uint64_t)ldexp(b->at[d], level) & 1);
  return key;
}

static int part_at(uint64_t key, int level) {
  return (int)(key >> 3 * (depth_max - level)) & 7;
}

static void add_leaf(struct tree* t, uint64_t key, int level, int64_t cost) {
  if (t->count == t->room) {
    t->room = 2 * t->room + 64;
    t->leaves = realloc(t->leaves, (size_t)t->room * sizeof *t->leaves);
    if (t->leaves == NULL) MPI_Abort(MPI_COMM_WORLD, 1);
  }
  t->leaves[t->count++] = (struct leaf){key, level, cost};
}

static int by_key(const void* a, const void* b) {
  const uint64_t x = ((const struct leaf*)a)->key, y = ((const struct leaf*)b)->key;
  return x < y ? -1 : x > y;
}

/* Splits cubes until each costs at most `most`. `fat`: the cubes to be split at this level;
   cube[i]: which of them holds body left[i]. */
static void build(struct tree* t, const struct body* bodies, int n, int64_t most) {
  int fat = 1, active = n;
  uint64_t* keys = memory(1, sizeof *keys);
  int *left = memory((size_t)n, sizeof *left), *cube = memory((size_t)n, sizeof *cube);
  for (int i = 0; i < n; ++i) left[i] = i;
  t->count = 0;
  for (int level = 1; fat > 0; ++level) {
    t->levels = level;
    const int parts = 8 * fat;
    int64_t* cost = memory((size_t)parts, sizeof *cost);
    int* next = memory((size_t)parts, sizeof *next); /* among the next fat ones; -1: a leaf */
    uint64_t* next_keys = memory((size_t)parts, sizeof *next_keys);
    const double start = MPI_Wtime();
    for (int i = 0; i < active; ++i) {
      const struct body* b = &bodies[left[i]];
      cost[8 * cube[i] + part_at(b->key, level)] += b->cost;
    }
    const double counted = MPI_Wtime();
    MPI_Allreduce(MPI_IN_PLACE, cost, parts, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
    const double summed = MPI_Wtime();
    t->longest = parts > t->longest ? parts : t->longest;

    fat = 0;
    for (int i = 0; i < parts; ++i) {
      const uint64_t key = keys[i / 8] | (uint64_t)(i % 8) << 3 * (depth_max - level);
      next[i] = -1;
      if (cost[i] > most && level < depth_max) {
        next_keys[fat] = key;
        next[i] = fat++;
      } else {
        add_leaf(t, key, level, cost[i]);
      }
    }
    int kept = 0;
    for (int i = 0; i < active; ++i) {
      const int into = next[8 * cube[i] + part_at(bodies[left[i]].key, level)];
      if (into < 0) continue;
      left[kept] = left[i];
      cube[kept++] = into;
    }
    active = kept;
    t->allreduce_s += summed - counted;
    t->counting_s += counted - start + MPI_Wtime() - summed;
    free(keys);
    keys = next_keys;
    free(cost);
    free(next);
  }
  free(keys);
  free(left);
  free(cube);
  qsort(t->leaves, (size_t)t->count, sizeof *t->leaves, by_key);
}

/* The leaf that holds a key. */
static int leaf_of(const struct tree* t, uint64_t key) {
  int low = 0, high = t->count;
  while (high - low > 1) {
    const int middle = low + (high - low) / 2;
    if (t->leaves[middle].key <= key)
      low = middle;
    else
      high = middle;
  }
  return low;
}

static uint64_t checksum(const struct tree* t) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (int i = 0; i < t->count; ++i) {
    hash = (hash ^ t->leaves[i].key) * 0x100000001b3u;
    hash = (hash ^ (uint64_t)t->leaves[i].cost) * 0x100000001b3u;
  }
  return hash;
}

/* How many leaves are wrong; one more if ranks have different trees. The same on all ranks. */
static int errors_in(const struct tree* t, const struct body* bodies, int n, int64_t most) {
  uint64_t mine[2] = {checksum(t), ~checksum(t)}, largest[2];
  MPI_Allreduce(mine, largest, 2, MPI_UINT64_T, MPI_MAX, MPI_COMM_WORLD);
  if (largest[0] != ~largest[1]) return 1; /* the largest is not the smallest */
  int64_t* cost = memory((size_t)t->count, sizeof *cost);
  for (int i = 0; i < n; ++i) cost[leaf_of(t, bodies[i].key)] += bodies[i].cost;
  MPI_Allreduce(MPI_IN_PLACE, cost, t->count, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
  int wrong = 0;
  for (int i = 0; i < t->count; ++i)
    wrong += cost[i] != t->leaves[i].cost || (cost[i] > most && t->leaves[i].level < depth_max);
  free(cost);
  return wrong;
}

/* Leaves in their order are dealt to ranks; the most that one gets, over the mean. */
static double imbalance(const struct tree* t, int size) {
  int64_t total = 0, before = 0, most = 0, mine = 0;
  for (int i = 0; i < t->count; ++i) total += t->leaves[i].cost;
  int owner = 0;
  for (int i = 0; i < t->count; ++i) {
    const int next = (int)((double)before / (double)total * size);
    if (next != owner) mine = 0;
    owner = next;
    mine += t->leaves[i].cost;
    before += t->leaves[i].cost;
    most = mine > most ? mine : most;
  }
  return (double)most * size / (double)total;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size, steps = 10, quiet = 0, option;
  long long all = 100000, most = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  while ((option = getopt(argc, argv, "n:s:l:q")) != -1) {
    if (option == 'n') all = atoll(optarg);
    if (option == 's') steps = atoi(optarg);
    if (option == 'l') most = atoll(optarg);
    if (option == 'q') quiet = 1;
  }
  if (most == 0) most = 4 + all / 256; /* a body costs 4 on average: about 1000 leaves */
  if (all < size || all > 2000000000 || steps < 1 || most < 1) {
    if (rank == 0)
      fprintf(stderr, "barnes_hut: -n from %d (ranks) to 2000000000, -s from 1, -l from 1\n", size);
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  const long long first = all * rank / size;
  const int n = (int)(all * (rank + 1) / size - first);
  struct body* bodies = memory((size_t)n, sizeof *bodies);
  for (int i = 0; i < n; ++i) place(&bodies[i], (uint64_t)(first + i));

  struct tree tree = {0};
  int wrong = 0;
  for (int s = 0; s < steps; ++s) {
    for (int i = 0; i < n; ++i) {
      move(&bodies[i]);
      bodies[i].key = key_of(&bodies[i]);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    build(&tree, bodies, n, most);
    wrong += errors_in(&tree, bodies, n, most);
  }

  const double mine[2] = {tree.counting_s, tree.allreduce_s};
  double slowest[2];
  MPI_Reduce(mine, slowest, 2, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  if (rank == 0) {
    printf("checksum %016llx, %d leaves, %d levels, %d errors\n",
           (unsigned long long)checksum(&tree), tree.count, tree.levels, wrong);
    if (!quiet) {
      printf(
          "%lld bodies, %d ranks, %d steps; longest allreduce %d bytes; imbalance %.3f; slowest "
          "rank:\n",
          all, size, steps, 8 * tree.longest, imbalance(&tree, size));
      printf("%-10s %10.6f s\n%-10s %10.6f s\n", "counting", slowest[0], "allreduce", slowest[1]);
    }
  }
  free(tree.leaves);
  free(bodies);
  MPI_Finalize();
  return wrong != 0;
}
