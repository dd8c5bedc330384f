// SPDX-License-Identifier: Apache-2.0
// Many windows, sessions, or spawned jobs, one after the other: what they had is given back.
//
//   many KIND COUNT     KIND: create, allocate, shared, dynamic, session, spawn
//
// Counted after the first half and at the end: pages of the job's memory, descriptors, resident
// memory of the process, and processes of the job. Pages are touched for the first time now and
// then for long (rings, places of ranks), so a bound says what each may leave: with 10,000 of them
// a line of the cache each would be found.
#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../check.h"

static long open_descriptors(long* job_blocks) {
  DIR* folder = opendir("/proc/self/fd");
  long n = 0;
  for (struct dirent* one; (one = readdir(folder)) != NULL;) {
    char path[300], to[300] = "";
    snprintf(path, sizeof path, "/proc/self/fd/%s", one->d_name);
    struct stat s;
    if (readlink(path, to, sizeof to - 1) > 0 && strstr(to, "weft-job") && stat(path, &s) == 0)
      *job_blocks = (long)s.st_blocks;
    n += one->d_name[0] != '.';
  }
  closedir(folder);
  return n - 1;  // the folder itself
}

static long resident_kib(void) {
  long all = 0, resident = 0;
  FILE* file = fopen("/proc/self/statm", "r");
  if (file == NULL || fscanf(file, "%ld %ld", &all, &resident) != 2) resident = -1;
  if (file != NULL) fclose(file);
  return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

/* Of the launcher that started this one. */
static long processes(void) {
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)getppid(), (int)getppid());
  FILE* file = fopen(path, "r");
  long n = 0;
  int pid;
  while (file != NULL && fscanf(file, "%d", &pid) == 1) ++n;
  if (file != NULL) fclose(file);
  return n;
}

typedef struct {
  long job_blocks, descriptors, resident_kib, processes;
} Has;

static Has count(long expected_processes) {
  Has now = {0, 0, 0, 0};
  OK(MPI_Barrier(MPI_COMM_WORLD));
  // Ranks that were spawned end a little later than they disconnect, and while one ends the
  // kernel's list may leave out another (proc(5)).
  for (int i = 0; i < 200 && (now.processes = processes()) != expected_processes; ++i)
    usleep(50000);
  now.descriptors = open_descriptors(&now.job_blocks);
  now.resident_kib = resident_kib();
  OK(MPI_Barrier(MPI_COMM_WORLD));
  return now;
}

static void window(const char* kind) {
  MPI_Win win;
  long *base, mine[8] = {0};
  const int to = (rank + 1) % size;
  const long value = rank + 1;
  if (strcmp(kind, "create") == 0)
    OK(MPI_Win_create(base = mine, sizeof mine, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
  else if (strcmp(kind, "allocate") == 0)
    OK(MPI_Win_allocate(20000, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win));
  else if (strcmp(kind, "shared") == 0)
    OK(MPI_Win_allocate_shared(20000, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win));
  else
    OK(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win));
  if (strcmp(kind, "dynamic") == 0) {
    OK(MPI_Win_attach(win, mine, sizeof mine));
    OK(MPI_Win_detach(win, mine));
  } else {
    OK(MPI_Win_fence(0, win));
    OK(MPI_Put(&value, 1, MPI_LONG, to, 1, 1, MPI_LONG, win));
    OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
    EQ(base[1], (rank + size - 1) % size + 1);
    OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, to, 0, win));
    OK(MPI_Put(&value, 1, MPI_LONG, to, 2, 1, MPI_LONG, win));
    OK(MPI_Win_unlock(to, win));
  }
  OK(MPI_Win_free(&win));
}

static void session(void) {
  MPI_Session session;
  MPI_Group group;
  MPI_Comm comm;
  int sum = 0, one = 1;
  OK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session));
  OK(MPI_Group_from_session_pset(session, "mpi://WORLD", &group));
  OK(MPI_Comm_create_from_group(group, "many", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm));
  OK(MPI_Group_free(&group));
  OK(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm));
  EQ(sum, size);
  OK(MPI_Comm_free(&comm));
  OK(MPI_Session_finalize(&session));
}

static void spawn(char* program) {
  MPI_Comm child;
  int value = -1;
  char* words[] = {"child", NULL};
  OK(MPI_Comm_spawn(program, words, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &child,
                    MPI_ERRCODES_IGNORE));
  if (rank == 0) {
    OK(MPI_Recv(&value, 1, MPI_INT, 0, 7, child, MPI_STATUS_IGNORE));
    EQ(value, 42);
  }
  OK(MPI_Comm_disconnect(&child));
}

static int child(void) {
  MPI_Comm parent;
  int value = 42;
  MPI_Init(NULL, NULL);
  MPI_Comm_get_parent(&parent);
  MPI_Send(&value, 1, MPI_INT, 0, 7, parent);
  MPI_Comm_disconnect(&parent);
  return MPI_Finalize();
}

int main(int argc, char** argv) {
  if (argc > 1 && strcmp(argv[1], "child") == 0) return child();
  start(&argc, &argv);
  const char* kind = argc > 1 ? argv[1] : "allocate";
  const int all = argc > 2 ? atoi(argv[2]) : 300;
  const long before = processes();
  OK(MPI_Barrier(MPI_COMM_WORLD));  // the root may start the first job before others come to it
  Has first = {0, 0, 0, 0};
  for (int i = 0; i < all; ++i) {
    if (i == all / 2) first = count(before);
    if (strcmp(kind, "spawn") == 0)
      spawn(argv[0]);
    else if (strcmp(kind, "session") == 0)
      session();
    else
      window(kind);
  }
  const Has last = count(before);
  EQ(last.descriptors - first.descriptors, 0);
  EQ(last.processes - first.processes, 0);
  const int n = all - all / 2;
  const long grown = last.resident_kib - first.resident_kib;
  const long file_kib = (last.job_blocks - first.job_blocks) / 2;  // of 512 bytes
  CHECK(grown <= 640, "%ld KiB more are resident after %d of %s", grown, n, kind);
  CHECK(file_kib <= 320, "the job's file has %ld KiB more after %d of %s", file_kib, n, kind);
  if (rank == 0 && getenv("TEST_SAY") != NULL)
    printf(
        "%s, %d: %+ld KiB of the job's file, %+ld KiB resident, %+ld descriptors, %+ld processes\n",
        kind, n, file_kib, grown, last.descriptors - first.descriptors,
        last.processes - first.processes);
  return finish();
}
