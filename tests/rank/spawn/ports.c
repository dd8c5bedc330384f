// SPDX-License-Identifier: Apache-2.0
// Ports within a job: open, publish, look up, accept, connect, close, and what is refused; the two
// halves of the world meet. With more than one child: jobs that meet by a name.
#include "family.h"

static void refuse(int error, int want) {
  int cls = -1;
  OK(MPI_Error_class(error, &cls));
  EQ(cls, want);
}

static void refusals(void) {
  char port[MPI_MAX_PORT_NAME], found[MPI_MAX_PORT_NAME], service[64];
  MPI_Comm none = MPI_COMM_WORLD;
  OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
  OK(MPI_Open_port(MPI_INFO_NULL, port));
  snprintf(service, sizeof service, "weft test %d", rank);
  refuse(MPI_Lookup_name(service, MPI_INFO_NULL, found), MPI_ERR_NAME);
  refuse(MPI_Unpublish_name(service, MPI_INFO_NULL, port), MPI_ERR_SERVICE);
  OK(MPI_Publish_name(service, MPI_INFO_NULL, port));
  refuse(MPI_Publish_name(service, MPI_INFO_NULL, port), MPI_ERR_SERVICE);
  OK(MPI_Lookup_name(service, MPI_INFO_NULL, found));
  CHECK(strcmp(found, port) == 0, "%s is not %s", found, port);
  OK(MPI_Unpublish_name(service, MPI_INFO_NULL, port));
  refuse(MPI_Lookup_name(service, MPI_INFO_NULL, found), MPI_ERR_NAME);
  OK(MPI_Close_port(port));
  refuse(MPI_Close_port(port), MPI_ERR_PORT);
  refuse(MPI_Close_port("no port"), MPI_ERR_PORT);
  refuse(MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &none), MPI_ERR_PORT);
  refuse(MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &none), MPI_ERR_PORT);
  port[8] ^= 1;  // of another job
  refuse(MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &none), MPI_ERR_PORT);
}

static void talk(MPI_Comm inter, int is_low) {
  int me, theirs, got = -1, flag = 0;
  MPI_Comm all;
  OK(MPI_Comm_test_inter(inter, &flag));
  EQ(flag, 1);
  OK(MPI_Comm_rank(inter, &me));
  OK(MPI_Comm_remote_size(inter, &theirs));
  if (me < theirs && (is_low || me < size))
    OK(MPI_Sendrecv(&me, 1, MPI_INT, me, 3, &got, 1, MPI_INT, me, 3, inter, MPI_STATUS_IGNORE));
  OK(MPI_Intercomm_merge(inter, !is_low, &all));
  int one = 1, n = 0, sum = 0;
  OK(MPI_Comm_size(all, &n));
  OK(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, all));
  EQ(sum, n);
  OK(MPI_Comm_free(&all));
}

// Two halves of `whole`, each of at least one rank.
static void halves(MPI_Comm whole) {
  int me, n;
  MPI_Comm half, inter;
  char port[MPI_MAX_PORT_NAME] = "";
  OK(MPI_Comm_rank(whole, &me));
  OK(MPI_Comm_size(whole, &n));
  const int low = me < n / 2;
  OK(MPI_Comm_split(whole, low, 0, &half));
  if (me == 0) OK(MPI_Open_port(MPI_INFO_NULL, port));
  OK(MPI_Bcast(port, sizeof port, MPI_CHAR, 0, whole));
  for (int time = 0; time < 3; ++time) {
    if (low)
      OK(MPI_Comm_accept(port, MPI_INFO_NULL, 0, half, &inter));
    else
      OK(MPI_Comm_connect(port, MPI_INFO_NULL, 0, half, &inter));
    talk(inter, low);
    OK(MPI_Comm_disconnect(&inter));
  }
  if (me == 0) OK(MPI_Close_port(port));
  OK(MPI_Comm_free(&half));
}

// Two jobs that one rank spawned meet by a published name: neither knows the other.
static int child(void) {
  MPI_Comm inter;
  char port[MPI_MAX_PORT_NAME] = "";
  int is_server = -1;
  OK(MPI_Bcast(&is_server, 1, MPI_INT, 0, parents));
  if (is_server && rank == 0) {
    OK(MPI_Open_port(MPI_INFO_NULL, port));
    OK(MPI_Publish_name("weft test of jobs", MPI_INFO_NULL, port));
  }
  OK(MPI_Barrier(MPI_COMM_WORLD));
  OK(MPI_Barrier(parents));
  OK(MPI_Barrier(parents));  // the other job has published it
  if (is_server) {
    OK(MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter));
  } else {
    if (rank == 0) OK(MPI_Lookup_name("weft test of jobs", MPI_INFO_NULL, port));
    OK(MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter));
  }
  talk(inter, is_server);
  OK(MPI_Comm_disconnect(&inter));
  if (is_server && rank == 0) {
    OK(MPI_Unpublish_name("weft test of jobs", MPI_INFO_NULL, port));
    OK(MPI_Close_port(port));
  }
  OK(MPI_Comm_disconnect(&parents));
  return finish_child();
}

static void jobs(const char* program) {
  MPI_Comm children[2];
  for (int i = 0; i < 2; ++i) children[i] = spawn(program, "child", 2, i ? "process" : "");
  for (int i = 0; i < 2; ++i)
    OK(MPI_Bcast(&i, 1, MPI_INT, rank == 0 ? MPI_ROOT : MPI_PROC_NULL, children[i]));
  for (int time = 0; time < 2; ++time)
    for (int i = 1; i >= 0; --i) OK(MPI_Barrier(children[i]));
  for (int i = 0; i < 2; ++i) OK(MPI_Comm_disconnect(&children[i]));
}

int main(int argc, char** argv) {
  if (start_family(&argc, &argv)) return child();
  refusals();
  if (size > 1) halves(MPI_COMM_WORLD);
  jobs(argv[0]);
  return finish();
}
