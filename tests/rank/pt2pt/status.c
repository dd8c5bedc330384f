// SPDX-License-Identifier: Apache-2.0
// Statuses: counts in elements and whole types, values set by hand, MPI_STATUS_IGNORE, large
// counts.
#include <stddef.h>

#include "../check.h"

// 5 ints sent, received into pairs of (int, int): 2 whole pairs and a half one.
static void partial(void) {
  int out[5] = {1, 2, 3, 4, 5}, in[10] = {0}, count = 0;
  MPI_Count large = 0;
  MPI_Datatype pair;
  MPI_Request request;
  MPI_Status status;
  OK(MPI_Type_contiguous(2, MPI_INT, &pair));
  OK(MPI_Type_commit(&pair));
  OK(MPI_Irecv(in, 5, pair, left_of(rank), 1, MPI_COMM_WORLD, &request));
  OK(MPI_Send(out, 5, MPI_INT, right_of(rank), 1, MPI_COMM_WORLD));
  OK(MPI_Wait(&request, &status));
  OK(MPI_Get_count(&status, pair, &count));
  EQ(count, MPI_UNDEFINED);
  OK(MPI_Get_elements(&status, pair, &count));
  EQ(count, 5);
  OK(MPI_Get_elements_c(&status, pair, &large));
  EQ(large, 5);
  OK(MPI_Get_elements_x(&status, pair, &large));
  EQ(large, 5);
  OK(MPI_Get_count(&status, MPI_INT, &count));
  EQ(count, 5);
  OK(MPI_Get_count(&status, MPI_BYTE, &count));
  EQ(count, 20);
  for (int i = 0; i < 5; ++i) EQ(in[i], i + 1);
  OK(MPI_Type_free(&pair));
}

// A struct of (char, double, char): elements count across unequal parts.
static void unequal(void) {
  struct {
    char a;
    double b;
    char c;
  } out = {'x', 2.5, 'y'}, in[3];
  const int lengths[3] = {1, 1, 1};
  const MPI_Aint places[3] = {offsetof(__typeof__(out), a), offsetof(__typeof__(out), b),
                              offsetof(__typeof__(out), c)};
  const MPI_Datatype types[3] = {MPI_CHAR, MPI_DOUBLE, MPI_CHAR};
  MPI_Datatype first, type, prefix;
  MPI_Request request;
  MPI_Status status;
  int count = 0;
  OK(MPI_Type_create_struct(3, lengths, places, types, &first));
  OK(MPI_Type_create_resized(first, 0, sizeof out, &type));
  OK(MPI_Type_create_struct(2, lengths, places, types, &prefix));
  OK(MPI_Type_commit(&type));
  OK(MPI_Type_commit(&prefix));
  OK(MPI_Irecv(in, 3, type, left_of(rank), 2, MPI_COMM_WORLD, &request));
  OK(MPI_Send(&out, 1, prefix, right_of(rank), 2, MPI_COMM_WORLD));
  OK(MPI_Wait(&request, &status));
  OK(MPI_Get_count(&status, type, &count));
  EQ(count, MPI_UNDEFINED);
  OK(MPI_Get_elements(&status, type, &count));
  EQ(count, 2);
  CHECK(in[0].b == 2.5, "the double is %g, expected 2.5", in[0].b);
  OK(MPI_Irecv(in, 3, type, left_of(rank), 3, MPI_COMM_WORLD, &request));
  OK(MPI_Send(&out, 1, type, right_of(rank), 3, MPI_COMM_WORLD));
  OK(MPI_Wait(&request, &status));
  OK(MPI_Get_count(&status, type, &count));
  EQ(count, 1);
  OK(MPI_Get_elements(&status, type, &count));
  EQ(count, 3);
  OK(MPI_Type_free(&first));
  OK(MPI_Type_free(&type));
  OK(MPI_Type_free(&prefix));
}

