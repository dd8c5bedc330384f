/* SPDX-License-Identifier: Apache-2.0
 *
 * The rows of the table in docs/ranks-as-threads.md, "What a process has": each is a check that
 * holds for every rank if ranks have this of their own, as processes have. All ranks run it in
 * step; it may change what it likes, the program does nothing else. */
#pragma once

#include "standin.h"

enum { ROW_SKIPPED = 2 };

struct row {
  const char* name;       /* as in the table */
  int (*check)(int rank); /* 1: it is the rank's own; ROW_SKIPPED: it cannot be told here */
};

extern const struct row file_rows[], process_rows[], name_rows[], text_rows[], time_rows[],
    locale_rows[], library_rows[], common_rows[];

#define CHECK(condition)                                                 \
  do {                                                                   \
    if (!(condition)) return row_failed(#condition, __FILE__, __LINE__); \
  } while (0)
int row_failed(const char* condition, const char* file, int line);

/* "<prefix><rank>" in a buffer of this thread. */
const char* own_name(const char* prefix, int rank);
