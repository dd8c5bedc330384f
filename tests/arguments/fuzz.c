// SPDX-License-Identifier: Apache-2.0
// Every function of MPI with wrong arguments: each wrong value of each parameter has to give an
// error of the right class and nothing else. The table of calls is generated from spec/
// (generate.py).
//
// fuzz: one at a time; also where this rank is not the root, and on intercommunicators.
//
// fuzz random [SECONDS [SEED]]: some at once.
//
// Both also try extreme numbers, which are right or refused as the call likes.
//
// fuzz outside [alone]: before MPI_Init and after MPI_Finalize; alone, without mpiexec, also calls
// whose error ends the process.
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "objects.h"

// --- one call
static void* const constants[] = {MPI_BOTTOM,       MPI_IN_PLACE,      MPI_BUFFER_AUTOMATIC,
                                  MPI_UNWEIGHTED,   MPI_WEIGHTS_EMPTY, (void*)5,
                                  MPI_REQUEST_NULL, (void*)4095};
enum { constant_count = sizeof constants / sizeof constants[0] };

static int is_among(int code, const int* classes) {
  int class = code;
  if (code < MPI_T_ERR_CANNOT_INIT || code > MPI_T_ERR_PVAR_NO_ATOMIC)
    OK(MPI_Error_class(code, &class));
  for (int i = 0; i < classes_max; ++i)
    if (classes[i] != 0 && classes[i] == class) return 1;
  return 0;
}

static int told;
static void tell(const Call* c, const char* name, const Value* value, int code, const char* where) {
  ++failures;
  if (++told > 400) return;
  fprintf(stderr, "rank %d: %s(%s = %p)%s gave %s\n", rank, c->name, name, value ? value->p : NULL,
          where, code == MPI_SUCCESS ? "no error" : error_text_(code));
}

// What a call that succeeded has made.
static void clean_up(const Call* c, const Value* a) {
  for (int k = 0; k < c->nparams; ++k) {
    if (c->params[k].kind != request || c->params[k].direction != out) continue;
    MPI_Request* made = a[k].p;
    if (strcmp(c->name, "MPI_Grequest_start") == 0) OK(MPI_Grequest_complete(*made));
    OK(MPI_Wait(made, MPI_STATUS_IGNORE));
    if (*made != MPI_REQUEST_NULL) OK(MPI_Request_free(made));
  }
  for (int k = 0; k < c->nparams; ++k)
    if (c->params[k].direction == out && a[k].p != NULL) dispose(&c->params[k], a[k].p);
  MPI_Wait(own_persistent(), MPI_STATUS_IGNORE);
  if (strcmp(c->name, "MPI_Cancel") == 0) OK(MPI_Wait(own_active(), MPI_STATUS_IGNORE));
  if (strcmp(c->name, "MPI_Grequest_complete") == 0)
    OK(MPI_Wait(own_grequest(), MPI_STATUS_IGNORE));
  void* buffer_;
  int bytes;
  if (strstr(c->name, "Buffer_attach")) OK(MPI_Buffer_detach(&buffer_, &bytes));
  if (strstr(c->name, "Comm_attach_buffer")) OK(MPI_Comm_detach_buffer(intra, &buffer_, &bytes));
  if (strstr(c->name, "Session_attach_buffer"))
    OK(MPI_Session_detach_buffer(some_session, &buffer_, &bytes));
  if (strcmp(c->name, "MPI_Session_init") == 0) OK(MPI_Session_finalize(a[2].p));
}

static void right(const Call* c, Value* a) {
  variable_count = 0;
  memset(a, 0, sizeof(Value) * params_max);
  for (int k = 0; k < c->nparams; ++k)
    if (c->params[k].direction == out) memset(rooms[k], 0, 64);
  c->good(a);
}

// Parameter k gets a wrong value, or what it points to does.
static void make_wrong(const Param* p, Value* a, int k, Value wrong, int is_constant) {
  static long long copies[params_max][16];
  if (is_constant || p->shape < pointee) {
    a[k] = wrong;
    return;
  }
  memcpy(copies[k], a[k].p, p->shape == element ? sizeof copies[k] : (size_t)p->bytes);
  memcpy(copies[k], &wrong, (size_t)p->bytes);
  a[k].p = copies[k];
}

static const int unsupported[classes_max] = {MPI_ERR_UNSUPPORTED_OPERATION};
static const int not_initialized[classes_max] = {MPI_T_ERR_NOT_INITIALIZED};
typedef void Prepare(const Call*, Value*);

