// SPDX-License-Identifier: Apache-2.0
// Every blocking and nonblocking send mode, at sizes of each protocol, with the receive posted
// before and after.
#include "../check.h"

enum { longest = 300001 };
static const int lengths[] = {0, 1, 8, 63, 64, 65, 1000, 4096, 10000, 65536, longest};
enum { modes = 8 };
static const char* const mode_names[modes] = {"Send",  "Ssend",  "Bsend",  "Rsend",
                                              "Isend", "Issend", "Ibsend", "Irsend"};

static void send(int mode, const void* data, int bytes, int to, int tag) {
  MPI_Request request = MPI_REQUEST_NULL;
  switch (mode) {
    case 0:
      OK(MPI_Send(data, bytes, MPI_BYTE, to, tag, MPI_COMM_WORLD));
      break;
    case 1:
      OK(MPI_Ssend(data, bytes, MPI_BYTE, to, tag, MPI_COMM_WORLD));
      break;
    case 2:
      OK(MPI_Bsend(data, bytes, MPI_BYTE, to, tag, MPI_COMM_WORLD));
      break;
    case 3:
      OK(MPI_Rsend(data, bytes, MPI_BYTE, to, tag, MPI_COMM_WORLD));
      break;
    case 4:
      OK(MPI_Isend(data, bytes, MPI_BYTE, to, tag, MPI_COMM_WORLD, &request));
      break;
    case 5:
      OK(MPI_Issend(data, bytes, MPI_BYTE, to, tag, MPI_COMM_WORLD, &request));
      break;
    case 6:
      OK(MPI_Ibsend(data, bytes, MPI_BYTE, to, tag, MPI_COMM_WORLD, &request));
      break;
    case 7:
      OK(MPI_Irsend(data, bytes, MPI_BYTE, to, tag, MPI_COMM_WORLD, &request));
      break;
  }
  if (mode >= 4) OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
}

// Even ranks send to their odd neighbour, then the other way round.
static void exchange(int mode, int bytes, int posted_first, int sender, unsigned char* data) {
  const int peer = rank ^ 1, ready = mode == 3 || mode == 7, tag = mode * 100 + bytes % 97;
  MPI_Request request;
  MPI_Status status;
  if (peer >= size) return;
  if (sender) {
    // A ready send needs the receive posted: the receiver says so.
    if (posted_first || ready)
      OK(MPI_Recv(NULL, 0, MPI_BYTE, peer, 9999, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    fill(data, bytes, mode + bytes);
    send(mode, data, bytes, peer, tag);
    if (!posted_first && !ready) OK(MPI_Send(NULL, 0, MPI_BYTE, peer, 9998, MPI_COMM_WORLD));
    return;
  }
  memset(data, 0xee, bytes + 16);
  if (posted_first || ready) {
    OK(MPI_Irecv(data, bytes + 16, MPI_BYTE, peer, tag, MPI_COMM_WORLD, &request));
    OK(MPI_Send(NULL, 0, MPI_BYTE, peer, 9999, MPI_COMM_WORLD));
    OK(MPI_Wait(&request, &status));
  } else if (mode == 2 || mode == 6) {
    // The later message arrives first at the application: a buffered send must complete without its
    // receive.
    OK(MPI_Recv(NULL, 0, MPI_BYTE, peer, 9998, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    OK(MPI_Recv(data, bytes + 16, MPI_BYTE, peer, tag, MPI_COMM_WORLD, &status));
  } else {
    OK(MPI_Recv(data, bytes + 16, MPI_BYTE, peer, tag, MPI_COMM_WORLD, &status));
    OK(MPI_Recv(NULL, 0, MPI_BYTE, peer, 9998, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  }
  STATUS(&status, peer, tag, bytes);
  if (!FILLED(data, bytes, mode + bytes))
    DIE("%s of %d bytes arrived wrong", mode_names[mode], bytes);
  CHECK(data[bytes] == 0xee, "%s of %d bytes wrote past its end", mode_names[mode], bytes);
}

int main(int argc, char** argv) {
  start(&argc, &argv);
  unsigned char* data = alloc(longest + 16);
  const int room = longest + MPI_BSEND_OVERHEAD;
  void *buffer = alloc(room), *back = NULL;
  int back_size = 0;
  OK(MPI_Buffer_attach(buffer, room));
  for (int mode = 0; mode < modes; ++mode) {
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; ++i) {
      for (int first = 0; first < 2; ++first) {
        exchange(mode, lengths[i], first, rank % 2 == 0, data);
        exchange(mode, lengths[i], first, rank % 2 == 1, data);
      }
    }
  }
  OK(MPI_Buffer_detach(&back, &back_size));
  CHECK(back == buffer, "detach gave %p, attached was %p", back, buffer);
  EQ(back_size, room);
  free(buffer);
  free(data);
  return finish();
}
