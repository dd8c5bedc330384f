// SPDX-License-Identifier: Apache-2.0
//
// What the generated entry points (gen/*.cc) include, and so all that an expression of
// spec/overlay.toml can see; nobody else includes it.
#pragma once

// First, so that the entry points are declared visible; everything else of the library is hidden.
#pragma GCC visibility push(default)
#include <mpi.h>
#pragma GCC visibility pop

#include "abi/check.h"
#include "abi/convert.h"
#include "abi/entry.h"
#include "abi/env.h"
#include "abi/gen/fn.h"
#include "abi/one_sided.h"
#include "abi/plain.h"
#include "abi/status.h"
#include "abi/tool.h"
#include "coll/coll.h"
#include "datatype/api.h"
#include "object/attribute.h"
#include "object/comm.h"
#include "object/errors.h"
#include "object/group.h"
#include "object/info.h"
#include "object/names.h"
#include "object/op.h"
#include "object/topology.h"
#include "object/types.h"
#include "pt2pt/partitioned.h"
#include "pt2pt/pt2pt.h"
#include "pt2pt/several_contexts.h"
#include "rma/access.h"
#include "rma/window.h"
#include "world/comms.h"
#include "world/rank.h"
#include "world/requests.h"
#include "world/session.h"
