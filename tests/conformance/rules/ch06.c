// SPDX-License-Identifier: Apache-2.0
// Chapter 6, collective communication: places, in-place forms, operations, nonblocking and
// persistent forms.
#include "rules.h"

static MPI_Comm half;  // the ranks of equal parity

// --- 6.2 .. 6.8: moving data
// -----------------------------------------------------------------------
static void zero_counts(void) {
  int sentinel = 7, *none = alloc(sizeof(int) * size);
  memset(none, 0, sizeof(int) * size);
  OK(MPI_Bcast(NULL, 0, MPI_INT, 0, comm));
  OK(MPI_Allreduce(NULL, &sentinel, 0, MPI_INT, MPI_SUM, comm));
  OK(MPI_Allgather(NULL, 0, MPI_INT, &sentinel, 0, MPI_INT, comm));
  OK(MPI_Gatherv(NULL, 0, MPI_INT, &sentinel, none, none, MPI_INT, 0, comm));
  OK(MPI_Alltoallv(NULL, none, none, MPI_INT, &sentinel, none, none, MPI_INT, comm));
  OK(MPI_Scan(NULL, &sentinel, 0, MPI_INT, MPI_MAX, comm));
  OK(MPI_Reduce_scatter(NULL, &sentinel, none, MPI_INT, MPI_SUM, comm));
  EQ(sentinel, 7);
  free(none);
}

static void bcast_types(void) {
  MPI_Datatype strided;
  int data[6] = {-1, -1, -1, -1, -1, -1};
  OK(MPI_Type_vector(3, 1, 2, MPI_INT, &strided));
  OK(MPI_Type_commit(&strided));
  if (rank == 0)
    for (int i = 0; i < 3; ++i) data[i] = i + 1;
  if (rank == 0)
    OK(MPI_Bcast(data, 3, MPI_INT, 0, comm));
  else
    OK(MPI_Bcast(data, 1, strided, 0, comm));
  for (int i = 0; rank > 0 && i < 6; ++i) EQ(data[i], i % 2 ? -1 : i / 2 + 1);
  OK(MPI_Type_free(&strided));
}

static void only_at_root(void) {
  int *all = alloc(sizeof(int) * size), mine = -1;
  for (int root = 0; root < size; ++root) {  // what is not significant may be anything
    const int here = rank == root;
    OK(MPI_Gather(&rank, 1, MPI_INT, here ? all : NULL, here ? 1 : -5,
                  here ? MPI_INT : MPI_DATATYPE_NULL, root, comm));
    for (int i = 0; here && i < size; ++i) EQ(all[i], i);
    for (int i = 0; here && i < size; ++i) all[i] = i * 2;
    OK(MPI_Scatter(here ? all : NULL, here ? 1 : -5, here ? MPI_INT : MPI_DATATYPE_NULL, &mine, 1,
                   MPI_INT, root, comm));
    EQ(mine, rank * 2);
    OK(MPI_Reduce(&rank, here ? &mine : NULL, 1, MPI_INT, MPI_MAX, root, comm));
    if (here) EQ(mine, size - 1);
  }
  free(all);
}

static void gatherv_places(void) {
  int *all = alloc(sizeof(int) * 3 * size), *counts = alloc(sizeof(int) * size),
      *places = alloc(sizeof(int) * size);
  int out[2] = {rank, rank + 100};
  for (int i = 0; i < 3 * size; ++i) all[i] = -1;
  for (int i = 0; i < size; ++i) counts[i] = i % 3, places[i] = 3 * (size - 1 - i);
  OK(MPI_Gatherv(out, rank % 3, MPI_INT, all, counts, places, MPI_INT, 0, comm));
  for (int i = 0; rank == 0 && i < size; ++i)
    for (int k = 0; k < 3; ++k) EQ(all[places[i] + k], k < counts[i] ? i + 100 * k : -1);
  free(all), free(counts), free(places);
}

