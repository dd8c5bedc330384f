// SPDX-License-Identifier: Apache-2.0
// Threads in communication contexts of their own: communicators and tags that go to different ones,
// requests of several contexts completed together, wildcards, and that a rank which waits in one
// context completes what it has begun in the others: as long as one thread calls, when the second
// comes, and after many did.
#include <pthread.h>
#include <unistd.h>

#include "../check.h"

enum { threads = 6, rounds = 40, large = 300000 };
static MPI_Comm own[threads];  // one for each thread
static MPI_Comm tagged;        // one for all, whose users name their tags

static int value_of(int of_rank, int me, int round) {
  return of_rank * 1000003 + me * 1009 + round;
}

/// Many messages of one tag: they come in the order in which they were sent.
static int in_order(MPI_Comm comm, int me) {
  int wrong = 0, in[8], out[8];
  MPI_Request r[16];
  for (int round = 0; round < rounds; ++round) {
    for (int i = 0; i < 8; ++i) {
      MPI_Irecv(&in[i], 1, MPI_INT, left_of(rank), me, comm, &r[i]);
      out[i] = value_of(rank, me, 8 * round + i);
    }
    for (int i = 0; i < 8; ++i) MPI_Isend(&out[i], 1, MPI_INT, right_of(rank), me, comm, &r[8 + i]);
    MPI_Waitall(16, r, MPI_STATUSES_IGNORE);
    for (int i = 0; i < 8; ++i) wrong += in[i] != value_of(left_of(rank), me, 8 * round + i);
  }
  return wrong;
}

/// From anybody; of a large message and a small one, the first that comes.
static int from_anybody(MPI_Comm comm, int me) {
  int wrong = 0;
  char* big = malloc(large);
  for (int round = 0; round < 4; ++round) {
    int in = -1, out = value_of(rank, me, round), found = 0;
    MPI_Status status;
    MPI_Request r[3];
    MPI_Message message;
    MPI_Isend(&out, 1, MPI_INT, right_of(rank), me, comm, &r[0]);
    MPI_Issend(big, large, MPI_CHAR, right_of(rank), me, comm, &r[1]);
    while (!found) MPI_Iprobe(MPI_ANY_SOURCE, me, comm, &found, &status);
    wrong += status.MPI_SOURCE != left_of(rank) || status.MPI_TAG != me;
    MPI_Recv(&in, 1, MPI_INT, MPI_ANY_SOURCE, me, comm, &status);
    wrong += in != value_of(left_of(rank), me, round);
    MPI_Mprobe(MPI_ANY_SOURCE, me, comm, &message, &status);
    char* into = malloc(large);
    MPI_Imrecv(into, large, MPI_CHAR, &message, &r[2]);
    MPI_Waitall(3, r, MPI_STATUSES_IGNORE);
    free(into);
  }
  free(big);
  return wrong;
}

/// What nobody receives is taken back, whether it is pushed or offered.
static int taken_back(MPI_Comm comm, int me) {
  const int bytes[] = {20000, large};
  int wrong = 0, cancelled = 0;
  char* out = calloc(1, large);
  for (int round = 0; round < 10; ++round) {
    MPI_Request request;
    MPI_Status status;
    MPI_Isend(out, bytes[round % 2], MPI_CHAR, right_of(rank), threads + me, comm, &request);
    MPI_Cancel(&request);
    MPI_Wait(&request, &status);
    MPI_Test_cancelled(&status, &cancelled);
    wrong += !cancelled;
  }
  free(out);
  return wrong;
}

static void* work(void* argument) {
  const int me = (int)(intptr_t)argument;
  int wrong = in_order(own[me], me) + in_order(tagged, me);
  wrong += from_anybody(own[me], me) + from_anybody(tagged, me);
  wrong += taken_back(own[me], me) + taken_back(tagged, me);
  for (int round = 0; round < rounds; ++round) {
    int sum = 0, one = me + round;
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, own[me]);
    wrong += sum != size * one;
  }
  return (void*)(intptr_t)wrong;
}

