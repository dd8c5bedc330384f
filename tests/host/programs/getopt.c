// SPDX-License-Identifier: Apache-2.0
// Prints what getopt makes of many command lines. Run under the rank host and without it, the
// output must be the same.
#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char* lines[] = {"-a -b x y",
                              "x -a y -b z",
                              "x -ab y -cV z",
                              "-c V x -c",
                              "-c",
                              "-abc V x",
                              "x -ac V y -b",
                              "-- -a x",
                              "x -- -a",
                              "-a -- -b",
                              "--alpha x",
                              "--alp x",
                              "--al x",
                              "--beta=3 x",
                              "--beta 3 x",
                              "--beta",
                              "--alpha=4",
                              "--opt x",
                              "--opt=7 x",
                              "--nope x",
                              "-z x",
                              "-d x",
                              "-dV x",
                              "x y z",
                              "-",
                              "- -a",
                              "x - -a y",
                              "--flag --beta 1",
                              "-alpha x",
                              "-beta 3 -a",
                              "-al",
                              "-opt=2 x",
                              "x --beta 9 y -a",
                              "-a -z -b",
                              "-c -- x",
                              "x y -c 5 --alpha z --opt",
                              "-abz x",
                              "--alps",
                              "--be=",
                              "-W foo",
                              ""};
static const char* shorts[] = {"abc:d::", "+abc:d::", "-abc:d::", ":abc:d::", "-:abc:d::"};

int main(void) {
  setvbuf(stderr, 0, _IONBF, 0);
  dup2(1, 2);
  static int set;
  static struct option longs[] = {{"alpha", 0, 0, 'A'}, {"alpine", 0, 0, 'P'}, {"beta", 1, 0, 'B'},
                                  {"opt", 2, 0, 'O'},   {"flag", 0, &set, 5},  {0, 0, 0, 0}};
  for (int kind = 0; kind < 3; kind++)
    for (unsigned s = 0; s < sizeof shorts / sizeof *shorts; s++)
      for (unsigned l = 0; l < sizeof lines / sizeof *lines; l++) {
        char copy[100], *argv[20] = {"prog"};
        int argc = 1, c, index = -1;
        strcpy(copy, lines[l]);
        for (char* p = strtok(copy, " "); p; p = strtok(0, " ")) argv[argc++] = p;
        optind = 0;
        set = 0;
        printf("%d '%s' '%s':", kind, shorts[s], lines[l]);
        fflush(stdout);
        for (;;) {
          if (kind == 0)
            c = getopt(argc, argv, shorts[s]);
          else if (kind == 1)
            c = getopt_long(argc, argv, shorts[s], longs, &index);
          else
            c = getopt_long_only(argc, argv, shorts[s], longs, &index);
          if (c == -1) break;
          printf(" %d(%c) arg=%s index=%d", c, c > 32 ? c : '.', optarg ? optarg : "-", index);
          if (c == '?' || c == ':') printf(" opt=%d", optopt);
          fflush(stdout);
        }
        printf(" | set=%d left", set);
        for (int i = optind; i < argc; i++) printf(" %s", argv[i]);
        printf("\n");
      }
  return 0;
}