static void in_place_moves(void) {
  int *all = alloc(sizeof(int) * size), mine = -1, *counts = alloc(sizeof(int) * size),
      *places = alloc(sizeof(int) * size);
  for (int i = 0; i < size; ++i) all[i] = i == rank ? i : -1, counts[i] = 1, places[i] = i;
  OK(MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all, 1, MPI_INT, comm));
  for (int i = 0; i < size; ++i) EQ(all[i], i);
  for (int i = 0; i < size; ++i) all[i] = rank * 100 + i;
  OK(MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all, 1, MPI_INT, comm));
  for (int i = 0; i < size; ++i) EQ(all[i], i * 100 + rank);
  for (int i = 0; i < size; ++i) all[i] = rank * 100 + i;
  OK(MPI_Alltoallv(MPI_IN_PLACE, NULL, NULL, MPI_DATATYPE_NULL, all, counts, places, MPI_INT,
                   comm));
  for (int i = 0; i < size; ++i) EQ(all[i], i * 100 + rank);
  for (int i = 0; i < size; ++i) all[i] = rank == 0 && i == 0 ? 50 : -1;
  mine = rank + 50;
  if (rank == 0)
    OK(MPI_Gather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all, 1, MPI_INT, 0, comm));
  else
    OK(MPI_Gather(&mine, 1, MPI_INT, NULL, 0, MPI_DATATYPE_NULL, 0, comm));
  for (int i = 0; rank == 0 && i < size; ++i) EQ(all[i], i + 50);
  if (rank == 0)
    OK(MPI_Scatter(all, 1, MPI_INT, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, 0, comm));
  else
    OK(MPI_Scatter(NULL, 0, MPI_DATATYPE_NULL, &mine, 1, MPI_INT, 0, comm));
  EQ(mine, rank + 50);
  free(all), free(counts), free(places);
}

static void alltoallw(void) {
  int *counts = alloc(sizeof(int) * size), *places = alloc(sizeof(int) * size);
  MPI_Datatype* types = alloc(sizeof(MPI_Datatype) * size);
  char *out = alloc(8 * size), *in = alloc(8 * size);
  for (int i = 0; i < size; ++i) {  // ints and doubles by the sum of the ranks
    const int value = rank * 10 + i;
    const double real = value;
    const int whole = (rank + i) % 2 == 0;
    counts[i] = 1, places[i] = 8 * i, types[i] = whole ? MPI_INT : MPI_DOUBLE;
    if (whole)
      memcpy(out + 8 * i, &value, sizeof value);
    else
      memcpy(out + 8 * i, &real, sizeof real);
  }
  OK(MPI_Alltoallw(out, counts, places, types, in, counts, places, types, comm));
  for (int i = 0; i < size; ++i) {
    int value;
    double real;
    memcpy(&value, in + 8 * i, sizeof value);
    memcpy(&real, in + 8 * i, sizeof real);
    EQ((rank + i) % 2 == 0 ? value : (int)real, i * 10 + rank);
  }
  free(counts), free(places), free(types), free(out), free(in);
}

// --- 6.9 .. 6.11: reductions
// ----------------------------------------------------------------------- Composition of x -> a x +
// b: associative, not commutative.
typedef struct {
  long a, b;
} Affine;
static const long modulus = 1000003;
static void compose(void* in, void* inout, int* count, MPI_Datatype* type) {
  Affine *x = in, *y = inout;
  (void)type;
  for (int i = 0; i < *count; ++i) {  // x first, then y
    const Affine both = {x[i].a * y[i].a % modulus, (x[i].b * y[i].a + y[i].b) % modulus};
    y[i] = both;
  }
}
static Affine affine_of(int who) {
  return (Affine){who + 2, 3 * who + 1};
}
static Affine composed(int from, int to) {  // of ranks from .. to
  Affine all = affine_of(from);
  int one = 1;
  for (int who = from + 1; who <= to; ++who) {
    Affine next = affine_of(who);
    compose(&all, &next, &one, NULL);
    all = next;
  }
  return all;
}
static void same(int line, Affine got, Affine want) {
  CHECK(got.a == want.a && got.b == want.b, "line %d: %ld x + %ld, expected %ld x + %ld", line,
        got.a, got.b, want.a, want.b);
}
#define SAME(got, want) same(__LINE__, (got), (want))

