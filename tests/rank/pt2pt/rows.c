// SPDX-License-Identifier: Apache-2.0
// Rows of messages and of puts to all ranks: MPI_Startall of persistent sends and receives of two
// communicators, and puts that a fence ends. Messages of one communicator and tag do not overtake,
// whoever posts them: between nodes idle threads do, too, if the testlist says that it is worth it
// (IS_OFFERED). "multiple": with MPI_THREAD_MULTIPLE, so the communicators are in two contexts.
#include <string.h>

#include "../counter.h"

enum { rounds = 60, each = 4, comms = 2, most_ranks = 16, most_bytes = 3000, put_count = 40 };
enum { most_requests = comms * each * most_ranks };

static const int bytes_of[each] = {8, 600, 3000, 64};
static unsigned char sent[comms][each][most_ranks][most_bytes];
static unsigned char came[comms][each][most_ranks][most_bytes];
static MPI_Comm comm[comms];
static MPI_Request sends[most_requests], receives[most_requests];

static unsigned char mark(int from, int to, int at, int k, int round) {
  return (unsigned char)(1 + (from * 31 + to * 17 + at * 7 + k * 3 + round) % 255);
}

static int open_requests(void) {
  int n = 0;
  for (int k = 0; k < each; ++k)  // the peers one after the other, as a row does
    for (int at = 0; at < comms; ++at)
      for (int peer = 0; peer < size; ++peer, ++n) {
        OK(MPI_Send_init(sent[at][k][peer], bytes_of[k], MPI_BYTE, peer, 5, comm[at], &sends[n]));
        OK(MPI_Recv_init(came[at][k][peer], most_bytes, MPI_BYTE, peer, 5, comm[at], &receives[n]));
      }
  return n;
}

static void exchange(int n, int round) {
  static MPI_Status statuses[most_requests];
  for (int at = 0; at < comms; ++at)
    for (int k = 0; k < each; ++k)
      for (int peer = 0; peer < size; ++peer)
        memset(sent[at][k][peer], mark(rank, peer, at, k, round), (size_t)bytes_of[k]);
  OK(MPI_Startall(n, receives));
  OK(MPI_Startall(n, sends));
  OK(MPI_Waitall(n, sends, MPI_STATUSES_IGNORE));
  OK(MPI_Waitall(n, receives, statuses));
  int request = 0;
  for (int k = 0; k < each; ++k)
    for (int at = 0; at < comms; ++at)
      for (int peer = 0; peer < size; ++peer) {
        int count = -1;
        long wrong = 0;
        OK(MPI_Get_count(&statuses[request++], MPI_BYTE, &count));
        EQ(count, bytes_of[k]);
        for (int i = 0; i < bytes_of[k]; ++i)
          wrong += came[at][k][peer][i] != mark(peer, rank, at, k, round);
        EQ(wrong, 0);
      }
}

static void put_rows(MPI_Win win, unsigned char* memory) {
  static unsigned char data[put_count][most_ranks][64];
  for (int round = 0; round < rounds; ++round) {
    for (int i = 0; i < put_count; ++i)
      for (int peer = 0; peer < size; ++peer) {
        memset(data[i][peer], mark(rank, peer, 0, i, round), 64);
        OK(MPI_Put(data[i][peer], 64, MPI_BYTE, peer, (rank * put_count + i) * 64, 64, MPI_BYTE,
                   win));
      }
    OK(MPI_Win_fence(0, win));
    long wrong = 0;
    for (int peer = 0; peer < size; ++peer)
      for (int i = 0; i < put_count; ++i)
        for (int k = 0; k < 64; ++k)
          wrong += memory[(peer * put_count + i) * 64 + k] != mark(peer, rank, 0, i, round);
    EQ(wrong, 0);
    OK(MPI_Win_fence(0, win));
  }
}

// Has a rank several others on another node?
static int has_peers_away(void) {
  MPI_Comm here;
  int on_node = 0, most = 0;
  OK(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &here));
  OK(MPI_Comm_size(here, &on_node));
  OK(MPI_Comm_free(&here));
  const int away = size - on_node;
  OK(MPI_Allreduce(&away, &most, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD));
  return most > 1;
}

int main(int argc, char** argv) {
  const int multiple = argc > 1 && strcmp(argv[1], "multiple") == 0;
  int provided;
  OK(MPI_Init_thread(&argc, &argv, multiple ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided));
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  open_counter("chunks_offered", MPI_T_PVAR_CLASS_COUNTER);
  for (int at = 0; at < comms; ++at) OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm[at]));

  const int n = open_requests();
  for (int round = 0; round < rounds; ++round) exchange(n, round);
  for (int i = 0; i < n; ++i) {
    OK(MPI_Request_free(&sends[i]));
    OK(MPI_Request_free(&receives[i]));
  }

  MPI_Win win;
  unsigned char* memory;
  OK(MPI_Win_allocate(size * put_count * 64, 1, MPI_INFO_NULL, comm[0], &memory, &win));
  OK(MPI_Win_fence(0, win));
  put_rows(win, memory);
  OK(MPI_Win_free(&win));

  long offered = (long)counted(), all = 0;
  OK(MPI_Allreduce(&offered, &all, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD));
  const char* const says = getenv("IS_OFFERED");
  if (has_peers_away() && says != NULL) EQ(all > 0, says[0] == '1');
  for (int at = 0; at < comms; ++at) OK(MPI_Comm_free(&comm[at]));
  close_counter();
  return finish();
}
