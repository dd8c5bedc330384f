// SPDX-License-Identifier: Apache-2.0
// Random legal programs whose end is known: soak SEED ROUNDS DEPTH BYTES. In each round the ranks
// post receives, send, receive and complete in random ways what plan.h has drawn, beside
// collectives that are under way; every byte and status is compared. DEPTH: messages of a round, at
// most.
#include "plan.h"

enum { room_max = 1 << 16 };

// --- data. A layout of 3 bytes out of 5 stands for types that are not one block.
static MPI_Datatype threes;
static int may_be_sparse(int bytes) {
  return bytes % 3 == 0 && bytes <= room_max;
}
typedef struct {
  unsigned char* at;
  int bytes, sparse;
} Data;
static Data new_data(int bytes, int sparse) {
  const Data d = {alloc((size_t)(sparse ? bytes / 3 * 5 : bytes) + 1), bytes, sparse};
  return d;
}
static size_t offset(const Data* d, int i) {
  return d->sparse ? (size_t)(i / 3 * 5 + i % 3) : (size_t)i;
}
static int count_of(const Data* d) {
  return d->sparse ? d->bytes / 3 : d->bytes;
}
static MPI_Datatype type_of(const Data* d) {
  return d->sparse ? threes : MPI_BYTE;
}
static unsigned char byte_of(int message, int i) {
  if (i < 4) return (unsigned char)((unsigned)message >> (8 * i));  // its number
  return pattern_((size_t)i, (unsigned)message);
}

// --- what is under way
typedef struct {
  int count, room;
  MPI_Request* requests;
  MPI_Status* statuses;
  int* receives;  // of each: which receive it is, or -1
} Pending;
static Pending pending;
static MPI_Request* add_pending(int receive) {
  if (pending.count == pending.room) {
    pending.room = pending.room * 2 + 64;
    const size_t n = (size_t)pending.room;
    pending.requests = realloc(pending.requests, n * sizeof *pending.requests);
    pending.statuses = realloc(pending.statuses, n * sizeof *pending.statuses);
    pending.receives = realloc(pending.receives, n * sizeof *pending.receives);
    if (!pending.requests || !pending.statuses || !pending.receives) DIE("no memory");
  }
  pending.receives[pending.count] = receive;
  return &pending.requests[pending.count++];
}

// Complete requests [first, first + n), in one of the ways.
static void complete(int first, int n) {
  MPI_Request* requests = pending.requests + first;
  MPI_Status *statuses = pending.statuses + first, some[64];
  int indices[64], done = 0, flag = 0;
  const int way = below(6);
  if (way >= 4 || n > 64) {
    OK(MPI_Waitall(n, requests, statuses));
  } else if (way == 0) {
    for (MPI_Status status; done < n; ++done) {
      OK(MPI_Waitany(n, requests, &indices[0], &status));
      statuses[indices[0]] = status;
    }
  } else if (way == 1) {
    for (int m; done < n; done += m) {
      OK(MPI_Waitsome(n, requests, &m, indices, some));
      for (int i = 0; i < m; ++i) statuses[indices[i]] = some[i];
    }
  } else if (way == 2) {
    while (!flag) OK(MPI_Testall(n, requests, &flag, statuses));
  } else {
    for (int i = n; i-- > 0;)
      for (flag = 0; !flag;) OK(MPI_Test(&requests[i], &flag, &statuses[i]));
  }
}

static void complete_all(MPI_Status* of_receives) {
  for (int at = 0; at < pending.count;) {
    int n = chance(20) ? pending.count : 1 + below(64);
    if (n > pending.count - at) n = pending.count - at;
    complete(at, n);
    at += n;
  }
  for (int i = 0; i < pending.count; ++i) {
    if (pending.receives[i] >= 0) of_receives[pending.receives[i]] = pending.statuses[i];
    if (pending.requests[i] != MPI_REQUEST_NULL)  // a persistent one
      OK(MPI_Request_free(&pending.requests[i]));
  }
  pending.count = 0;
}