/// Requests of all contexts at once, in every way to complete them.
static void completes_across(void) {
  int in[2 * threads], out[2 * threads], index, flag, count, indices[4 * threads];
  MPI_Request r[4 * threads];
  MPI_Status statuses[4 * threads];
  for (int way = 0; way < 6; ++way) {
    MPI_Request* sends = r + 2 * threads;
    for (int i = 0; i < 2 * threads; ++i) {
      const MPI_Comm c = i < threads ? own[i] : tagged;
      out[i] = value_of(rank, i, way);
      in[i] = -1;
      MPI_Irecv(&in[i], 1, MPI_INT, left_of(rank), i, c, &r[i]);
      MPI_Issend(&out[i], 1, MPI_INT, right_of(rank), i, c, &sends[i]);
    }
    int left = 4 * threads;
    switch (way) {
      case 0:
        MPI_Waitall(4 * threads, r, statuses);
        for (int i = 0; i < 2 * threads; ++i) EQ(statuses[i].MPI_TAG, i);
        break;
      case 1:
        for (; left > 0; --left) {
          MPI_Waitany(4 * threads, r, &index, &statuses[0]);
          left += index == MPI_UNDEFINED;  // it must not be
        }
        break;
      case 2:
        for (; left > 0; left -= count)
          MPI_Waitsome(4 * threads, r, &count, indices, MPI_STATUSES_IGNORE);
        break;
      case 3:
        for (flag = 0; !flag;) MPI_Testall(4 * threads, r, &flag, MPI_STATUSES_IGNORE);
        break;
      case 4:
        while (left > 0) {
          MPI_Testany(4 * threads, r, &index, &flag, MPI_STATUS_IGNORE);
          left -= flag;
        }
        break;
      default:
        while (left > 0) {
          MPI_Testsome(4 * threads, r, &count, indices, MPI_STATUSES_IGNORE);
          left -= count;
        }
    }
    MPI_Waitany(4 * threads, r, &index, MPI_STATUS_IGNORE);
    EQ(index, MPI_UNDEFINED);
    for (int i = 0; i < 2 * threads; ++i) EQ(in[i], value_of(left_of(rank), i, way));
  }
}

/// A send and a receive of one call in different contexts, persistent ones started together.
static void pairs_across(void) {
  for (int i = 0; i < threads; ++i) {
    const int to = i, from = (i + 1) % threads;
    int out = value_of(rank, i, 0), in = -1;
    MPI_Status status;
    // Everybody sends with tag `to` and then receives it in a second call.
    MPI_Request r;
    MPI_Isend(&out, 1, MPI_INT, right_of(rank), from, tagged, &r);
    MPI_Sendrecv(&out, 1, MPI_INT, right_of(rank), to, &in, 1, MPI_INT, left_of(rank), from, tagged,
                 &status);
    EQ(in, value_of(left_of(rank), i, 0));
    EQ(status.MPI_TAG, from);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
    in = -1;
    MPI_Recv(&in, 1, MPI_INT, left_of(rank), to, tagged, MPI_STATUS_IGNORE);
    EQ(in, value_of(left_of(rank), i, 0));

    int again = -1;
    MPI_Request pair[2];
    MPI_Isendrecv(&out, 1, MPI_INT, right_of(rank), to, &in, 1, MPI_INT, left_of(rank), from,
                  tagged, &pair[0]);
    MPI_Isendrecv(&out, 1, MPI_INT, right_of(rank), from, &again, 1, MPI_INT, left_of(rank), to,
                  tagged, &pair[1]);
    MPI_Waitall(2, pair, MPI_STATUSES_IGNORE);
    EQ(in, value_of(left_of(rank), i, 0));
    EQ(again, in);
  }
  int in[threads], out[threads];
  MPI_Request r[2 * threads];
  for (int i = 0; i < threads; ++i) {
    MPI_Recv_init(&in[i], 1, MPI_INT, left_of(rank), i, tagged, &r[i]);
    MPI_Send_init(&out[i], 1, MPI_INT, right_of(rank), i, tagged, &r[threads + i]);
  }
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < threads; ++i) out[i] = value_of(rank, i, round);
    MPI_Startall(2 * threads, r);
    MPI_Waitall(2 * threads, r, MPI_STATUSES_IGNORE);
    for (int i = 0; i < threads; ++i) EQ(in[i], value_of(left_of(rank), i, round));
  }
  for (int i = 0; i < 2 * threads; ++i) MPI_Request_free(&r[i]);
}

