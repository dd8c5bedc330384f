// SPDX-License-Identifier: Apache-2.0
//
// Records that others have written: a broken rank may have written over shared memory, and an
// agent's answer comes from elsewhere. Nothing in them is an index unchecked, and all names end.
#pragma once

#include "hang/record.h"

namespace weft::hang {

/// Ends the names. False: it speaks of ranks that there are not, in a job with so many.
bool make_safe(Record& record, std::int32_t ranks);

}  // namespace weft::hang
