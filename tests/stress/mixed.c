// SPDX-License-Identifier: Apache-2.0
// Mixed calls from several threads of each rank at once, for so many seconds; all data is checked.
//
//   mixed [seconds [threads [seed]]]
//
// Thread t of every rank takes part in the same random sequence of acts, with a communicator of its
// own and one that all threads share (its tags are then its own). A failure names act, thread,
// round and seed.
#include <pthread.h>
#include <unistd.h>

#include "../rank/check.h"

enum { most_threads = 32, most_bytes = 200000, rounds_per_look = 20, tags = 100 };

struct thread {
  int me;
  MPI_Comm own, shared;
  uint64_t random;
  long round;
  const char* act;
  long wrong, acts;
  unsigned char *out, *in;
  pthread_t handle;
};
static MPI_Comm everybody;
static double end_at;
static long seed = 1;

/* The same on all ranks. */
static unsigned chance(struct thread* t, unsigned below) {
  t->random = t->random * 6364136223846793005U + 1442695040888963407U;
  return (unsigned)(t->random >> 33) % below;
}

/* Mostly short messages, some of each protocol. */
static int any_size(struct thread* t) {
  static const int limits[] = {8, 33, 300, 9000, 40000, most_bytes};
  return 1 + (int)chance(t, (unsigned)limits[chance(t, 6)]);
}

static unsigned char byte_of(const struct thread* t, int from, int salt, int i) {
  return (unsigned char)(from * 31 + t->me * 7 + (int)t->round * 3 + salt * 13 + i);
}

static void write_bytes(const struct thread* t, unsigned char* data, int salt, int n) {
  for (int i = 0; i < n; ++i) data[i] = byte_of(t, rank, salt, i);
}

static void expect(struct thread* t, int good, const char* what) {
  if (good || ++t->wrong > 3) return;
  fprintf(stderr, "mixed: rank %d, thread %d, round %ld, seed %ld, %s: %s\n", rank, t->me, t->round,
          seed, t->act, what);
}

static void compare(struct thread* t, const unsigned char* data, int from, int salt, int n) {
  for (int i = 0; i < n; ++i)
    if (data[i] != byte_of(t, from, salt, i)) return expect(t, 0, "wrong data");
}

static MPI_Comm either(struct thread* t) {
  return chance(t, 2) ? t->own : t->shared;
}

/* --- acts: all ranks' threads of one number do the same ------------------------------------- */
static void act_modes(struct thread* t) {
  const MPI_Comm c = either(t);
  const int n = any_size(t), tag = t->me, mode = (int)chance(t, 4);
  MPI_Request r;
  MPI_Status status;
  int count;
  write_bytes(t, t->out, 0, n);
  MPI_Irecv(t->in, most_bytes, MPI_BYTE, left_of(rank), tag, c, &r);
  if (mode == 0) MPI_Send(t->out, n, MPI_BYTE, right_of(rank), tag, c);
  if (mode == 1) MPI_Ssend(t->out, n, MPI_BYTE, right_of(rank), tag, c);
  if (mode == 2) MPI_Bsend(t->out, n, MPI_BYTE, right_of(rank), tag, c);
  if (mode == 3) {
    MPI_Barrier(t->own); /* all have posted their receives */
    MPI_Rsend(t->out, n, MPI_BYTE, right_of(rank), tag, c);
  }
  MPI_Wait(&r, &status);
  MPI_Get_count(&status, MPI_BYTE, &count);
  expect(t, count == n && status.MPI_SOURCE == left_of(rank) && status.MPI_TAG == tag, "status");
  compare(t, t->in, left_of(rank), 0, n);
}

static void act_sendrecv(struct thread* t) {
  const int n = any_size(t);
  write_bytes(t, t->out, 1, n);
  if (chance(t, 2)) {
    MPI_Sendrecv(t->out, n, MPI_BYTE, right_of(rank), t->me, t->in, n, MPI_BYTE, left_of(rank),
                 t->me, t->shared, MPI_STATUS_IGNORE);
    compare(t, t->in, left_of(rank), 1, n);
  } else {
    MPI_Sendrecv_replace(t->out, n, MPI_BYTE, right_of(rank), 5, left_of(rank), 5, t->own,
                         MPI_STATUS_IGNORE);
    compare(t, t->out, left_of(rank), 1, n);
  }
}