/// Each rank waits in one context for what its neighbour sends only after a large message of
/// another context, in which nobody waits here, has gone.
static void completes_elsewhere(void) {
  char* out = malloc(large);
  char* in = malloc(large);
  for (int i = 1; i < threads; ++i) {
    MPI_Request r[2];
    int done = -1;
    for (int k = 0; k < large; ++k) out[k] = (char)(k * 7 + i + rank);
    MPI_Issend(out, large, MPI_CHAR, right_of(rank), 0, own[i], &r[0]);
    MPI_Irecv(in, large, MPI_CHAR, left_of(rank), 0, own[i], &r[1]);
    if (rank % 2 == 0 && rank + 1 < size) {
      MPI_Recv(&done, 1, MPI_INT, right_of(rank), 0, own[i - 1], MPI_STATUS_IGNORE);
      MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
    } else {
      MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
      if (rank % 2 == 1) MPI_Send(&i, 1, MPI_INT, left_of(rank), 0, own[i - 1]);
      done = i;
    }
    int wrong = done != i;
    for (int k = 0; k < large; ++k) wrong += in[k] != (char)(k * 7 + i + left_of(rank));
    EQ(wrong, 0);
  }
  free(out);
  free(in);
}

/// More small messages than a mailbox holds, into a context whose receiver waits in another one.
static void drains_elsewhere(void) {
  enum { many = 3000 };
  int value = -1, wrong = 0;
  if (size < 2) return;
  if (rank == 0) {
    for (int i = 0; i < many; ++i) MPI_Send(&i, 1, MPI_INT, 1, 0, own[1]);
    MPI_Send(&value, 1, MPI_INT, 1, 0, own[0]);
  } else if (rank == 1) {
    MPI_Recv(&value, 1, MPI_INT, 0, 0, own[0], MPI_STATUS_IGNORE);
    for (int i = 0; i < many; ++i) {
      MPI_Recv(&value, 1, MPI_INT, 0, 0, own[1], MPI_STATUS_IGNORE);
      wrong += value != i;
    }
    EQ(wrong, 0);
  }
}

/// Cancels in a context whose receiver waits in another one, until the cancel is over.
static void cancels_elsewhere(void) {
  enum { pushed = 20000 };
  const int bytes[] = {pushed, large};
  char* out = calloc(1, large);
  for (int i = 2; i < 2 * threads; ++i) {
    MPI_Request request;
    MPI_Status status;
    int cancelled = -1;
    if (rank == 0 && size > 1) {
      MPI_Isend(out, bytes[i % 2], MPI_CHAR, 1, 0, own[i / 2], &request);
      MPI_Cancel(&request);
      MPI_Wait(&request, &status);
      MPI_Test_cancelled(&status, &cancelled);
      EQ(cancelled, 1);
      MPI_Send(&cancelled, 1, MPI_INT, 1, 0, own[0]);
    } else if (rank == 1) {
      MPI_Recv(&cancelled, 1, MPI_INT, 0, 0, own[0], MPI_STATUS_IGNORE);
    }
  }
  free(out);
}

/// The rank's second thread: it waits for a neighbour, or ends the first one's wait.
static void* comes_late(void* waits) {
  int done = -1;
  usleep(30000);
  if (waits != NULL)
    MPI_Recv(&done, 1, MPI_INT, right_of(rank), 0, own[2], MPI_STATUS_IGNORE);
  else
    MPI_Send(&done, 1, MPI_INT, rank, 1, own[0]);
  return NULL;
}

