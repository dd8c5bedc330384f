// SPDX-License-Identifier: Apache-2.0
// What every rank test shares: start, compare, report, finish.
//
// A test is one MPI program that checks itself. It says what went wrong (file, line, rank, what was
// got, what was expected) on stderr and returns 1; when all went well rank 0 prints one line "ok: N
// checks, P ranks", which run.py demands, so a test that checks nothing or starts P jobs of one
// rank fails. The variables here are per rank in both modes: as processes, and as threads, where
// each rank has its own copy of the program.
#ifndef WEFT_TESTS_RANK_CHECK_H
#define WEFT_TESTS_RANK_CHECK_H

#include <mpi.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK_UNUSED __attribute__((unused))

static int rank = -1, size = 0;
static _Atomic long checks = 0, failures = 0;  // threads of a rank check, too

// After this many failures one rank has said enough: it ends the job, so that a broken loop does
// not flood the screen.
enum { failures_told = 20 };

CHECK_UNUSED static void fail_(const char* file, int line, const char* format, ...) {
  char text[600];
  va_list list;
  va_start(list, format);
  vsnprintf(text, sizeof text, format, list);
  va_end(list);
  const char* name = strrchr(file, '/');
  fprintf(stderr, "%s:%d: rank %d of %d: %s\n", name ? name + 1 : file, line, rank, size, text);
  if (++failures == failures_told) {
    fprintf(stderr, "rank %d: %d failures, giving up\n", rank, failures_told);
    fflush(stderr);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
}

CHECK_UNUSED static const char* error_text_(int code) {
  static _Thread_local char text[MPI_MAX_ERROR_STRING + 1];
  int length = 0;
  if (code == MPI_SUCCESS) return "MPI_SUCCESS";
  if (MPI_Error_string(code, text, &length) != MPI_SUCCESS)
    snprintf(text, sizeof text, "code %d", code);
  return text;
}

CHECK_UNUSED static void check_call_(const char* file, int line, int code, const char* call) {
  ++checks;
  if (code != MPI_SUCCESS) fail_(file, line, "%s failed: %s", call, error_text_(code));
}

CHECK_UNUSED static void check_equal_(const char* file, int line, long long got, long long want,
                                      const char* what) {
  ++checks;
  if (got != want) fail_(file, line, "%s is %lld, expected %lld", what, got, want);
}

// CHECK(condition, "printf words about it"): the words say what was got and expected.
#define CHECK(condition, ...)                                 \
  do {                                                        \
    ++checks;                                                 \
    if (!(condition)) fail_(__FILE__, __LINE__, __VA_ARGS__); \
  } while (0)
// EQ(got, want): both are integers.
#define EQ(got, want) check_equal_(__FILE__, __LINE__, (long long)(got), (long long)(want), #got)
// OK(call): the MPI call returns MPI_SUCCESS (matters where the handler is MPI_ERRORS_RETURN).
#define OK(call) check_call_(__FILE__, __LINE__, (call), #call)
// Nothing sensible can follow: say why and end the job.
#define DIE(...)                            \
  do {                                      \
    fail_(__FILE__, __LINE__, __VA_ARGS__); \
    MPI_Abort(MPI_COMM_WORLD, 1);           \
  } while (0)

CHECK_UNUSED static void start(int* argc, char*** argv) {
  OK(MPI_Init(argc, argv));
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
}

// What main returns after MPI_Finalize (for programs that end MPI themselves).
CHECK_UNUSED static int verdict(void) {
  if (failures == 0 && rank == 0) printf("ok: %ld checks, %d ranks\n", checks, size);
  return failures != 0;
}

CHECK_UNUSED static int finish(void) {
  OK(MPI_Finalize());
  return verdict();
}

// A byte pattern that differs between seeds and between places: stale, shifted and swapped data all
// show.
CHECK_UNUSED static unsigned char pattern_(size_t i, unsigned seed) {
  return (unsigned char)((i * 7 + (i >> 8) * 13 + (i >> 16) * 31 + seed * 101 + 1) & 0xff);
}

// Eight bytes of it from a multiple of 8 on, as they lie in memory. ThreadSanitizer takes as long
// for such a word as for a byte, and sees as much.
CHECK_UNUSED static uint64_t pattern_of_word_(size_t i, unsigned seed) {
  const uint64_t steps = 0x312a231c150e0700, low = 0x7f7f7f7f7f7f7f7f;
  const uint64_t first = pattern_(i, seed) * 0x0101010101010101u;
  return ((first & low) + steps) ^ (first & ~low);  // no byte carries into the next
}

CHECK_UNUSED static void fill(void* buffer, size_t bytes, unsigned seed) {
  unsigned char* p = buffer;
  size_t i = 0;
  for (; i + 8 <= bytes; i += 8) {
    const uint64_t word = pattern_of_word_(i, seed);
    memcpy(p + i, &word, sizeof word);
  }
  for (; i < bytes; ++i) p[i] = pattern_(i, seed);
}

// FILLED(buffer, bytes, seed): the buffer holds what fill() with this seed writes.
#define FILLED(buffer, bytes, seed) check_filled_(__FILE__, __LINE__, (buffer), (bytes), (seed))
CHECK_UNUSED static int check_filled_(const char* file, int line, const void* buffer, size_t bytes,
                                      unsigned seed) {
  const unsigned char* p = buffer;
  size_t i = 0;
  ++checks;
  for (; i + 8 <= bytes; i += 8) {
    uint64_t word;
    memcpy(&word, p + i, sizeof word);
    if (word != pattern_of_word_(i, seed)) break;
  }
  for (; i < bytes; ++i) {
    if (p[i] == pattern_(i, seed)) continue;
    fail_(file, line, "byte %zu of %zu is 0x%02x, expected 0x%02x (pattern %u)", i, bytes, p[i],
          pattern_(i, seed), seed);
    return 0;
  }
  return 1;
}

// STATUS(&status, source, tag, bytes): bytes < 0 leaves the count alone.
#define STATUS(status, source, tag, bytes) \
  check_status_(__FILE__, __LINE__, (status), (source), (tag), (bytes))
CHECK_UNUSED static void check_status_(const char* file, int line, const MPI_Status* status,
                                       int source, int tag, long long bytes) {
  check_equal_(file, line, status->MPI_SOURCE, source, "status.MPI_SOURCE");
  check_equal_(file, line, status->MPI_TAG, tag, "status.MPI_TAG");
  if (bytes < 0) return;
  MPI_Count count = -1;
  check_call_(file, line, MPI_Get_count_c(status, MPI_BYTE, &count), "MPI_Get_count_c");
  check_equal_(file, line, count, bytes, "MPI_Get_count_c(status, MPI_BYTE)");
}

CHECK_UNUSED static void* alloc(size_t bytes) {
  void* p = malloc(bytes ? bytes : 1);
  if (!p) DIE("cannot allocate %zu bytes", bytes);
  return p;
}

// The node of a rank, if run.py pretends that there are several. What a rank on another node is
// asked takes a message there and back.
CHECK_UNUSED static int node_of(int who) {
  const char* text = getenv("TEST_NODES");
  const long nodes = text != NULL ? strtol(text, NULL, 10) : 1;
  return (int)(who * nodes / size);
}
CHECK_UNUSED static int is_apart(int who) {
  return node_of(who) != node_of(rank);
}

static inline int right_of(int who) {
  return (who + 1) % size;
}
static inline int left_of(int who) {
  return (who + size - 1) % size;
}

#endif
