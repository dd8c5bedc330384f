// SPDX-License-Identifier: Apache-2.0
// Partitioned transfers to the right neighbour: partitions of any number and size at both ends,
// whole and with gaps, marked one by one, in ranges and in lists by several threads, against what
// the partitions have to hold; asked for by MPI_Parrived and completed in every way.
#include <pthread.h>

#include "../check.h"

enum { units = 5040, rounds = 3, most_threads = 8 };

static unsigned long long seed;
static unsigned next_random(unsigned below) {
  seed = seed * 6364136223846793005ull + 1442695040888963407ull;
  return (unsigned)(seed >> 33) % below;
}

// One end: `partitions` of `count` elements, each of `block` ints and, if it has gaps, as many
// unused ones behind them.
struct end {
  int partitions, block, gaps;
  MPI_Count count;
  MPI_Datatype type;
  int* data;
};

static size_t place(const struct end* e, size_t i) {
  const size_t block = (size_t)e->block;
  return i / block * block * (e->gaps ? 2 : 1) + i % block;
}

static int value(size_t i, int round, int from) {
  return (int)(i * 31 + (unsigned)round * 7919 + (unsigned)from * 104729);
}

static void make_end(struct end* e, size_t ints) {
  const int blocks[] = {1, 2, 3, 5}, shapes[] = {1, 2, 3, 4, 5, 6, 7, 8, 12, 21, 48, 140, 1008};
  e->block = blocks[next_random(4)];
  e->gaps = (int)next_random(2);
  const size_t elements = ints / (size_t)e->block;
  do e->partitions = shapes[next_random(13)];
  while (elements % (size_t)e->partitions != 0);
  e->count = (MPI_Count)(elements / (size_t)e->partitions);
  MPI_Datatype whole;
  OK(MPI_Type_contiguous(e->block, MPI_INT, &whole));
  OK(MPI_Type_create_resized(whole, 0, (MPI_Aint)sizeof(int) * e->block * (e->gaps ? 2 : 1),
                             &e->type));
  OK(MPI_Type_commit(&e->type));
  OK(MPI_Type_free(&whole));
  e->data = alloc(2 * ints * sizeof(int));
  memset(e->data, 0, 2 * ints * sizeof(int));
}

static void free_end(struct end* e) {
  OK(MPI_Type_free(&e->type));
  free(e->data);
}

struct marker {
  struct end* from;
  MPI_Request request;
  size_t ints;
  int round, first, step, how;
};

static void write_partition(const struct marker* m, int partition) {
  const size_t each = m->ints / (size_t)m->from->partitions;
  for (size_t i = each * (size_t)partition; i < each * (size_t)(partition + 1); ++i)
    m->from->data[place(m->from, i)] = value(i, m->round, rank);
}

// Every step-th partition from `first` on, or a block of them as a range.
static void* mark(void* argument) {
  const struct marker* m = argument;
  const int all = m->from->partitions;
  int list[1008], n = 0;
  if (m->how == 1) {
    const int low = (int)((long)all * m->first / m->step);
    const int high = (int)((long)all * (m->first + 1) / m->step) - 1;
    for (int p = low; p <= high; ++p) write_partition(m, p);
    if (low <= high) OK(MPI_Pready_range(low, high, m->request));
    return NULL;
  }
  for (int p = m->first; p < all; p += m->step) list[n++] = p;
  if (m->how == 2) {
    for (int i = 0; i < n; ++i) write_partition(m, list[i]);
    if (n > 0) OK(MPI_Pready_list(n, list, m->request));
    return NULL;
  }
  for (int i = n - 1; i >= 0; --i) {
    write_partition(m, list[i]);
    OK(MPI_Pready(list[i], m->request));
  }
  return NULL;
}

static void check_part(const struct end* e, size_t ints, int partition, int round) {
  const size_t each = ints / (size_t)e->partitions;
  ++checks;
  for (size_t i = each * (size_t)partition; i < each * (size_t)(partition + 1); ++i) {
    const int want = value(i, round, left_of(rank)), got = e->data[place(e, i)];
    if (got == want) continue;
    fail_(__FILE__, __LINE__, "round %d, partition %d of %d: int %zu is %d, expected %d", round,
          partition, e->partitions, i, got, want);
    return;
  }
}

static void await_partitions(const struct end* e, size_t ints, MPI_Request request, int round) {
  for (int p = 0; p < e->partitions; ++p) {
    int flag = 0;
    while (!flag) OK(MPI_Parrived(request, p, &flag));
    check_part(e, ints, p, round);
  }
}

static void transfer(size_t ints, int threads) {
  struct end out, in;
  make_end(&out, ints);
  make_end(&in, ints);
  MPI_Request request[2];
  OK(MPI_Precv_init_c(in.data, in.partitions, in.count, in.type, left_of(rank), 5, MPI_COMM_WORLD,
                      MPI_INFO_NULL, &request[0]));
  OK(MPI_Psend_init_c(out.data, out.partitions, out.count, out.type, right_of(rank), 5,
                      MPI_COMM_WORLD, MPI_INFO_NULL, &request[1]));
  for (int round = 0; round < rounds; ++round) {
    OK(MPI_Startall(2, request));
    struct marker m[most_threads];
    pthread_t id[most_threads];
    const int how = (int)next_random(3);
    for (int t = 0; t < threads; ++t) {
      m[t] = (struct marker){&out, request[1], ints, round, t, threads, how};
      if (pthread_create(&id[t], NULL, mark, &m[t])) DIE("cannot make a thread");
    }
    if (round % 2) await_partitions(&in, ints, request[0], round);
    MPI_Status status[2];
    if (round == 0) {
      OK(MPI_Waitall(2, request, status));
    } else {
      OK(MPI_Wait(&request[1], &status[1]));
      int flag = 0;
      while (!flag) OK(MPI_Test(&request[0], &flag, &status[0]));
    }
    STATUS(&status[0], left_of(rank), 5, (long long)(ints * sizeof(int)));
    for (int t = 0; t < threads; ++t) pthread_join(id[t], NULL);
    for (int p = 0; p < in.partitions; ++p) check_part(&in, ints, p, round);
    int flag = 0;
    OK(MPI_Parrived(request[0], 0, &flag));
    EQ(flag, 1);  // it is inactive
  }
  OK(MPI_Request_free(&request[0]));
  OK(MPI_Request_free(&request[1]));
  free_end(&out);
  free_end(&in);
}

int main(int argc, char** argv) {
  int provided = 0;
  OK(MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided));
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  const size_t sizes[] = {units, 4 * units, 40 * units};
  for (int i = 0; i < 24; ++i) {
    seed = 1000u * (unsigned)i + (unsigned)rank;
    transfer(sizes[i % 3], 1 << (i % 4));
  }
  return finish();
}
