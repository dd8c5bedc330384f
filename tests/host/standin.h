/* SPDX-License-Identifier: Apache-2.0
 *
 * What the tests of the rank host use instead of MPI: who am I, wait for all, look at a neighbour's
 * pointer. Loaded once, before everything else (LD_PRELOAD), as libmpi_abi is in earnest. A program
 * started without the rank host is rank 0 of 1, or one of several processes (STANDIN_PROCESS). */
#pragma once

#ifdef __cplusplus
extern "C" {
#endif
int t_rank(void);
int t_size(void);
void t_barrier(void);
/* Publish `p`, return the pointer that rank `peer` published. Collective. */
void* t_exchange(void* p, int peer);
/* Publish `value`, return what rank `peer` published. Collective; between processes too. */
long t_value(long value, int peer);
/* Print "rank K NAME ok" or "rank K NAME FAILED"; returns the exit status. */
int t_report(const char* name, int good);
#ifdef __cplusplus
}
#endif
