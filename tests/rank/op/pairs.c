// SPDX-License-Identifier: Apache-2.0
// MPI_MINLOC and MPI_MAXLOC on every pair type: the value, and on a tie the smaller index; gaps
// inside the pairs.
#include "../check.h"

enum { many = 41 };

#define PAIR(name, T, type)                                                                       \
  static void name(void) {                                                                        \
    struct {                                                                                      \
      T value;                                                                                    \
      int index;                                                                                  \
    } in[many], low[many], high[many];                                                            \
    for (int i = 0; i < many; ++i) {                                                              \
      in[i].value = (T)((rank * 5 + i * 3) % 4); /* ties between ranks */                         \
      in[i].index = (size - rank) * 10;          /* so the smaller index is not the lower rank */ \
    }                                                                                             \
    OK(MPI_Allreduce(in, low, many, type, MPI_MINLOC, MPI_COMM_WORLD));                           \
    OK(MPI_Reduce(in, high, many, type, MPI_MAXLOC, 0, MPI_COMM_WORLD));                          \
    for (int i = 0; i < many; ++i) {                                                              \
      T least = (T)100, most = (T)-1;                                                             \
      int least_at = 0, most_at = 0;                                                              \
      for (int who = 0; who < size; ++who) {                                                      \
        const T value = (T)((who * 5 + i * 3) % 4);                                               \
        const int index = (size - who) * 10;                                                      \
        if (value < least || (value == least && index < least_at))                                \
          least = value, least_at = index;                                                        \
        if (value > most || (value == most && index < most_at)) most = value, most_at = index;    \
      }                                                                                           \
      CHECK(low[i].value == least && low[i].index == least_at,                                    \
            #type " MINLOC %d is (%g, %d), expected (%g, %d)", i, (double)low[i].value,           \
            low[i].index, (double)least, least_at);                                               \
      if (rank) continue;                                                                         \
      CHECK(high[i].value == most && high[i].index == most_at,                                    \
            #type " MAXLOC %d is (%g, %d), expected (%g, %d)", i, (double)high[i].value,          \
            high[i].index, (double)most, most_at);                                                \
    }                                                                                             \
  }
PAIR(float_int, float, MPI_FLOAT_INT)
PAIR(double_int, double, MPI_DOUBLE_INT)
PAIR(long_int, long, MPI_LONG_INT)
PAIR(two_int, int, MPI_2INT)
PAIR(short_int, short, MPI_SHORT_INT)
PAIR(long_double_int, long double, MPI_LONG_DOUBLE_INT)

int main(int argc, char** argv) {
  start(&argc, &argv);
  float_int();
  double_int();
  long_int();
  two_int();
  short_int();
  long_double_int();
  // A pair type travels by point-to-point too, and its size does not count the gap.
  struct {
    double value;
    int index;
  } out[3] = {{1.5, 1}, {2.5, 2}, {3.5, 3}}, in[3];
  int bytes = 0, count = 0;
  MPI_Status status;
  OK(MPI_Type_size(MPI_DOUBLE_INT, &bytes));
  EQ(bytes, 12);
  OK(MPI_Sendrecv(out, 3, MPI_DOUBLE_INT, right_of(rank), 1, in, 3, MPI_DOUBLE_INT, left_of(rank),
                  1, MPI_COMM_WORLD, &status));
  OK(MPI_Get_count(&status, MPI_DOUBLE_INT, &count));
  EQ(count, 3);
  OK(MPI_Get_elements(&status, MPI_DOUBLE_INT, &count));
  EQ(count, 6);
  CHECK(in[2].value == 3.5 && in[2].index == 3, "the third pair is (%g, %d), expected (3.5, 3)",
        in[2].value, in[2].index);
  return finish();
}
