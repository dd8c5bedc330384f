// SPDX-License-Identifier: Apache-2.0
//
// Names of objects (MPI-5.0 §7.8).
#pragma once

#include <string>

namespace weft::object {

/// Longer names are cut to MPI_MAX_OBJECT_NAME - 1 characters, as the standard demands.
void set_name(std::string& name, const char* text);
/// `text` has room for MPI_MAX_OBJECT_NAME characters.
void get_name(const std::string& name, char* text, int* length);

}  // namespace weft::object
