// SPDX-License-Identifier: Apache-2.0
// Descriptors and what belongs to them.
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/sem.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>
#include <wchar.h>

#include "rows.h"

static int descriptors(int r) {
  const int fd = open(own_name("file", r), O_RDWR | O_CREAT, 0600);
  CHECK(fd >= 0 && fd == t_value(fd, 0));
  if (r == 0)
    for (int i = 3; i < 200; i++) close(i);
  t_barrier();
  CHECK(r == 0 || write(fd, "x", 1) == 1);
  CHECK(r != 0 || (fcntl(fd, F_GETFD) == -1 && errno == EBADF));
  t_barrier();
  return 1;
}

static int standard_descriptors(int r) {
  struct stat own, after;
  CHECK(fstat(1, &own) == 0 && fcntl(1, F_GETFL) >= 0);
  if (r == 0) {
    const int fd = open("/dev/null", O_WRONLY);
    CHECK(fd >= 0 && dup3(fd, 1, 0) == 1 && close(0) == 0);
  }
  t_barrier();
  CHECK(fstat(1, &after) == 0);
  if (r == 0)
    CHECK(S_ISCHR(after.st_mode) && after.st_rdev == makedev(1, 3)); /* /dev/null */
  else
    CHECK(after.st_dev == own.st_dev && after.st_ino == own.st_ino);
  CHECK((fcntl(0, F_GETFD) < 0) == (r == 0));
  CHECK(write(1, "", 0) == 0);
  t_barrier();
  return 1;
}

static int set_lock(int fd, int command, short type, off_t from, off_t bytes) {
  struct flock lock = {.l_type = type, .l_whence = SEEK_SET, .l_start = from, .l_len = bytes};
  return fcntl(fd, command, &lock);
}

static int record_locks(int r) {
  const int fd = open("locked", O_RDWR | O_CREAT, 0600), again = open("locked", O_RDONLY);
  CHECK(fd >= 0 && again >= 0);
  for (int holder = 0; holder < t_size(); holder++) {
    if (r == holder) CHECK(set_lock(fd, F_SETLK, F_WRLCK, 0, 0) == 0);
    t_barrier();
    struct flock lock = {.l_type = F_RDLCK, .l_whence = SEEK_SET};
    CHECK(fcntl(again, F_GETLK, &lock) == 0);
    CHECK(lock.l_type == (r == holder ? F_UNLCK : F_WRLCK));
    if (r != holder)
      CHECK(set_lock(fd, F_SETLK, F_WRLCK, 5, 2) == -1 && (errno == EAGAIN || errno == EACCES));
    if (r != holder) CHECK(lockf(fd, F_TEST, 1) == -1);
    t_barrier();
    if (r == (holder + 1) % t_size() && t_size() > 1)
      close(open("locked", O_RDONLY)); /* not the holder's */
    t_barrier();
    if (r != holder) CHECK(set_lock(fd, F_SETLK, F_WRLCK, 0, 0) == -1);
    t_barrier();
    if (r == holder)
      close(open("locked", O_RDONLY)); /* any descriptor of the file drops its locks */
    t_barrier();
  }
  if (r == 0) CHECK(set_lock(fd, F_SETLK, F_RDLCK, 0, 0) == 0);
  t_barrier();
  CHECK(set_lock(again, F_SETLK, F_RDLCK, 0, 0) == 0);
  t_barrier();
  CHECK(set_lock(fd, F_SETLK, F_UNLCK, 0, 0) == 0);
  t_barrier();

  /* a circle of waits is noticed */
  CHECK(set_lock(fd, F_SETLK, F_WRLCK, r, 1) == 0);
  t_barrier();
  int stuck = 0;
  if (t_size() > 1 && set_lock(fd, F_SETLKW, F_WRLCK, (r + 1) % t_size(), 1) == -1)
    stuck = errno == EDEADLK;
  close(again);
  long total = 0;
  for (int i = 0; i < t_size(); i++) total += t_value(stuck, i);
  CHECK(t_size() == 1 || total == 1);
  close(fd);
  t_barrier();

  /* every rank adds to a number in a file; nothing is lost */
  const int shared = open("counter", O_RDWR | O_CREAT, 0600);
  for (int i = 0; i < 50; i++) {
    CHECK(lockf(shared, F_LOCK, 0) == 0);
    long n = 0;
    if (pread(shared, &n, sizeof n, 0) < 0) return 0;
    n++;
    CHECK(pwrite(shared, &n, sizeof n, 0) == sizeof n);
    CHECK(lockf(shared, F_ULOCK, 0) == 0);
  }
  t_barrier();
  long n = 0;
  CHECK(pread(shared, &n, sizeof n, 0) == sizeof n && n == 50 * t_size());
  t_barrier();
  return 1;
}