static void act_wildcards(struct thread* t) {
  const int n = 1 + (int)chance(t, 400);
  MPI_Request r[64];
  int seen = 0;
  write_bytes(t, t->out, 2, n);
  for (int to = 0; to < size; ++to)
    MPI_Isend(t->out, n, MPI_BYTE, to, 40 + rank % 8, t->own, &r[to % 64]);
  for (int i = 0; i < size; ++i) {
    MPI_Status status;
    MPI_Recv(t->in, most_bytes, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, t->own, &status);
    expect(t, status.MPI_TAG == 40 + status.MPI_SOURCE % 8, "tag of a wildcard");
    compare(t, t->in, status.MPI_SOURCE, 2, n);
    seen += status.MPI_SOURCE;
  }
  MPI_Waitall(size, r, MPI_STATUSES_IGNORE);
  expect(t, seen == size * (size - 1) / 2, "a message from each");
  MPI_Barrier(t->own); /* the next act's messages must not match these wildcards */
}

static void act_probes(struct thread* t) {
  const MPI_Comm c = either(t);
  const int n = any_size(t), kind = (int)chance(t, 4);
  MPI_Request r;
  MPI_Status status;
  MPI_Message message;
  int count, flag = 0;
  write_bytes(t, t->out, 3, n);
  MPI_Isend(t->out, n, MPI_BYTE, right_of(rank), t->me, c, &r);
  if (kind == 0) MPI_Probe(left_of(rank), t->me, c, &status);
  if (kind == 1)
    while (!flag) MPI_Iprobe(MPI_ANY_SOURCE, t->me, c, &flag, &status);
  if (kind == 2) MPI_Mprobe(left_of(rank), t->me, c, &message, &status);
  if (kind == 3)
    while (!flag) MPI_Improbe(left_of(rank), t->me, c, &flag, &message, &status);
  MPI_Get_count(&status, MPI_BYTE, &count);
  expect(t, count == n, "size of a probed message");
  if (kind < 2)
    MPI_Recv(t->in, count, MPI_BYTE, status.MPI_SOURCE, t->me, c, MPI_STATUS_IGNORE);
  else
    MPI_Mrecv(t->in, count, MPI_BYTE, &message, MPI_STATUS_IGNORE);
  compare(t, t->in, left_of(rank), 3, n);
  MPI_Wait(&r, MPI_STATUS_IGNORE);
}

static void act_many(struct thread* t) {
  enum { most = 12 };
  const int n = 1 + (int)chance(t, most), bytes = 1 + (int)chance(t, most_bytes / most);
  const int how = (int)chance(t, 5);
  MPI_Request r[2 * most];
  int indices[2 * most], done = 0, flag = 0, index;
  for (int k = 0; k < n; ++k) {
    write_bytes(t, t->out + k * bytes, k, bytes);
    MPI_Irecv(t->in + k * bytes, bytes, MPI_BYTE, left_of(rank), t->me, t->shared, &r[2 * k]);
    if (k % 2)
      MPI_Issend(t->out + k * bytes, bytes, MPI_BYTE, right_of(rank), t->me, t->shared,
                 &r[2 * k + 1]);
    else
      MPI_Isend(t->out + k * bytes, bytes, MPI_BYTE, right_of(rank), t->me, t->shared,
                &r[2 * k + 1]);
  }
  while (done < 2 * n) {
    int some = 0;
    if (how == 0) MPI_Waitall(2 * n, r, MPI_STATUSES_IGNORE), some = 2 * n;
    if (how == 1) MPI_Waitany(2 * n, r, &index, MPI_STATUS_IGNORE), some = 1;
    if (how == 2) MPI_Waitsome(2 * n, r, &some, indices, MPI_STATUSES_IGNORE);
    if (how == 3) MPI_Testsome(2 * n, r, &some, indices, MPI_STATUSES_IGNORE);
    if (how == 4) MPI_Testall(2 * n, r, &flag, MPI_STATUSES_IGNORE), some = flag ? 2 * n : 0;
    done += some;
  }
  for (int k = 0; k < n; ++k) compare(t, t->in + k * bytes, left_of(rank), k, bytes);
}

