// SPDX-License-Identifier: Apache-2.0
// For tests of wrong arguments: BAD(call, class, words...) demands that the call fails with that
// class and, on weft, that the error string is a sentence: it names the call and holds each of the
// words (what was passed, what was expected). Other libraries, with which the tests are compared,
// are held to the class only.
#ifndef WEFT_TESTS_RANK_ERRHAN_BAD_H
#define WEFT_TESTS_RANK_ERRHAN_BAD_H

#include <ctype.h>

#include "../check.h"

static int is_weft;

// For mistakes to which the standard gives no class of their own, either of two will do.
#define EITHER(one, two) (-(one)*1000 - (two))

CHECK_UNUSED static void start_returning(int* argc, char*** argv) {
  char version[MPI_MAX_LIBRARY_VERSION_STRING];
  int length = 0;
  start(argc, argv);
  OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  OK(MPI_Comm_set_errhandler(MPI_COMM_SELF,
                             MPI_ERRORS_RETURN));  // errors without a communicator go here
  OK(MPI_Get_library_version(version, &length));
  is_weft = strstr(version, "weft") != NULL;
}

// The text holds the word, whatever the case of its letters.
static int holds_(const char* text, const char* word) {
  for (; *text; ++text) {
    size_t i = 0;
    while (word[i] && tolower((unsigned char)text[i]) == tolower((unsigned char)word[i])) ++i;
    if (!word[i]) return 1;
  }
  return 0;
}

CHECK_UNUSED static void bad_(int line, int code, const char* call, int class,
                              const char* const* words) {
  char text[MPI_MAX_ERROR_STRING] = "";
  char name[80];
  int got = -1, length = 0;
  ++checks;
  if (code == MPI_SUCCESS) {
    fail_(__FILE__, line, "%s succeeded, expected class %d", call, class);
    return;
  }
  OK(MPI_Error_class(code, &got));
  OK(MPI_Error_string(code, text, &length));
  const int other = class < 0 ? -class % 1000 : class, first = class < 0 ? -class / 1000 : class;
  if (got != first && got != other)
    fail_(__FILE__, line, "%s gave class %d (%s), expected class %d%s", call, got, text, first,
          first == other ? "" : " or another");
  if (!is_weft) return;
  snprintf(name, sizeof name, "%.*s", (int)strcspn(call, "("), call);
  if (!holds_(text, name))
    fail_(__FILE__, line, "the error of %s does not name the call: '%s'", call, text);
  for (; *words; ++words) {
    if (!holds_(text, *words))
      fail_(__FILE__, line, "the error of %s does not say '%s': '%s'", call, *words, text);
  }
}

#define BAD(call, class, ...) \
  bad_(__LINE__, (call), #call, (class), (const char* const[]){__VA_ARGS__ __VA_OPT__(, ) NULL})

#endif
