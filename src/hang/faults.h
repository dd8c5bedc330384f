// SPDX-License-Identifier: Apache-2.0
//
// What is wrong with a job that hangs, in sentences for people who have just begun with MPI: what
// happened, and what to do about it.
#pragma once

#include <string>
#include <vector>

#include "hang/analysis.h"

namespace weft::hang {

std::vector<std::string> find_faults(const JobView& view, const Analysis& analysis);

}  // namespace weft::hang