static void rank_order(void) {
  MPI_Datatype pair;
  MPI_Op op;
  Affine mine = affine_of(rank), got = {0, 0}, *many = alloc(sizeof(Affine) * size), part = {0, 0};
  OK(MPI_Type_contiguous(2, MPI_LONG, &pair));
  OK(MPI_Type_commit(&pair));
  OK(MPI_Op_create(compose, 0, &op));
  for (int root = 0; root < size; ++root) {
    OK(MPI_Reduce(&mine, &got, 1, pair, op, root, comm));
    if (rank == root) SAME(got, composed(0, size - 1));
  }
  OK(MPI_Allreduce(&mine, &got, 1, pair, op, comm));
  SAME(got, composed(0, size - 1));
  OK(MPI_Scan(&mine, &got, 1, pair, op, comm));
  SAME(got, composed(0, rank));
  OK(MPI_Exscan(&mine, &got, 1, pair, op, comm));
  if (rank > 0) SAME(got, composed(0, rank - 1));
  for (int i = 0; i < size; ++i) many[i] = mine;
  OK(MPI_Reduce_scatter_block(many, &part, 1, pair, op, comm));
  SAME(part, composed(0, size - 1));
  OK(MPI_Op_free(&op));
  OK(MPI_Type_free(&pair));
  free(many);
}

static void in_place_reductions(void) {
  int value = rank + 1, all = size * (size + 1) / 2, *many = alloc(sizeof(int) * size);
  OK(MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_INT, MPI_SUM, comm));
  EQ(value, all);
  value = rank + 1;
  OK(MPI_Reduce(rank == 0 ? MPI_IN_PLACE : &value, rank == 0 ? &value : NULL, 1, MPI_INT, MPI_SUM,
                0, comm));
  EQ(value, rank == 0 ? all : rank + 1);
  value = rank + 1;
  OK(MPI_Scan(MPI_IN_PLACE, &value, 1, MPI_INT, MPI_SUM, comm));
  EQ(value, (rank + 1) * (rank + 2) / 2);
  value = rank + 1;
  OK(MPI_Exscan(MPI_IN_PLACE, &value, 1, MPI_INT, MPI_SUM, comm));
  EQ(value, rank == 0 ? 1 : rank * (rank + 1) / 2);  // rank 0's is left alone
  for (int i = 0; i < size; ++i) many[i] = i;
  OK(MPI_Reduce_scatter_block(MPI_IN_PLACE, many, 1, MPI_INT, MPI_SUM, comm));
  EQ(many[0], rank * size);
  free(many);
}

static void exscan_first(void) {
  int got = -77;
  OK(MPI_Exscan(&rank, &got, 1, MPI_INT, MPI_SUM, comm));
  if (rank == 1) EQ(got, 0);
  if (rank > 1) EQ(got, rank * (rank - 1) / 2);
}

static void minloc_ties(void) {
  struct {
    double value;
    int index;
  } mine = {rank / 2 == 0 ? 1.0 : 2.0, rank}, got = {0, -1};
  OK(MPI_Allreduce(&mine, &got, 1, MPI_DOUBLE_INT, MPI_MINLOC, comm));
  EQ(got.index, 0);
  mine.value = -mine.value;
  mine.index = 100 - rank;
  OK(MPI_Allreduce(&mine, &got, 1, MPI_DOUBLE_INT, MPI_MAXLOC, comm));
  EQ(got.index, size > 1 ? 99 : 100);  // of equal values the smaller index
}

