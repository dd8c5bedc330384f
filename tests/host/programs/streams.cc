// SPDX-License-Identifier: Apache-2.0
// Every way to write to the standard streams ends up at the rank's own; rank 0 has standard input.
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>

#include "standin.h"

int main() {
  const int r = t_rank();
  char text[64];
  int n = snprintf(text, sizeof text, "%d write\n", r);
  printf("%d printf %s\n", r, "x");
  puts("puts");
  putchar('c');
  fputs("har\n", stdout);
  std::cout << r << " cout" << std::endl;
  fflush(stdout);
  if (write(1, text, static_cast<size_t>(n)) != n) return 2;
  dprintf(1, "%d dprintf\n", r);
  const int saved = dup(1);
  FILE* null = fopen("/dev/null", "w");
  dup2(fileno(null), STDOUT_FILENO);
  printf("%d must not be seen\n", r);
  fflush(stdout);
  dup2(saved, STDOUT_FILENO);
  close(saved);
  if (system("echo system") != 0) return 3;
  char line[64] = "";
  printf("%d input %s", r, fgets(line, sizeof line, stdin) ? line : "none\n");
  fprintf(stderr, "%d stderr\n", r);
  std::cerr << r << " cerr" << std::endl;
  errno = ENOENT;
  perror("perror");
  printf("%d end", r);
  fclose(stdout);
  printf("%d after fclose", r);
  return 0;
}