static int values_of(const Param* p, Value* values) {
  return p->bad ? p->bad(values) : 0;
}

static void attempt(const Call* c, int k, Value wrong, int is_constant, Prepare* prepare,
                    const int* only, const char* where) {
  const Param* p = &c->params[k];
  Value a[params_max];
  right(c, a);
  if (prepare) prepare(c, a);
  make_wrong(p, a, k, wrong, is_constant);
  const int code = c->call(a);
  ++checks;
  if (c->flags & no_error) return;
  const int* classes = only ? only : is_constant ? p->pointer_classes : p->classes;
  if (code == MPI_SUCCESS || !is_among(code, classes)) tell(c, p->name, &wrong, code, where);
}

// All wrong values of parameter k.
static void wrong_values(const Call* c, int k, unsigned legal, Prepare* prepare, const int* only,
                         const char* where) {
  const Param* p = &c->params[k];
  Value values[values_max], a[params_max];
  right(c, a);  // makes what it needs: a freed object's place is the next one's
  const int n = values_of(p, values);
  for (int i = 0; i < n; ++i) attempt(c, k, values[i], 0, prepare, only, where);
  for (int i = 0; p->shape != scalar && i < constant_count; ++i)
    if ((legal >> i & 1) == 0) attempt(c, k, (Value){.p = constants[i]}, 1, prepare, only, where);
}

static const long long extremes[] = {0,
                                     1,
                                     -1,
                                     2,
                                     5,
                                     65536,
                                     -65536,
                                     INT_MIN,
                                     INT_MIN + 1,
                                     INT_MAX,
                                     INT_MAX - 1,
                                     1LL << 31,
                                     1LL << 32,
                                     1LL << 46,
                                     INT64_MIN,
                                     INT64_MIN + 1,
                                     INT64_MIN / 2,
                                     INT64_MAX / 3,
                                     INT64_MAX / 2 + 1,
                                     INT64_MAX - 1,
                                     INT64_MAX};
enum { extreme_count = sizeof extremes / sizeof extremes[0] };

// The number, or one of the first three of the array.
static void make_extreme(const Param* p, Value* a, int k, int which, int place) {
  static long long copies[params_max][16];
  const Value value = {.i = extremes[which]};
  if (p->shape == scalar) {
    a[k] = value;
    return;
  }
  if (a[k].p != copies[k])
    memcpy(copies[k], a[k].p, p->shape == element ? sizeof copies[k] : (size_t)p->bytes);
  memcpy((char*)copies[k] + (p->shape == element ? place * p->bytes : 0), &value, (size_t)p->bytes);
  a[k].p = copies[k];
}

static void end_extreme(const Call* c, Value* a) {
  ++checks;
  if (c->call(a) == MPI_SUCCESS && !(c->flags & no_error)) clean_up(c, a);
}

static void extremes_of(const Call* c, int k) {
  const Param* p = &c->params[k];
  Value a[params_max];
  for (int place = 0; place < (p->shape == element ? 3 : 1); ++place)
    for (int i = 0; i < extreme_count; ++i) {
      right(c, a);
      make_extreme(p, a, k, i, place);
      end_extreme(c, a);
    }
}

static void some_extreme(const Call* c, unsigned* seed) {
  Value a[params_max];
  if (!(c->flags & works) || ((c->flags & pairs) && partner < 0)) return;
  right(c, a);
  int n = 0;
  for (int k = 0; k < c->nparams; ++k) {
    if (!c->params[k].any || rand_r(seed) % 3 == 0) continue;
    for (int i = rand_r(seed) % 2; i >= 0; --i, ++n)
      make_extreme(&c->params[k], a, k, rand_r(seed) % extreme_count, rand_r(seed) % 3);
  }
  if (n > 0) end_extreme(c, a);
}

static void all_of(const Call* c) {
  const int* only = c->flags & works ? NULL : unsupported;
  if ((c->flags & pairs) && partner < 0) return;
  for (int k = 0; k < c->nparams; ++k) wrong_values(c, k, c->params[k].legal, NULL, only, "");
  for (int k = 0; only == NULL && k < c->nparams; ++k)
    if (c->params[k].any) extremes_of(c, k);
  if ((c->flags & no_base) || (c->flags & no_error)) return;
  Value a[params_max];
  right(c, a);
  const int code = c->call(a);
  ++checks;
  if (only ? !is_among(code, only) : code != MPI_SUCCESS)
    tell(c, "right arguments", NULL, code, "");
  if (code == MPI_SUCCESS) clean_up(c, a);
}

