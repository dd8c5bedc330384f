// SPDX-License-Identifier: Apache-2.0
//
// What a file of entry points sees. Such files are compiled twice: F(send) is mpi_send_ and calls
// M(Send), MPI_Send; or it is pmpi_send_ and calls PMPI_Send. So a C tool sees the calls of Fortran
// programs, too.
#ifndef WEFT_FORTRAN_ENTRY_H
#define WEFT_FORTRAN_ENTRY_H

#include "support.h"

#ifdef MPIFORT_PMPI
#define M(name) PMPI_##name
#define F(name) pmpi_##name##_
#define F_PREFIX "pmpi_"
#else
#define M(name) MPI_##name
#define F(name) mpi_##name##_
#define F_PREFIX "mpi_"
#endif

// The form whose counts are default integers: where these have 8 bytes, the large form.
#ifdef MPIFORT_I8
#define MC(name) M(name##_c)
#else
#define MC(name) M(name)
#endif

// Another name of an entry point: mpi_f08 calls the same code where its arguments lie in memory as
// those of mpi do.
#define SAME_AS(name, old) \
  extern __typeof__(F(old)) F(name) __attribute__((alias(F_PREFIX #old "_")))

#endif
