// SPDX-License-Identifier: Apache-2.0
// The plan of a round: messages that all ranks draw alike from the seed, the receives of this rank
// in the order of their posting, and by a reference matcher (MPI-5.0 §3.5) what each of them gets.
//
// Every message is received whatever the timing, because receives with wildcards only meet messages
// that any assignment fits:
//   named       a source and a tag; the k-th such receive gets the k-th such message
//   any_tag     on a communicator of their own, mixed with named ones: first come, first served, in
//               the order of one source's messages
//   any_source  with tags of their own; named ones may be posted before them
//   any         neither source nor tag named, on a communicator of their own; likewise
#ifndef WEFT_TESTS_SOAK_PLAN_H
#define WEFT_TESTS_SOAK_PLAN_H

#include "../rank/check.h"

enum { comms = 5, for_any_tag = 1, for_any = 4, shared_tag = 100000 };
enum kind { named, any_tag, any_source, any, kinds };

typedef struct {
  enum kind kind;
  int comm, from, to;  // ranks of MPI_COMM_WORLD
  int tag, bytes;
} Message;

typedef struct {
  enum kind kind;
  int comm, from, tag;  // `from`: of MPI_COMM_WORLD, or MPI_ANY_SOURCE
  int message;          // the one it must get; -1: one of several
  int room;             // bytes
  uint32_t place;       // in the order of posting
} Receive;

typedef struct {
  int depth;    // messages of all ranks together
  int longest;  // bytes of a message
  int tags;     // that `named` messages have
  int ready;    // 1: all receives are posted before any send
  int count, receives;
  Message* messages;
  Receive* mine;
} Plan;

// --- random numbers, the same on all ranks
static uint64_t random_state;
static inline uint64_t random64(void) {  // splitmix64
  uint64_t z = random_state += 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}
static inline int below(int n) {
  return (int)(random64() % (uint64_t)n);
}
static inline int chance(int percent) {
  return below(100) < percent;
}

// --- communicators: world, a copy, the ranks backwards, odd and even ones, another copy
static MPI_Comm comm[comms];
static inline int color_in(int c, int who) {
  return c == 3 ? who % 2 : 0;
}
static inline int rank_in(int c, int who) {
  return c == 2 ? size - 1 - who : c == 3 ? who / 2 : who;
}
static inline int world_rank_in(int c, int who) {
  return c == 2 ? size - 1 - who : c == 3 ? who * 2 + rank % 2 : who;
}
static inline int size_of(int c) {
  return c == 3 ? (size + 1 - rank % 2) / 2 : size;
}
static void make_comms(void) {
  comm[0] = MPI_COMM_WORLD;
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm[for_any_tag]));
  OK(MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &comm[2]));
  OK(MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &comm[3]));
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm[for_any]));
}
static void free_comms(void) {
  for (int c = 1; c < comms; ++c) OK(MPI_Comm_free(&comm[c]));
}

// --- the messages
static Message draw_message(const Plan* plan) {
  static const int others[] = {0, 2, 3};
  Message m;
  const int k = below(10);
  m.kind = k < 6 ? named : k < 7 ? any_tag : k < 9 ? any_source : any;
  m.comm = m.kind == any_tag ? for_any_tag : m.kind == any ? for_any : others[below(3)];
  m.from = below(size);
  do m.to = below(size);
  while (color_in(m.comm, m.to) != color_in(m.comm, m.from));
  m.tag = m.kind == named        ? below(plan->tags)
          : m.kind == any_source ? shared_tag + below(3)
                                 : below(4);
  m.bytes = chance(50)   ? below(64)
            : chance(80) ? below(plan->longest / 16 + 1)
                         : below(plan->longest + 1);
  if (m.kind >= any_source) m.bytes += 8;  // its number
  return m;
}

// --- the receives of this rank
static const Plan* sorting;
static int by_place(const void* a, const void* b) {
  const uint32_t x = ((const Receive*)a)->place, y = ((const Receive*)b)->place;
  return (x > y) - (x < y);
}
static int by_name(const Receive* a, const Receive* b) {
  return a->comm != b->comm   ? a->comm - b->comm
         : a->from != b->from ? a->from - b->from
                              : a->tag - b->tag;
}
static int receive_by_name(const void* a, const void* b) {
  const int order = by_name(a, b);
  return order != 0 ? order : by_place(a, b);
}
static int message_by_name(const void* a, const void* b) {
  const int i = *(const int*)a, j = *(const int*)b;
  const Message *x = &sorting->messages[i], *y = &sorting->messages[j];
  if (x->comm != y->comm) return x->comm - y->comm;
  if (x->from != y->from) return x->from - y->from;
  return x->tag != y->tag ? x->tag - y->tag : i - j;
}

