// SPDX-License-Identifier: Apache-2.0
// Every operation on every kind of type against plain loops; sums that all ranks add to at once;
// pairs, derived types, elements that are not aligned.
#include <complex.h>
#include <math.h>
#include <stddef.h>

#include "flavors.h"

// --- one type after the other: the right neighbour accumulates into it

#define BITS(a, b, op) ((op) == MPI_BAND ? (a) & (b) : (op) == MPI_BOR ? (a) | (b) : (a) ^ (b))
#define LOGIC(a, b, op) \
  ((op) == MPI_LAND ? (a) && (b) : (op) == MPI_LOR ? (a) || (b) : !(a) != !(b))
#define ORDER(a, b, op) ((op) == MPI_MIN ? ((a) < (b) ? (a) : (b)) : ((a) > (b) ? (a) : (b)))

enum { elements = 37 };

// Target element i is i + 1 at first, the origin's is 3 * i + 2; `misfit` bytes off alignment.
#define TYPE_TEST(name, T, mpi_type, ops, expression)                                            \
  static void name(int which, int misfit) {                                                      \
    Flavored f = open_window(which, elements * (MPI_Aint)sizeof(T) + misfit);                    \
    T mine[elements], old[elements], now[elements];                                              \
    const int to = right_of(rank);                                                               \
    const MPI_Op list[] = ops;                                                                   \
    for (size_t k = 0; k < sizeof list / sizeof list[0]; ++k) {                                  \
      const MPI_Op op = list[k];                                                                 \
      for (int i = 0; i < elements; ++i) {                                                       \
        const T first = (T)(i + 1);                                                              \
        memcpy(f.memory + misfit + i * (int)sizeof(T), &first, sizeof first);                    \
        mine[i] = (T)(3 * i + 2);                                                                \
      }                                                                                          \
      OK(MPI_Win_fence(0, f.win));                                                               \
      const MPI_Aint at = f.bases[to] + misfit;                                                  \
      OK(MPI_Accumulate(mine, elements, mpi_type, to, at, elements, mpi_type, op, f.win));       \
      OK(MPI_Get_accumulate(mine, elements, mpi_type, old, elements, mpi_type, to, at, elements, \
                            mpi_type, MPI_NO_OP, f.win));                                        \
      OK(MPI_Get_accumulate(mine, elements, mpi_type, now, elements, mpi_type, to, at, elements, \
                            mpi_type, MPI_REPLACE, f.win));                                      \
      OK(MPI_Win_fence(0, f.win));                                                               \
      for (int i = 0; i < elements; ++i) {                                                       \
        const T a = (T)(i + 1), b = mine[i];                                                     \
        const T expected = (T)(expression);                                                      \
        T left;                                                                                  \
        memcpy(&left, f.memory + misfit + i * (int)sizeof(T), sizeof left);                      \
        CHECK(old[i] == expected && now[i] == expected, #T " op %zu element %d", k, i);          \
        CHECK(left == b, #T " op %zu: element %d was not replaced", k, i);                       \
      }                                                                                          \
    }                                                                                            \
    OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, f.win));                                                \
    close_window(&f);                                                                            \
  }

#define INTEGER_OPS \
  { MPI_SUM, MPI_PROD, MPI_MIN, MPI_MAX, MPI_BAND, MPI_BOR, MPI_BXOR, MPI_LAND, MPI_LOR, MPI_LXOR }
#define INTEGER_RESULT                                                  \
  op == MPI_SUM                                       ? a + b           \
  : op == MPI_PROD                                    ? a* b            \
  : op == MPI_MIN || op == MPI_MAX                    ? ORDER(a, b, op) \
  : op == MPI_BAND || op == MPI_BOR || op == MPI_BXOR ? BITS(a, b, op)  \
                                                      : LOGIC(a, b, op)
#define FLOATING_OPS \
  { MPI_SUM, MPI_PROD, MPI_MIN, MPI_MAX }
#define FLOATING_RESULT op == MPI_SUM ? a + b : op == MPI_PROD ? a* b : ORDER(a, b, op)
#define COMPLEX_OPS \
  { MPI_SUM, MPI_PROD }

TYPE_TEST(bytes, int8_t, MPI_INT8_T, INTEGER_OPS, INTEGER_RESULT)
TYPE_TEST(shorts, uint16_t, MPI_UINT16_T, INTEGER_OPS, INTEGER_RESULT)
TYPE_TEST(ints, int32_t, MPI_INT, INTEGER_OPS, INTEGER_RESULT)
TYPE_TEST(longs, uint64_t, MPI_UINT64_T, INTEGER_OPS, INTEGER_RESULT)
TYPE_TEST(floats, float, MPI_FLOAT, FLOATING_OPS, FLOATING_RESULT)
TYPE_TEST(doubles, double, MPI_DOUBLE, FLOATING_OPS, FLOATING_RESULT)
TYPE_TEST(long_doubles, long double, MPI_LONG_DOUBLE, FLOATING_OPS, FLOATING_RESULT)
TYPE_TEST(complexes, double complex, MPI_C_DOUBLE_COMPLEX, COMPLEX_OPS,
          op == MPI_SUM ? a + b : a * b)