// One to three wrong arguments at once: an error of the class of one of them.
static void some_wrong(const Call* c, unsigned* seed) {
  int classes[4 * classes_max * 2] = {0}, n = 0;
  Value a[params_max], values[values_max], wrong = {0};
  const char* name = "";
  if (!(c->flags & works) || (c->flags & no_error) || ((c->flags & pairs) && partner < 0)) return;
  right(c, a);
  for (int i = rand_r(seed) % 3; i >= 0 && c->nparams > 0; --i) {
    const int k = rand_r(seed) % c->nparams;
    const Param* p = &c->params[k];
    const int m = values_of(p, values), constant = rand_r(seed) % constant_count;
    const int is_constant =
        p->shape != scalar && (p->shape == pointer || m == 0 || rand_r(seed) % 2);
    if (is_constant ? (p->legal >> constant & 1) : m == 0) continue;
    wrong = is_constant ? (Value){.p = constants[constant]} : values[rand_r(seed) % m];
    if (p->shape >= pointee && !is_constant && a[k].p < (void*)4096) continue;  // wrong already
    make_wrong(p, a, k, wrong, is_constant);
    memcpy(classes + n, is_constant ? p->pointer_classes : p->classes, sizeof p->classes);
    n += classes_max;
    name = p->name;
  }
  if (n == 0) return;
  const int code = c->call(a);
  int expected = 0;
  for (int i = 0; i < n; i += classes_max)
    expected |= code != MPI_SUCCESS && is_among(code, classes + i);
  ++checks;
  if (!expected) tell(c, name, &wrong, code, " and others");
}

// --- where MPI_IN_PLACE is wrong: beside the root, and on intercommunicators
static int find(const Call* c, enum Kind kind) {
  for (int k = 0; k < c->nparams; ++k)
    if (c->params[k].kind == kind) return k;
  return -1;
}
static void as_leaf(const Call* c, Value* a) {
  a[find(c, comm)].p = leaf;
  a[find(c, root)].i = (rank + 1) % size;
}
static void among_groups(const Call* c, Value* a) {
  a[find(c, comm)].p = inter;
}
static void as_remote_leaf(const Call* c, Value* a) {
  among_groups(c, a);
  a[find(c, root)].i = 0;
}
static void as_root_of_groups(const Call* c, Value* a) {
  among_groups(c, a);
  a[find(c, root)].i = MPI_ROOT;
}

static void elsewhere(const Call* c) {
  if (!(c->flags & works) || find(c, comm) < 0 || find(c, buffer) < 0 || find(c, type) < 0) return;
  const int rooted = find(c, root) >= 0;
  for (int k = 0; k < c->nparams; ++k) {
    const Param* p = &c->params[k];
    if (p->kind != buffer && p->kind != type && strstr(p->name, "count") == NULL) continue;
    if (rooted && !p->at_root && size > 1) wrong_values(c, k, 0, as_leaf, NULL, " beside the root");
    if (inter == MPI_COMM_NULL || (c->flags & no_inter)) continue;
    if (!rooted) wrong_values(c, k, 0, among_groups, NULL, " between groups");
    if (rooted && !p->at_root) wrong_values(c, k, 0, as_remote_leaf, NULL, " in the other group");
    if (rooted && (p->at_root || c->params[find(c, buffer)].direction == inout))
      wrong_values(c, k, 0, as_root_of_groups, NULL, " at the root of groups");
  }
}