static void logical(void) {
  int in[3] = {rank + 1, rank == 0 ? 0 : 5, 0}, out[3] = {-1, -1, -1};
  OK(MPI_Allreduce(in, out, 3, MPI_INT, MPI_LAND, comm));
  EQ(out[0] != 0, 1), EQ(out[1], 0), EQ(out[2], 0);
  OK(MPI_Allreduce(in, out, 3, MPI_INT, MPI_LXOR, comm));
  EQ(out[0] != 0, size % 2), EQ(out[1] != 0, (size - 1) % 2), EQ(out[2], 0);
}

static void same_everywhere(void) {
  enum { n = 300 };
  double out[n], in[n], least[n], most[n];
  for (int i = 0; i < n; ++i) out[i] = 1.0 / (1 + rank * 7 + i) * (i % 3 ? 1e10 : 1e-10);
  OK(MPI_Allreduce(out, in, n, MPI_DOUBLE, MPI_SUM, comm));
  OK(MPI_Allreduce(in, least, n, MPI_DOUBLE, MPI_MIN, comm));
  OK(MPI_Allreduce(in, most, n, MPI_DOUBLE, MPI_MAX, comm));
  CHECK(memcmp(least, most, sizeof least) == 0, "ranks got different sums");
}

static MPI_Datatype type_seen;
static int count_seen;
static void swap_parts(void* in, void* inout, int* count, MPI_Datatype* type) {
  int *a = in, *b = inout;
  type_seen = *type;
  count_seen += *count;
  for (int i = 0; i < *count; ++i) b[3 * i] += a[3 * i], b[3 * i + 2] += a[3 * i + 2];
}
static void user_op_types(void) {
  MPI_Datatype type;  // an int, a hole, an int
  MPI_Op op;
  int out[6] = {1, 70, 2, 3, 70, 4}, in[6] = {-1, -5, -1, -1, -5, -1}, flag = -1;
  OK(MPI_Type_vector(2, 1, 2, MPI_INT, &type));
  OK(MPI_Type_commit(&type));
  OK(MPI_Op_create(swap_parts, 1, &op));
  OK(MPI_Op_commutative(op, &flag));
  EQ(flag, 1);
  count_seen = 0;
  type_seen = MPI_DATATYPE_NULL;
  OK(MPI_Allreduce(out, in, 2, type, op, comm));
  EQ(in[0], size), EQ(in[2], 2 * size), EQ(in[3], 3 * size), EQ(in[5], 4 * size);
  EQ(in[1], -5), EQ(in[4], -5);
  CHECK(size == 1 || count_seen == 0 || type_seen == type, "the operation got another type");
  int one[6] = {1, 0, 1, 1, 0, 1};
  OK(MPI_Reduce_local(one, in, 2, type, op));
  EQ(in[0], size + 1), EQ(in[5], 4 * size + 1);
  CHECK(type_seen == type, "the operation of Reduce_local got another type");
  OK(MPI_Op_free(&op));
  CHECK(op == MPI_OP_NULL, "Op_free left the handle as it was");
  OK(MPI_Type_free(&type));
}

static void reduce_local(void) {
  MPI_Op op;
  MPI_Datatype pair;
  Affine first = affine_of(3), second = affine_of(5);
  int a[3] = {1, 2, 3}, b[3] = {10, 20, 30}, flag = -1;
  OK(MPI_Reduce_local(a, b, 3, MPI_INT, MPI_SUM));
  EQ(b[2], 33), EQ(a[2], 3);
  OK(MPI_Op_create(compose, 0, &op));
  OK(MPI_Op_commutative(op, &flag));
  EQ(flag, 0);
  OK(MPI_Type_contiguous(2, MPI_LONG, &pair));
  OK(MPI_Type_commit(&pair));
  Affine want = second;
  int one = 1;
  compose(&first, &want, &one, NULL);
  OK(MPI_Reduce_local(&first, &second, 1, pair, op));
  SAME(second, want);
  OK(MPI_Op_free(&op));
  OK(MPI_Type_free(&pair));
}