static void by_hand(void) {
  MPI_Status status;
  int value = 0, flag = 0, count = 0;
  MPI_Count large = 0;
  memset(&status, 0, sizeof status);
  OK(MPI_Status_set_source(&status, 5));
  OK(MPI_Status_set_tag(&status, 77));
  OK(MPI_Status_set_error(&status, MPI_ERR_TRUNCATE));
  EQ(status.MPI_SOURCE, 5);
  EQ(status.MPI_TAG, 77);
  EQ(status.MPI_ERROR, MPI_ERR_TRUNCATE);
  OK(MPI_Status_get_source(&status, &value));
  EQ(value, 5);
  OK(MPI_Status_get_tag(&status, &value));
  EQ(value, 77);
  OK(MPI_Status_get_error(&status, &value));
  EQ(value, MPI_ERR_TRUNCATE);
  OK(MPI_Status_set_elements(&status, MPI_INT, 12));
  OK(MPI_Get_count(&status, MPI_INT, &count));
  EQ(count, 12);
  OK(MPI_Get_elements(&status, MPI_INT, &count));
  EQ(count, 12);
  OK(MPI_Status_set_cancelled(&status, 1));
  OK(MPI_Test_cancelled(&status, &flag));
  EQ(flag, 1);
  OK(MPI_Status_set_cancelled(&status, 0));
  OK(MPI_Test_cancelled(&status, &flag));
  EQ(flag, 0);
  OK(MPI_Get_count(&status, MPI_INT, &count));
  EQ(count, 12);
  const MPI_Count huge = (MPI_Count)1 << 40;
  OK(MPI_Status_set_elements_c(&status, MPI_BYTE, huge + 3));
  OK(MPI_Get_count_c(&status, MPI_BYTE, &large));
  EQ(large, huge + 3);
  OK(MPI_Get_elements_c(&status, MPI_BYTE, &large));
  EQ(large, huge + 3);
  OK(MPI_Get_count(&status, MPI_BYTE, &count));
  EQ(count, MPI_UNDEFINED);  // does not fit in an int
  OK(MPI_Status_set_elements_x(&status, MPI_DOUBLE, huge));
  OK(MPI_Get_elements_x(&status, MPI_DOUBLE, &large));
  EQ(large, huge);
}

// A receive does not touch the error field of a status; ignoring it is allowed everywhere.
static void error_field(void) {
  MPI_Status status;
  MPI_Request request;
  int in, out = 3;
  status.MPI_ERROR = 1234;
  OK(MPI_Irecv(&in, 1, MPI_INT, left_of(rank), 9, MPI_COMM_WORLD, &request));
  OK(MPI_Send(&out, 1, MPI_INT, right_of(rank), 9, MPI_COMM_WORLD));
  OK(MPI_Wait(&request, &status));
  EQ(status.MPI_ERROR, 1234);
  OK(MPI_Irecv(&in, 1, MPI_INT, left_of(rank), 9, MPI_COMM_WORLD, &request));
  OK(MPI_Send(&out, 1, MPI_INT, right_of(rank), 9, MPI_COMM_WORLD));
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
}

// A zero-size type: a message of nothing has zero copies of it.
static void empty_type(void) {
  MPI_Datatype empty;
  MPI_Status status;
  MPI_Request request;
  int count = -1;
  OK(MPI_Type_contiguous(0, MPI_INT, &empty));
  OK(MPI_Type_commit(&empty));
  OK(MPI_Irecv(NULL, 0, MPI_INT, left_of(rank), 10, MPI_COMM_WORLD, &request));
  OK(MPI_Send(NULL, 0, MPI_INT, right_of(rank), 10, MPI_COMM_WORLD));
  OK(MPI_Wait(&request, &status));
  OK(MPI_Get_count(&status, empty, &count));
  EQ(count, 0);
  OK(MPI_Get_elements(&status, empty, &count));
  EQ(count, 0);
  OK(MPI_Type_free(&empty));
}

int main(int argc, char** argv) {
  start(&argc, &argv);
  partial();
  unequal();
  by_hand();
  error_field();
  empty_type();
  return finish();
}
