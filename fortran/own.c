// SPDX-License-Identifier: Apache-2.0
//
// What Fortran has and C has not, or has as a macro: MPI_SIZEOF, comparison of mpi_f08's handles,
// predefined callbacks.
#include "support.h"

#define SIZEOF(prefix, n)                                                                     \
  void mpifort_##prefix##_sizeof_##n(const struct array* x, integer* size, integer* ierror);  \
  void mpifort_##prefix##_sizeof_##n(const struct array* x, integer* size, integer* ierror) { \
    *size = (integer)x->elem_len;                                                             \
    if (ierror != NULL) *ierror = MPI_SUCCESS;                                                \
  }
#define SIZEOFS(n) SIZEOF(mpi, n) SIZEOF(pmpi, n)
SIZEOFS(0);
SIZEOFS(1);
SIZEOFS(2);
SIZEOFS(3);
SIZEOFS(4);
SIZEOFS(5);
SIZEOFS(6);
SIZEOFS(7);
SIZEOFS(8);
SIZEOFS(9);
SIZEOFS(10);
SIZEOFS(11);
SIZEOFS(12);

#define COMPARE(type)                                                \
  integer mpifort_##type##_eq_(const integer* a, const integer* b) { \
    return *a == *b;                                                 \
  }                                                                  \
  integer mpifort_##type##_ne_(const integer* a, const integer* b) { \
    return *a != *b;                                                 \
  }
COMPARE(comm);
COMPARE(datatype);
COMPARE(errhandler);
COMPARE(file);
COMPARE(group);
COMPARE(info);
COMPARE(message);
COMPARE(op);
COMPARE(request);
COMPARE(session);
COMPARE(win);

#define ATTRIBUTES(word, value_type)                                                               \
  void mpi_##word##dup_fn_(integer* h, integer* key, value_type* extra, value_type* in,            \
                           value_type* out, integer* flag, integer* ierror) {                      \
    (void)h, (void)key, (void)extra;                                                               \
    *out = *in;                                                                                    \
    *flag = 1;                                                                                     \
    *ierror = MPI_SUCCESS;                                                                         \
  }                                                                                                \
  void mpi_##word##null_copy_fn_(integer* h, integer* key, value_type* extra, value_type* in,      \
                                 value_type* out, integer* flag, integer* ierror) {                \
    (void)h, (void)key, (void)extra, (void)in, (void)out;                                          \
    *flag = 0;                                                                                     \
    *ierror = MPI_SUCCESS;                                                                         \
  }                                                                                                \
  void mpi_##word##null_delete_fn_(integer* h, integer* key, value_type* value, value_type* extra, \
                                   integer* ierror) {                                              \
    (void)h, (void)key, (void)value, (void)extra;                                                  \
    *ierror = MPI_SUCCESS;                                                                         \
  }
ATTRIBUTES(comm_, MPI_Aint);
ATTRIBUTES(type_, MPI_Aint);
ATTRIBUTES(win_, MPI_Aint);
ATTRIBUTES(, integer);

// Never called: MPI_Register_datarep knows their addresses.
void mpi_conversion_fn_null_(void) {}
void mpi_conversion_fn_null_c_(void) {}
