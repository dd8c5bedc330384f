// SPDX-License-Identifier: Apache-2.0
//
// The arguments of one collective call, as schedules are emitted from them. What a collective does
// not have stays empty.
#pragma once

#include "coll/blocks.h"
#include "coll/signature.h"

namespace weft::coll {

struct Operation {
  Call call;
  int root = Signature::no_root;
  ConstBuffer send{};            // what this rank gives: gather, allgather
  Buffer buffer{};               // of a broadcast; what this rank gets of a scatter
  const Blocks* from = nullptr;  // scatter, alltoall
  const Blocks* to = nullptr;    // gather, allgather, alltoall
  const Operands* operands = nullptr;
  const Parts* parts = nullptr;  // reduce_scatter
};

}  // namespace weft::coll
