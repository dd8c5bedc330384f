// SPDX-License-Identifier: Apache-2.0
// getopt_long by all ranks in step, and an environment per rank seen through getenv and environ.
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "standin.h"

extern char** environ;

int main(int argc, char** argv) {
  const int r = t_rank();
  static struct option longs[] = {{"num", 1, 0, 'n'}, {"flag", 0, 0, 'f'}, {0, 0, 0, 0}};
  int c, number = 0, flag = 0, both = 0;
  const char* file = "";
  while ((c = getopt_long(argc, argv, "o:b", longs, 0)) != -1) {
    t_barrier();
    if (c == 'n')
      number = atoi(optarg);
    else if (c == 'f')
      flag = 1;
    else if (c == 'b')
      both = 1;
    else if (c == 'o')
      file = optarg;
    else
      return 9;
  }
  int good = number == 42 && flag && both && strcmp(file, "file") == 0 && argc - optind == 2 &&
             strcmp(argv[optind], "pos1") == 0 && strcmp(argv[optind + 1], "pos2") == 0;

  char text[32];
  snprintf(text, sizeof text, "%d", r);
  setenv("MY_RANK", text, 1);
  putenv(strdup("PUT=there"));
  t_barrier();
  good = good && atoi(getenv("MY_RANK")) == r && getenv("PUT") && !getenv("WEFT_JOB") &&
         !getenv("WEFT_HOST_CPUS");
  int seen = 0;
  for (char** e = environ; *e; e++) seen += strncmp(*e, "MY_RANK=", 8) == 0 && atoi(*e + 8) == r;
  unsetenv("MY_RANK");
  good = good && seen == 1 && !getenv("MY_RANK");
  fprintf(stdout, "rank %d wrote to stdout\n", r);
  return t_report("options", good);
}
