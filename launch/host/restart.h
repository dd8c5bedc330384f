// SPDX-License-Identifier: Apache-2.0
//
// Two things can only be asked of ld.so when a process starts: room for static thread-local data of
// libraries loaded later, and a sanitizer's runtime before everything else. If the plan needs one,
// the rank host starts itself anew with the variables set, and hides them from the ranks.
#pragma once

#include <string>

#include "plan.h"

namespace weft::host {

/// Bytes of static thread-local data that the plan's images need, for all ranks.
std::size_t static_tls_bytes(const Plan& plan, int ranks);

/// Start again if need be; returns when there is no need (any more), or with an error text.
std::string restart_if_needed(const Plan& plan, int ranks, char** argv);

/// Give the variables back the values that the user gave them, and take the rank host's own away.
void restore_environment();

}  // namespace weft::host
