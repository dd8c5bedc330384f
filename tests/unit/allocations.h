// SPDX-License-Identifier: Apache-2.0
//
// How often this thread called operator new: for tests that promise to allocate nothing. The
// counting operators are in allocations.cc.
#pragma once

namespace weft::test {
long allocations();
}
