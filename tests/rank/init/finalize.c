// SPDX-License-Identifier: Apache-2.0
// Finalize: attributes of MPI_COMM_SELF are deleted first, in reverse order, while MPI still works;
// unreceived small messages and objects left behind do no harm.
#include "../check.h"

static int order[3], deleted, worked;

static int on_delete(MPI_Comm comm, int key, void* value, void* extra) {
  (void)comm, (void)key, (void)extra;
  int finalized = 1, value_in = 3, value_out = 0;
  MPI_Finalized(&finalized);
  MPI_Allreduce(&value_in, &value_out, 1, MPI_INT, MPI_SUM, MPI_COMM_SELF);
  worked += !finalized && value_out == 3;
  if (deleted < 3) order[deleted++] = (int)(intptr_t)value;
  return MPI_SUCCESS;
}

int main(int argc, char** argv) {
  start(&argc, &argv);
  for (intptr_t i = 0; i < 3; ++i) {
    int key;
    OK(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, on_delete, &key, NULL));
    OK(MPI_Comm_set_attr(MPI_COMM_SELF, key, (void*)i));
    OK(MPI_Comm_free_keyval(&key));
  }
  MPI_Comm left;
  MPI_Datatype type;
  MPI_Request request;
  static int in, out = 4;
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &left));
  OK(MPI_Type_contiguous(3, MPI_INT, &type));
  OK(MPI_Type_commit(&type));
  OK(MPI_Recv_init(&in, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, &request));
  OK(MPI_Sendrecv(&out, 1, MPI_INT, right_of(rank), 5, &in, 1, MPI_INT, left_of(rank), 5, left,
                  MPI_STATUS_IGNORE));
  EQ(in, 4);
  OK(MPI_Finalize());
  EQ(deleted, 3);
  EQ(worked, 3);
  for (int i = 0; i < deleted; ++i) EQ(order[i], 2 - i);
  return verdict();
}
