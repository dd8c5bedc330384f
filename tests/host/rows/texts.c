// SPDX-License-Identifier: Apache-2.0
// Static buffers, hidden places, random numbers, messages.
#define _GNU_SOURCE
#include <err.h>
#include <errno.h>
#include <error.h>
#include <fcntl.h>
#include <fenv.h>
#include <glob.h>
#include <math.h>
#include <mntent.h>
#include <obstack.h>
#include <regex.h>
#include <search.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>
#include <syslog.h>
#include <unistd.h>
#include <wordexp.h>

#include "rows.h"

static int random_numbers(int r) {
  long mine[8], again[8];
  char state[64];
  for (int round = 0; round < 2; round++) {
    long* out = round ? again : mine;
    unsigned short seed[3] = {1, 2, (unsigned short)r};
    srand(7 + (unsigned)r);
    out[0] = rand();
    if (round == 0) t_barrier();
    out[1] = random();
    srand48(r);
    if (round == 0) t_barrier();
    out[2] = lrand48();
    out[3] = (long)(drand48() * 1e9);
    out[4] = mrand48();
    unsigned short a[7] = {1, 2, 3, (unsigned short)(5 + r), 0, 0, 11};
    lcong48(a);
    if (round == 0) t_barrier();
    out[5] = nrand48(seed);
    out[6] = jrand48(seed);
    char* before = initstate(3 + (unsigned)r, state, sizeof state);
    if (round == 0) t_barrier();
    out[7] = random();
    setstate(before);
  }
  CHECK(memcmp(mine, again, sizeof mine) == 0);
  t_barrier();
  return 1;
}

static int words(int r) {
  char text[32];
  snprintf(text, sizeof text, "a%d b%d c%d", r, r, r);
  strtok(text, " ");
  t_barrier();
  char* second = strtok(0, " ");
  t_barrier();
  CHECK(second && second[0] == 'b' && atoi(second + 1) == r);
  setenv("HOME", own_name("/home/of", r), 1);
  wordexp_t w;
  glob_t g;
  t_barrier();
  CHECK(wordexp("~/x", &w, 0) == 0 && strncmp(w.we_wordv[0], own_name("/home/of", r), 9) == 0);
  CHECK(glob("~", GLOB_TILDE | GLOB_NOCHECK, 0, &g) == 0 &&
        strcmp(g.gl_pathv[0], own_name("/home/of", r)) == 0);
  t_barrier();
  return 1;
}

static int numbers_as_text(int r) {
  int point, sign;
  char* texts[] = {ecvt(1.5 + r, 3, &point, &sign), fcvt(10.5 + r, 1, &point, &sign),
                   qecvt(20.5 + r, 4, &point, &sign), qfcvt(30.5 + r, 1, &point, &sign),
                   l64a(1 + r)};
  t_barrier();
  CHECK(atoi(texts[0]) == 150 + 100 * r && atoi(texts[1]) == 105 + 10 * r);
  CHECK(atoi(texts[2]) == 2050 + 100 * r && atoi(texts[3]) == 305 + 10 * r &&
        a64l(texts[4]) == 1 + r);
  CHECK(strlen(fcvt(1e300, 5, &point, &sign)) > 300 && point == 301);
  t_barrier();
  /* the sign of the gamma function */
  volatile double x = r % 2 ? -0.5 : 0.5;
  volatile float f = r % 2 ? -0.5f : 0.5f;
  CHECK(isfinite(lgamma(x)) && signgam == (r % 2 ? -1 : 1));
  t_barrier();
  CHECK(signgam == (r % 2 ? -1 : 1));
  CHECK(isfinite(lgammaf(-f)) && isfinite(lgammal(-x)) && signgam == (r % 2 ? 1 : -1));
  t_barrier();
  CHECK(signgam == (r % 2 ? 1 : -1));
  t_barrier();
  return 1;
}

static int names_in_buffers(int r) {
  const int pty = posix_openpt(O_RDWR | O_NOCTTY);
  char *slave = 0, *terminal = 0;
  if (pty >= 0 && grantpt(pty) == 0 && unlockpt(pty) == 0) {
    slave = ptsname(pty);
    const int fd = open(slave, O_RDWR | O_NOCTTY);
    CHECK(slave && fd >= 0);
    terminal = ttyname(fd);
  }
  char* temporary = tmpnam(0);
  FILE* f = fopen(own_name("mounts", r), "w+");
  fprintf(f, "device%d /mnt/%d type opts 0 0\n", r, r);
  rewind(f);
  struct mntent* mount = getmntent(f);
  t_barrier();
  CHECK(!slave || (terminal && strcmp(terminal, slave) == 0));
  CHECK(temporary && access(temporary, F_OK) != 0);
  CHECK(mount && strcmp(mount->mnt_fsname, own_name("device", r)) == 0 &&
        atoi(mount->mnt_dir + 5) == r);
  const int not_a_terminal = open("/dev/null", O_RDONLY);
  CHECK(!ttyname(not_a_terminal) && errno == ENOTTY);
  t_barrier();
  return 1;
}