static void replace_no_op(void) {
  int a = 1, b = 2;
  FAILS(MPI_Allreduce(&a, &b, 1, MPI_INT, MPI_REPLACE, comm), MPI_ERR_OP);
  FAILS(MPI_Allreduce(&a, &b, 1, MPI_INT, MPI_NO_OP, comm), MPI_ERR_OP);
}

// --- 6.12: nonblocking
// -----------------------------------------------------------------------------
static void out_of_order(void) {
  enum { n = 6 };
  MPI_Request request[n];
  int in[n], got[n];
  for (int i = 0; i < n; ++i) {
    in[i] = rank + i, got[i] = -1;
    OK(MPI_Iallreduce(&in[i], &got[i], 1, MPI_INT, MPI_SUM, comm, &request[i]));
  }
  // Each rank completes in an order of its own.
  for (int i = 0; i < n; ++i) OK(MPI_Wait(&request[(rank % 2 ? n - 1 - i : i)], MPI_STATUS_IGNORE));
  for (int i = 0; i < n; ++i) EQ(got[i], size * (size - 1) / 2 + i * size);
}

static void two_communicators(void) {
  MPI_Comm other;
  MPI_Request request[2];
  int a = rank, b = -rank, sum[2] = {-1, -1};
  OK(MPI_Comm_dup(comm, &other));
  // In different order on the ranks: that is legal for nonblocking ones of different communicators.
  for (int k = 0; k < 2; ++k) {
    if ((k + rank) % 2 == 0)
      OK(MPI_Iallreduce(&a, &sum[0], 1, MPI_INT, MPI_SUM, comm, &request[0]));
    else
      OK(MPI_Iallreduce(&b, &sum[1], 1, MPI_INT, MPI_SUM, other, &request[1]));
  }
  OK(MPI_Waitall(2, request, MPI_STATUSES_IGNORE));
  EQ(sum[0], size * (size - 1) / 2), EQ(sum[1], -size * (size - 1) / 2);
  OK(MPI_Comm_free(&other));
}

static void apart_from_messages(void) {
  MPI_Request request[2];
  int all = -1, in = -1, flag = 7;
  OK(MPI_Irecv(&in, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &request[0]));
  OK(MPI_Iallreduce(&rank, &all, 1, MPI_INT, MPI_MAX, comm, &request[1]));
  OK(MPI_Wait(&request[1], MPI_STATUS_IGNORE));
  OK(MPI_Test(&request[0], &flag, MPI_STATUS_IGNORE));
  EQ(flag, 0);
  OK(MPI_Barrier(comm));
  OK(MPI_Send(&rank, 1, MPI_INT, right, 3, comm));
  OK(MPI_Wait(&request[0], MPI_STATUS_IGNORE));
  EQ(all, size - 1), EQ(in, left);
}

static void no_wait_for_others(void) {
  MPI_Request request;
  int sum = -1, token = -1;
  if (rank == 0) {  // starts, and goes on before anybody else starts
    OK(MPI_Iallreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm, &request));
    for (int to = 1; to < size; ++to) OK(MPI_Send(&rank, 1, MPI_INT, to, 0, comm));
  } else {
    OK(MPI_Recv(&token, 1, MPI_INT, 0, 0, comm, MPI_STATUS_IGNORE));
    OK(MPI_Iallreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm, &request));
  }
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  EQ(sum, size * (size - 1) / 2);
}

static void no_cancel_no_free(void) {
  MPI_Request request;
  if (rank > 0) {  // rank 0 has not entered, so that it cannot be complete
    OK(MPI_Ibarrier(comm, &request));
    FAILS(MPI_Request_free(&request), MPI_ERR_REQUEST);
    FAILS(MPI_Cancel(&request), MPI_ERR_REQUEST);
    OK(MPI_Send(&rank, 1, MPI_INT, 0, 0, comm));
  } else {
    int from;
    for (int who = 1; who < size; ++who)
      OK(MPI_Recv(&from, 1, MPI_INT, who, 0, comm, MPI_STATUS_IGNORE));
    OK(MPI_Ibarrier(comm, &request));
  }
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
}

