// SPDX-License-Identifier: Apache-2.0
// libmpifort_abi reads array descriptors by a structure of its own, so that it is built without a
// Fortran compiler and serves all that agree on it. This file compiles if the compiler at hand is
// one of them.
#include <ISO_Fortran_binding.h>

#include "support.h"

#define SAME(mine, theirs)                                                                  \
  _Static_assert(offsetof(struct array, mine) == offsetof(CFI_cdesc_t, theirs) &&           \
                     sizeof(((struct array*)0)->mine) == sizeof(((CFI_cdesc_t*)0)->theirs), \
                 #mine)
SAME(base_addr, base_addr);
SAME(elem_len, elem_len);
SAME(version, version);
SAME(rank, rank);
_Static_assert(offsetof(struct array, dim) == offsetof(CFI_cdesc_t, dim), "dim");
SAME(dim[0].lower_bound, dim[0].lower_bound);
SAME(dim[0].extent, dim[0].extent);
SAME(dim[0].stride_bytes, dim[0].sm);
_Static_assert(sizeof(struct array_dim) == sizeof(CFI_dim_t), "CFI_dim_t");
