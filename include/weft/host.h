/* SPDX-License-Identifier: Apache-2.0
 *
 * The seam between the rank host (launch/host: runs one program as many ranks, each a thread) and
 * libmpi_abi. The library exports the first three functions; the rank host calls them if they are
 * there, so a library without them and a rank host without a library both work.
 *
 * What code that runs on a rank's thread must know: exit, _exit, getenv, setenv, printf, dlopen and
 * some more of libc's functions mean *the rank* there, also when libmpi_abi calls them. A library
 * that wants to end the whole process calls syscall(SYS_exit_group, status); one that wants the
 * process's own environment reads it in weft_host_attach, where no rank is in force yet.
 */
#pragma once

#ifdef __cplusplus
extern "C" {
#endif

/* How a rank ended. */
enum weft_host_how {
  WEFT_HOST_EXIT = 0,     /* returned from main or called exit */
  WEFT_HOST_QUIT = 1,     /* called _exit, _Exit or quick_exit: no handlers were run */
  WEFT_HOST_SIGNALLED = 2 /* weft_host_abort only */
};

/* Bind the calling thread to world rank `world_rank`; -1 unbinds it.
 *
 * Called once before there are threads, on a rank's main thread before anything of the program
 * runs, and first on every thread that a rank creates. Unbinding is the last thing such a thread
 * does. */
void weft_host_attach(int world_rank);

/* A rank ended: its exit handlers are done and its streams are flushed. Called on its main thread,
 * still attached. The library marks it and may end the job, if the status says that it must. */
void weft_host_rank_exited(int world_rank, int status, int how);

/* The process dies now because of this rank (-1: because of none), by `signal`, or by exit with
 * `status` when signal is 0. The library publishes both for mpiexec and returns; the caller ends
 * the process. Async-signal-safe: it may be called in a handler of SIGSEGV. */
void weft_host_abort(int world_rank, int status, int signal);

/* The other direction: exported by the rank host, called by the library on a rank's thread. The
 * arguments that the rank was started with; they stay as they are. */
void weft_host_arguments(int world_rank, int* argc, char*** argv);

#ifdef __cplusplus
}
#endif