static void status_of_collective(void) {
  MPI_Request request[2];
  MPI_Status status[2];
  int value = rank, sum;
  OK(MPI_Iallreduce(&value, &sum, 1, MPI_INT, MPI_SUM, comm, &request[0]));
  OK(MPI_Ibarrier(comm, &request[1]));
  OK(MPI_Waitall(2, request, status));
  CHECK(request[0] == MPI_REQUEST_NULL, "a completed request is not null");
}

static void free_in_flight(void) {
  MPI_Comm other;
  MPI_Request request;
  MPI_Datatype pair;
  MPI_Op op;
  Affine mine = affine_of(rank), got = {0, 0};
  OK(MPI_Comm_dup(comm, &other));
  OK(MPI_Type_contiguous(2, MPI_LONG, &pair));
  OK(MPI_Type_commit(&pair));
  OK(MPI_Op_create(compose, 0, &op));
  OK(MPI_Iallreduce(&mine, &got, 1, pair, op, other, &request));
  OK(MPI_Op_free(&op));
  OK(MPI_Type_free(&pair));
  OK(MPI_Comm_free(&other));
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  SAME(got, composed(0, size - 1));
}

// --- 6.13: persistent
// ------------------------------------------------------------------------------
static void persistent_rounds(void) {
  MPI_Request request[2];
  int in = -1, sum = -1, token = -1;
  OK(MPI_Allreduce_init(&in, &sum, 1, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, &request[0]));
  OK(MPI_Bcast_init(&token, 1, MPI_INT, 0, comm, MPI_INFO_NULL, &request[1]));
  for (int round = 0; round < 3; ++round) {
    in = rank + round, token = rank == 0 ? round : -1;
    OK(MPI_Startall(2, request));
    OK(MPI_Waitall(2, request, MPI_STATUSES_IGNORE));
    EQ(sum, size * (size - 1) / 2 + round * size), EQ(token, round);
  }
  OK(MPI_Request_free(&request[0]));
  OK(MPI_Request_free(&request[1]));
}

static void persistent_any_order(void) {
  MPI_Request request[2];
  int a = rank, b = 2 * rank, sum[2] = {-1, -1};
  OK(MPI_Allreduce_init(&a, &sum[0], 1, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, &request[0]));
  OK(MPI_Allreduce_init(&b, &sum[1], 1, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, &request[1]));
  for (int k = 0; k < 2; ++k)
    OK(MPI_Start(&request[(k + rank) % 2]));  // the standard allows any order
  OK(MPI_Waitall(2, request, MPI_STATUSES_IGNORE));
  EQ(sum[0], size * (size - 1) / 2), EQ(sum[1], size * (size - 1));
  OK(MPI_Request_free(&request[0]));
  OK(MPI_Request_free(&request[1]));
}

static void persistent_inactive(void) {
  MPI_Request request;
  MPI_Status status = dirty();
  int flag = 0;
  OK(MPI_Barrier_init(comm, MPI_INFO_NULL, &request));
  OK(MPI_Test(&request, &flag, &status));
  EQ(flag, 1);
  EMPTY(&status);
  OK(MPI_Start(&request));
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  CHECK(request != MPI_REQUEST_NULL, "a persistent request became null");
  OK(MPI_Request_free(&request));
}

// --- intercommunicators, and communicators that share ranks
// ----------------------------------------
static void overlapping_comms(void) {
  int sum = -1, all = -1, parity = 0;
  OK(MPI_Comm_split(comm, rank % 2, 0, &half));
  for (int who = rank % 2; who < size; who += 2) parity += who;
  OK(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, half));
  OK(MPI_Allreduce(&rank, &all, 1, MPI_INT, MPI_SUM, comm));
  EQ(sum, parity), EQ(all, size * (size - 1) / 2);
  OK(MPI_Comm_free(&half));
}

