// SPDX-License-Identifier: Apache-2.0
// Request_get_status in its four forms: tells about completion and takes nothing away.
#include "../check.h"

int main(int argc, char** argv) {
  start(&argc, &argv);
  enum { messages = 5 };
  int in[messages], out[messages], flag = 1, index = 0, count = 0, indices[messages];
  MPI_Request request[messages], sent[messages], none = MPI_REQUEST_NULL;
  MPI_Status status, statuses[messages];
  for (int i = 0; i < messages; ++i) {
    in[i] = -1;
    OK(MPI_Irecv(&in[i], 1, MPI_INT, left_of(rank), i, MPI_COMM_WORLD, &request[i]));
  }
  OK(MPI_Request_get_status(request[0], &flag, &status));
  EQ(flag, 0);
  OK(MPI_Request_get_status_all(messages, request, &flag, statuses));
  EQ(flag, 0);
  OK(MPI_Request_get_status_any(messages, request, &index, &flag, &status));
  EQ(flag, 0);
  EQ(index, MPI_UNDEFINED);
  OK(MPI_Request_get_status_some(messages, request, &count, indices, statuses));
  EQ(count, 0);
  OK(MPI_Barrier(MPI_COMM_WORLD));
  for (int i = 0; i < messages; ++i) {
    out[i] = rank * 10 + i;
    OK(MPI_Isend(&out[i], 1, MPI_INT, right_of(rank), i, MPI_COMM_WORLD, &sent[i]));
  }
  for (flag = 0; !flag;) OK(MPI_Request_get_status(request[2], &flag, &status));
  STATUS(&status, left_of(rank), 2, sizeof(int));
  EQ(in[2], left_of(rank) * 10 + 2);
  for (flag = 0; !flag;) OK(MPI_Request_get_status_all(messages, request, &flag, statuses));
  for (int i = 0; i < messages; ++i) {
    STATUS(&statuses[i], left_of(rank), i, sizeof(int));
    EQ(in[i], left_of(rank) * 10 + i);
    CHECK(request[i] != MPI_REQUEST_NULL, "get_status took request %d away", i);
  }
  OK(MPI_Request_get_status_any(messages, request, &index, &flag, &status));
  EQ(flag, 1);
  CHECK(index >= 0 && index < messages, "get_status_any gave index %d", index);
  STATUS(&status, left_of(rank), index, sizeof(int));
  OK(MPI_Request_get_status_some(messages, request, &count, indices, statuses));
  EQ(count, messages);
  for (int i = 0; i < messages; ++i) STATUS(&statuses[i], left_of(rank), indices[i], sizeof(int));
  OK(MPI_Waitall(messages, request, statuses));
  STATUS(&statuses[1], left_of(rank), 1, sizeof(int));
  OK(MPI_Waitall(messages, sent, MPI_STATUSES_IGNORE));
  // Null requests: complete, with the empty status.
  OK(MPI_Request_get_status(none, &flag, &status));
  EQ(flag, 1);
  STATUS(&status, MPI_ANY_SOURCE, MPI_ANY_TAG, 0);
  OK(MPI_Request_get_status_all(messages, request, &flag, MPI_STATUSES_IGNORE));
  EQ(flag, 1);
  OK(MPI_Request_get_status_any(messages, request, &index, &flag, &status));
  EQ(flag, 1);
  EQ(index, MPI_UNDEFINED);
  OK(MPI_Request_get_status_some(messages, request, &count, indices, statuses));
  EQ(count, MPI_UNDEFINED);
  return finish();
}
