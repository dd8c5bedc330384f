/* SPDX-License-Identifier: Apache-2.0
 *
 * The seam between the rank host (launch/host: runs one program as many ranks, each a thread) and
 * libmpi_abi. The library exports the first four functions; the rank host calls them if they are
 * there, so a library without them and a rank host without a library both work.
 *
 * What code that runs on a rank's thread must know: exit, _exit, getenv, setenv, printf, dlopen and
 * some more of libc's functions mean *the rank* there, also when libmpi_abi calls them. A library
 * that wants to end the whole process calls syscall(SYS_exit_group, status); one that wants the
 * process's own environment reads it in weft_host_attach, where no rank is in force yet.
 *
 * Descriptors are a rank's: one that a rank's thread opens means nothing on another rank's. What
 * all ranks of a process use is opened before there are ranks, in the first weft_host_attach; they
 * inherit it. getpid is the process's, unlike in the ranks' own code.
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

/* No rank of this process can run, for `reason`, and nothing of the program has: if the process
 * ends so, mpiexec may start its ranks as processes. A null pointer: they begin now. `job` is
 * WEFT_JOB's descriptor. */
void weft_host_refused(int job, int first_rank, const char* reason);

/* The other direction: exported by the rank host, called by the library on a rank's thread. The
 * arguments that the rank was started with; they stay as they are. */
void weft_host_arguments(int world_rank, int* argc, char*** argv);

/* Write out what the calling thread's rank has printed to stdout: before the library ends the
 * process. Does not wait for a thread that is blocked there. */
void weft_host_flush(void);

#ifdef __cplusplus
}
#endif