static int standard_streams(int r) {
  char text[300] = "", wanted[300], word[16] = "";
  FILE* f = fopen(own_name("in", r), "w");
  fprintf(f, "%d word%d\n", 10 + r, r);
  fclose(f);
  const int errors = dup(2);
  CHECK(freopen(own_name("in", r), "r", stdin) && freopen(own_name("out", r), "w+", stdout));
  CHECK(freopen(own_name("err", r), "w+", stderr));
  setvbuf(stdout, 0, _IOFBF, 4096);
  t_barrier();
  int number = 0;
  CHECK(scanf("%d", &number) == 1 && number == 10 + r && getchar() == ' ');
  CHECK(scanf("%15s", word) == 1 && strcmp(word, own_name("word", r)) == 0);
  printf("%d ", r);
  puts(word);
  t_barrier();
  putchar('c');
  putchar_unlocked('u');
  fputs("s", stdout);
  if (r == 0) fflush(stdout);
  t_barrier();
  struct stat s;
  CHECK(stat(own_name("out", r), &s) == 0 && (s.st_size > 0) == (r == 0));
  errno = ENOENT;
  perror(word);
  fflush(0);
  snprintf(wanted, sizeof wanted, "%d %s\ncus", r, word);
  CHECK(pread(1, text, sizeof text - 1, 0) > 0 && strcmp(text, wanted) == 0);
  memset(text, 0, sizeof text);
  snprintf(wanted, sizeof wanted, "%s: No such file or directory\n", word);
  CHECK(pread(2, text, sizeof text - 1, 0) > 0 && strcmp(text, wanted) == 0);
  dup2(errors, 2);
  t_barrier();
  return 1;
}

static int wide_streams(int r) {
  wchar_t line[32] = L"";
  FILE* f = fopen(own_name("wide", r), "w");
  fprintf(f, "%d x\n", 10 + r);
  fclose(f);
  CHECK(freopen(own_name("wide", r), "r", stdin) && freopen(own_name("outw", r), "w+", stdout));
  t_barrier();
  int number = 0;
  CHECK(wscanf(L"%d", &number) == 1 && number == 10 + r && getwchar() == L' ' &&
        getwchar() == L'x');
  wprintf(L"%d", r);
  putwchar(L'w');
  t_barrier();
  fflush(stdout);
  rewind(stdout);
  CHECK(fgetws(line, 32, stdout) && line[0] == L'0' + r % 10 && line[1] == L'w');
  t_barrier();
  return 1;
}

static long size_of(const char* name) {
  struct stat s;
  return stat(name, &s) == 0 ? s.st_size : -1;
}

static int stdio_files(int r) {
  char name[64];
  strcpy(name, own_name("stdio", r));
  FILE* f = fopen(name, "w");
  CHECK(f && fprintf(f, "%d", r) > 0);
  t_barrier();
  if (r == 0) fflush(0);
  t_barrier();
  CHECK(size_of(name) == (r == 0 ? 1 : 0));
  t_barrier();
  if (r == 0) fcloseall();
  t_barrier();
  if (r == 0) return 1;
  CHECK(fprintf(f, "%d", r) > 0 && freopen(0, "r+", f) && fclose(f) == 0);
  char text[16] = "", wanted[16];
  snprintf(wanted, sizeof wanted, "%d%d", r, r);
  f = fopen(name, "r");
  CHECK(f && fgets(text, sizeof text, f) && strcmp(text, wanted) == 0);
  return 1;
}

static void* directory_of_thread(void* p) {
  return getcwd(p, 256);
}

