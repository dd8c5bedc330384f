// SPDX-License-Identifier: Apache-2.0
//
// The report about a job: what is wrong, who waits for what, which messages match nobody.
#pragma once

#include <functional>
#include <string>

#include "hang/analysis.h"

namespace weft::hang {

/// Where in the program an address of a process is: "main (ring.c:12)"; empty if unknown.
using SiteName = std::function<std::string(std::int32_t pid, std::uint64_t address)>;

/// Of a job that hangs. Several lines without the last newline.
std::string hang_report(const JobView& view, const Analysis& analysis, const SiteName& site);
/// Of any job, because the user asked (SIGUSR1): the same if it seems to hang.
std::string state_report(const JobView& view, const Analysis& analysis, const SiteName& site);

}  // namespace weft::hang
