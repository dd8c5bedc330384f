// SPDX-License-Identifier: Apache-2.0
// Hidden state of libc: random numbers, strtok, directory, umask, signals, children.
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "standin.h"

static volatile sig_atomic_t got;
static void handler(int s) {
  got = s;
}
static void* directory_of_thread(void* p) {
  return getcwd(p, 256);
}

static int random_numbers(void) {
  int first[5], again[5];
  srand(7);
  for (int i = 0; i < 5; i++) {
    first[i] = rand();
    t_barrier();
  }
  srand(7);
  for (int i = 0; i < 5; i++) again[i] = rand();
  return memcmp(first, again, sizeof first) == 0;
}

static int words(int r) {
  char text[32];
  snprintf(text, sizeof text, "a%d b%d c%d", r, r, r);
  strtok(text, " ");
  t_barrier();
  char* second = strtok(0, " ");
  t_barrier();
  return second[0] == 'b' && atoi(second + 1) == r;
}

static int directories(int r) {
  char mine[300], base[200], seen[256];
  if (!getcwd(base, sizeof base)) return 0;
  snprintf(mine, sizeof mine, "%s/d%d", base, r);
  mkdir(mine, 0777);
  t_barrier();
  if (chdir(mine) != 0) return 0;
  t_barrier();
  pthread_t t;
  if (!getcwd(seen, sizeof seen) || strcmp(seen, mine) != 0) return 0;
  pthread_create(&t, 0, directory_of_thread, seen);
  pthread_join(t, 0);
  if (strcmp(seen, mine) != 0) return 0;
  umask((mode_t)(r & 7));
  t_barrier();
  return umask(022) == (mode_t)(r & 7);
}

static int signals(int r) {
  if (r % 2)
    signal(SIGUSR1, handler);
  else
    signal(SIGUSR1, SIG_IGN);
  t_barrier();
  raise(SIGUSR1);
  t_barrier();
  if (got != (r % 2 ? SIGUSR1 : 0)) return 0;
  got = 0;
  kill(getpid(), SIGUSR1);
  t_barrier();
  return got == (r % 2 ? SIGUSR1 : 0);
}

static int children(int r) {
  char text[300], name[32];
  snprintf(name, sizeof name, "%d", r);
  setenv("MY_RANK", name, 1);
  if (system("test -n \"$MY_RANK\"") != 0 || WEXITSTATUS(system("exit 5")) != 5) return 0;
  FILE* p = popen("echo $MY_RANK; pwd", "r");
  if (!p || !fgets(text, sizeof text, p) || atoi(text) != r || !fgets(text, sizeof text, p))
    return 0;
  snprintf(name, sizeof name, "/d%d\n", r);
  if (pclose(p) != 0 || !strstr(text, name)) return 0;

  int status = 0;
  pid_t child = fork();
  if (child == 0) exit(40 + r % 10);
  waitpid(child, &status, 0);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 40 + r % 10) return 0;
  child = fork();
  if (child == 0) {
    execlp("sh", "sh", "-c", "test $MY_RANK = $0", name + 2, (char*)0);
    _exit(77);
  }
  name[strlen(name) - 1] = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) != 77;
}

int main(void) {
  const int r = t_rank();
  int good = random_numbers();
  good = words(r) && good;
  good = directories(r) && good;
  good = signals(r) && good;
  good = children(r) && good;
  errno = r;
  t_barrier();
  return t_report("state", good && errno == r);
}