// --- collectives under way during the round; all ranks of a communicator draw the same
enum { collectives_max = 300, words_max = 2000 };
typedef struct {
  int what, comm, words, root;
  unsigned *in, *out;
} Collective;
static unsigned value(int number, int who, int i) {
  return (unsigned)(number * 1000003 + who * 7919 + i);
}
static void begin_collective(Collective* c, int number) {
  const int n = size_of(c->comm), me = rank_in(c->comm, rank);
  const size_t words = (size_t)c->words;
  c->in = alloc(words * sizeof(unsigned));
  c->out = alloc(words * sizeof(unsigned) * (size_t)n);
  c->root %= n;
  for (int i = 0; i < c->words; ++i) c->in[i] = value(number, me, i);
  MPI_Request* request = add_pending(-1);
  const MPI_Comm on = comm[c->comm];
  if (c->what == 0) {
    OK(MPI_Ibarrier(on, request));
  } else if (c->what == 1) {
    OK(MPI_Iallreduce(c->in, c->out, c->words, MPI_UNSIGNED, MPI_SUM, on, request));
  } else if (c->what == 2) {
    OK(MPI_Ibcast(c->in, c->words, MPI_UNSIGNED, c->root, on, request));
  } else if (c->what == 3) {
    OK(MPI_Iallgather(c->in, c->words, MPI_UNSIGNED, c->out, c->words, MPI_UNSIGNED, on, request));
  } else {
    OK(MPI_Ireduce(c->in, c->out, c->words, MPI_UNSIGNED, MPI_MAX, c->root, on, request));
  }
}
static void check_collective(Collective* c, int number) {
  const int n = size_of(c->comm), me = rank_in(c->comm, rank);
  for (int i = 0; i < c->words; ++i) {
    unsigned sum = 0, max = 0;
    for (int r = 0; r < n; ++r) {
      const unsigned v = value(number, r, i);
      sum += v;
      if (v > max) max = v;
      if (c->what == 3 && c->out[r * c->words + i] != v) EQ(c->out[r * c->words + i], v);
    }
    if (c->what == 1 && c->out[i] != sum) EQ(c->out[i], sum);
    if (c->what == 2 && c->in[i] != value(number, c->root, i))
      EQ(c->in[i], value(number, c->root, i));
    if (c->what == 4 && me == c->root && c->out[i] != max) EQ(c->out[i], max);
  }
  ++checks;
  free(c->in);
  free(c->out);
}

// --- a round
static const Plan* plan;
static Data* got;        // of each receive
static MPI_Status* how;  // of each receive

static int source_of(const Receive* r) {
  return r->from == MPI_ANY_SOURCE ? MPI_ANY_SOURCE : rank_in(r->comm, r->from);
}

static void receive(int i, int early) {
  const Receive* r = &plan->mine[i];
  const int source = source_of(r), known = r->message >= 0;
  got[i] = new_data(r->room, known && may_be_sparse(r->room) && chance(30));
  void* const at = got[i].at;
  const MPI_Datatype type = type_of(&got[i]);
  const int count = count_of(&got[i]), way = below(6);
  const MPI_Comm on = comm[r->comm];
  MPI_Message message;
  if (early && way == 0) {
    MPI_Request* request = add_pending(i);
    OK(MPI_Recv_init(at, count, type, source, r->tag, on, request));
    OK(MPI_Start(request));
  } else if (early || way < 2) {
    OK(MPI_Irecv(at, count, type, source, r->tag, on, add_pending(i)));
  } else if (way == 2) {
    OK(MPI_Recv(at, count, type, source, r->tag, on, &how[i]));
  } else if (way == 3) {
    OK(MPI_Probe(source, r->tag, on, &how[i]));
    OK(MPI_Recv(at, count, type, how[i].MPI_SOURCE, how[i].MPI_TAG, on, &how[i]));
  } else if (way == 4) {
    OK(MPI_Mprobe(source, r->tag, on, &message, &how[i]));
    OK(MPI_Imrecv(at, count, type, &message, add_pending(i)));
  } else {
    int flag = 0;
    while (!flag) OK(MPI_Improbe(source, r->tag, on, &flag, &message, &how[i]));
    OK(MPI_Mrecv(at, count, type, &message, &how[i]));
  }
}

enum { blocking_ways = 4, nonblocking_ways = 4 };
static void send(int number, const Data* d) {
  const Message* m = &plan->messages[number];
  const int to = rank_in(m->comm, m->to), count = count_of(d);
  const MPI_Datatype type = type_of(d);
  const MPI_Comm on = comm[m->comm];
  int (*const begin[])(const void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request*) = {
      MPI_Isend, MPI_Issend, MPI_Ibsend, MPI_Irsend};
  int (*const make[])(const void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request*) = {
      MPI_Send_init, MPI_Ssend_init, MPI_Bsend_init, MPI_Rsend_init};
  int (*const whole[])(const void*, int, MPI_Datatype, int, int, MPI_Comm) = {MPI_Send, MPI_Ssend,
                                                                              MPI_Bsend, MPI_Rsend};
  // Ready sends and those that wait need receives that are posted.
  const int mode = below(plan->ready ? 4 : 3), way = below(plan->ready ? 3 : 2);
  if (way == 2) {
    OK(whole[mode](d->at, count, type, to, m->tag, on));
  } else if (way == 1 && chance(20)) {
    MPI_Request* request = add_pending(-1);
    OK(make[mode](d->at, count, type, to, m->tag, on, request));
    OK(MPI_Start(request));
  } else {
    OK(begin[mode](d->at, count, type, to, m->tag, on, add_pending(-1)));
  }
}

// A message is the one of this number, as one of its bytes after the other says.
static void check_data(const Data* d, int message) {
  ++checks;
  for (int i = 0; i < plan->messages[message].bytes; ++i)
    if (d->at[offset(d, i)] != byte_of(message, i)) {
      fail_(__FILE__, __LINE__, "byte %d of %d of message %d is 0x%02x, expected 0x%02x", i,
            plan->messages[message].bytes, message, d->at[offset(d, i)], byte_of(message, i));
      return;
    }
}

