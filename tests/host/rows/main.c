// SPDX-License-Identifier: Apache-2.0
// host_rows --list: the rows' names. host_rows NAME: run one.
#include <stdio.h>
#include <string.h>

#include "rows.h"

static const struct row* const tables[] = {file_rows, process_rows, time_rows,    locale_rows,
                                           name_rows, text_rows,    library_rows, common_rows};

int row_failed(const char* condition, const char* file, int line) {
  char text[400];
  snprintf(text, sizeof text, "rank %d: %s:%d: not so: %s\n", t_rank(), strrchr(file, '/') + 1,
           line, condition);
  fputs(text, stderr);
  return 0;
}

const char* own_name(const char* prefix, int rank) {
  static __thread char name[64];
  snprintf(name, sizeof name, "%s%d", prefix, rank);
  return name;
}

int main(int argc, char** argv) {
  for (unsigned t = 0; t < sizeof tables / sizeof tables[0]; t++)
    for (const struct row* row = tables[t]; row->name; row++) {
      if (argc == 2 && strcmp(argv[1], "--list") == 0) puts(row->name);
      if (argc != 2 || strcmp(argv[1], row->name) != 0) continue;
      const int result = row->check(t_rank());
      return result == ROW_SKIPPED ? 77 : t_report(row->name, result);
    }
  return argc == 2 && strcmp(argv[1], "--list") == 0 ? 0 : 2;
}
