// SPDX-License-Identifier: Apache-2.0
// All-to-all storms: every rank has messages of many sizes to every rank in flight at once,
// receives posted in another order than they arrive.
#include "../check.h"

enum { per_pair = 12, rounds = 4 };

static int length_of(int from, int to, int i) {
  return (from * 37 + to * 101 + i * i * 997) % 40000 * (i % 4 == 3 ? 5 : 1);
}

static void storm(int round, int sends_first) {
  const int total = size * per_pair;
  MPI_Request *sent = alloc(sizeof *sent * total), *got = alloc(sizeof *got * total);
  MPI_Status* status = alloc(sizeof *status * total);
  char **out = alloc(sizeof *out * total), **in = alloc(sizeof *in * total);
  for (int phase = 0; phase < 2; ++phase) {
    for (int k = 0; k < total; ++k) {
      const int peer = (rank + k) % size, i = k / size, slot = peer * per_pair + i;
      if ((phase == 0) == sends_first) {
        const int bytes = length_of(rank, peer, i);
        out[slot] = alloc(bytes);
        fill(out[slot], bytes, rank * 50 + i + round);
        OK(MPI_Isend(out[slot], bytes, MPI_BYTE, peer, i, MPI_COMM_WORLD, &sent[slot]));
      } else {
        const int back = per_pair - 1 - i, place = peer * per_pair + back,
                  bytes = length_of(peer, rank, back);
        in[place] = alloc(bytes);
        OK(MPI_Irecv(in[place], bytes, MPI_BYTE, peer, back, MPI_COMM_WORLD, &got[place]));
      }
    }
  }
  OK(MPI_Waitall(total, got, status));
  OK(MPI_Waitall(total, sent, MPI_STATUSES_IGNORE));
  for (int slot = 0; slot < total; ++slot) {
    const int peer = slot / per_pair, i = slot % per_pair, bytes = length_of(peer, rank, i);
    STATUS(&status[slot], peer, i, bytes);
    FILLED(in[slot], bytes, peer * 50 + i + round);
    free(in[slot]);
    free(out[slot]);
  }
  free(sent);
  free(got);
  free(status);
  free(out);
  free(in);
}

int main(int argc, char** argv) {
  start(&argc, &argv);
  for (int round = 0; round < rounds; ++round) storm(round, round % 2);
  return finish();
}