static void check_receives(void) {
  // The newest message of each source that a receive from any source has got.
  int* newest = alloc(sizeof(int) * (size_t)size * 2 * comms * 3);
  for (int i = 0; i < size * 2 * comms * 3; ++i) newest[i] = -1;
  unsigned char* taken = calloc((size_t)plan->count, 1);
  for (int i = 0; i < plan->receives; ++i) {
    const Receive* r = &plan->mine[i];
    int number = r->message;
    if (number < 0) {
      number = (int)(got[i].at[0] | got[i].at[1] << 8 | got[i].at[2] << 16 |
                     (unsigned)got[i].at[3] << 24);
      CHECK(number >= 0 && number < plan->count, "a message says that it is number %d of %d",
            number, plan->count);
      if (number < 0 || number >= plan->count) continue;
      const Message* m = &plan->messages[number];
      CHECK(m->to == rank && m->kind == r->kind && m->comm == r->comm &&
                (r->tag == MPI_ANY_TAG || r->tag == m->tag),
            "message %d does not fit receive %d", number, i);
      int* last = &newest[((m->from * 2 + (m->kind == any)) * comms + m->comm) * 3 +
                          (m->kind == any ? 0 : m->tag - shared_tag)];
      CHECK(number > *last, "message %d of rank %d was overtaken by %d", number, m->from, *last);
      *last = number;
    }
    const Message* m = &plan->messages[number];
    CHECK(!taken[number], "message %d came twice", number);
    taken[number] = 1;
    STATUS(&how[i], rank_in(m->comm, m->from), m->tag, m->bytes);
    check_data(&got[i], number);
    free(got[i].at);
  }
  free(taken);
  free(newest);
}

static void run_round(uint64_t seed, int depth, int longest) {
  Plan p = make_plan(seed, depth, longest);
  plan = &p;
  got = alloc(sizeof(Data) * (size_t)p.count);
  how = alloc(sizeof(MPI_Status) * (size_t)p.count);
  Data* out = alloc(sizeof(Data) * (size_t)p.count);
  size_t buffered = 0;
  for (int i = 0; i < p.count; ++i) {
    const int bytes = p.messages[i].bytes;
    if (p.messages[i].from != rank) continue;
    buffered += (size_t)bytes + MPI_BSEND_OVERHEAD + 64;
    out[i] = new_data(bytes, may_be_sparse(bytes) && chance(30));
    for (int b = 0; b < bytes; ++b) out[i].at[offset(&out[i], b)] = byte_of(i, b);
  }
  void* buffer = alloc(buffered);
  OK(MPI_Buffer_attach(buffer, (int)buffered));

  const uint64_t own = random_state;
  random_state = seed + 1;
  static Collective collective[collectives_max];
  const int collectives = below(chance(10) ? collectives_max : 40);
  for (int i = 0; i < collectives; ++i) {
    collective[i].what = below(5);
    collective[i].comm = below(comms);
    collective[i].words = 1 + below(words_max);
    collective[i].root = below(size);
  }
  random_state = own;

  const int early = p.ready ? p.receives : p.receives > 0 ? below(p.receives + 1) : 0;
  int begun = 0;
  for (int i = 0; i < early; ++i) receive(i, 1);
  if (p.ready) OK(MPI_Barrier(MPI_COMM_WORLD));
  for (int i = 0; i < p.count; ++i) {
    if (begun < collectives && chance(10)) begin_collective(&collective[begun], begun), ++begun;
    if (p.messages[i].from == rank) send(i, &out[i]);
  }
  for (; begun < collectives; ++begun) begin_collective(&collective[begun], begun);
  for (int i = early; i < p.receives; ++i) receive(i, 0);
  complete_all(how);
  OK(MPI_Barrier(MPI_COMM_WORLD));  // or a wildcard would take messages of the next round
  check_receives();
  for (int i = 0; i < collectives; ++i) check_collective(&collective[i], i);

  void* detached = NULL;
  int length = 0;
  OK(MPI_Buffer_detach(&detached, &length));
  free(buffer);
  for (int i = 0; i < p.count; ++i)
    if (p.messages[i].from == rank) free(out[i].at);
  free(out);
  free(got);
  free(how);
  free_plan(&p);
}

int main(int argc, char** argv) {
  start(&argc, &argv);
  if (argc != 5) DIE("usage: soak SEED ROUNDS DEPTH BYTES");
  const uint64_t seed = strtoull(argv[1], NULL, 10);
  OK(MPI_Type_vector(1, 3, 5, MPI_BYTE, &threes));
  MPI_Datatype wide;
  OK(MPI_Type_create_resized(threes, 0, 5, &wide));
  OK(MPI_Type_free(&threes));
  threes = wide;
  OK(MPI_Type_commit(&threes));
  make_comms();
  for (int round = 0; round < atoi(argv[2]); ++round)
    run_round(seed * 1000003 + (uint64_t)round * 2, atoi(argv[3]), atoi(argv[4]));
  free_comms();
  OK(MPI_Type_free(&threes));
  return finish();
}