// After all that the library still works.
static void still_works(void) {
  int sum = 0, one = 1;
  OK(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
  EQ(sum, size);
  MPI_Request requests[2];
  int out = rank, in = -1;
  OK(MPI_Irecv(&in, 1, MPI_INT, left_of(rank), 3, leaf, &requests[0]));
  OK(MPI_Isend(&out, 1, MPI_INT, right_of(rank), 3, leaf, &requests[1]));
  OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
  EQ(in, left_of(rank));
}

// --- before MPI_Init and after MPI_Finalize
static void nothing_right(const Call* c, Value* a) {
  for (int k = 0; k < c->nparams; ++k) {
    a[k].i = 1;
    if (c->params[k].shape != scalar) a[k].p = memset(rooms[k], 0, 64);
  }
}

// Calls whose errors are returned at any time.
static void returned_errors(const char* where) {
  for (const Call* c = calls; c < calls + call_count; ++c) {
    Value a[params_max];
    const int is_init = strcmp(c->name, "MPI_T_init_thread") == 0;
    const int* only = !(c->flags & works)           ? unsupported
                      : c->flags & tool && !is_init ? not_initialized
                                                    : NULL;
    if (!(c->flags & returns) || (c->flags & no_error)) continue;
    nothing_right(c, a);
    const int code = only ? c->call(a) : MPI_SUCCESS;
    ++checks;
    if (only && !is_among(code, only)) tell(c, "nothing right", NULL, code, where);
    for (int k = 0; k < c->nparams; ++k) {
      const Param* p = &c->params[k];
      for (int i = 0; p->shape != scalar && i < constant_count; ++i) {
        if (p->legal >> i & 1) continue;
        nothing_right(c, a);
        a[k].p = constants[i];
        const int wrong = c->call(a);
        ++checks;
        if (!is_among(wrong, only ? only : p->pointer_classes))
          tell(c, p->name, &a[k], wrong, where);
      }
    }
  }
}

// A call in a child process, because its error ends that. What it wrote to stderr has to hold both
// words.
static void dies(const Call* c, const Value* a, const char* word, const char* where) {
  char text[4096] = "";
  int ends[2], status = 0;
  size_t length = 0;
  ssize_t n;
  if (pipe(ends) != 0) DIE("no pipe");
  fflush(NULL);
  const pid_t child = fork();
  if (child == 0) {
    dup2(ends[1], 2);
    _exit(c->call(a) == MPI_SUCCESS ? 0 : 99);
  }
  close(ends[1]);
  while ((n = read(ends[0], text + length, sizeof text - 1 - length)) > 0) length += (size_t)n;
  close(ends[0]);
  waitpid(child, &status, 0);
  ++checks;
  if (WIFEXITED(status) && WEXITSTATUS(status) != 0 && strstr(text, c->name) && strstr(text, word))
    return;
  ++failures;
  fprintf(stderr, "%s%s ended with status %#x and wrote '%s', expected '%s'\n", c->name, where,
          (unsigned)status, text, word);
}

static void fatal_errors(const char* phase, const char* where) {
  for (const Call* c = calls; c < calls + call_count; ++c) {
    Value a[params_max];
    if (c->flags & (returns | no_error)) continue;
    const int early = (c->flags & works) && (c->flags & anytime);
    nothing_right(c, a);
    if (!early) dies(c, a, c->flags & works ? phase : "is not implemented", where);
    for (int k = 0; early && k < c->nparams; ++k) {
      const Param* p = &c->params[k];
      for (int i = 0; p->shape != scalar && i < constant_count; ++i) {
        if (p->legal >> i & 1) continue;
        nothing_right(c, a);
        a[k].p = constants[i];
        dies(c, a, "on rank 0", where);
      }
    }
  }
}

static int outside(int alone) {
  returned_errors(" before MPI_Init");
  if (alone) fatal_errors("called before MPI_Init", " before MPI_Init");
  OK(MPI_Init(NULL, NULL));
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  OK(MPI_Finalize());
  returned_errors(" after MPI_Finalize");
  if (alone) fatal_errors("called after MPI_Finalize", " after MPI_Finalize");
  return verdict();
}

int main(int argc, char** argv) {
  const char* what = argc > 1 ? argv[1] : "all";
  if (strcmp(what, "outside") == 0) return outside(argc > 2);
  start(&argc, &argv);
  set_up();
  if (strcmp(what, "random") == 0) {
    const time_t end = time(NULL) + (argc > 2 ? atoi(argv[2]) : 2);
    unsigned seed = argc > 3 ? (unsigned)atoi(argv[3]) : (unsigned)end;
    OK(MPI_Bcast(&seed, 1, MPI_UNSIGNED, 0, MPI_COMM_WORLD));
    if (rank == 0) fprintf(stderr, "seed %u\n", seed);
    for (int on = 1; on;) {
      for (int i = 0; i < 10000; ++i) {
        some_wrong(&calls[rand_r(&seed) % call_count], &seed);
        some_extreme(&calls[rand_r(&seed) % call_count], &seed);
      }
      on = rank == 0 && time(NULL) < end;
      OK(MPI_Bcast(&on, 1, MPI_INT, 0, MPI_COMM_WORLD));
    }
  } else {
    for (int i = 0; i < call_count; ++i) {
      all_of(&calls[i]);
      elsewhere(&calls[i]);
    }
  }
  still_works();
  tear_down();
  return finish();
}
