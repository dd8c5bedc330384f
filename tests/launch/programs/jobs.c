// SPDX-License-Identifier: Apache-2.0
// Jobs that meet: jobs FILE SIDE WHAT [N]. The server writes its port's name into FILE, clients
// wait for that.
//   talk    messages, collectives and windows over the communicators of both jobs, N times
//   many    messages alone, N times
//   three   the server and a client become one communicator, of N ranks, with another client, which
//   second  starts with this
//   name    FILE is the name of a service, which the server publishes
//   join    by a socket, which waits at the number in FILE
//   free    the client frees its communicator, and the server never does
//   quiet   for N seconds the client says nothing
//   kill, abort   the client ends so; "survive" before it: with errors that return
#include <arpa/inet.h>
#include <mpi.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define CHECK(condition)                                            \
  do {                                                              \
    if (!(condition)) {                                             \
      fprintf(stderr, "jobs.c:%d: not %s\n", __LINE__, #condition); \
      MPI_Abort(MPI_COMM_WORLD, 3);                                 \
    }                                                               \
  } while (0)

static const char *file, *what;
static int rank, size, is_server, n;

static void write_file(const char* file, const char* text) {
  char beside[4096];
  snprintf(beside, sizeof beside, "%s.new", file);
  FILE* out = fopen(beside, "w");
  CHECK(out != NULL && fputs(text, out) >= 0 && fclose(out) == 0 && rename(beside, file) == 0);
}

static void read_file(const char* file, char* text, int bytes) {
  FILE* in = NULL;
  while ((in = fopen(file, "r")) == NULL) usleep(1000);
  CHECK(fgets(text, bytes, in) != NULL);
  fclose(in);
}

static void open_or_find(const char* file, char* port) {
  if (rank != 0) return;
  if (!is_server) return read_file(file, port, MPI_MAX_PORT_NAME);
  CHECK(MPI_Open_port(MPI_INFO_NULL, port) == MPI_SUCCESS);
  write_file(file, port);
}

static int meet(const char* port, MPI_Comm* inter) {
  return is_server ? MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, inter)
                   : MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, inter);
}

/// Each rank of one side with each of the other, short; with one of them, long.
static void exchange(MPI_Comm inter) {
  int others = 0;
  MPI_Comm_remote_size(inter, &others);
  for (int i = 0; i < others; ++i) {
    const int mine = 100 * rank + i;
    int got = -1;
    MPI_Sendrecv(&mine, 1, MPI_INT, i, 1, &got, 1, MPI_INT, i, 1, inter, MPI_STATUS_IGNORE);
    CHECK(got == 100 * i + rank);
  }
  const int words = 1 << 19, pairs = size < others ? size : others;
  if (rank >= pairs) return;
  int* mine = malloc(words * sizeof *mine);
  int* got = malloc(words * sizeof *got);
  for (int i = 0; i < words; ++i) mine[i] = i ^ (rank + 1000 * is_server);
  MPI_Status status;
  MPI_Sendrecv(mine, words, MPI_INT, rank, 2, got, words, MPI_INT, MPI_ANY_SOURCE, 2, inter,
               &status);
  CHECK(status.MPI_SOURCE == rank);
  for (int i = 0; i < words; ++i) CHECK(got[i] == (i ^ (rank + 1000 * !is_server)));
  free(mine);
  free(got);
}

