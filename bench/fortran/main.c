/* SPDX-License-Identifier: Apache-2.0 */
/* What a call costs in Fortran, beside C: the same loops in C (here), with mpi_f08 and with mpif.h
   (calls.f90), in turns. Rows (see rows.h) are <operation>_<interface>; interfaces are c, f08 and
   mpif:

     null       MPI_Send to, MPI_Recv from MPI_PROC_NULL: the call alone, each half of the time
     pingpong   MPI_Send and MPI_Recv between two ranks, half a round trip
     allreduce  MPI_Allreduce of one double
     section    a ping-pong of every second element: in f08 of a section a(1, :); in C of a vector
   type that is made once (section_c) or for each call (section_made) */
#include "../rows.h"

enum { stride = 2 };

/* calls.f90: each does so many operations. */
void null_f08(long*, double*, int*);
void null_mpif(long*, double*, int*);
void pingpong_f08(long*, double*, int*);
void pingpong_mpif(long*, double*, int*);
void allreduce_f08(long*, double*, int*);
void allreduce_mpif(long*, double*, int*);
void section_f08(long*, double*, int*);

static double* values(struct bench* b) {
  return (double*)(void*)b->data[0];
}

static void null_c(struct bench* b, long times) {
  for (long i = 0; i < times; ++i) {
    MPI_Send(values(b), 1, MPI_DOUBLE, MPI_PROC_NULL, 0, MPI_COMM_WORLD);
    MPI_Recv(values(b), 1, MPI_DOUBLE, MPI_PROC_NULL, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
}

static void exchange(struct bench* b, long times, int count, MPI_Datatype type) {
  const int other = 1 - b->rank;
  for (long i = 0; i < times; ++i) {
    if (b->rank == 0) MPI_Send(values(b), count, type, other, 0, MPI_COMM_WORLD);
    MPI_Recv(values(b), count, type, other, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (b->rank == 1) MPI_Send(values(b), count, type, other, 0, MPI_COMM_WORLD);
  }
}
static void pingpong_c(struct bench* b, long times) {
  exchange(b, times, 1, MPI_DOUBLE);
}

static void allreduce_c(struct bench* b, long times) {
  double sum;
  for (long i = 0; i < times; ++i)
    MPI_Allreduce(values(b), &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static MPI_Datatype vector(struct bench* b) {
  MPI_Datatype type;
  MPI_Type_vector(b->count / stride, 1, stride, MPI_DOUBLE, &type);
  MPI_Type_commit(&type);
  return type;
}
static void section_c(struct bench* b, long times) {
  MPI_Datatype type = vector(b);
  exchange(b, times, 1, type);
  MPI_Type_free(&type);
}
static void section_made(struct bench* b, long times) {
  const int other = 1 - b->rank;
  for (long i = 0; i < 2 * times; ++i) {
    MPI_Datatype type = vector(b);
    if ((b->rank + i) % 2 == 0)
      MPI_Send(values(b), 1, type, other, 0, MPI_COMM_WORLD);
    else
      MPI_Recv(values(b), 1, type, other, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Type_free(&type);
  }
}

#define FORTRAN(name)                              \
  static void do_##name(struct bench* b, long n) { \
    name(&n, values(b), &b->count);                \
  }
FORTRAN(null_f08)
FORTRAN(null_mpif)
FORTRAN(pingpong_f08)
FORTRAN(pingpong_mpif)
FORTRAN(allreduce_f08)
FORTRAN(allreduce_mpif)
FORTRAN(section_f08)

#define ROW(label, function, number, halves, ...)                                     \
  {                                                                                   \
    .name = label, .batch = function, .ranks = number, .window = 1, .per_op = halves, \
    .element = 8, .bytes = {                                                          \
      __VA_ARGS__                                                                     \
    }                                                                                 \
  }
static const struct row rows[] = {
    ROW("null_c", null_c, 1, 2, 8),
    ROW("null_f08", do_null_f08, 1, 2, 8),
    ROW("null_mpif", do_null_mpif, 1, 2, 8),
    ROW("allreduce_c", allreduce_c, 0, 1, 8),
    ROW("allreduce_f08", do_allreduce_f08, 0, 1, 8),
    ROW("allreduce_mpif", do_allreduce_mpif, 0, 1, 8),
    ROW("pingpong_c", pingpong_c, 2, 2, 8),
    ROW("pingpong_f08", do_pingpong_f08, 2, 2, 8),
    ROW("pingpong_mpif", do_pingpong_mpif, 2, 2, 8),
    ROW("section_c", section_c, 2, 2, 1024, 65536),
    ROW("section_made", section_made, 2, 2, 1024, 65536),
    ROW("section_f08", do_section_f08, 2, 2, 1024, 65536),
};

int main(int argc, char** argv) {
  return run_rows(argc, argv, rows, sizeof rows / sizeof rows[0]);
}
