/* SPDX-License-Identifier: Apache-2.0 */
/* How many threads of OpenMP are idle, as MPI sees it (Si, Pena, Balaji, Takagi, Ishikawa: MT-MPI,
   ICS'14, section 3.1.1). weft's own copies and reductions need no question: idle threads help
   with them as they come. This is for libraries that share a program's threads as weft does. */
#pragma once

#ifdef __cplusplus
extern "C" {
#endif

/* Idle threads of the calling thread's OpenMP runtime, besides itself; 0 and 0 without OpenMP.

   guaranteed   idle at least as long as the calling thread stays where it is: outside of parallel
                regions all threads of the last region; within one those at a barrier of its team,
                and those that wait for a critical section in which it is
   temporary    idle now, but others may end that: at a barrier of another team, or waiting for a
                critical section in which another thread is; with libgomp also those at a barrier
                once the team has explicit tasks, which they may be running

   The answer is of the calling thread, of the OpenMP region in which it is, and of this moment:
   while the thread stays in the region, `guaranteed` does not fall (but see libgomp and tasks). The
   first question begins to watch threads, so it may miss those that wait already. A program whose
   tool for OMPT is another one, or that links libgomp before this library, is told 0.

   Any thread may call it at any time, also before MPI_Init. A null pointer means that the
   number is not wanted. It returns MPI_SUCCESS. */
int WEFT_Idle_threads(int* guaranteed, int* temporary);

#ifdef __cplusplus
}
#endif