/// The first thread has begun something in one context when the second comes: it sleeps in another;
/// or it is not in MPI, and the second waits for what that something keeps back.
static void second_comes(void) {
  const int waits = rank % 2 == 0 && rank + 1 < size;
  char* out = malloc(large);
  char* in = malloc(large);
  pthread_t thread;
  MPI_Request r[2];
  int wrong = 0, done;
  for (int k = 0; k < large; ++k) out[k] = (char)(k * 7 + rank);
  MPI_Irecv(in, large, MPI_CHAR, left_of(rank), 0, own[1], &r[0]);
  MPI_Issend(out, large, MPI_CHAR, right_of(rank), 0, own[1], &r[1]);
  pthread_create(&thread, NULL, comes_late, waits ? own : NULL);
  if (!waits) MPI_Recv(&done, 1, MPI_INT, rank, 1, own[0], MPI_STATUS_IGNORE);
  pthread_join(thread, NULL);
  MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
  if (rank % 2 == 1) MPI_Send(&wrong, 1, MPI_INT, left_of(rank), 0, own[2]);
  for (int k = 0; k < large; ++k) wrong += in[k] != (char)(k * 7 + left_of(rank));
  EQ(wrong, 0);
  free(out);
  free(in);
}

/// Waits in a context of its own; the first thread sleeps before the second does, and leaves first.
static void* sleeps_there(void* number) {
  const int me = (int)(intptr_t)number;
  int in = -1;
  usleep((useconds_t)me * 30000);
  MPI_Recv(&in, 1, MPI_INT, 0, 0, own[me], MPI_STATUS_IGNORE);
  EQ(in, me);
  return NULL;
}

/// The thread that slept for all contexts is gone; the one that sleeps now looks after them all:
/// the one that was left, and those in which nobody ever waited.
static void leaves_the_other(void) {
  const int last = size - 1;
  if (size == 1) return;
  OK(MPI_Barrier(MPI_COMM_WORLD));
  if (rank == 0) {
    int cancelled = 0;
    char* out = calloc(1, large);
    for (int i = 0; i < 2; ++i) {
      usleep(100000);
      OK(MPI_Send(&i, 1, MPI_INT, last, 0, own[i]));
      for (int k = 0; k < threads && i == 0; ++k) {
        MPI_Request request;
        MPI_Status status;
        usleep(20000);
        OK(MPI_Isend(out, large, MPI_CHAR, last, 1, own[k], &request));
        OK(MPI_Cancel(&request));
        OK(MPI_Wait(&request, &status));
        OK(MPI_Test_cancelled(&status, &cancelled));
        EQ(cancelled, 1);
      }
    }
    free(out);
  } else if (rank == last) {
    pthread_t thread[2];
    for (int i = 0; i < 2; ++i) pthread_create(&thread[i], NULL, sleeps_there, (void*)(intptr_t)i);
    for (int i = 0; i < 2; ++i) pthread_join(thread[i], NULL);
  }
  OK(MPI_Barrier(MPI_COMM_WORLD));
}

static void by_one_thread(void) {
  completes_across();
  pairs_across();
  completes_elsewhere();
  drains_elsewhere();
  cancels_elsewhere();
}

/// A promise that was given is kept to: MPI_ANY_TAG is an error where tags choose contexts.
static void refuses_any_tag(int contexts) {
  if (contexts == 1) return;
  int value, code;
  MPI_Comm_set_errhandler(tagged, MPI_ERRORS_RETURN);
  code = MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, tagged, MPI_STATUS_IGNORE);
  EQ(code, MPI_ERR_TAG);
}

int main(int argc, char** argv) {
  int provided, wrong = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int i = 0; i < threads; ++i) MPI_Comm_dup(MPI_COMM_WORLD, &own[i]);
  MPI_Info info;
  MPI_Info_create(&info);
  MPI_Info_set(info, "mpi_assert_no_any_tag", "true");
  MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &tagged);
  MPI_Info_free(&info);

  by_one_thread();
  second_comes();
  leaves_the_other();
  pthread_t thread[threads];
  for (int i = 0; i < threads; ++i) pthread_create(&thread[i], NULL, work, (void*)(intptr_t)i);
  for (int i = 0; i < threads; ++i) {
    void* result;
    pthread_join(thread[i], &result);
    wrong += (int)(intptr_t)result;
  }
  EQ(wrong, 0);
  by_one_thread();
  const char* contexts = getenv("WEFT_PT2PT_CONTEXTS");
  refuses_any_tag(contexts != NULL ? atoi(contexts) : 8);

  for (int i = 0; i < threads; ++i) MPI_Comm_free(&own[i]);
  MPI_Comm_disconnect(&tagged);
  return finish();
}
