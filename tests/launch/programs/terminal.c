// SPDX-License-Identifier: Apache-2.0
// terminal WHAT: what ranks see of a terminal, and what they show on it. Nobody flushes, unless it
// says so.
//   is        every rank says which of its descriptors 0, 1 and 2 are terminals
//   ask       rank 0 asks for a name (a prompt without an end of line) until it finds the end of
//   input progress  rank 0 shows progress with carriage returns, flushed, and waits for a line
//   after each lines     rank 0 writes a line to stdout and one to stderr, then waits for a line;
//   so do the others after it size      rank 0 says its window's size, at the start and whenever it
//   changes, till the end of input keys      rank 0 takes single keys without echo and says their
//   codes, till a 'q'; then asks for a line raw       rank 0 takes single keys, and never ends by
//   itself
#include <mpi.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

static volatile sig_atomic_t resized = 1;
static void resize(int signal) {
  (void)signal;
  resized = 1;
}

// As isatty says; 9 if other calls disagree.
static int is_terminal(int fd) {
  struct winsize size;
  struct termios settings;
  struct stat status;
  char name[64];
  const int is = isatty(fd);
  const int others = (ioctl(fd, TIOCGWINSZ, &size) == 0) + (tcgetattr(fd, &settings) == 0) +
                     (ttyname_r(fd, name, sizeof name) == 0) +
                     (fstat(fd, &status) == 0 && S_ISCHR(status.st_mode) &&
                      (status.st_rdev >> 8) != 1);  // not /dev/null
  return others == 4 * is ? is : 9;
}

static void say_size(void) {
  struct winsize size = {0};
  ioctl(1, TIOCGWINSZ, &size);
  printf("size %d x %d\n", size.ws_row, size.ws_col);
}

static void ask(void) {
  char name[100];
  for (;;) {
    printf("name? ");
    if (fgets(name, sizeof name, stdin) == NULL) break;
    name[strcspn(name, "\n")] = 0;
    printf("hello %s!\n", name);
  }
  printf("end of input\n");
}

static void progress(void) {
  char line[100];
  for (int percent = 0; percent <= 100; percent += 50) {
    printf("\r%d %%", percent);
    fflush(stdout);
    if (fgets(line, sizeof line, stdin) == NULL) break;
  }
  printf("\ndone\n");
}

static void take_keys(int for_ever) {
  struct termios before, keys;
  tcgetattr(0, &before);
  keys = before;
  keys.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
  tcsetattr(0, TCSANOW, &keys);
  printf("press keys\n");
  for (char key = 0; read(0, &key, 1) == 1;) {
    printf("key %d\n", key);
    if (key == 'q' && !for_ever) break;
  }
  tcsetattr(0, TCSANOW, &before);
  char line[100];
  printf("now a line\n");
  if (fgets(line, sizeof line, stdin) != NULL) printf("line %s", line);
}

int main(int argc, char** argv) {
  int rank, n;
  char line[100];
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &n);
  const char* what = argv[1];
  if (strcmp(what, "is") == 0)
    printf("rank %d: %d%d%d\n", rank, is_terminal(0), is_terminal(1), is_terminal(2));
  if (strcmp(what, "lines") == 0) {
    if (rank > 0) MPI_Recv(NULL, 0, MPI_INT, rank - 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    printf("stdout of %d\n", rank);
    fprintf(stderr, "stderr of %d\n", rank);
    if (rank == 0 && fgets(line, sizeof line, stdin) == NULL) printf("no line\n");
    if (rank < n - 1) MPI_Send(NULL, 0, MPI_INT, rank + 1, 1, MPI_COMM_WORLD);
  }
  if (rank == 0 && strcmp(what, "ask") == 0) ask();
  if (rank == 0 && strcmp(what, "progress") == 0) progress();
  if (rank == 0 && strcmp(what, "keys") == 0) take_keys(0);
  if (rank == 0 && strcmp(what, "raw") == 0) take_keys(1);
  if (rank == 0 && strcmp(what, "size") == 0) {
    signal(SIGWINCH, resize);
    struct pollfd keys = {0, POLLIN, 0};
    do {
      if (resized) {
        resized = 0;
        say_size();
      }
    } while (poll(&keys, 1, 20) <= 0 || read(0, line, sizeof line) != 0);
  }
  MPI_Finalize();
  return 0;
}
