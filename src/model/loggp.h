// SPDX-License-Identifier: Apache-2.0
//
// From times of messages between two nodes to the prices of a network (machine.h). Pure.
#pragma once

#include <span>

#include "model/machine.h"

namespace weft::model {

/// What was measured with messages of so many bytes.
struct MessageTimes {
  std::int64_t bytes;
  double half_round;   // s: of a ping-pong
  double one_of_many;  // s: between the ends of messages that follow each other
};

/// A message takes `overhead` of software and copies of the machine's beside the network's prices.
/// The price of a byte is the median of the slopes between all sizes (Theil, Sen), so that a size
/// that was disturbed does not count; gap and latency are medians of what is left of messages up to
/// `short_bytes`. Times that grow with nothing give an error of the next call's: no price is below
/// zero, and none of a byte below that of 1 TB/s.
Network fit_network(std::span<const MessageTimes> times, const Parameters& machine,
                    std::int64_t short_bytes);

/// What the model says of one message from here to there, and of one of many.
double message_seconds(const Network& network, const Parameters& machine, std::int64_t bytes);
double message_interval(const Network& network, const Parameters& machine, std::int64_t bytes);

}  // namespace weft::model