static void act_collectives(struct thread* t) {
  const int n = 1 + (int)chance(t, 3000), root = (int)chance(t, (unsigned)size);
  int *mine = (int*)t->out, *all = (int*)t->in;
  MPI_Request r[2];
  for (int i = 0; i < n; ++i) mine[i] = rank + i + (int)t->round;
  switch (chance(t, 6)) {
    case 0:
      MPI_Allreduce(mine, all, n, MPI_INT, MPI_SUM, t->own);
      for (int i = 0; i < n; ++i)
        expect(t, all[i] == size * (size - 1) / 2 + size * (i + (int)t->round), "allreduce");
      break;
    case 1:
      if (rank != root) memset(mine, 0, (size_t)n * sizeof *mine);
      MPI_Bcast(mine, n, MPI_INT, root, t->own);
      expect(t, mine[n - 1] == root + n - 1 + (int)t->round, "bcast");
      break;
    case 2:
      MPI_Scan(mine, all, n, MPI_INT, MPI_MAX, t->own);
      expect(t, all[n - 1] == rank + n - 1 + (int)t->round, "scan");
      break;
    case 3: {
      const int each = 1 + n / size;
      for (int to = 0; to < size; ++to) mine[to * each] = rank * 1000 + to;
      MPI_Alltoall(mine, each, MPI_INT, all, each, MPI_INT, t->own);
      for (int from = 0; from < size; ++from)
        expect(t, all[from * each] == from * 1000 + rank, "alltoall");
      break;
    }
    case 4:
      MPI_Iallreduce(mine, all, n, MPI_INT, MPI_MAX, t->own, &r[0]);
      MPI_Ibarrier(t->own, &r[1]);
      MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
      expect(t, all[0] == size - 1 + (int)t->round, "iallreduce");
      break;
    default:
      MPI_Gather(mine, 1, MPI_INT, all, 1, MPI_INT, root, t->own);
      for (int from = 0; rank == root && from < size; ++from)
        expect(t, all[from] == from + (int)t->round, "gather");
  }
}

static void act_communicators(struct thread* t) {
  MPI_Comm made;
  MPI_Request r;
  int sum = 0, made_rank;
  if (chance(t, 4) != 0) return; /* seldom: it is slow */
  const int kind = (int)chance(t, 3);
  if (kind == 0) MPI_Comm_dup(t->own, &made);
  if (kind == 1) MPI_Comm_split(t->own, rank % 2, -rank, &made);
  if (kind == 2) {
    MPI_Comm_idup(t->own, &made, &r);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
  }
  MPI_Comm_rank(made, &made_rank);
  MPI_Allreduce(&made_rank, &sum, 1, MPI_INT, MPI_SUM, made);
  const int members = kind == 1 ? (size + 1 - rank % 2) / 2 : size;
  expect(t, sum == members * (members - 1) / 2, "sum of ranks in a new communicator");
  MPI_Comm_free(&made);
}

static void act_types(struct thread* t) {
  const int blocks = 1 + (int)chance(t, 300), length = 1 + (int)chance(t, 9),
            gap = (int)chance(t, 5);
  const int n = blocks * length, stride = length + gap;
  MPI_Datatype vector;
  MPI_Request r;
  MPI_Type_vector(blocks, length, stride, MPI_BYTE, &vector);
  MPI_Type_commit(&vector);
  for (int b = 0; b < blocks; ++b)
    for (int i = 0; i < length; ++i) t->out[b * stride + i] = byte_of(t, rank, 4, b * length + i);
  MPI_Irecv(t->in, n, MPI_BYTE, left_of(rank), t->me, t->own, &r);
  MPI_Send(t->out, 1, vector, right_of(rank), t->me, t->own);
  MPI_Type_free(&vector);
  MPI_Wait(&r, MPI_STATUS_IGNORE);
  compare(t, t->in, left_of(rank), 4, n);
}

static void act_persistent(struct thread* t) {
  const int n = any_size(t);
  MPI_Request r[2];
  MPI_Send_init(t->out, n, MPI_BYTE, right_of(rank), t->me, t->shared, &r[0]);
  MPI_Recv_init(t->in, n, MPI_BYTE, left_of(rank), t->me, t->shared, &r[1]);
  for (int k = 0; k < 3; ++k) {
    write_bytes(t, t->out, k, n);
    MPI_Startall(2, r);
    MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
    compare(t, t->in, left_of(rank), k, n);
  }
  MPI_Request_free(&r[0]);
  MPI_Request_free(&r[1]);
}

static void act_cancel(struct thread* t) {
  MPI_Request r;
  MPI_Status status;
  int cancelled = 0, n = 0;
  MPI_Irecv(t->in, 10, MPI_BYTE, left_of(rank), tags + t->me, t->shared,
            &r); /* nobody sends that */
  MPI_Test(&r, &n, MPI_STATUS_IGNORE);
  MPI_Cancel(&r);
  MPI_Wait(&r, &status);
  MPI_Test_cancelled(&status, &cancelled);
  expect(t, n == 0 && cancelled, "a receive that nobody sends to is cancelled");
}

static int freed_attributes;
static int delete_attribute(MPI_Comm c, int key, void* value, void* state) {
  (void)c, (void)key, (void)value;
  __atomic_add_fetch((int*)state, 1, __ATOMIC_RELAXED);
  return MPI_SUCCESS;
}