static void use(MPI_Comm all) {
  int me = -1, ranks = 0, sum = 0, word = 0;
  MPI_Comm_rank(all, &me);
  MPI_Comm_size(all, &ranks);
  for (int i = 0; i < 3; ++i) MPI_Barrier(all);
  MPI_Allreduce(&me, &sum, 1, MPI_INT, MPI_SUM, all);
  CHECK(sum == ranks * (ranks - 1) / 2);
  for (int root = 0; root < ranks; ++root) {
    word = me == root ? 4711 + root : 0;
    MPI_Bcast(&word, 1, MPI_INT, root, all);
    CHECK(word == 4711 + root);
  }
  const int words = 100000;
  int* mine = malloc(words * sizeof *mine);
  int* total = malloc(words * sizeof *total);
  int* blocks = malloc(2 * ranks * sizeof *blocks);
  for (int i = 0; i < words; ++i) mine[i] = me + i;
  MPI_Allreduce(mine, total, words, MPI_INT, MPI_SUM, all);
  for (int i = 0; i < words; ++i) CHECK(total[i] == sum + ranks * i);
  for (int i = 0; i < ranks; ++i) blocks[i] = 1000 * me + i;
  MPI_Request request;
  MPI_Ialltoall(blocks, 1, MPI_INT, blocks + ranks, 1, MPI_INT, all, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  for (int i = 0; i < ranks; ++i) CHECK(blocks[ranks + i] == 1000 * i + me);
  free(mine);
  free(total);
  free(blocks);
}

static void use_window(MPI_Comm all) {
  int me = -1, ranks = 0, *base = NULL;
  MPI_Win win;
  MPI_Comm_rank(all, &me);
  MPI_Comm_size(all, &ranks);
  MPI_Win_allocate(sizeof(int), sizeof(int), MPI_INFO_NULL, all, &base, &win);
  *base = 0;
  MPI_Win_fence(0, win);
  for (int i = 0; i < ranks; ++i) MPI_Accumulate(&me, 1, MPI_INT, i, 0, 1, MPI_INT, MPI_SUM, win);
  MPI_Win_fence(0, win);
  CHECK(*base == ranks * (ranks - 1) / 2);
  MPI_Win_free(&win);
}

/// Nobody shares memory with ranks of another job.
static void split(MPI_Comm all) {
  int me = -1, together = 0;
  MPI_Comm part;
  MPI_Comm_rank(all, &me);
  MPI_Comm_split_type(all, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &part);
  MPI_Comm_size(part, &together);
  CHECK(together <= size);
  MPI_Comm_free(&part);
  MPI_Comm_split(all, me % 2, -me, &part);
  use(part);
  MPI_Comm_free(&part);
}

static void talk(MPI_Comm inter) {
  MPI_Comm all, same, world = MPI_COMM_NULL;
  exchange(inter);
  MPI_Comm_dup(inter, &same);
  exchange(same);
  MPI_Comm_free(&same);
  MPI_Intercomm_merge(inter, is_server, &all);
  use(all);
  use_window(all);
  split(all);
  int children = MPI_SUCCESS;
  MPI_Comm_set_errhandler(all, MPI_ERRORS_RETURN);
  MPI_Error_class(
      MPI_Comm_spawn("true", MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, all, &world, MPI_ERRCODES_IGNORE),
      &children);
  CHECK(children == MPI_ERR_UNSUPPORTED_OPERATION);
  MPI_Comm_free(&all);
}

/// The server and the first client; the second one joins them by its way to the server, a port of
/// its own.
static void three(const char* port, const char* second_port) {
  MPI_Comm first = MPI_COMM_NULL, second = MPI_COMM_NULL, inter, all, local = MPI_COMM_WORLD;
  const int comes_second = strcmp(what, "second") == 0;
  if (!comes_second) meet(port, &first);
  if (!comes_second) MPI_Intercomm_merge(first, !is_server, &local);
  if (is_server) MPI_Comm_accept(second_port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &second);
  if (comes_second) meet(port, &second);
  // The leaders are the server's rank 0, first in `local`, and the second client's rank 0.
  MPI_Intercomm_create(local, 0, second, 0, 17, &inter);
  MPI_Intercomm_merge(inter, comes_second, &all);
  int ranks = 0;
  MPI_Comm_size(all, &ranks);
  CHECK(ranks == n);
  use(all);
  split(all);
  MPI_Comm_free(&all);
  MPI_Comm_disconnect(&inter);
  if (first != MPI_COMM_NULL) MPI_Comm_free(&local);
  if (first != MPI_COMM_NULL) MPI_Comm_disconnect(&first);
  if (second != MPI_COMM_NULL) MPI_Comm_disconnect(&second);
}

/// One end of a connection.
static int make_end(void) {
  char number[16];
  struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
  socklen_t length = sizeof at;
  const int own = socket(AF_INET, SOCK_STREAM, 0);
  if (!is_server) {
    read_file(file, number, sizeof number);
    at.sin_port = (in_port_t)atoi(number);
    CHECK(connect(own, (struct sockaddr*)&at, length) == 0);
    return own;
  }
  CHECK(bind(own, (struct sockaddr*)&at, length) == 0 && listen(own, 1) == 0);
  CHECK(getsockname(own, (struct sockaddr*)&at, &length) == 0);
  snprintf(number, sizeof number, "%d", at.sin_port);
  write_file(file, number);
  const int end = accept(own, NULL, NULL);
  close(own);
  return end;
}

static void join(void) {
  if (rank != 0) return;
  MPI_Comm inter;
  const int end = make_end(), mine = is_server;
  int got = -1;
  char byte = (char)is_server;
  CHECK(MPI_Comm_join(end, &inter) == MPI_SUCCESS);
  MPI_Sendrecv(&mine, 1, MPI_INT, 0, 0, &got, 1, MPI_INT, 0, 0, inter, MPI_STATUS_IGNORE);
  CHECK(got == !is_server);
  CHECK(write(end, &byte, 1) == 1 && read(end, &byte, 1) == 1 && byte == !is_server);
  MPI_Comm_disconnect(&inter);
  close(end);
}

static void by_name(void) {
  char port[MPI_MAX_PORT_NAME] = "";
  MPI_Comm inter;
  int cls = MPI_SUCCESS, word = 0;
  if (rank == 0 && is_server) {
    CHECK(MPI_Open_port(MPI_INFO_NULL, port) == MPI_SUCCESS);
    CHECK(MPI_Publish_name(file, MPI_INFO_NULL, port) == MPI_SUCCESS);
  } else if (rank == 0) {
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    while (MPI_Lookup_name(file, MPI_INFO_NULL, port) != MPI_SUCCESS) usleep(1000);
    // More often than a socket lets anybody wait at it.
    for (int i = 0; i < 5000; ++i) CHECK(MPI_Lookup_name(file, MPI_INFO_NULL, port) == MPI_SUCCESS);
  }
  CHECK(meet(port, &inter) == MPI_SUCCESS);
  exchange(inter);
  if (rank == 0 && is_server) {
    CHECK(MPI_Unpublish_name(file, MPI_INFO_NULL, port) == MPI_SUCCESS);
    MPI_Send(&word, 1, MPI_INT, 0, 5, inter);
  } else if (rank == 0) {
    MPI_Recv(&word, 1, MPI_INT, 0, 5, inter, MPI_STATUS_IGNORE);
    MPI_Error_class(MPI_Lookup_name(file, MPI_INFO_NULL, port), &cls);
    CHECK(cls == MPI_ERR_NAME);
  }
  MPI_Comm_disconnect(&inter);
}

/// The client ends, and the server waits for a message of it.
static void lose(const char* port, int survives) {
  MPI_Comm inter;
  CHECK(meet(port, &inter) == MPI_SUCCESS);
  if (survives) MPI_Comm_set_errhandler(inter, MPI_ERRORS_RETURN);
  MPI_Barrier(inter);  // before, ranks of the server may still be connecting
  if (!is_server && strstr(what, "kill")) raise(SIGKILL);
  if (!is_server && strstr(what, "abort")) MPI_Abort(MPI_COMM_WORLD, 5);
  if (!is_server) pause();
  int word = 0, cls = MPI_SUCCESS;
  char text[MPI_MAX_ERROR_STRING];
  const int error =
      MPI_Recv(&word, 1, MPI_INT, rank % 2 ? MPI_ANY_SOURCE : 0, 0, inter, MPI_STATUS_IGNORE);
  MPI_Error_class(error, &cls);
  CHECK(cls == MPI_ERR_PROC_ABORTED);
  MPI_Error_string(error, text, &word);
  if (rank == 0) printf("%s\n", text);
}

int main(int argc, char** argv) {
  int provided = 0;
  MPI_Init_thread(&argc, &argv, getenv("THREADS") ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE,
                  &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  CHECK(argc >= 4);
  file = argv[1];
  is_server = strcmp(argv[2], "server") == 0;
  what = argv[3];
  n = argc > 4 ? atoi(argv[4]) : 1;
  char port[MPI_MAX_PORT_NAME] = "";
  MPI_Comm inter = MPI_COMM_NULL;
  const int survives = strncmp(what, "survive", 7) == 0;
  if (survives) MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  if (strcmp(what, "join") != 0 && strcmp(what, "name") != 0) open_or_find(file, port);
  if (strcmp(what, "talk") == 0) {
    for (int i = 0; i < n; ++i) {
      CHECK(meet(port, &inter) == MPI_SUCCESS);
      talk(inter);
      MPI_Comm_disconnect(&inter);
    }
  } else if (strcmp(what, "many") == 0) {
    for (int i = 0; i < n; ++i) {
      CHECK(meet(port, &inter) == MPI_SUCCESS);
      exchange(inter);
      MPI_Comm_disconnect(&inter);
    }
  } else if (strcmp(what, "three") == 0 || strcmp(what, "second") == 0) {
    char second_file[4096], second_port[MPI_MAX_PORT_NAME] = "";
    snprintf(second_file, sizeof second_file, "%s.second", file);
    const int comes_second = strcmp(what, "second") == 0;
    if (is_server || comes_second) open_or_find(second_file, second_port);
    three(comes_second ? second_port : port, second_port);
  } else if (strcmp(what, "join") == 0) {
    join();
  } else if (strcmp(what, "name") == 0) {
    by_name();
  } else if (strcmp(what, "free") == 0 || strcmp(what, "quiet") == 0) {
    int word = rank, got = -1;
    CHECK(meet(port, &inter) == MPI_SUCCESS);
    if (!is_server && strcmp(what, "quiet") == 0) sleep((unsigned)n);
    if (!is_server) MPI_Send(&word, 1, MPI_INT, rank, 0, inter);
    if (!is_server && strcmp(what, "free") == 0) MPI_Comm_free(&inter);
    if (is_server)
      MPI_Recv(&got, 1, MPI_INT, rank % 2 ? MPI_ANY_SOURCE : rank, 0, inter, MPI_STATUS_IGNORE);
    CHECK(!is_server || got == rank);
  } else {
    lose(port, survives);
  }
  MPI_Finalize();
  if (rank == 0) printf("%s is done\n", argv[2]);
  return 0;
}
