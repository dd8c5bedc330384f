// SPDX-License-Identifier: Apache-2.0
// Wait and Test in their all, any and some forms: what completes, what stays, null and inactive
// entries, empty lists.
#include "../check.h"

enum { messages = 12 };
static int out[messages], in[messages];

// Receives 0..n-1 are posted; the sends come in reverse order of tags when go() is called.
static void post(MPI_Request* request) {
  for (int i = 0; i < messages; ++i) {
    in[i] = -1;
    OK(MPI_Irecv(&in[i], 1, MPI_INT, left_of(rank), i, MPI_COMM_WORLD, &request[i]));
  }
}

static void go(MPI_Request* sent) {
  OK(MPI_Barrier(MPI_COMM_WORLD));
  for (int i = messages - 1; i >= 0; --i) {
    out[i] = rank * 1000 + i;
    OK(MPI_Isend(&out[i], 1, MPI_INT, right_of(rank), i, MPI_COMM_WORLD, &sent[i]));
  }
}

static void arrived(int i, const MPI_Status* status) {
  EQ(in[i], left_of(rank) * 1000 + i);
  STATUS(status, left_of(rank), i, sizeof(int));
}

static void all(int test) {
  MPI_Request request[messages], sent[messages];
  MPI_Status status[messages];
  post(request);
  if (test) {
    int flag = 1;
    OK(MPI_Testall(messages, request, &flag, status));
    EQ(flag, 0);
    for (int i = 0; i < messages; ++i)
      CHECK(request[i] != MPI_REQUEST_NULL, "Testall without success took request %d", i);
  }
  go(sent);
  if (test) {
    for (int flag = 0; !flag;) OK(MPI_Testall(messages, request, &flag, status));
  } else {
    OK(MPI_Waitall(messages, request, status));
  }
  for (int i = 0; i < messages; ++i) {
    arrived(i, &status[i]);
    CHECK(request[i] == MPI_REQUEST_NULL, "request %d is not null", i);
  }
  OK(MPI_Waitall(messages, sent, MPI_STATUSES_IGNORE));
  OK(MPI_Waitall(messages, request, status));  // all null now: empty statuses
  STATUS(&status[3], MPI_ANY_SOURCE, MPI_ANY_TAG, 0);
  OK(MPI_Waitall(0, NULL, MPI_STATUSES_IGNORE));
}

static void any(int test) {
  MPI_Request request[messages], sent[messages];
  MPI_Status status;
  int index = 0, flag = 1, seen[messages] = {0};
  post(request);
  if (test) {
    OK(MPI_Testany(messages, request, &index, &flag, &status));
    EQ(flag, 0);
    EQ(index, MPI_UNDEFINED);
  }
  go(sent);
  for (int done = 0; done < messages; ++done) {
    if (test) {
      for (flag = 0; !flag;) OK(MPI_Testany(messages, request, &index, &flag, &status));
    } else {
      OK(MPI_Waitany(messages, request, &index, &status));
    }
    if (index < 0 || index >= messages || seen[index])
      DIE("index %d was given %s", index, index < 0 ? "" : "twice");
    seen[index] = 1;
    arrived(index, &status);
    CHECK(request[index] == MPI_REQUEST_NULL, "request %d is not null", index);
  }
  OK(MPI_Waitany(messages, request, &index, &status));
  EQ(index, MPI_UNDEFINED);
  STATUS(&status, MPI_ANY_SOURCE, MPI_ANY_TAG, 0);
  OK(MPI_Testany(0, NULL, &index, &flag, &status));
  EQ(index, MPI_UNDEFINED);
  EQ(flag, 1);
  OK(MPI_Waitall(messages, sent, MPI_STATUSES_IGNORE));
}

static void some(int test) {
  MPI_Request request[messages], sent[messages];
  MPI_Status status[messages];
  int count = -1, indices[messages], seen[messages] = {0};
  post(request);
  if (test) {
    OK(MPI_Testsome(messages, request, &count, indices, status));
    EQ(count, 0);
  }
  go(sent);
  for (int done = 0; done < messages; done += count) {
    if (test) {
      OK(MPI_Testsome(messages, request, &count, indices, status));
    } else {
      OK(MPI_Waitsome(messages, request, &count, indices, status));
      CHECK(count > 0, "Waitsome returned %d", count);
    }
    if (count < 0) DIE("%d requests completed", count);
    for (int i = 0; i < count; ++i) {
      const int index = indices[i];
      if (index < 0 || index >= messages || seen[index])
        DIE("index %d is wrong or came twice", index);
      seen[index] = 1;
      arrived(index, &status[i]);
      CHECK(request[index] == MPI_REQUEST_NULL, "request %d is not null", index);
    }
  }
  OK(MPI_Waitsome(messages, request, &count, indices, status));
  EQ(count, MPI_UNDEFINED);
  OK(MPI_Testsome(messages, request, &count, indices, status));
  EQ(count, MPI_UNDEFINED);
  OK(MPI_Waitall(messages, sent, MPI_STATUSES_IGNORE));
}

static void one(void) {
  MPI_Request request[messages], sent[messages], none = MPI_REQUEST_NULL;
  MPI_Status status;
  int flag = 1;
  post(request);
  OK(MPI_Test(&request[4], &flag, &status));
  EQ(flag, 0);
  go(sent);
  for (int i = 0; i < messages; ++i) {
    if (i % 2) {
      OK(MPI_Wait(&request[i], &status));
    } else {
      for (flag = 0; !flag;) OK(MPI_Test(&request[i], &flag, &status));
    }
    arrived(i, &status);
  }
  OK(MPI_Wait(&none, &status));
  STATUS(&status, MPI_ANY_SOURCE, MPI_ANY_TAG, 0);
  OK(MPI_Test(&none, &flag, &status));
  EQ(flag, 1);
  OK(MPI_Waitall(messages, sent, MPI_STATUSES_IGNORE));
}

int main(int argc, char** argv) {
  start(&argc, &argv);
  one();
  for (int test = 0; test < 2; ++test) {
    all(test);
    any(test);
    some(test);
  }
  return finish();
}