static int hash_table(int r) {
  CHECK(hcreate(10));
  ENTRY item = {"key", (void*)(long)(r + 1)};
  CHECK(hsearch(item, ENTER));
  t_barrier();
  ENTRY* found = hsearch(item, FIND);
  CHECK(found && found->data == (void*)(long)(r + 1));
  t_barrier();
  if (r == 0) hdestroy();
  t_barrier();
  CHECK(r == 0 || hsearch(item, FIND) == found);
  return 1;
}

static int patterns(int r) {
  CHECK(re_comp(own_name("x*", r)) == 0);
  re_set_syntax(r % 2 ? RE_SYNTAX_POSIX_EXTENDED : RE_SYNTAX_POSIX_BASIC);
  t_barrier();
  CHECK(re_exec(own_name("xx", r)) == 1 && re_exec(own_name("xx", r + 1)) == 0);
  struct re_pattern_buffer buffer = {0};
  CHECK(re_compile_pattern("a+b", 3, &buffer) == 0);
  CHECK((re_match(&buffer, "aab", 3, 0, 0) == 3) == r % 2);
  CHECK((re_match(&buffer, "a+b", 3, 0, 0) == 3) == (r % 2 == 0));
  t_barrier();
  return 1;
}

static void own_prefix(void) {
  fputs("[rank's own] ", stderr);
}

static int messages(int r) {
  char text[400] = "", *p = text;
  const int errors = dup(2);
  dup2(open(own_name("messages", r), O_RDWR | O_CREAT, 0600), 2);
  if (r % 2) error_print_progname = own_prefix;
  t_barrier();
  error(0, ENOENT, "number %d", r);
  t_barrier();
  error_one_per_line = r % 2;
  error_at_line(0, 0, "file", 7, "first");
  t_barrier();
  error_at_line(0, 0, "file", 7, "second");
  warnx("x%d", r);
  t_barrier();
  if (pread(2, text, sizeof text - 1, 0) < 0) return 0;
  dup2(errors, 2);
  CHECK((strstr(p, "[rank's own] number") != 0) == r % 2);
  CHECK(strstr(p, own_name("number ", r)) && strstr(p, ": No such file or directory\n"));
  CHECK((strstr(p, "second") == 0) == r % 2 && strstr(p, own_name("host_rows: x", r)));
  CHECK(error_message_count == (r % 2 ? 2 : 3));
  CHECK(strcmp(program_invocation_short_name, "host_rows") == 0);
  t_barrier();
  program_invocation_short_name = (char*)own_name("name", r);
  t_barrier();
  CHECK(strcmp(program_invocation_short_name, own_name("name", r)) == 0);
  t_barrier();
  return 1;
}

static int system_log(int r) {
  char text[400] = "";
  const int errors = dup(2);
  dup2(open(own_name("log", r), O_RDWR | O_CREAT, 0600), 2);
  openlog(own_name("logger", r), LOG_PERROR, LOG_USER);
  const int fd = open("/dev/null", O_RDONLY);
  const int mask = setlogmask(r % 2 ? LOG_UPTO(LOG_ERR) : LOG_UPTO(LOG_INFO));
  t_barrier();
  CHECK(mask == 0xff && setlogmask(0) == (r % 2 ? LOG_UPTO(LOG_ERR) : LOG_UPTO(LOG_INFO)));
  syslog(LOG_INFO, "information");
  syslog(LOG_ERR, "error");
  t_barrier();
  CHECK(fcntl(fd, F_GETFD) >= 0);
  if (pread(2, text, sizeof text - 1, 0) < 0) return 0;
  dup2(errors, 2);
  CHECK(strstr(text, own_name("logger", r)) && strstr(text, "error") &&
        (strstr(text, "information") == 0) == r % 2);
  closelog();
  t_barrier();
  return 1;
}

static jmp_buf full;
static void no_memory(void) {
  longjmp(full, 1);
}
static void* no_chunk(size_t n) {
  return 0;
}
static void ignore(void* p) {}
#define obstack_chunk_alloc no_chunk
#define obstack_chunk_free ignore

static int obstack_handler(int r) {
  struct obstack o;
  obstack_alloc_failed_handler = no_memory;
  t_barrier();
  if (setjmp(full) == 0) {
    obstack_init(&o);
    CHECK(0);
  }
  t_barrier();
  return 1;
}

static int rounding(int r) {
  const int modes[] = {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
  fesetround(modes[r % 4]);
  feclearexcept(FE_ALL_EXCEPT);
  t_barrier();
  if (r == 0) feraiseexcept(FE_DIVBYZERO);
  t_barrier();
  CHECK(fegetround() == modes[r % 4] && (fetestexcept(FE_DIVBYZERO) != 0) == (r == 0));
  fesetround(FE_TONEAREST);
  return 1;
}

const struct row text_rows[] = {{"random numbers", random_numbers},
                                {"words", words},
                                {"numbers as text", numbers_as_text},
                                {"names in buffers", names_in_buffers},
                                {"hash table", hash_table},
                                {"patterns", patterns},
                                {"messages", messages},
                                {"system log", system_log},
                                {"obstack handler", obstack_handler},
                                {"floating-point mode", rounding},
                                {0, 0}};