// Those that name source and tag, and are not among `any_tag`: the k-th gets the k-th message.
static void match_named(Plan* plan) {
  int* in_order = alloc(sizeof(int) * (size_t)plan->count);
  int n = 0;
  for (int i = 0; i < plan->count; ++i)
    if (plan->messages[i].to == rank && plan->messages[i].kind != any_tag) in_order[n++] = i;
  sorting = plan;
  qsort(in_order, (size_t)n, sizeof(int), message_by_name);
  qsort(plan->mine, (size_t)plan->receives, sizeof(Receive), receive_by_name);
  for (int r = 0, i = 0; r < plan->receives; ++r) {
    Receive* to = &plan->mine[r];
    if (to->kind == any_tag || to->from == MPI_ANY_SOURCE) continue;
    for (;; ++i) {
      const Message* m = &plan->messages[in_order[i]];
      const Receive name = {.comm = m->comm, .from = m->from, .tag = m->tag};
      if (by_name(&name, to) == 0) break;
    }
    to->message = in_order[i++];
    to->room = plan->messages[to->message].bytes;
  }
  qsort(plan->mine, (size_t)plan->receives, sizeof(Receive), by_place);
  free(in_order);
}

// In the order of posting each gets the first message of its source that fits and is left; if there
// is none it becomes one of any tag.
static void match_any_tag(Plan* plan) {
  int* left = alloc(sizeof(int) * (size_t)(plan->count + 1));  // the message after each, by source
  int* first = alloc(sizeof(int) * (size_t)size);
  for (int s = 0; s < size; ++s) first[s] = -1;
  for (int i = plan->count; i-- > 0;) {
    const Message* m = &plan->messages[i];
    if (m->kind != any_tag || m->to != rank) continue;
    left[i] = first[m->from];
    first[m->from] = i;
  }
  for (int r = 0; r < plan->receives; ++r) {
    Receive* to = &plan->mine[r];
    if (to->kind != any_tag) continue;
    int* at = &first[to->from];
    while (*at >= 0 && to->tag != MPI_ANY_TAG && plan->messages[*at].tag != to->tag)
      at = &left[*at];
    if (*at < 0) {
      to->tag = MPI_ANY_TAG;
      at = &first[to->from];
    }
    to->message = *at;
    to->room = plan->messages[*at].bytes;
    *at = left[*at];
  }
  free(first);
  free(left);
}

static Receive draw_receive(const Plan* plan, const Message* m) {
  Receive r = {.kind = m->kind, .comm = m->comm, .from = m->from, .tag = m->tag, .message = -1};
  const int wild = m->kind == any_tag ? chance(50) : m->kind > any_tag && chance(70);
  r.place = (uint32_t)random64() >> 1;
  // Wildcards of any source come after the named ones that might want the same messages.
  if (m->kind == named ? chance(50) : m->kind > any_tag && wild) r.place |= 1U << 31;
  if (!wild) return r;
  if (m->kind != any_source) r.tag = MPI_ANY_TAG;
  if (m->kind != any_tag) r.from = MPI_ANY_SOURCE;
  r.room = plan->longest + 8;
  return r;
}

static Plan make_plan(uint64_t seed, int depth, int longest) {
  random_state = seed;
  Plan plan = {.depth = depth, .longest = longest};
  static const int tags[] = {1, 5, 1000, 50000};
  plan.tags = tags[below(4)];
  plan.ready = chance(30);
  plan.count = 1 + below(depth);
  plan.messages = alloc(sizeof(Message) * (size_t)plan.count);
  plan.mine = alloc(sizeof(Receive) * (size_t)plan.count);
  for (int i = 0; i < plan.count; ++i) plan.messages[i] = draw_message(&plan);
  random_state += (uint64_t)rank * 0x2545f4914f6cdd1d;  // from here on each for itself
  for (int i = 0; i < plan.count; ++i)
    if (plan.messages[i].to == rank)
      plan.mine[plan.receives++] = draw_receive(&plan, &plan.messages[i]);
  match_named(&plan);
  match_any_tag(&plan);
  return plan;
}

static void free_plan(Plan* plan) {
  free(plan->messages);
  free(plan->mine);
}

#endif
