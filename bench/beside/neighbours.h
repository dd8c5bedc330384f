/* SPDX-License-Identifier: Apache-2.0 */
/* What the program beside others and its neighbours share: a page with how many of these compute,
   and what each has done; and the work itself, chunks of a microsecond or so. The page is a file
   that BENCH_NEIGHBOURS names. */
#ifndef WEFT_BENCH_NEIGHBOURS_H
#define WEFT_BENCH_NEIGHBOURS_H

#include <stdint.h>

struct neighbour {
  _Atomic uint64_t chunks; /* done so far; nobody else's line */
  uint64_t spare[7];
};

struct neighbours {
  _Atomic uint32_t to_a_cpu; /* so many of each CPU's compute; a futex word, rank 0 writes it */
  uint32_t cpus, most;       /* to a CPU */
  uint32_t spare[13];
  struct neighbour of[]; /* cpus * most */
};

/* A chunk of work: what the next one starts from. */
static inline uint64_t work(uint64_t seed) {
  for (int i = 0; i < 1000; ++i) seed = seed * 6364136223846793005u + 1442695040888963407u;
  return seed;
}

#endif
