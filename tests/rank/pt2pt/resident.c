// SPDX-License-Identifier: Apache-2.0
// A rank that exchanges small messages with four neighbours keeps less than half a MiB of the job's
// memory resident, whatever size of message it tries.
#include "../check.h"

// The sum of the numbers that follow a word, in the parts of the file whose heads name `part`.
static long number_in(const char* path, const char* part, const char* word) {
  FILE* file = fopen(path, "r");
  char line[512];
  long sum = 0;
  int is_in = !part;
  while (file && fgets(line, sizeof line, file)) {
    if (part && strchr(line, '-')) is_in = strstr(line, part) != NULL;
    if (is_in && !strncmp(line, word, strlen(word))) sum += atol(line + strlen(word));
  }
  if (file) fclose(file);
  return sum;
}

static void exchange(int bytes) {
  enum { neighbours = 4 };
  static const int way[neighbours] = {-2, -1, 1, 2};
  static char in[neighbours][1024], out[1024];
  MPI_Request request[2 * neighbours];
  for (int i = 0; i < neighbours; ++i) {
    const int from = (rank + way[i] + size) % size, to = (rank - way[i] + size) % size;
    OK(MPI_Irecv(in[i], bytes, MPI_BYTE, from, i, MPI_COMM_WORLD, &request[i]));
    OK(MPI_Isend(out, bytes, MPI_BYTE, to, i, MPI_COMM_WORLD, &request[neighbours + i]));
  }
  OK(MPI_Waitall(2 * neighbours, request, MPI_STATUSES_IGNORE));
}

int main(int argc, char** argv) {
  start(&argc, &argv);
  for (int bytes = 1; bytes <= 1024; bytes *= 2)
    for (int i = 0; i < 1000; ++i) exchange(bytes);
  const long mine = number_in("/proc/self/smaps", "weft-job", "Pss:");
  MPI_Comm node;
  int ranks_here;
  OK(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node));
  OK(MPI_Comm_size(node, &ranks_here));
  OK(MPI_Comm_free(&node));
  if (number_in("/proc/self/status", NULL, "Threads:") < ranks_here) ranks_here = 1;
  CHECK(mine > 0 && mine <= 512L * ranks_here,
        "%ld KiB of the job's memory are resident, not 1 to 512 of each rank", mine);
  return finish();
}
