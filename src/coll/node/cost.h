// SPDX-License-Identifier: Apache-2.0
//
// What the algorithms of node/ cost (node/algorithms.h), when all ranks enter together. `direct`:
// ranks read each other's buffers, else what they have copied to where others can read it.
//
// source   Li, Hoefler, Snir, as model/equations.h
#pragma once

#include <cstdint>

#include "coll/signature.h"
#include "model/machine.h"
#include "model/prediction.h"

namespace weft::coll {

using BoardCost = model::Prediction(const model::Machine& x, std::int64_t bytes, bool direct);

BoardCost barrier_tree_cost;
BoardCost bcast_one_stage_cost, bcast_two_stage_cost;
/// `n`: one of them has it already.
template <int n>
BoardCost bcast_tree_cost;
template <int n>
BoardCost reduce_tree_cost;
template <int n>
BoardCost allreduce_tree_cost;
enum class Tiles { naive, cyclic, hierarchical };
template <Tiles tiles>
BoardCost reduce_tiled_cost;
template <Tiles tiles>
BoardCost allreduce_tiled_cost;
BoardCost allreduce_dissemination_cost;
BoardCost scan_chain_cost;
template <Call call>
BoardCost exchange_cost;

}  // namespace weft::coll
