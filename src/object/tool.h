// SPDX-License-Identifier: Apache-2.0
//
// Objects of the tool interface (MPI-5.0 chapter 15): what a session and a handle are. What they do
// is abi/tool.cc.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <vector>

#include "base/pool.h"

namespace weft::object {

/// A use of a control variable.
struct CvarHandle : Object {
  int index = 0;
};

struct PvarSession;

/// A use of a performance variable: what its counter did while the handle was started.
struct PvarHandle : Object {
  int index = 0;
  bool running = false;
  std::vector<std::uint64_t> since;   // the counter's elements when it was started
  std::vector<std::uint64_t> before;  // what was counted in earlier runs
  PvarSession* session = nullptr;
};

/// Owns its handles.
struct PvarSession : Object {
  std::vector<PvarHandle*> handles;
};

struct ToolObjects {
  Pool<CvarHandle, Kind::cvar_handle> cvars;
  Pool<PvarHandle, Kind::pvar_handle> pvars;
  Pool<PvarSession, Kind::pvar_session> sessions;
};

}  // namespace weft::object
