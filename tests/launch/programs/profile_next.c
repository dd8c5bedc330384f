// SPDX-License-Identifier: Apache-2.0
// A tool that finds the function it wraps by dlsym(RTLD_NEXT), and is set up by a constructor.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>

typedef int Send(const void*, int, MPI_Datatype, int, int, MPI_Comm);
static Send* next_send;
static int sends;

__attribute__((constructor)) static void set_up(void) {
  next_send = (Send*)dlsym(RTLD_NEXT, "MPI_Send");
}

int MPI_Send(const void* buffer, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm) {
  ++sends;
  return next_send(buffer, count, type, dest, tag, comm);
}

__attribute__((destructor)) static void tell(void) {
  if (sends > 0) printf("next: %d sends\n", sends);
}
