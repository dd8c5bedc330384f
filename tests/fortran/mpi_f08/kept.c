// SPDX-License-Identifier: Apache-2.0
// The type of a section stays for the next call with the same section, also among threads, also
// where more sections than there are places were used; MPI_Finalize frees them all. The library's
// side is called as a Fortran compiler would; as a tool, this program marks each type that comes
// by: what has no mark yet was made for the call.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>

#include "../../rank/check.h"
#include "support.h"

void mpi_send_f08ts_(const struct array*, int*, int*, int*, int*, int*, int*);
void mpi_sendrecv_f08ts_(const struct array*, int*, int*, int*, int*, const struct array*, int*,
                         int*, int*, int*, int*, int*, int*);

static atomic_int sent, made, freed;
static int mark;
static pthread_mutex_t marking = PTHREAD_MUTEX_INITIALIZER;

static int count_end(MPI_Datatype type, int keyval, void* value, void* state) {
  (void)type, (void)keyval, (void)value, (void)state;
  ++freed;
  return MPI_SUCCESS;
}

static void look_at(MPI_Datatype type) {
  void* value;
  int is_marked = 0;
  pthread_mutex_lock(&marking);
  OK(PMPI_Type_get_attr(type, mark, &value, &is_marked));
  if (!is_marked) {
    ++made;
    OK(PMPI_Type_set_attr(type, mark, &made));
  }
  pthread_mutex_unlock(&marking);
}

int MPI_Send(const void* buf, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm) {
  ++sent;
  look_at(type);
  return PMPI_Send(buf, count, type, to, tag, comm);
}

int MPI_Sendrecv(const void* out, int n, MPI_Datatype type, int to, int tag, void* in, int most,
                 MPI_Datatype in_type, int from, int in_tag, MPI_Comm comm, MPI_Status* status) {
  look_at(type);
  look_at(in_type);
  return PMPI_Sendrecv(out, n, type, to, tag, in, most, in_type, from, in_tag, comm, status);
}

/// Of all vectors that the library makes, those of one call too. Of ranks that are threads this
/// program does not see these calls: then it stays 0.
static atomic_int held;
#define NEXT(type, name) ((type)dlsym(RTLD_NEXT, name))
int PMPI_Type_create_hvector_c(MPI_Count n, MPI_Count length, MPI_Count stride, MPI_Datatype item,
                               MPI_Datatype* type) {
  ++held;
  return NEXT(int (*)(MPI_Count, MPI_Count, MPI_Count, MPI_Datatype, MPI_Datatype*),
              "PMPI_Type_create_hvector_c")(n, length, stride, item, type);
}
int PMPI_Type_free(MPI_Datatype* type) {
  --held;
  return NEXT(int (*)(MPI_Datatype*), "PMPI_Type_free")(type);
}

enum { items = 6, columns = 3, rows = 5, threads = 4 };
struct section {
  struct array array;
  struct array_dim dim[2];
};
/// Every second of `n` integers of a column, of `wide` columns of `rows`.
static struct section section_of(int* base, int n, int wide) {
  return (struct section){{base, sizeof(int), 1, 2, {0}},
                          {{0, n, 2 * sizeof(int)}, {0, wide, rows * sizeof(int)}}};
}

static void send(int count, int n, int wide) {
  static int memory[4096];
  struct section s = section_of(memory, n, wide);
  int type = (int)(uintptr_t)MPI_INT, to = MPI_PROC_NULL, tag = 0, e = -1;
  int self = (int)(uintptr_t)MPI_COMM_SELF;
  mpi_send_f08ts_(&s.array, &count, &type, &to, &tag, &self, &e);
  EQ(e, MPI_SUCCESS);
}

static void* often(void* argument) {
  for (int i = 0; i < 1000; ++i) send(items, 3, 2 + (i + (int)(intptr_t)argument) % threads);
  return NULL;
}

/// What is sent from one section to another, by types that are kept.
static void moves(void) {
  int in[rows * columns], out[rows * columns];
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < rows * columns; ++i) in[i] = -1, out[i] = 100 * round + i;
    struct section from = section_of(out, 2, 3), to = section_of(in, 3, 2);
    int type = (int)(uintptr_t)MPI_INT, count = items, me = 0, tag = 0, e = -1, status[8];
    int self = (int)(uintptr_t)MPI_COMM_SELF;
    mpi_sendrecv_f08ts_(&from.array, &count, &type, &me, &tag, &to.array, &count, &type, &me, &tag,
                        &self, status, &e);
    EQ(e, MPI_SUCCESS);
    for (int i = 0; i < items; ++i) EQ(in[i / 3 * rows + i % 3 * 2], out[i / 2 * rows + i % 2 * 2]);
  }
}

/// Runs after the library's own, which is younger.
static int all_are_freed(MPI_Comm comm, int keyval, void* value, void* state) {
  (void)comm, (void)keyval, (void)value, (void)state;
  EQ(made, freed);
  EQ(held, 0);
  return MPI_SUCCESS;
}

int main(int argc, char** argv) {
  int keyval, level;
  OK(MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level));
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  OK(MPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, count_end, &mark, NULL));
  OK(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, all_are_freed, &keyval, NULL));
  OK(MPI_Comm_set_attr(MPI_COMM_SELF, keyval, NULL));
  OK(MPI_Comm_free_keyval(&keyval));

  for (int i = 0; i < 10; ++i) send(items, 3, 2);
  EQ(sent, 10);
  EQ(made, 1);
  moves();
  EQ(made, 2);

  pthread_t thread[threads];
  for (int i = 0; i < threads; ++i) pthread_create(&thread[i], NULL, often, (void*)(intptr_t)i);
  for (int i = 0; i < threads; ++i) pthread_join(thread[i], NULL);
  CHECK(made <= 2 + threads * threads, "%d types for %d sections", made, threads);

  const int before = made;
  for (int wide = 8; wide < 408; ++wide) send(2 * wide, 2, wide);
  EQ(made, before + 400);
  for (int wide = 8; wide < 408; ++wide) send(2 * wide, 2, wide);
  CHECK(made < before + 700, "%d types for 400 sections", made - before);
  moves();
  return finish();
}
