// SPDX-License-Identifier: Apache-2.0
// Messages between two ranks that call MPI in a single construct each, so that their other threads
// are idle: in pieces, contiguous and not, and in one copy. The right bytes each time; with -e it
// goes on until an idle thread has written or read some of the pieces, for up to 30 s, else it
// fails. Every other receive comes late, when its pieces lie ready. Prints how many pieces each
// rank offered, and how many another thread did.
#include <omp.h>
#include <unistd.h>

#include "../rank/check.h"

enum { most = 32 << 20, stride = 3, in_round = 8 };
static unsigned char *out, *in;
static MPI_T_pvar_session session;

static MPI_T_pvar_handle counter(const char* name) {
  int index = -1, count = 0;
  MPI_T_pvar_handle handle;
  OK(MPI_T_pvar_get_index(name, MPI_T_PVAR_CLASS_COUNTER, &index));
  OK(MPI_T_pvar_handle_alloc(session, index, NULL, &handle, &count));
  OK(MPI_T_pvar_start(session, handle));
  return handle;
}

static unsigned long long value_of(MPI_T_pvar_handle handle) {
  unsigned long long value = 0;
  OK(MPI_T_pvar_read(session, handle, &value));
  return value;
}

static void receive(int bytes, int tag) {
  MPI_Request request;
  OK(MPI_Irecv(in, bytes, MPI_BYTE, 0, tag, MPI_COMM_WORLD, &request));
  if (tag % 2 == 1) usleep(500);
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
}

// Rank 0 sends `bytes` of data, 8 bytes of each `apart`; rank 1 has room for one block.
static void message(int bytes, int apart) {
  MPI_Datatype type;
  OK(MPI_Type_vector(bytes / 8, 1, apart, MPI_DOUBLE, &type));
  OK(MPI_Type_commit(&type));
  memset(in, 0, (size_t)bytes);
#pragma omp parallel
  for (int i = 0; i < in_round; ++i) {
#pragma omp single
    if (rank == 0)
      OK(MPI_Send(out, 1, type, 1, i, MPI_COMM_WORLD));
    else
      receive(bytes, i);
  }
  long wrong = 0;
  for (int i = 0; rank == 1 && i < bytes / 8; ++i)
    wrong += memcmp(in + 8 * i, out + 8 * (long)i * apart, 8) != 0;
  EQ(wrong, 0);
  OK(MPI_Type_free(&type));
}

int main(int argc, char** argv) {
  int provided, over = 0;
  const int expect = argc > 1 && strcmp(argv[1], "-e") == 0;
  OK(MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &provided));
  OK(MPI_T_init_thread(MPI_THREAD_SERIALIZED, &provided));
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  OK(MPI_T_pvar_session_create(&session));
  MPI_T_pvar_handle offered = counter("pieces_together"), given = counter("pieces_given");
  out = malloc(most);
  in = malloc(most);
  for (long i = 0; i < most; ++i) out[i] = (unsigned char)(i * 7 + i / 251);
  const double start = MPI_Wtime();
  while (!over) {
    message(200000, 1);
    message(200000, stride);
    message(1000000, 1);
    message(4 << 20, 1);
    if (expect) message(most, 1);  // so long that every thread gets a CPU meanwhile
    unsigned long long all = value_of(given);
    OK(MPI_Allreduce(MPI_IN_PLACE, &all, 1, MPI_UNSIGNED_LONG_LONG, MPI_SUM, MPI_COMM_WORLD));
    over = rank == 0 && (!expect || all > 0 || MPI_Wtime() - start > 30);
    OK(MPI_Bcast(&over, 1, MPI_INT, 0, MPI_COMM_WORLD));
    CHECK(!over || !expect || all > 0, "no idle thread helped in 30 s");
  }
  printf("rank %d: %llu pieces offered, %llu done by others\n", rank, value_of(offered),
         value_of(given));
  OK(MPI_T_pvar_session_free(&session));
  OK(MPI_T_finalize());
  if (finish() != 0) return 1;
  if (rank == 0) printf("ok\n");
  return 0;
}
