// SPDX-License-Identifier: Apache-2.0
//
// Which MPI call the calling thread is in, and where the program called it: found by walking the
// stack, so that calls themselves need not remember it. 5-20 us: for waits that are long already.
#pragma once

#include <cstdint>

namespace weft::hang {

struct Site {
  const char* call = "";         // "MPI_Recv"; empty if it cannot be told
  std::uint64_t returns_to = 0;  // address in the program
};

Site find_site();

}  // namespace weft::hang
