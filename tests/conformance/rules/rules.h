// SPDX-License-Identifier: Apache-2.0
// One program per chapter of MPI-5.0, one function per rule, and a table that names the rules by
// section and says each in a line. A rule that is broken is named with its line. Each rule gets a
// communicator of its own (`comm`, with MPI_ERRORS_RETURN), so that a broken one does not disturb
// the next, and has to leave no message in it.
// `ch03 3.5-order` runs that rule alone; `ch03 -v` says which one begins (where a run hangs).
#ifndef WEFT_TESTS_CONFORMANCE_RULES_H
#define WEFT_TESTS_CONFORMANCE_RULES_H

#include "../../rank/check.h"

typedef struct {
  const char* name;     // section and catchword
  void (*check)(void);  // fails by the macros of check.h
  const char* says;     // the rule, in one line
} Rule;

static MPI_Comm comm;
static int right, left;  // neighbors of the caller in comm

static void run_rule_(const Rule* rule) {
  const long before = failures;
  int left_over = -1;
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
  OK(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
  rule->check();
  OK(MPI_Barrier(comm));
  OK(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &left_over, MPI_STATUS_IGNORE));
  EQ(left_over, 0);
  OK(MPI_Comm_free(&comm));
  if (failures > before)
    fprintf(stderr, "rank %d: broken rule %s: %s\n", rank, rule->name, rule->says);
}

static int run_rules(int argc, char** argv, const Rule* rules, int count) {
  int verbose = 0, wanted = 0, run = 0;
  start(&argc, &argv);
  OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));  // of calls without one
  right = right_of(rank), left = left_of(rank);
  for (int i = 1; i < argc; ++i) {
    if (strcmp(argv[i], "-v") == 0)
      verbose = 1;
    else
      wanted = 1;
  }
  for (int k = 0; k < count; ++k) {
    int selected = !wanted;
    for (int i = 1; i < argc; ++i) selected |= strcmp(argv[i], rules[k].name) == 0;
    if (!selected) continue;
    if (verbose && rank == 0) fprintf(stderr, "%s\n", rules[k].name);
    run_rule_(&rules[k]);
    ++run;
  }
  CHECK(run > 0, "no such rule; the rules are in the table at the end of the program");
  return finish();
}

#define RULES(table)                                                               \
  int main(int argc, char** argv) {                                                \
    return run_rules(argc, argv, (table), (int)(sizeof(table) / sizeof *(table))); \
  }

// The text is what is expected.
#define TEXT(got, want) \
  CHECK(strcmp((got), (want)) == 0, "%s is '%s', expected '%s'", #got, (got), (want))
// The call fails, with that class.
#define FAILS(call, class) fails_(__FILE__, __LINE__, (call), #call, (class))
CHECK_UNUSED static void fails_(const char* file, int line, int code, const char* call, int class) {
  int got = -1;
  ++checks;
  MPI_Error_class(code, &got);
  if (got != class)
    fail_(file, line, "%s gave class %d (%s), expected %d", call, got, error_text_(code), class);
}

// What a status says of nothing (3.2.5): null requests, inactive ones, empty lists.
#define EMPTY(status) empty_(__FILE__, __LINE__, (status))
CHECK_UNUSED static void empty_(const char* file, int line, const MPI_Status* status) {
  int cancelled = -1;
  check_status_(file, line, status, MPI_ANY_SOURCE, MPI_ANY_TAG, 0);
  check_equal_(file, line, status->MPI_ERROR, MPI_SUCCESS, "MPI_ERROR of an empty status");
  check_call_(file, line, MPI_Test_cancelled(status, &cancelled), "MPI_Test_cancelled");
  check_equal_(file, line, cancelled, 0, "MPI_Test_cancelled of an empty status");
}
// A status with nothing right in it, so that what is not written shows.
CHECK_UNUSED static MPI_Status dirty(void) {
  MPI_Status status;
  memset(&status, 0x5a, sizeof status);
  return status;
}

#endif