// --- pairs: all ranks look for the maximum and where it is

#define PAIR_TEST(name, T, mpi_type)                                                               \
  static void name(int which) {                                                                    \
    typedef struct {                                                                               \
      T value;                                                                                     \
      int index;                                                                                   \
    } Pair;                                                                                        \
    Flavored f = open_window(which, 3 * (MPI_Aint)sizeof(Pair));                                   \
    Pair* const memory = (Pair*)f.memory;                                                          \
    for (int i = 0; i < 3; ++i) memory[i].value = (T)-1;                                           \
    OK(MPI_Win_fence(0, f.win));                                                                   \
    Pair mine[3], none = {0}, old;                                                                 \
    memset(mine, 0, sizeof mine);                                                                  \
    for (int i = 0; i < 3; ++i) mine[i] = (Pair){(T)((rank * 5 + i) % (size + 1)), rank};          \
    for (int to = 0; to < size; ++to) {                                                            \
      OK(MPI_Accumulate(mine, 3, mpi_type, to, f.bases[to], 3, mpi_type, MPI_MAXLOC, f.win));      \
    }                                                                                              \
    OK(MPI_Win_fence(0, f.win));                                                                   \
    for (int i = 0; i < 3; ++i) {                                                                  \
      T best = (T)-1;                                                                              \
      int where = -1;                                                                              \
      for (int r = 0; r < size; ++r)                                                               \
        if ((T)((r * 5 + i) % (size + 1)) > best) best = (T)((r * 5 + i) % (size + 1)), where = r; \
      CHECK(memory[i].value == best, #T " pair %d", i);                                            \
      EQ(memory[i].index, where);                                                                  \
    }                                                                                              \
    memset(&old, 0, sizeof old);                                                                   \
    OK(MPI_Fetch_and_op(&none, &old, mpi_type, rank, f.bases[rank], MPI_NO_OP, f.win));            \
    CHECK(old.value == memory[0].value && old.index == memory[0].index, #T " fetched");            \
    /* Every other pair of an array, by a derived type at both sides. */                           \
    MPI_Datatype spread;                                                                           \
    OK(MPI_Type_vector(2, 1, 2, mpi_type, &spread));                                               \
    OK(MPI_Type_commit(&spread));                                                                  \
    OK(MPI_Win_fence(0, f.win));                                                                   \
    const Pair before = memory[1];                                                                 \
    OK(MPI_Win_fence(0, f.win));                                                                   \
    for (int i = 0; i < 3; ++i) mine[i] = (Pair){(T)(90 + i), rank};                               \
    const int to = right_of(rank);                                                                 \
    OK(MPI_Accumulate(mine, 1, spread, to, f.bases[to], 1, spread, MPI_REPLACE, f.win));           \
    OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, f.win));                                                  \
    OK(MPI_Type_free(&spread));                                                                    \
    CHECK(memory[0].value == (T)90 && memory[2].value == (T)92, #T " replaced");                   \
    EQ(memory[2].index, left_of(rank));                                                            \
    CHECK(memory[1].value == before.value && memory[1].index == before.index, #T " between");      \
    close_window(&f);                                                                              \
  }
PAIR_TEST(pairs_of_ints, int, MPI_2INT)
PAIR_TEST(pairs_of_shorts, short, MPI_SHORT_INT)
PAIR_TEST(pairs_of_floats, float, MPI_FLOAT_INT)
PAIR_TEST(pairs_of_doubles, double, MPI_DOUBLE_INT)
PAIR_TEST(pairs_of_longs, long, MPI_LONG_INT)
PAIR_TEST(pairs_of_long_doubles, long double, MPI_LONG_DOUBLE_INT)

// --- all at once: nothing is lost, and every old value is seen once

static void contended(int which) {
  typedef struct {
    int64_t counter;
    int32_t word;
    float single;
    double sum;
    double complex both;
    int64_t order;
  } Shared;
  enum { rounds = 300 };
  Flavored f = open_window(which, sizeof(Shared));
  Shared* const memory = (Shared*)f.memory;
  OK(MPI_Win_fence(0, f.win));
  OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, f.win));
  OK(MPI_Win_lock_all(0, f.win));
  const int64_t one = 1;
  const int32_t small = 3;
  const float half = 0.5F;
  const double quarter = 0.25;
  const double complex turn = 1 - 2 * I;
  int64_t seen = 0, last = -1;
  for (int i = 0; i < rounds; ++i) {
    const int to = i % size;
#define PART(part) (f.bases[to] + (MPI_Aint)offsetof(Shared, part))
    OK(MPI_Accumulate(&one, 1, MPI_INT64_T, to, PART(counter), 1, MPI_INT64_T, MPI_SUM, f.win));
    OK(MPI_Accumulate(&small, 1, MPI_INT32_T, to, PART(word), 1, MPI_INT32_T, MPI_SUM, f.win));
    OK(MPI_Accumulate(&half, 1, MPI_FLOAT, to, PART(single), 1, MPI_FLOAT, MPI_SUM, f.win));
    OK(MPI_Accumulate(&quarter, 1, MPI_DOUBLE, to, PART(sum), 1, MPI_DOUBLE, MPI_SUM, f.win));
    OK(MPI_Accumulate(&turn, 1, MPI_C_DOUBLE_COMPLEX, to, PART(both), 1, MPI_C_DOUBLE_COMPLEX,
                      MPI_SUM, f.win));
    int64_t old = -1;
    OK(MPI_Fetch_and_op(&one, &old, MPI_INT64_T, 0, f.bases[0] + (MPI_Aint)offsetof(Shared, order),
                        MPI_SUM, f.win));
    OK(MPI_Win_flush_all(f.win));
    CHECK(old > last, "%lld after %lld", (long long)old, (long long)last);
    last = old;
    seen += old;
  }
  OK(MPI_Win_unlock_all(f.win));
  OK(MPI_Barrier(MPI_COMM_WORLD));
  const int64_t n = (int64_t)size * (rounds / size + (rank < rounds % size));
  EQ(memory->counter, n);
  EQ(memory->word, 3 * n);
  CHECK(memory->single == 0.5F * (float)n, "%g", (double)memory->single);
  CHECK(memory->sum == 0.25 * (double)n, "%g", memory->sum);
  CHECK(creal(memory->both) == (double)n && cimag(memory->both) == -2.0 * (double)n, "%g %g",
        creal(memory->both), cimag(memory->both));
  int64_t total = 0;
  OK(MPI_Allreduce(&seen, &total, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD));
  const int64_t all = (int64_t)size * rounds;
  EQ(total, all * (all - 1) / 2);
  close_window(&f);
}

