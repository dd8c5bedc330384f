/* SPDX-License-Identifier: Apache-2.0 */
/* A hash table that all ranks have together, each a part of it, by one-sided communication alone:
   no rank answers for its part.

   Each rank counts words (numbers that it draws). A word's slot is found by its hash: first the
   rank, then the place, then the places after it. MPI_Compare_and_swap takes an empty slot for a
   word, or says whose it is; MPI_Fetch_and_op counts. At the end each rank looks up words of all
   ranks and compares with counts of its own: ranks draw from known seeds, so each can draw all
   words again.

     table [-w words of each rank] [-v different words] */
#include <inttypes.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Of a slot; 0: it is free. */
struct slot {
  int64_t word, count;
};

struct table {
  MPI_Win win;
  struct slot* mine;
  int64_t slots; /* of each rank */
  int size;
};

static uint64_t next(uint64_t* state) {
  *state += 0x9e3779b97f4a7c15u;
  uint64_t z = *state;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

static int64_t draw(uint64_t* state, int64_t different) {
  return 1 + (int64_t)(next(state) % (uint64_t)different);
}

static struct table make_table(int64_t slots, int size) {
  struct table t = {.slots = slots, .size = size};
  MPI_Win_allocate(slots * (MPI_Aint)sizeof(struct slot), sizeof(int64_t), MPI_INFO_NULL,
                   MPI_COMM_WORLD, &t.mine, &t.win);
  for (int64_t i = 0; i < slots; ++i) t.mine[i] = (struct slot){0, 0};
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_lock_all(0, t.win);
  return t;
}

/* The rank and the displacement of a word's slot, which is taken if there is none; -1: it is not
   there (`take` is 0). */
static MPI_Aint find(struct table* t, int64_t word, int take, int* rank) {
  uint64_t hash = (uint64_t)word;
  hash = next(&hash);
  *rank = (int)(hash % (uint64_t)t->size);
  int64_t at = (int64_t)(hash / (uint64_t)t->size % (uint64_t)t->slots);
  for (int64_t tries = 0; tries < t->slots; ++tries, at = (at + 1) % t->slots) {
    const int64_t none = 0, wanted = take ? word : none;
    int64_t found = none;
    MPI_Compare_and_swap(&wanted, &none, &found, MPI_INT64_T, *rank, 2 * at, t->win);
    MPI_Win_flush(*rank, t->win);
    if (found == word || (found == none && take)) return 2 * at;
    if (found == none) return -1;
  }
  fprintf(stderr, "table: rank %d has no room for word %" PRId64 "\n", *rank, word);
  MPI_Abort(MPI_COMM_WORLD, 1);
  return -1;
}

static void add(struct table* t, int64_t word) {
  const int64_t one = 1;
  int rank;
  const MPI_Aint at = find(t, word, 1, &rank);
  MPI_Accumulate(&one, 1, MPI_INT64_T, rank, at + 1, 1, MPI_INT64_T, MPI_SUM, t->win);
  MPI_Win_flush_local(rank, t->win);
}

static int64_t count_of(struct table* t, int64_t word) {
  int64_t count = 0;
  int rank;
  const MPI_Aint at = find(t, word, 0, &rank);
  if (at < 0) return 0;
  MPI_Fetch_and_op(NULL, &count, MPI_INT64_T, rank, at + 1, MPI_NO_OP, t->win);
  MPI_Win_flush(rank, t->win);
  return count;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size, option;
  int64_t words = 20000, different = 3000, wrong = 0, sum = 0, all = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  while ((option = getopt(argc, argv, "w:v:")) != -1) {
    if (option == 'w') words = atoll(optarg);
    if (option == 'v') different = atoll(optarg);
  }
  if (words < 1 || different < 1) {
    if (rank == 0) fprintf(stderr, "table: -w and -v from 1\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }

  struct table t = make_table(2 * different + 16, size);
  uint64_t state = (uint64_t)rank;
  const double start = MPI_Wtime();
  for (int64_t i = 0; i < words; ++i) add(&t, draw(&state, different));
  MPI_Win_flush_all(t.win);
  MPI_Barrier(MPI_COMM_WORLD);
  const double seconds = MPI_Wtime() - start;

  int64_t* expected = calloc((size_t)different + 1, sizeof *expected);
  if (expected == NULL) MPI_Abort(MPI_COMM_WORLD, 1);
  for (int r = 0; r < size; ++r) {
    state = (uint64_t)r;
    for (int64_t i = 0; i < words; ++i) ++expected[draw(&state, different)];
  }
  for (int64_t word = 1 + rank; word <= different; word += size) {
    const int64_t count = count_of(&t, word);
    wrong += count != expected[word];
    sum += count;
  }
  wrong += count_of(&t, different + 1) != 0;
  free(expected);
  MPI_Win_unlock_all(t.win);
  MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
  MPI_Allreduce(&sum, &all, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
  if (all != words * size) ++wrong;
  if (rank == 0)
    printf("table: %d ranks x %" PRId64 " words, %" PRId64 " different, %.2f us a word: %s\n", size,
           words, different, seconds * 1e6 / (double)words, wrong == 0 ? "ok" : "WRONG");
  MPI_Win_free(&t.win);
  MPI_Finalize();
  return wrong != 0;
}
