// SPDX-License-Identifier: Apache-2.0
//
// libfabric, opened when a job needs a network: a job of one node neither loads it nor depends on
// it being there. The few functions it exports by name are here; all others are reached through the
// objects that these return.
#pragma once

#include <cstdint>

#include "base/err.h"

struct fi_info;
struct fi_fabric_attr;
struct fid_fabric;

namespace weft::net {

struct Library {
  int (*getinfo)(std::uint32_t version, const char* node, const char* service, std::uint64_t flags,
                 const fi_info* hints, fi_info** found);
  void (*freeinfo)(fi_info*);
  fi_info* (*dupinfo)(const fi_info*);
  int (*fabric)(fi_fabric_attr*, fid_fabric**, void*);
  const char* (*strerror)(int);
  std::uint32_t (*version)();
};

/// Loads libfabric.so.1, for as long as the process lives. Any thread may call it.
Result<Library> open_library();

}  // namespace weft::net
