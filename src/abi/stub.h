// SPDX-License-Identifier: Apache-2.0
//
// What the generated entry points (gen/*.cc) include; nobody else does.
#pragma once

// First, so that the entry points are declared visible; everything else of the library is hidden.
#pragma GCC visibility push(default)
#include <mpi.h>
#pragma GCC visibility pop

#include "abi/gen/fn.h"
#include "abi/plain.h"
#include "abi/raise.h"