static int working_directory(int r) {
  char base[200], mine[300], seen[256] = "", link[256] = "";
  CHECK(getcwd(base, sizeof base));
  snprintf(mine, sizeof mine, "%s/dir%d", base, r);
  mkdir(mine, 0777);
  CHECK(chdir(mine) == 0);
  t_barrier();
  CHECK(getcwd(seen, sizeof seen) && strcmp(seen, mine) == 0);
  pthread_t t;
  pthread_create(&t, 0, directory_of_thread, seen);
  pthread_join(t, 0);
  CHECK(strcmp(seen, mine) == 0);
  CHECK(readlink("/proc/self/cwd", link, 255) > 0 && strcmp(link, mine) == 0);
  t_barrier();
  return 1;
}

static int file_mask(int r) {
  umask((mode_t)(r & 7));
  t_barrier();
  const int same = umask(022) == (mode_t)(r & 7);
  t_barrier();
  CHECK(same);
  return 1;
}

static int proc_self(int r) {
  char program[512] = "", again[512] = "", path[64], target[256] = "", seen[256] = "";
  CHECK(readlink("/proc/self/exe", program, 511) > 0 && strstr(program, "/host_rows"));
  snprintf(path, sizeof path, "/proc/%d/exe", (int)getpid());
  CHECK(readlink(path, again, 511) > 0 && strcmp(program, again) == 0);
  CHECK(readlinkat(AT_FDCWD, "/proc/self/exe", again, 511) > 0 && strcmp(program, again) == 0);
  CHECK(realpath("/proc/self/exe", again) && strcmp(program, again) == 0);
  struct stat a, b;
  CHECK(stat("/proc/self/exe", &a) == 0 && stat(program, &b) == 0 && a.st_ino == b.st_ino);
  char head[4] = "";
  FILE* f = fopen("/proc/self/exe", "r");
  CHECK(f && fread(head, 1, 4, f) == 4 && memcmp(head, "\177ELF", 4) == 0 && fclose(f) == 0);
  const int self = open("/proc/self/exe", O_RDONLY);
  CHECK(self >= 0 && fstat(self, &a) == 0 && a.st_ino == b.st_ino);

  const int fd = open(own_name("own", r), O_RDWR | O_CREAT, 0600);
  snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  CHECK(readlink(path, target, 255) > 0 && strstr(target, own_name("/own", r)));
  CHECK(dup2(fd, 1) == 1);
  t_barrier();
  f = fopen("/dev/stdout", "w");
  CHECK(f && fprintf(f, "by rank %d", r) > 0 && fclose(f) == 0);
  t_barrier();
  CHECK(pread(fd, seen, 255, 0) > 0 && strncmp(seen, own_name("by rank ", r), 9) == 0);
  int found = 0;
  DIR* d = opendir("/dev/fd");
  CHECK(d);
  for (struct dirent* e; (e = readdir(d));) found += atoi(e->d_name) == fd && e->d_name[0] != '.';
  CHECK(found == 1);
  return 1;
}

static int semaphore_adjustments(int r) {
  key_t key = (key_t)t_value(0x5eed0000 + getpid() % 0xffff, 0);
  const int id = semget(key, 1, IPC_CREAT | 0600);
  CHECK(id >= 0);
  t_barrier();
  struct sembuf take = {0, 1, SEM_UNDO};
  if (r == 1) CHECK(semop(id, &take, 1) == 0);
  t_barrier();
  if (r != 0) return 1; /* and rank 1 ends */
  int value = -1;
  for (int i = 0; i < 500 && (value = semctl(id, 0, GETVAL)) != 0; i++) usleep(10000);
  semctl(id, 0, IPC_RMID);
  CHECK(value == 0);
  return 1;
}

const struct row file_rows[] = {{"descriptors", descriptors},
                                {"standard descriptors", standard_descriptors},
                                {"record locks", record_locks},
                                {"files of stdio", stdio_files},
                                {"standard streams", standard_streams},
                                {"wide streams", wide_streams},
                                {"working directory", working_directory},
                                {"umask", file_mask},
                                {"/proc/self", proc_self},
                                {"semaphore adjustments", semaphore_adjustments},
                                {0, 0}};
