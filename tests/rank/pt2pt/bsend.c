// SPDX-License-Identifier: Apache-2.0
// Buffered sends: attach and detach, room used again, detach waits, no room, automatic and
// communicator buffers.
#include "../check.h"

static void no_room(void) {
  char small[256 + MPI_BSEND_OVERHEAD];
  char* big = alloc(100000);
  void* back;
  int back_size, class = 0;
  OK(MPI_Buffer_attach(small, (int)sizeof small));
  OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  const int code = MPI_Bsend(big, 100000, MPI_BYTE, rank, 1, MPI_COMM_WORLD);
  OK(MPI_Error_class(code, &class));
  CHECK(class == MPI_ERR_BUFFER, "Bsend without room gave '%s', expected class MPI_ERR_BUFFER",
        error_text_(code));
  OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
  OK(MPI_Buffer_detach(&back, &back_size));
  EQ(back_size, sizeof small);
  free(big);
}

// The room of delivered messages comes back: a small buffer carries many messages, one after the
// other.
static void room_again(void) {
  enum { bytes = 1000, rounds = 500 };
  static char buffer[2 * (bytes + MPI_BSEND_OVERHEAD)];
  char out[bytes], in[bytes];
  void* back;
  int back_size;
  OK(MPI_Buffer_attach(buffer, (int)sizeof buffer));
  for (int i = 0; i < rounds; ++i) {
    fill(out, bytes, i);
    OK(MPI_Bsend(out, bytes, MPI_BYTE, right_of(rank), 2, MPI_COMM_WORLD));
    memset(out, 0, bytes);
    OK(MPI_Recv(in, bytes, MPI_BYTE, left_of(rank), 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    FILLED(in, bytes, i);
    // Both sides agree that the message of this round is through: its room is free again.
    MPI_Request request;
    OK(MPI_Issend(NULL, 0, MPI_BYTE, left_of(rank), 3, MPI_COMM_WORLD, &request));
    OK(MPI_Recv(NULL, 0, MPI_BYTE, right_of(rank), 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  }
  OK(MPI_Buffer_detach(&back, &back_size));
  CHECK(back == (void*)buffer, "detach gave %p, expected %p", back, (void*)buffer);
}

// Detach returns only when all is delivered: the buffer may be overwritten at once.
static void detach_waits(void) {
  enum { bytes = 100000 };
  char *buffer = alloc(bytes + MPI_BSEND_OVERHEAD), *data = alloc(bytes), *in = alloc(bytes);
  void* back;
  int back_size;
  MPI_Request request;
  OK(MPI_Irecv(in, bytes, MPI_BYTE, left_of(rank), 4, MPI_COMM_WORLD, &request));
  OK(MPI_Buffer_attach(buffer, bytes + MPI_BSEND_OVERHEAD));
  fill(data, bytes, 77);
  OK(MPI_Bsend(data, bytes, MPI_BYTE, right_of(rank), 4, MPI_COMM_WORLD));
  memset(data, 0, bytes);
  OK(MPI_Buffer_detach(&back, &back_size));
  memset(buffer, 0x55, bytes + MPI_BSEND_OVERHEAD);
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  FILLED(in, bytes, 77);
  free(buffer);
  free(data);
  free(in);
}

static void burst(MPI_Comm comm, int tag) {
  enum { messages = 40, bytes = 20000 };
  char *out = alloc(bytes), *in = alloc(bytes);
  for (int i = 0; i < messages; ++i) {
    fill(out, bytes, i);
    OK(MPI_Bsend(out, bytes - i, MPI_BYTE, right_of(rank), tag, comm));
  }
  memset(out, 0, bytes);
  for (int i = 0; i < messages; ++i) {
    MPI_Status status;
    OK(MPI_Recv(in, bytes, MPI_BYTE, left_of(rank), tag, comm, &status));
    STATUS(&status, left_of(rank), tag, bytes - i);
    FILLED(in, bytes - i, i);
  }
  free(out);
  free(in);
}

static void automatic(void) {
  void* back = NULL;
  int back_size = -1;
  OK(MPI_Buffer_attach(MPI_BUFFER_AUTOMATIC, 0));
  burst(MPI_COMM_WORLD, 5);
  OK(MPI_Buffer_flush());
  OK(MPI_Buffer_detach(&back, &back_size));
  CHECK(back == MPI_BUFFER_AUTOMATIC, "detach gave %p, expected MPI_BUFFER_AUTOMATIC", back);
}

static void of_communicator(void) {
  MPI_Comm comm;
  MPI_Request request;
  void *back = NULL, *buffer;
  int back_size = -1;
  const int room = 40 * (20000 + MPI_BSEND_OVERHEAD);
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
  buffer = alloc(room);
  OK(MPI_Comm_attach_buffer(comm, buffer, room));
  burst(comm, 6);
  OK(MPI_Comm_flush_buffer(comm));
  OK(MPI_Comm_iflush_buffer(comm, &request));
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  OK(MPI_Comm_detach_buffer(comm, &back, &back_size));
  CHECK(back == buffer, "Comm_detach_buffer gave %p, expected %p", back, buffer);
  EQ(back_size, room);
  OK(MPI_Comm_attach_buffer_c(comm, MPI_BUFFER_AUTOMATIC, 0));
  burst(comm, 7);
  MPI_Count back_count = -1;
  OK(MPI_Comm_detach_buffer_c(comm, &back, &back_count));
  CHECK(back == MPI_BUFFER_AUTOMATIC, "Comm_detach_buffer_c gave %p, expected MPI_BUFFER_AUTOMATIC",
        back);
  free(buffer);
  OK(MPI_Comm_free(&comm));
}

int main(int argc, char** argv) {
  start(&argc, &argv);
  no_room();
  room_again();
  detach_waits();
  automatic();
  of_communicator();
  return finish();
}
