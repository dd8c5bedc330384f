// SPDX-License-Identifier: Apache-2.0
//
// The reasons for which a program cannot run with its ranks as threads. Each function looks at one
// kind and returns a sentence that says what was found and what to do, or "".
#pragma once

#include <string>

#include "plan.h"

namespace weft::host {

/// From the program's own file: how it was linked and what it exports.
std::string refuse_program(const Image& program);
/// From any image of a rank: what it asks of the C library.
std::string refuse_image(const Image& image);
/// From the program and its libraries together, and from this system.
std::string refuse_closure(const Plan& plan);

}  // namespace weft::host