static void act_objects(struct thread* t) {
  MPI_Info info;
  MPI_Group group, part;
  int key, flag, members, first = 0;
  char value[32] = "", wanted[32];
  void* found = NULL;
  snprintf(wanted, sizeof wanted, "%ld", t->round);
  MPI_Info_create(&info);
  MPI_Info_set(info, "round", wanted);
  int room = sizeof value;
  MPI_Info_get_string(info, "round", &room, value, &flag);
  expect(t, flag && strcmp(value, wanted) == 0, "info");
  MPI_Info_free(&info);
  MPI_Comm_group(t->own, &group);
  MPI_Group_incl(group, 1, &first, &part);
  MPI_Group_size(part, &members);
  expect(t, members == 1, "group");
  MPI_Group_free(&part);
  MPI_Group_free(&group);
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, delete_attribute, &key, &freed_attributes);
  MPI_Comm_set_attr(t->own, key, t);
  MPI_Comm_get_attr(t->own, key, &found, &flag);
  expect(t, flag && found == t, "attribute");
  MPI_Comm_delete_attr(t->own, key);
  MPI_Comm_free_keyval(&key);
}

static void act_self(struct thread* t) {
  const int n = any_size(t);
  MPI_Request r[2];
  write_bytes(t, t->out, 6, n);
  MPI_Isend(t->out, n, MPI_BYTE, rank, t->me, t->shared, &r[0]);
  MPI_Irecv(t->in, n, MPI_BYTE, rank, t->me, t->shared, &r[1]);
  MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
  compare(t, t->in, rank, 6, n);
}

#define ACT(name) \
  { #name, act_##name }
static const struct {
  const char* name;
  void (*act)(struct thread*);
} acts[] = {ACT(modes),  ACT(sendrecv), ACT(wildcards),  ACT(probes),
            ACT(many),   ACT(types),    ACT(persistent), ACT(communicators),
            ACT(cancel), ACT(objects),  ACT(self),       ACT(collectives)};
enum { kinds = sizeof acts / sizeof acts[0] };

static void* work(void* argument) {
  struct thread* t = argument;
  int go_on = 1;
  for (t->round = 0; go_on; ++t->round) {
    const unsigned kind = chance(t, kinds);
    t->act = acts[kind].name;
    acts[kind].act(t);
    ++t->acts;
    if (t->round % rounds_per_look != 0) continue;
    go_on = MPI_Wtime() < end_at && t->wrong == 0;
    MPI_Allreduce(MPI_IN_PLACE, &go_on, 1, MPI_INT, MPI_MIN, t->own);
  }
  return NULL;
}

int main(int argc, char** argv) {
  static struct thread thread[most_threads];
  int provided;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  CHECK(provided == MPI_THREAD_MULTIPLE, "MPI_Init_thread provides level %d", provided);
  const double seconds = argc > 1 ? atof(argv[1]) : 3;
  const int threads = argc > 2 ? atoi(argv[2]) : 8;
  if (argc > 3) seed = atol(argv[3]);
  if (threads < 1 || threads > most_threads || size > 64)
    DIE("%d threads and %d ranks; at most %d and 64", threads, size, most_threads);
  MPI_Comm_dup(MPI_COMM_WORLD, &everybody);
  end_at = MPI_Wtime() + seconds;
  for (int i = 0; i < threads; ++i) {
    struct thread* t = &thread[i];
    t->me = i;
    t->random = (uint64_t)(seed * 1000 + i);
    t->shared = everybody;
    t->out = malloc(most_bytes);
    t->in = malloc(most_bytes);
    MPI_Comm_dup(MPI_COMM_WORLD, &t->own);
    MPI_Comm_attach_buffer(t->own, MPI_BUFFER_AUTOMATIC, 0);
  }
  MPI_Comm_attach_buffer(everybody, MPI_BUFFER_AUTOMATIC, 0);
  for (int i = 0; i < threads; ++i)
    if (pthread_create(&thread[i].handle, NULL, work, &thread[i])) DIE("cannot make a thread");
  long done = 0, least = 0;
  for (int i = 0; i < threads; ++i) {
    pthread_join(thread[i].handle, NULL);
    CHECK(thread[i].wrong == 0, "thread %d: %ld things wrong", i, thread[i].wrong);
    CHECK(thread[i].acts > 0, "thread %d did nothing", i);
    done += thread[i].acts;
    least = i == 0 || thread[i].acts < least ? thread[i].acts : least;
    MPI_Comm_free(&thread[i].own);
    free(thread[i].out);
    free(thread[i].in);
  }
  MPI_Comm_free(&everybody);
  if (rank == 0)
    fprintf(stderr, "%ld acts of %d threads of each rank, at least %ld of one\n", done, threads,
            least);
  return finish();
}