static void inter_other_side(void) {
  MPI_Comm inter;
  int sum = -1, theirs = 0;
  if (size < 2) return;
  OK(MPI_Comm_split(comm, rank % 2, 0, &half));
  OK(MPI_Intercomm_create(half, 0, comm, 1 - rank % 2, 5, &inter));
  for (int who = 1 - rank % 2; who < size; who += 2) theirs += who;
  OK(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, inter));
  EQ(sum, theirs);  // the result is that of the other group
  int token = rank == 0 ? 42 : -1;
  OK(MPI_Bcast(&token, 1, MPI_INT,
               rank == 0       ? MPI_ROOT
               : rank % 2 == 0 ? MPI_PROC_NULL
                               : 0,
               inter));
  EQ(token, rank % 2 == 1 || rank == 0 ? 42 : -1);
  OK(MPI_Comm_free(&inter));
  OK(MPI_Comm_free(&half));
}

static const Rule table[] = {
    {"6.1-zero-counts", zero_counts, "counts of zero move nothing, and need no buffers"},
    {"6.4-types-differ", bcast_types,
     "ranks may describe the data by different types of equal signature"},
    {"6.5-significant-at-root", only_at_root,
     "arguments significant at the root only are not read elsewhere"},
    {"6.5-gatherv-places", gatherv_places,
     "each part lies where displs says; gaps are not touched"},
    {"6.5-in-place-moves", in_place_moves,
     "with MPI_IN_PLACE the own part is taken from, or stays in, its place"},
    {"6.8-alltoallw", alltoallw, "Alltoallw has a type for each rank, and displacements in bytes"},
    {"6.9.1-rank-order", rank_order,
     "an operation that does not commute is applied in the order of ranks"},
    {"6.9.1-in-place", in_place_reductions,
     "with MPI_IN_PLACE the receive buffer holds the caller's operand"},
    {"6.9.2-logical", logical, "logical operations take any nonzero value as true"},
    {"6.9.4-minloc-ties", minloc_ties, "MINLOC and MAXLOC choose the least index of equal values"},
    {"6.9.5-user-op-types", user_op_types,
     "a user's operation gets the type of the call; holes stay untouched"},
    {"6.9.6-same-everywhere", same_everywhere, "all ranks get the same result of Allreduce"},
    {"6.9.7-reduce-local", reduce_local, "Reduce_local computes inoutbuf = inbuf op inoutbuf"},
    {"6.9.2-replace-no-op", replace_no_op,
     "MPI_REPLACE and MPI_NO_OP are for one-sided communication only"},
    {"6.11.2-exscan", exscan_first, "Exscan's result on rank 1 is the operand of rank 0"},
    {"6.12-out-of-order", out_of_order, "nonblocking collectives may be completed in any order"},
    {"6.12-two-communicators", two_communicators,
     "those of different communicators may start in different orders"},
    {"6.12-apart-from-messages", apart_from_messages,
     "collectives and messages of a communicator do not mix"},
    {"6.12-no-wait", no_wait_for_others, "starting a nonblocking collective waits for nobody"},
    {"6.12-no-cancel", no_cancel_no_free,
     "a nonblocking collective can be neither cancelled nor freed"},
    {"6.12-request-null", status_of_collective,
     "a completed nonblocking collective's request is null"},
    {"6.12-free-in-flight", free_in_flight,
     "communicator, type and operation may be freed while it is under way"},
    {"6.13-rounds", persistent_rounds,
     "a persistent collective uses the buffers' contents of each start"},
    {"6.13-any-order", persistent_any_order, "persistent collectives may be started in any order"},
    {"6.13-inactive", persistent_inactive, "an inactive one is complete, with an empty status"},
    {"6.14-overlapping-comms", overlapping_comms,
     "communicators that share ranks do not disturb each other"},
    {"6.2.3-inter", inter_other_side,
     "over an intercommunicator a group gets what the other one gave"},
};
RULES(table)
