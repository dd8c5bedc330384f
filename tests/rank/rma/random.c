// SPDX-License-Identifier: Apache-2.0
// Random epochs, targets, types and operations against a reference: all ranks draw the same plan
// from the same seed, so each can do all of it in order on a copy of everybody's memory. Each
// origin has a part of every window of its own, where its order is the program's; sums go to a part
// that all share.
#include "flavors.h"

enum { cells = 40, shared_cells = 16, steps = 60 };

static unsigned long long state;
static int draw(int below) {
  state = state * 6364136223846793005ULL + 1442695040888963407ULL;
  return (int)((state >> 33) % (unsigned)below);
}

// What lies where: for each origin `cells` ints, then the shared ones.
static int* reference;
static int part(int target, int origin) {
  return (target * (size * cells + shared_cells)) + origin * cells;
}

typedef struct {
  int kind, origin, target, disp, count, stride, op;
} Step;

static const MPI_Op ops[] = {MPI_SUM, MPI_REPLACE, MPI_BXOR, MPI_MAX, MPI_NO_OP};

static int apply(int op, int old, int value) {
  switch (op) {
    case 0:
      return old + value;
    case 1:
      return value;
    case 2:
      return old ^ value;
    case 3:
      return old > value ? old : value;
    default:
      return old;
  }
}

static Step draw_step(void) {
  Step s;
  s.kind = draw(6);
  s.origin = draw(size);
  s.target = draw(size);
  s.stride = 1 + draw(3);
  s.count = 1 + draw(cells / s.stride);
  s.disp = draw(cells - s.stride * (s.count - 1));
  s.op = draw(5);
  return s;
}

static int value_of(const Step* s, int step, int i) {
  return s->origin * 1000003 + step * 1009 + i * 17;
}

// What an operation reads and writes until its epoch is over.
typedef struct {
  int mine[cells], old[cells * 3], expected[cells], count, stride;
} Kept;
static Kept kept[steps];
static int kept_count;

static void do_step(const Step* s, int step, const Flavored* f) {
  Kept* const k = &kept[kept_count++];
  const int n = s->count, to = s->target, fetches = s->kind == 1 || s->kind == 2 || s->kind == 4;
  MPI_Datatype spread;
  OK(MPI_Type_vector(n, 1, s->stride, MPI_INT, &spread));
  OK(MPI_Type_commit(&spread));
  for (int i = 0; i < n; ++i) k->mine[i] = value_of(s, step, i);
  for (int i = 0; i < cells * 3; ++i) k->old[i] = -1;
  int* const where = &reference[part(to, s->origin) + s->disp];
  for (int i = 0; i < n; ++i) k->expected[i] = where[i * s->stride];
  k->count = fetches ? n : 0;
  k->stride = s->kind == 2 ? s->stride : 1;
  const MPI_Aint at = f->bases[to] + (s->origin * cells + s->disp) * (MPI_Aint)sizeof(int);
  const MPI_Op op = ops[s->op];
  switch (s->kind) {
    case 0:
      OK(MPI_Put(k->mine, n, MPI_INT, to, at, 1, spread, f->win));
      break;
    case 1:
      OK(MPI_Get(k->old, n, MPI_INT, to, at, 1, spread, f->win));
      break;
    case 2:
      OK(MPI_Get(k->old, 1, spread, to, at, 1, spread, f->win));
      break;
    case 3:
      OK(MPI_Accumulate(k->mine, n, MPI_INT, to, at, 1, spread, op, f->win));
      break;
    case 4:
      OK(MPI_Get_accumulate(k->mine, n, MPI_INT, k->old, n, MPI_INT, to, at, 1, spread, op,
                            f->win));
      break;
    default: {
      const MPI_Aint sums = f->bases[to] + (size * cells + s->disp % shared_cells) * 4;
      OK(MPI_Accumulate(k->mine, 1, MPI_INT, to, sums, 1, MPI_INT, MPI_SUM, f->win));
    }
  }
  OK(MPI_Type_free(&spread));
}

// The epoch is over: what came back?
static void check_kept(void) {
  for (const Kept* k = kept; k < kept + kept_count; ++k)
    for (int i = 0; i < k->count; ++i) EQ(k->old[i * k->stride], k->expected[i]);
  kept_count = 0;
}

static void do_reference(const Step* s, int step) {
  int* const where = &reference[part(s->target, s->origin) + s->disp];
  for (int i = 0; i < s->count; ++i) {
    const int value = value_of(s, step, i);
    if (s->kind == 0) where[i * s->stride] = value;
    if (s->kind == 3 || s->kind == 4)
      where[i * s->stride] = apply(s->op, where[i * s->stride], value);
  }
  if (s->kind == 5)
    reference[part(s->target, size) + s->disp % shared_cells] += value_of(s, step, 0);
}

// One epoch: 0 fence, 1 post and start, 2 lock each target, 3 lock_all.
static void epoch(int kind, const Flavored* f, MPI_Group world, int first, int count) {
  if (kind == 0) OK(MPI_Win_fence(0, f->win));
  if (kind == 1) {
    OK(MPI_Win_post(world, 0, f->win));
    OK(MPI_Win_start(world, 0, f->win));
  }
  if (kind == 3) OK(MPI_Win_lock_all(0, f->win));
  for (int i = 0; i < count; ++i) {
    const Step s = draw_step();
    if (s.origin == rank) {
      if (kind == 2)
        OK(MPI_Win_lock(i % 2 ? MPI_LOCK_SHARED : MPI_LOCK_EXCLUSIVE, s.target, 0, f->win));
      do_step(&s, first + i, f);
      if (kind == 2) OK(MPI_Win_unlock(s.target, f->win));
      if (kind == 3) OK(MPI_Win_flush(s.target, f->win));
    }
    do_reference(&s, first + i);
  }
  if (kind == 0) OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, f->win));
  if (kind == 1) {
    OK(MPI_Win_complete(f->win));
    OK(MPI_Win_wait(f->win));
  }
  if (kind == 3) OK(MPI_Win_unlock_all(f->win));
  check_kept();
  OK(MPI_Barrier(MPI_COMM_WORLD));
}

int main(int argc, char** argv) {
  start(&argc, &argv);
  const int seeds = argc > 1 ? atoi(argv[1]) : 8;
  const size_t words = (size_t)(size * cells + shared_cells);
  MPI_Group world;
  OK(MPI_Comm_group(MPI_COMM_WORLD, &world));
  reference = alloc((size_t)size * words * sizeof(int));
  for (int seed = 0; seed < seeds; ++seed) {
    state = (unsigned long long)seed * 77 + 5;
    memset(reference, 0, (size_t)size * words * sizeof(int));
    Flavored f = open_window(seed, (MPI_Aint)(words * sizeof(int)));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    for (int i = 0; i < 8; ++i) epoch(draw(4), &f, world, i * steps, steps);
    const int* mine = &reference[part(rank, 0)];
    for (size_t i = 0; i < words; ++i)
      CHECK(((int*)f.memory)[i] == mine[i], "seed %d: word %zu is %d, expected %d", seed, i,
            ((int*)f.memory)[i], mine[i]);
    OK(MPI_Barrier(MPI_COMM_WORLD));
    close_window(&f);
  }
  free(reference);
  OK(MPI_Group_free(&world));
  return finish();
}
