// SPDX-License-Identifier: Apache-2.0
// MPI_BOTTOM with absolute addresses: globals, stack and heap in one message, received the same way
// or into plain memory.
#include "../check.h"

static int global_out[10], global_in[10];

int main(int argc, char** argv) {
  start(&argc, &argv);
  double stack_out[5], stack_in[5];
  enum { heap_bytes = 300000 };
  char *heap_out = alloc(heap_bytes), *heap_in = alloc(heap_bytes);
  const int lengths[3] = {10, 5, heap_bytes};
  const MPI_Datatype types[3] = {MPI_INT, MPI_DOUBLE, MPI_CHAR};
  MPI_Aint out_at[3], in_at[3];
  MPI_Datatype out_type, in_type;
  MPI_Request request;
  for (int i = 0; i < 10; ++i) global_out[i] = rank * 100 + i;
  for (int i = 0; i < 5; ++i) stack_out[i] = rank + i * 0.5;
  fill(heap_out, heap_bytes, rank);
  OK(MPI_Get_address(global_out, &out_at[0]));
  OK(MPI_Get_address(stack_out, &out_at[1]));
  OK(MPI_Get_address(heap_out, &out_at[2]));
  OK(MPI_Get_address(global_in, &in_at[0]));
  OK(MPI_Get_address(stack_in, &in_at[1]));
  OK(MPI_Get_address(heap_in, &in_at[2]));
  CHECK(MPI_Aint_diff(MPI_Aint_add(in_at[0], 40), in_at[0]) == 40,
        "MPI_Aint_add and _diff do not agree");
  OK(MPI_Type_create_struct(3, lengths, out_at, types, &out_type));
  OK(MPI_Type_create_struct(3, lengths, in_at, types, &in_type));
  OK(MPI_Type_commit(&out_type));
  OK(MPI_Type_commit(&in_type));
  OK(MPI_Irecv(MPI_BOTTOM, 1, in_type, left_of(rank), 1, MPI_COMM_WORLD, &request));
  OK(MPI_Send(MPI_BOTTOM, 1, out_type, right_of(rank), 1, MPI_COMM_WORLD));
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  for (int i = 0; i < 10; ++i) EQ(global_in[i], left_of(rank) * 100 + i);
  for (int i = 0; i < 5; ++i)
    CHECK(stack_in[i] == left_of(rank) + i * 0.5, "stack_in[%d] is %g", i, stack_in[i]);
  FILLED(heap_in, heap_bytes, left_of(rank));
  // Small, without the heap part: a prefix of the types, to an ordinary buffer on the other side.
  MPI_Datatype small;
  struct {
    int a[10];
    double b[5];
  } plain;
  OK(MPI_Type_create_struct(2, lengths, out_at, types, &small));
  OK(MPI_Type_commit(&small));
  const MPI_Aint near[2] = {0, (char*)plain.b - (char*)&plain};
  MPI_Datatype plain_type;
  OK(MPI_Type_create_struct(2, lengths, near, types, &plain_type));
  OK(MPI_Type_commit(&plain_type));
  OK(MPI_Irecv(&plain, 1, plain_type, left_of(rank), 2, MPI_COMM_WORLD, &request));
  OK(MPI_Send(MPI_BOTTOM, 1, small, right_of(rank), 2, MPI_COMM_WORLD));
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  for (int i = 0; i < 10; ++i) EQ(plain.a[i], left_of(rank) * 100 + i);
  for (int i = 0; i < 5; ++i)
    CHECK(plain.b[i] == left_of(rank) + i * 0.5, "plain.b[%d] is %g", i, plain.b[i]);
  // And a collective from MPI_BOTTOM.
  for (int i = 0; i < 10; ++i) global_out[i] = rank == 0 ? i * 7 : -1;
  OK(MPI_Bcast(MPI_BOTTOM, 1, small, 0, MPI_COMM_WORLD));
  for (int i = 0; i < 10; ++i) EQ(global_out[i], i * 7);
  for (int i = 0; i < 5; ++i)
    CHECK(stack_out[i] == i * 0.5, "stack_out[%d] is %g after the broadcast", i, stack_out[i]);
  OK(MPI_Type_free(&out_type));
  OK(MPI_Type_free(&in_type));
  OK(MPI_Type_free(&small));
  OK(MPI_Type_free(&plain_type));
  free(heap_out);
  free(heap_in);
  return finish();
}