// Long vectors of what no instruction changes at once, from all ranks, part by part.
static void long_vectors(int which) {
  enum { many = 5000 };
  Flavored f = open_window(which, many * (MPI_Aint)sizeof(long double));
  long double* const memory = (long double*)f.memory;
  long double* mine = alloc(many * sizeof *mine);
  for (int i = 0; i < many; ++i) mine[i] = i + rank;
  OK(MPI_Win_fence(0, f.win));
  for (int to = 0; to < size; ++to)
    OK(MPI_Accumulate(mine, many, MPI_LONG_DOUBLE, to, f.bases[to], many, MPI_LONG_DOUBLE, MPI_SUM,
                      f.win));
  OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, f.win));
  for (int i = 0; i < many; ++i)
    CHECK(memory[i] == (long double)size * i + (long double)size * (size - 1) / 2, "%d: %Lg", i,
          memory[i]);
  free(mine);
  close_window(&f);
}

static void swaps(int which) {
  Flavored f = open_window(which, 24);
  const int to = right_of(rank);
  OK(MPI_Win_lock(MPI_LOCK_SHARED, to, 0, f.win));
#define SWAP(T, mpi_type, at)                                                              \
  do {                                                                                     \
    const T zero = 0, five = 5, six = 6;                                                   \
    T old = 9;                                                                             \
    OK(MPI_Compare_and_swap(&five, &zero, &old, mpi_type, to, f.bases[to] + (at), f.win)); \
    OK(MPI_Win_flush(to, f.win));                                                          \
    EQ(old, 0);                                                                            \
    OK(MPI_Compare_and_swap(&six, &zero, &old, mpi_type, to, f.bases[to] + (at), f.win));  \
    OK(MPI_Win_flush(to, f.win));                                                          \
    EQ(old, 5);                                                                            \
    OK(MPI_Compare_and_swap(&zero, &five, &old, mpi_type, to, f.bases[to] + (at), f.win)); \
    OK(MPI_Win_flush(to, f.win));                                                          \
    EQ(old, 5);                                                                            \
  } while (0)
  SWAP(char, MPI_INT8_T, 1);
  SWAP(unsigned char, MPI_BYTE, 2);
  SWAP(short, MPI_SHORT, 4);
  SWAP(int, MPI_INT, 8);
  SWAP(int, MPI_INT, 5);
  SWAP(long, MPI_LONG, 16);
  OK(MPI_Win_unlock(to, f.win));
  OK(MPI_Barrier(MPI_COMM_WORLD));
  close_window(&f);
}

int main(int argc, char** argv) {
  start(&argc, &argv);
  for (int which = 0; which < flavors; ++which) {
    for (int misfit = 0; misfit < 2; ++misfit) {
      bytes(which, misfit);
      shorts(which, misfit);
      ints(which, misfit);
      longs(which, misfit);
      floats(which, misfit);
      doubles(which, misfit);
      long_doubles(which, 16 * misfit);
      complexes(which, 8 * misfit);
    }
    pairs_of_ints(which);
    pairs_of_shorts(which);
    pairs_of_floats(which);
    pairs_of_doubles(which);
    pairs_of_longs(which);
    pairs_of_long_doubles(which);
    contended(which);
    long_vectors(which);
    swaps(which);
  }
  return finish();
}
